//! Frames as messages and back: a shuffle's frame is one message; of an output's, each record is a message of its
//! own with its number in its properties, so that any consumer can read it.

use bytes::Bytes;
use streams_core::error::CodecError;
use streams_core::protocol::frame::{Frame, Item};
use streams_core::protocol::ids::{Incarnation, Split};

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

/// The messages of an output, one for each record.
pub(super) fn of_output(frame: Frame) -> Vec<Outgoing> {
    let Frame { incarnation, sender, first, items, .. } = frame;
    let records = (first..).zip(items).filter_map(|(number, item)| match item {
        Item::Data(bytes) => Some((number, bytes)),
        Item::Idle | Item::Active | Item::End => None,
    });
    let message = |(number, bytes): (u64, Vec<u8>)| Outgoing {
        body: Bytes::from(bytes),
        properties: vec![
            (JOB.to_owned(), format!("{:016x}", incarnation.0)),
            (SPLIT.to_owned(), name(sender)),
            (NUMBER.to_owned(), number.to_string()),
        ],
        ..Outgoing::default()
    };
    records.map(message).collect()
}

/// The number of a message that `sender` has put into an output.
pub(super) fn number(message: &PulledMessage, incarnation: Incarnation, sender: Split) -> Option<u64> {
    let property = |name: &str| message.properties.get(name).map(String::as_str);
    let own =
        property(JOB) == Some(&format!("{:016x}", incarnation.0)) && property(SPLIT) == Some(&name(sender));
    property(NUMBER).filter(|_| own)?.parse().ok()
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
