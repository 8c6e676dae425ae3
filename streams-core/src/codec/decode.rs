//! Bytes to values: the scalar half of the deserializer. Compounds are walked by `access.rs`.
//!
//! Everything here may be handed damaged bytes: each read is checked against the end of the value it
//! belongs to, which for a field is the field's own end and not the row's.

use serde::Deserializer;
use serde::de::Visitor;

use super::access::{Elements, Fields, Payload};
use super::varint::{self, Fault};
use super::{MAX_DEPTH, name_id};
use crate::error::CodecError;

/// Reads one value from a slice.
#[derive(Debug)]
pub(super) struct Decoder<'de> {
    /// What may still be read.
    rest: &'de [u8],
    /// Position, in the whole row, at which `rest` ends; errors are worth more with a position.
    end: usize,
    depth: u32,
}

impl<'de> Decoder<'de> {
    pub(super) fn new(bytes: &'de [u8], from: usize) -> Self {
        Self { rest: bytes.get(from..).unwrap_or_default(), end: bytes.len(), depth: 0 }
    }

    /// Refuses bytes behind the value.
    pub(super) fn finish(&self, what: &str) -> Result<(), CodecError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.invalid(format!("{} bytes too many, behind {what},", self.rest.len())))
    }

    /// Runs `read` on the next `len` bytes only, which it has to use up.
    #[inline]
    pub(super) fn within<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&mut Self) -> Result<R, CodecError>,
    ) -> Result<R, CodecError> {
        let outer_end = self.end;
        let Some((inside, behind)) = self.rest.split_at_checked(len) else {
            return Err(self.truncated("a field"));
        };
        self.rest = inside;
        self.end = outer_end - behind.len();
        let value = read(self)?;
        self.finish("a field")?;
        self.rest = behind;
        self.end = outer_end;
        Ok(value)
    }

    #[inline]
    pub(super) fn nested<R>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<R, CodecError>,
    ) -> Result<R, CodecError> {
        if self.depth == MAX_DEPTH {
            return Err(self.invalid(format!("more than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    #[inline]
    pub(super) fn skip(&mut self, len: usize) -> Result<(), CodecError> {
        self.take(len, "a field").map(drop)
    }

    #[inline]
    pub(super) fn id(&mut self) -> Result<u32, CodecError> {
        self.array("a name").map(u32::from_le_bytes)
    }

    /// A count or a length: never more than the bytes that are left, because each element takes one.
    #[inline]
    pub(super) fn len(&mut self) -> Result<usize, CodecError> {
        let at = self.at();
        let len = self.unsigned()?;
        match usize::try_from(len) {
            Ok(len) if len <= self.rest.len() => Ok(len),
            _ => {
                let what = format!("length {len}, with {} bytes left,", self.rest.len());
                Err(CodecError::Invalid { at, what })
            }
        }
    }

    #[inline]
    fn at(&self) -> usize {
        self.end - self.rest.len()
    }

    #[cold]
    pub(super) fn invalid(&self, what: String) -> CodecError {
        CodecError::Invalid { at: self.at(), what }
    }

    #[cold]
    fn truncated(&self, what: &'static str) -> CodecError {
        CodecError::Truncated { at: self.end, what }
    }

    #[cold]
    fn fault(&self, fault: Fault) -> CodecError {
        match fault {
            Fault::Truncated => self.truncated("a number"),
            Fault::TooLarge => self.invalid("a number too large for its type".to_owned()),
            Fault::NotShortest => self.invalid("a number that is not in its shortest form".to_owned()),
        }
    }

    #[inline]
    fn unsigned(&mut self) -> Result<u64, CodecError> {
        varint::take_u64(&mut self.rest).map_err(|fault| self.fault(fault))
    }

    fn unsigned128(&mut self) -> Result<u128, CodecError> {
        varint::take_u128(&mut self.rest).map_err(|fault| self.fault(fault))
    }

    #[inline]
    fn take(&mut self, len: usize, what: &'static str) -> Result<&'de [u8], CodecError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else { return Err(self.truncated(what)) };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CodecError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else { return Err(self.truncated(what)) };
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte that must be 0, or 1 where `max` admits it.
    #[inline]
    fn flag(&mut self, max: u8, what: &'static str) -> Result<bool, CodecError> {
        let at = self.at();
        let [byte] = self.array(what)?;
        if byte > max {
            return Err(CodecError::Invalid { at, what: format!("{byte} instead of {what}") });
        }
        Ok(byte == 1)
    }

    #[inline]
    fn slice(&mut self) -> Result<&'de [u8], CodecError> {
        let len = self.len()?;
        self.take(len, "a string")
    }

    #[inline]
    fn text(&mut self) -> Result<&'de str, CodecError> {
        let at = self.at();
        let bytes = self.slice()?;
        str::from_utf8(bytes)
            .map_err(|_| CodecError::Invalid { at, what: "a string that is not UTF-8".to_owned() })
    }

    #[inline]
    pub(super) fn tuple<V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<V::Value, CodecError> {
        if len == 0 {
            self.flag(0, "an empty tuple")?;
        }
        Elements::walk(self, len, |elements| visitor.visit_seq(elements))
    }

    #[inline]
    pub(super) fn structure<V: Visitor<'de>>(
        &mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        let n_fields = self.len()?;
        Fields::walk(self, n_fields, fields, visitor)
    }

    /// The one name among `names` that an id stands for.
    ///
    /// All are compared, since the first of two names with the same hash would be a guess.
    pub(super) fn name(
        &self,
        id: u32,
        names: &'static [&'static str],
    ) -> Result<Option<&'static str>, CodecError> {
        let mut found = names.iter().copied().filter(|name| name_id(name) == id);
        let first = found.next();
        match (first, found.next()) {
            (Some(one), Some(other)) => Err(self.invalid(format!(
                "names `{one}` and `{other}` have the same hash; rename one of them; found"
            ))),
            _ => Ok(first),
        }
    }
}

macro_rules! numbers {
    ($($method:ident: $visit:ident, $type:ty, $via:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
            let at = self.at();
            let number = $via(self.unsigned()?);
            match <$type>::try_from(number) {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(CodecError::Invalid {
                    at,
                    what: format!(concat!("{} is no ", stringify!($type), ","), number),
                }),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = CodecError;

    numbers! {
        deserialize_u8: visit_u8, u8, std::convert::identity;
        deserialize_u16: visit_u16, u16, std::convert::identity;
        deserialize_u32: visit_u32, u32, std::convert::identity;
        deserialize_u64: visit_u64, u64, std::convert::identity;
        deserialize_i8: visit_i8, i8, varint::unzigzag;
        deserialize_i16: visit_i16, i16, varint::unzigzag;
        deserialize_i32: visit_i32, i32, varint::unzigzag;
        deserialize_i64: visit_i64, i64, varint::unzigzag;
        deserialize_char: visit_char, char, |number| u32::try_from(number).unwrap_or(u32::MAX);
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, CodecError> {
        Err(CodecError::Message(
            "this type needs a self-describing format, which the state format is not: avoid \
             #[serde(untagged)], #[serde(flatten)], #[serde(tag = …)] and `serde_json::Value` in state"
                .to_owned(),
        ))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_u128(self.unsigned128()?)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_i128(varint::unzigzag128(self.unsigned128()?))
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_bool(self.flag(1, "a bool")?)
    }

    #[inline]
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_f32(f32::from_le_bytes(self.array("a float")?))
    }

    #[inline]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_f64(f64::from_le_bytes(self.array("a float")?))
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_borrowed_str(self.text()?)
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        visitor.visit_borrowed_bytes(self.slice()?)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        if self.flag(1, "an option")? {
            self.nested(|decoder| visitor.visit_some(decoder))
        } else {
            visitor.visit_none()
        }
    }

    #[inline]
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.flag(0, "a unit")?;
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.nested(|decoder| visitor.visit_newtype_struct(decoder))
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.nested(|decoder| {
            let len = decoder.len()?;
            Elements::walk(decoder, len, |elements| visitor.visit_seq(elements))
        })
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CodecError> {
        self.nested(|decoder| {
            let len = decoder.len()?;
            Elements::walk(decoder, len, |elements| visitor.visit_map(elements))
        })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, CodecError> {
        self.nested(|decoder| decoder.tuple(len, visitor))
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.deserialize_tuple(len, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.nested(|decoder| decoder.structure(fields, visitor))
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.nested(|decoder| visitor.visit_enum(Payload::new(decoder, variants)))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
