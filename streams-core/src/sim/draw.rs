//! Records for any job: a deserializer that draws what the type asks for and writes it down as JSON.
//!
//! Alphabets are small, so that keys repeat and values tie; 64-bit signed integers lie near a growing clock,
//! since that is what event times are.

use std::fmt::Write as _;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use super::random::Random;

/// Draws one record.
pub(crate) struct Draw<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) clock_ms: i64,
    pub(crate) disorder_ms: u64,
    pub(crate) json: String,
    depth: usize,
}

impl<'a> Draw<'a> {
    pub(crate) fn new(random: &'a mut Random, clock_ms: i64, disorder_ms: u64) -> Self {
        Self { random, clock_ms, disorder_ms, json: String::new(), depth: 0 }
    }

    fn put(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.json, "{value}");
    }

    fn small(&mut self) -> u64 {
        self.random.below(4) as u64
    }

    fn word(&mut self) -> &'static str {
        const WORDS: [&str; 5] = ["a", "b", "c", "d", ""];
        WORDS.get(self.random.below(WORDS.len())).copied().unwrap_or_default()
    }
}

/// One record of type `T` as JSON, if the type can be drawn.
pub(crate) fn json<T: DeserializeOwned>(draw: &mut Draw<'_>) -> Result<String, String> {
    T::deserialize(&mut *draw).map_err(|error| error.to_string())?;
    Ok(std::mem::take(&mut draw.json))
}

type Failure = de::value::Error;

macro_rules! small {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
            let value = self.small() as $type;
            self.put(value);
            visitor.$visit(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Draw<'_> {
    type Error = Failure;

    small!(deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16, deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64, deserialize_u128 visit_u128 u128, deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32, deserialize_f32 visit_f32 f32,
        deserialize_f64 visit_f64 f64, deserialize_i128 visit_i128 i128, deserialize_any visit_u64 u64,
        deserialize_ignored_any visit_u64 u64);

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let back = self.random.below(self.disorder_ms as usize + 1) as i64;
        // A tenth of a second is coarse enough for ties.
        let at_ms = (self.clock_ms - back).div_euclid(100) * 100;
        self.put(at_ms);
        visitor.visit_i64(at_ms)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let value = self.random.percent(50);
        self.put(value);
        visitor.visit_bool(value)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let value = if self.random.percent(50) { 'a' } else { 'b' };
        self.put(format_args!("\"{value}\""));
        visitor.visit_char(value)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let word = self.word();
        self.put(format_args!("\"{word}\""));
        visitor.visit_str(word)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        // What contains itself must end.
        if self.depth > 3 || self.random.percent(30) {
            self.put("null");
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.put("null");
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let n = if self.depth > 3 { 0 } else { self.random.below(3) };
        self.deserialize_tuple(n, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failure> {
        self.put("[");
        self.depth += 1;
        let value = visitor.visit_seq(Rest { draw: self, left: len, first: true, fields: &[] })?;
        self.depth -= 1;
        self.put("]");
        Ok(value)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        const KEYS: [&str; 2] = ["x", "y"];
        let n = self.random.below(KEYS.len() + 1);
        let keys = KEYS.get(..n).unwrap_or_default();
        self.deserialize_struct("", keys, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.put("{");
        self.depth += 1;
        let value = visitor.visit_map(Rest { draw: self, left: fields.len(), first: true, fields })?;
        self.depth -= 1;
        self.put("}");
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let chosen = self.random.below(variants.len());
        visitor.visit_enum(Variant { draw: self, name: variants.get(chosen).copied().unwrap_or_default() })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }
}

/// What is left of a sequence or a map.
struct Rest<'a, 'b> {
    draw: &'a mut Draw<'b>,
    left: usize,
    first: bool,
    fields: &'static [&'static str],
}

impl Rest<'_, '_> {
    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.draw.put(",");
        }
    }
}

impl<'de> de::SeqAccess<'de> for Rest<'_, '_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.comma();
        seed.deserialize(&mut *self.draw).map(Some)
    }
}

impl<'de> de::MapAccess<'de> for Rest<'_, '_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        let Some((name, rest)) = self.fields.split_first() else { return Ok(None) };
        self.fields = rest;
        self.comma();
        self.draw.put(format_args!("\"{name}\":"));
        let name: StrDeserializer<'_, Failure> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        seed.deserialize(&mut *self.draw)
    }
}

/// One variant of an enum.
struct Variant<'a, 'b> {
    draw: &'a mut Draw<'b>,
    name: &'static str,
}

impl<'de, 'a, 'b> de::EnumAccess<'de> for Variant<'a, 'b> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Failure> {
        let name: StrDeserializer<'_, Failure> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, '_> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        self.draw.put(format_args!("\"{}\"", self.name));
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        self.draw.put(format_args!("{{\"{}\":", self.name));
        let value = seed.deserialize(&mut *self.draw)?;
        self.draw.put("}");
        Ok(value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Failure> {
        self.draw.put(format_args!("{{\"{}\":", self.name));
        let value = self.draw.deserialize_tuple(len, visitor)?;
        self.draw.put("}");
        Ok(value)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.draw.put(format_args!("{{\"{}\":", self.name));
        let value = self.draw.deserialize_struct("", fields, visitor)?;
        self.draw.put("}");
        Ok(value)
    }
}
