//! A message on its way out, and its bytes in a batch.

use bytes::{BufMut as _, Bytes, BytesMut};
use rocketmq_model::common::message::{MessageConst, STRING_HASH_SET};

/// Between a property's name and its value.
const NAME_END: char = '\u{1}';
/// Behind a property.
const PROPERTY_END: char = '\u{2}';

/// The most that a message's properties can have, as bytes: their length is a signed 16-bit number, and the
/// broker adds some of its own.
const PROPERTY_BYTES: usize = i16::MAX as usize - 512;

/// Lengths, magic, sum and flag in front of and behind the body.
const FRAME_BYTES: usize = 4 + 4 + 4 + 4 + 4 + 2;

/// A message to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Its content; may be empty.
    pub body: Bytes,
    /// Words that tools find it by, separated by spaces; `None` or at least one.
    pub keys: Option<String>,
    /// The word that other consumers choose by.
    pub tags: Option<String>,
    /// Properties of the user, by name; neither name nor value may be empty.
    pub properties: Vec<(String, String)>,
}

impl Outgoing {
    /// How many bytes of a batch it takes.
    pub fn encoded_bytes(&self) -> usize {
        FRAME_BYTES + self.body.len() + self.property_bytes()
    }

    fn property_bytes(&self) -> usize {
        self.all().map(|(name, value)| name.len() + value.len() + 2).sum()
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let keys = self.keys.as_deref().map(|keys| (MessageConst::PROPERTY_KEYS, keys));
        let tags = self.tags.as_deref().map(|tags| (MessageConst::PROPERTY_TAGS, tags));
        let others = self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        keys.into_iter().chain(tags).chain(others)
    }

    /// What no broker would take, or would give back as something else; `Ok` if nothing.
    fn check(&self) -> Result<(), String> {
        for (name, value) in self.all() {
            if name.is_empty() || value.is_empty() {
                return Err(format!("property `{name}` is empty"));
            }
            if [name, value].iter().any(|text| text.contains([NAME_END, PROPERTY_END])) {
                return Err(format!("property `{}` has a control character", name.escape_default()));
            }
        }
        let reserved = |(name, _): &&(String, String)| STRING_HASH_SET.contains(name.as_str());
        if let Some((name, _)) = self.properties.iter().find(reserved) {
            return Err(format!("property `{name}` is the broker's own"));
        }
        let bytes = self.property_bytes();
        if bytes > PROPERTY_BYTES {
            return Err(format!("its properties have {bytes} bytes, and {PROPERTY_BYTES} is the limit"));
        }
        Ok(())
    }
}

/// The messages as the body of one request; what is wrong with them if a broker would not take them.
pub(super) fn batch(messages: &[Outgoing], most_bytes: usize) -> Result<Bytes, String> {
    let bytes: usize = messages.iter().map(Outgoing::encoded_bytes).sum();
    if messages.is_empty() || bytes > most_bytes {
        return Err(format!(
            "{} messages of {bytes} bytes, and {most_bytes} bytes is the limit",
            messages.len()
        ));
    }
    let mut batch = BytesMut::with_capacity(bytes);
    for (i, message) in messages.iter().enumerate() {
        message.check().map_err(|what| format!("message {i} of {}: {what}", messages.len()))?;
        put(&mut batch, message)?;
    }
    Ok(batch.freeze())
}

fn put(batch: &mut BytesMut, message: &Outgoing) -> Result<(), String> {
    // The limit of bytes may have been set to anything.
    let length =
        |bytes: usize| i32::try_from(bytes).map_err(|_| format!("{bytes} bytes are too many for a message"));
    batch.put_i32(length(message.encoded_bytes())?);
    batch.put_i32(0); // magic, of no meaning on the way in
    batch.put_i32(0); // sum, computed by the broker
    batch.put_i32(0); // flag
    batch.put_i32(length(message.body.len())?);
    batch.put_slice(&message.body);
    batch.put_u16(
        u16::try_from(message.property_bytes()).map_err(|_| "its properties are too long".to_owned())?,
    );
    let mut one = [0; 4];
    for (name, value) in message.all() {
        batch.put_slice(name.as_bytes());
        batch.put_slice(NAME_END.encode_utf8(&mut one).as_bytes());
        batch.put_slice(value.as_bytes());
        batch.put_slice(PROPERTY_END.encode_utf8(&mut one).as_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rocketmq_model::common::message::MessageTrait as _;

    use super::*;

    fn full() -> Outgoing {
        Outgoing {
            body: Bytes::from_static(b"body"),
            keys: Some("k1 k2".to_owned()),
            tags: Some("t".to_owned()),
            properties: vec![("a".to_owned(), "ä=1".to_owned())],
        }
    }

    #[test]
    fn bytes_are_counted_as_written() {
        for message in [Outgoing::default(), full()] {
            let bytes = batch(&[message.clone(), message.clone()], 1000).unwrap();
            assert_eq!(bytes.len(), 2 * message.encoded_bytes());
        }
    }

    /// The client's own decoder must read what is written here.
    #[test]
    fn the_clients_decoder_agrees() {
        let mut bytes = batch(&[full(), Outgoing::default()], 1000).unwrap();
        let read = rocketmq_protocol::common::message::message_decoder::decode_messages(&mut bytes);
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].get_body().unwrap(), &full().body);
        let property = |name: &str| read[0].properties().as_map().get(name).map(ToString::to_string);
        assert_eq!(property("KEYS").unwrap(), "k1 k2");
        assert_eq!(property("TAGS").unwrap(), "t");
        assert_eq!(property("a").unwrap(), "ä=1");
        assert_eq!(read[1].get_body().map_or(0, Bytes::len), 0);
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Outgoing), expected: &str) {
        let mut message = full();
        change(&mut message);
        let text = batch(&[full(), message], 100_000).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_would_be_lost_on_the_way_is_refused() {
        check(|m| m.keys = Some(String::new()), "message 1 of 2: property `KEYS` is empty");
        check(|m| m.properties = vec![(String::new(), "x".to_owned())], "is empty");
        check(|m| m.tags = Some("a\u{2}".to_owned()), "`TAGS` has a control character");
        check(|m| m.properties = vec![("DELAY".to_owned(), "3".to_owned())], "`DELAY` is the broker's own");
        check(|m| m.properties = vec![("p".to_owned(), "x".repeat(40_000))], "properties have 40");
        check(|m| m.body = vec![0; 100_000].into(), "100000 bytes is the limit");
        assert!(batch(&[], 100).is_err());
    }
}
