//! Values to bytes: the scalar half of the serializer. Compounds are written by `compound.rs`.
//!
//! It appends to the caller's buffer and allocates nothing else: lengths that are known only afterwards get
//! one byte which is patched (see `varint::patch`).

use std::fmt::{Display, Write};

use serde::{Serialize, Serializer};

use super::compound::{Compound, Count};
use super::{MAX_DEPTH, name_id, varint};
use crate::error::CodecError;

/// Appends one value to a buffer.
#[derive(Debug)]
pub(super) struct Encoder<'o> {
    pub(super) out: &'o mut Vec<u8>,
    depth: u32,
}

impl<'o> Encoder<'o> {
    #[inline]
    pub(super) fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, depth: 0 }
    }

    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), CodecError> {
        if self.depth == MAX_DEPTH {
            return Err(CodecError::Message(format!("the value nests more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    #[inline]
    fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
        self.enter()?;
        value.serialize(&mut *self)?;
        self.leave();
        Ok(())
    }

    #[inline]
    pub(super) fn put_len(&mut self, len: usize) {
        varint::put_u64(self.out, widen(len));
    }

    #[inline]
    pub(super) fn put_id(&mut self, name: &'static str) {
        self.out.extend_from_slice(&name_id(name).to_le_bytes());
    }

    #[inline]
    fn put_slice(&mut self, bytes: &[u8]) {
        self.put_len(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    /// Elements without a count before them.
    #[inline]
    fn fixed(&mut self, len: usize) -> Result<Compound<'_, 'o>, CodecError> {
        self.enter()?;
        if len == 0 {
            // Every value takes a byte, so that a reader can bound a count by the bytes that are left.
            self.out.push(0);
        }
        Ok(Compound::new(self, Count::Declared { left: len }))
    }

    /// Elements behind their count; one that is not known beforehand is patched in.
    #[inline]
    fn counted(&mut self, len: Option<usize>) -> Result<Compound<'_, 'o>, CodecError> {
        self.enter()?;
        let count = if let Some(len) = len {
            self.put_len(len);
            Count::Declared { left: len }
        } else {
            self.out.push(0);
            Count::Open { at: self.out.len() - 1, seen: 0 }
        };
        Ok(Compound::new(self, count))
    }
}

#[inline]
fn widen(len: usize) -> u64 {
    u64::try_from(len).expect("no supported target has addresses of more than 64 bits")
}

/// Lets `Display` write straight into the output.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

macro_rules! unsigned {
    ($($method:ident: $type:ty),*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<(), CodecError> {
            varint::put_u64(self.out, value.into());
            Ok(())
        }
    )*};
}

macro_rules! signed {
    ($($method:ident: $type:ty),*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<(), CodecError> {
            varint::put_u64(self.out, varint::zigzag(value.into()));
            Ok(())
        }
    )*};
}

impl<'a, 'o> Serializer for &'a mut Encoder<'o> {
    type Ok = ();
    type Error = CodecError;
    type SerializeSeq = Compound<'a, 'o>;
    type SerializeTuple = Compound<'a, 'o>;
    type SerializeTupleStruct = Compound<'a, 'o>;
    type SerializeTupleVariant = Compound<'a, 'o>;
    type SerializeMap = Compound<'a, 'o>;
    type SerializeStruct = Compound<'a, 'o>;
    type SerializeStructVariant = Compound<'a, 'o>;

    unsigned!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char);
    signed!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);

    fn serialize_u128(self, value: u128) -> Result<(), CodecError> {
        varint::put_u128(self.out, value);
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> Result<(), CodecError> {
        varint::put_u128(self.out, varint::zigzag128(value));
        Ok(())
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), CodecError> {
        self.out.push(value.into());
        Ok(())
    }

    #[inline]
    fn serialize_f32(self, value: f32) -> Result<(), CodecError> {
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), CodecError> {
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), CodecError> {
        self.put_slice(value.as_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), CodecError> {
        self.put_slice(value);
        Ok(())
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), CodecError> {
        self.out.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), CodecError> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_none(self) -> Result<(), CodecError> {
        self.out.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CodecError> {
        self.out.push(1);
        self.nested(value)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), CodecError> {
        self.nested(value)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), CodecError> {
        // The reader cannot know that no payload follows, so the level counts on both sides.
        self.enter()?;
        self.put_id(variant);
        self.leave();
        Ok(())
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CodecError> {
        self.put_id(variant);
        self.nested(value)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Compound<'a, 'o>, CodecError> {
        self.counted(len)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Compound<'a, 'o>, CodecError> {
        self.counted(len)
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Compound<'a, 'o>, CodecError> {
        self.fixed(len)
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Compound<'a, 'o>, CodecError> {
        self.fixed(len)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'a, 'o>, CodecError> {
        self.put_id(variant);
        self.fixed(len)
    }

    #[inline]
    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Compound<'a, 'o>, CodecError> {
        self.counted(Some(len))
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Compound<'a, 'o>, CodecError> {
        self.put_id(variant);
        self.counted(Some(len))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), CodecError> {
        let at = self.out.len();
        self.out.push(0);
        write!(Text(self.out), "{value}")
            .map_err(|_| CodecError::Message("the value's `Display` failed".to_owned()))?;
        let len = self.out.len() - at - 1;
        varint::patch(self.out, at, len);
        Ok(())
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
