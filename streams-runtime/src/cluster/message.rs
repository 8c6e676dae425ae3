//! Frames as messages and back: a shuffle's frame is one message; of an output's, each record is a message of its
//! own with its number in its properties, so that any consumer can read it.

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

/// The message of a shuffle.
pub(super) fn of_shuffle(frame: &Frame) -> Result<Outgoing, CodecError> {
    Ok(Outgoing { body: frame.encode()?.into(), ..Outgoing::default() })
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
    let frame = Frame::decode(&message.body).ok()?;
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
