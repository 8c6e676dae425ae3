//! Frames as messages and back: a shuffle's frame is one message; of an output's, each record is a message of its
//! own with its number in its properties, so that any consumer can read it.

use std::borrow::Cow;

use bytes::Bytes;
use streams_core::error::CodecError;
use streams_core::protocol::frame::{Frame, Item, result};
use streams_core::protocol::ids::{Incarnation, Split, Stage};
use streams_core::protocol::worker::ResultOf;

use crate::rocketmq::{Outgoing, PulledMessage};

/// The life of the job, as sixteen hexadecimal digits.
const JOB: &str = "streams-job";
/// The sender, as stage and queue.
const SPLIT: &str = "streams-split";
/// The number of the record among those that its sender has put into this queue, from 1.
const NUMBER: &str = "streams-number";

/// What a packed frame begins with, which no other does; its length as four bytes and an LZ4 block follow.
const PACKED: u8 = b'z';
/// Frames below this are sent as they are.
const WORTH_BYTES: usize = 512;
/// No frame is longer: a longer one is refused before anything is unpacked.
const MOST_BYTES: usize = 64 << 20;

/// The message of a shuffle.
pub(super) fn of_shuffle(frame: &Frame) -> Result<Outgoing, CodecError> {
    let body = frame.encode()?;
    Ok(Outgoing { body: pack(body).into(), ..Outgoing::default() })
}

fn pack(body: Vec<u8>) -> Vec<u8> {
    if body.len() < WORTH_BYTES {
        return body;
    }
    let mut packed = vec![PACKED; 5 + lz4_flex::block::get_maximum_output_size(body.len())];
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let Some((head, block)) = packed.split_first_chunk_mut::<5>() else { return body };
    head[1..].copy_from_slice(&len.to_le_bytes());
    match lz4_flex::block::compress_into(&body, block) {
        Ok(n) if 5 + n < body.len() => {
            packed.truncate(5 + n);
            packed
        }
        _ => body,
    }
}

/// The bytes of a frame, out of the message of a shuffle. What is no packed frame is given back as it is, and
/// refused by whoever reads it.
pub(super) fn unpack(body: &[u8]) -> Cow<'_, [u8]> {
    let Some((&[PACKED, a, b, c, d], block)) = body.split_first_chunk::<5>() else { return body.into() };
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    // A byte of a block stands for 255 at the most.
    if len > MOST_BYTES.min(block.len().saturating_mul(255)) {
        return body.into();
    }
    match lz4_flex::block::decompress(block, len) {
        Ok(bytes) if bytes.len() == len => bytes.into(),
        _ => body.into(),
    }
}

/// Texts of keys that are longer than this stand in no message: what finds a message by its key has no use for them.
const KEY_BYTES: usize = 1_024;

/// The messages of an output, one for each record.
pub(super) fn of_output(frame: Frame, tag: Option<&str>) -> Vec<Outgoing> {
    let Frame { incarnation, sender, first, items, .. } = frame;
    let records = (first..).zip(items).filter_map(|(number, item)| match item {
        Item::Data(bytes) => Some((number, bytes)),
        Item::Idle | Item::Active | Item::End => None,
    });
    let message = |(number, bytes): (u64, Vec<u8>)| {
        let (begin, key) = result(&bytes).unwrap_or_default();
        let keys = key_property(key);
        Outgoing {
            body: Bytes::from(bytes).slice(begin..),
            keys,
            tags: tag.map(str::to_owned),
            properties: vec![
                (JOB.to_owned(), format!("{:016x}", incarnation.0)),
                (SPLIT.to_owned(), name(sender)),
                (NUMBER.to_owned(), number.to_string()),
            ],
        }
    };
    records.map(message).collect()
}

/// A key that a message can carry.
fn key_property(key: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(key).ok()?;
    let fits = !text.is_empty() && text.len() <= KEY_BYTES && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

/// The number of a message that `sender` has put into an output.
pub(super) fn number(message: &PulledMessage, incarnation: Incarnation, sender: Split) -> Option<u64> {
    let property = |name: &str| message.properties.get(name).map(String::as_str);
    let own =
        property(JOB) == Some(&format!("{:016x}", incarnation.0)) && property(SPLIT) == Some(&name(sender));
    property(NUMBER).filter(|_| own)?.parse().ok()
}

/// Whose result a message is, whatever job has put it there.
pub(super) fn result_of(message: &PulledMessage) -> Option<ResultOf> {
    let property = |name: &str| message.properties.get(name).map(String::as_str);
    let (stage, queue) = property(SPLIT)?.split_once('-')?;
    Some(ResultOf {
        job: u64::from_str_radix(property(JOB)?, 16).ok()?,
        split: Split { stage: Stage(stage.parse().ok()?), queue: queue.parse().ok()? },
        number: property(NUMBER)?.parse().ok()?,
    })
}

/// The last number that `sender` has put into a shuffle with this message.
pub(super) fn last_of(message: &PulledMessage, incarnation: Incarnation, sender: Split) -> Option<u64> {
    let frame = Frame::decode(&unpack(&message.body)).ok()?;
    let own = frame.incarnation == incarnation && frame.sender == sender;
    own.then(|| frame.first + frame.items.len() as u64 - 1)
}

fn name(split: Split) -> String {
    format!("{}-{}", split.stage.0, split.queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_frames_come_out_as_they_went_in() {
        let mut random = 7_u64;
        for len in [0, 1, 511, 512, 513, 4_096, 100_000] {
            let alike = vec![3; len];
            let mixed: Vec<u8> = (0..len)
                .map(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (random >> 56) as u8
                })
                .collect();
            for mut body in [alike, mixed] {
                // As frames do.
                body.insert(0, 1);
                let packed = pack(body.clone());
                assert!(packed.len() <= body.len());
                assert_eq!(unpack(&packed), body);
            }
        }
        assert!(pack(vec![1; 100_000]).len() < 1_000);
    }

    #[test]
    fn what_is_no_packed_frame_stays_as_it_is() {
        let mut packed = pack(vec![1; 2_000]);
        for at in 0..packed.len() {
            packed[at] ^= 0x55;
            // Whatever comes out is looked at by the frame's own decoder.
            let _ = unpack(&packed);
            packed[at] ^= 0x55;
        }
        for body in
            [&b""[..], b"z", b"z\0\0\0", b"z\xff\xff\xff\xff", b"z\xff\xff\xff\x03\x10a", b"z\x05\0\0\0"]
        {
            assert_eq!(unpack(body), body);
        }
    }

    #[test]
    fn results_have_their_keys_and_numbers() {
        let items = vec![
            Item::result(4, b"k\xc3\xa4yab\ncd"),
            Item::End,
            Item::result(0, b""),
            Item::result(2, b"a\x01x"),
            Item::result(1_025, &[b'k'; 1_026]),
        ];
        let sender = Split { stage: Stage(1), queue: 2 };
        let siblings = [2].into();
        let frame = Frame { incarnation: Incarnation(7), sender, siblings, first: 5, items, mark: None };
        let messages = of_output(frame, Some("t"));
        let shown: Vec<_> = messages
            .iter()
            .map(|it| (it.keys.as_deref(), it.body.as_ref(), it.properties[2].1.as_str()))
            .collect();
        let expect: [(Option<&str>, &[u8], &str); 4] =
            [(Some("k\u{e4}y"), b"ab\ncd", "5"), (None, b"", "7"), (None, b"x", "8"), (None, b"k", "9")];
        assert_eq!(shown, expect);
        assert!(messages.iter().all(|it| it.tags.as_deref() == Some("t")));
    }
}
