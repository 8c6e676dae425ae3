//! Bytes to values: what serde's visitors walk through, for sequences, maps, structs and enums.
//!
//! Each walk checks that the visitor used up everything: a visitor that stops early would leave the rest
//! of a compound to be read as its neighbor.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::decode::Decoder;
use super::name_id;
use crate::error::CodecError;

/// The elements of a sequence or tuple, or the pairs of a map.
#[derive(Debug)]
pub(super) struct Elements<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    pub(super) fn walk<R>(
        decoder: &'a mut Decoder<'de>,
        len: usize,
        visit: impl FnOnce(&mut Self) -> Result<R, CodecError>,
    ) -> Result<R, CodecError> {
        let mut elements = Self { decoder, left: len };
        let value = visit(&mut elements)?;
        if elements.left > 0 {
            let what = format!("{} elements more than the type takes,", elements.left);
            return Err(elements.decoder.invalid(what));
        }
        Ok(value)
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, CodecError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for &mut Elements<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, CodecError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, CodecError> {
        seed.deserialize(&mut *self.decoder)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The fields of a struct, by the names that serde expects.
#[derive(Debug)]
pub(super) struct Fields<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
    names: &'static [&'static str],
    /// The names from the one that the next field has, unless the struct changed since it was written.
    expected: &'static [&'static str],
    value_len: usize,
}

impl<'a, 'de> Fields<'a, 'de> {
    #[inline]
    pub(super) fn walk<V: Visitor<'de>>(
        decoder: &'a mut Decoder<'de>,
        len: usize,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        let mut fields = Self { decoder, left: len, names, expected: names, value_len: 0 };
        let value = visitor.visit_map(&mut fields)?;
        if fields.left > 0 {
            let what = format!("{} fields more than the type takes,", fields.left);
            return Err(fields.decoder.invalid(what));
        }
        Ok(value)
    }

    #[inline]
    fn name(&mut self, id: u32) -> Result<Option<&'static str>, CodecError> {
        match self.expected.split_first() {
            Some((name, behind)) if name_id(name) == id => {
                self.expected = behind;
                Ok(Some(name))
            }
            _ => self.moved(id),
        }
    }

    #[cold]
    fn moved(&mut self, id: u32) -> Result<Option<&'static str>, CodecError> {
        let name = self.decoder.name(id, self.names)?;
        if let Some(position) = self.names.iter().position(|other| Some(*other) == name) {
            self.expected = self.names.get(position + 1..).unwrap_or_default();
        }
        Ok(name)
    }
}

impl<'de> MapAccess<'de> for &mut Fields<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, CodecError> {
        while self.left > 0 {
            self.left -= 1;
            let id = self.decoder.id()?;
            self.value_len = self.decoder.len()?;
            if let Some(name) = self.name(id)? {
                return seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some);
            }
            // A field that the type no longer has, or that a newer program added.
            self.decoder.skip(self.value_len)?;
        }
        Ok(None)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, CodecError> {
        self.decoder.within(self.value_len, |decoder| seed.deserialize(decoder))
    }
}

/// A variant's id, then its payload.
#[derive(Debug)]
pub(super) struct Payload<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    names: &'static [&'static str],
}

impl<'a, 'de> Payload<'a, 'de> {
    #[inline]
    pub(super) fn new(decoder: &'a mut Decoder<'de>, names: &'static [&'static str]) -> Self {
        Self { decoder, names }
    }
}

impl<'de> EnumAccess<'de> for Payload<'_, 'de> {
    type Error = CodecError;
    type Variant = Self;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), CodecError> {
        let id = self.decoder.id()?;
        let Some(name) = self.decoder.name(id, self.names)? else {
            // There is no length to skip by, hence `#[serde(other)]` cannot be honored.
            let what = format!("unknown variant {id:#010x}, none of `{}`,", self.names.join("`, `"));
            return Err(self.decoder.invalid(what));
        };
        let value = seed.deserialize(BorrowedStrDeserializer::<CodecError>::new(name))?;
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for Payload<'_, 'de> {
    type Error = CodecError;

    #[inline]
    fn unit_variant(self) -> Result<(), CodecError> {
        Ok(())
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, CodecError> {
        seed.deserialize(self.decoder)
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, CodecError> {
        self.decoder.tuple(len, visitor)
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CodecError> {
        self.decoder.structure(fields, visitor)
    }
}
