//! Values to bytes: sequences, maps, tuples and structs, one type for all of them.
//!
//! It compares the number of elements with what the type announced: a count that is wrong would be found
//! only when the row is read back, which is too late.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::encode::Encoder;
use super::varint;
use crate::error::CodecError;

/// How many elements a compound has.
#[derive(Debug)]
pub(super) enum Count {
    /// Known beforehand; `left` are still to come.
    Declared { left: usize },
    /// Counted while they pass; `at` is where the number goes.
    Open { at: usize, seen: usize },
}

/// A compound whose elements are being written.
#[derive(Debug)]
pub(super) struct Compound<'a, 'o> {
    encoder: &'a mut Encoder<'o>,
    count: Count,
}

impl<'a, 'o> Compound<'a, 'o> {
    #[inline]
    pub(super) fn new(encoder: &'a mut Encoder<'o>, count: Count) -> Self {
        Self { encoder, count }
    }

    #[inline]
    fn step(&mut self) -> Result<(), CodecError> {
        match &mut self.count {
            Count::Declared { left } => *left = left.checked_sub(1).ok_or_else(miscounted)?,
            Count::Open { seen, .. } => *seen += 1,
        }
        Ok(())
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
        self.step()?;
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), CodecError> {
        self.step()?;
        self.encoder.put_id(name);
        let at = self.encoder.out.len();
        self.encoder.out.push(0);
        value.serialize(&mut *self.encoder)?;
        let len = self.encoder.out.len() - at - 1;
        varint::patch(self.encoder.out, at, len);
        Ok(())
    }

    #[inline]
    fn close(self) -> Result<(), CodecError> {
        match self.count {
            Count::Declared { left: 0 } => {}
            Count::Declared { .. } => return Err(miscounted()),
            Count::Open { at, seen } => varint::patch(self.encoder.out, at, seen),
        }
        self.encoder.leave();
        Ok(())
    }
}

#[cold]
fn miscounted() -> CodecError {
    CodecError::Message(
        "the type's `Serialize` announces another number of elements than it writes".to_owned(),
    )
}

macro_rules! elements {
    ($($of:ident: $method:ident),*) => {$(
        impl $of for Compound<'_, '_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
                self.element(value)
            }

            #[inline]
            fn end(self) -> Result<(), CodecError> {
                self.close()
            }
        }
    )*};
}

macro_rules! fields {
    ($($of:ident),*) => {$(
        impl $of for Compound<'_, '_> {
            type Ok = ();
            type Error = CodecError;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), CodecError> {
                self.field(name, value)
            }

            #[inline]
            fn end(self) -> Result<(), CodecError> {
                self.close()
            }
        }
    )*};
}

elements!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);
fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = CodecError;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CodecError> {
        self.element(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CodecError> {
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn end(self) -> Result<(), CodecError> {
        self.close()
    }
}
