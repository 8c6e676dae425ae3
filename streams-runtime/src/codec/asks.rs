//! What a type asks a format for, found out by offering it nothing.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Whether values of `T` have named fields.
///
/// JSON takes an array for such a value as well, in the order in which the fields were declared; nobody who
/// writes JSON means that.
pub(crate) fn for_fields<T: DeserializeOwned>() -> bool {
    matches!(T::deserialize(Nothing { depth: 0 }), Err(Answer::Fields))
}

/// Wrappers inside of wrappers that are looked through; more of them is a type that holds itself.
const DEPTH: usize = 8;

/// A format that gives nothing and notes what it is asked for.
#[derive(Debug, Clone, Copy)]
struct Nothing {
    depth: usize,
}

#[derive(Debug, thiserror::Error)]
enum Answer {
    #[error("named fields")]
    Fields,
    #[error("something else")]
    Other,
}

impl serde::de::Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Other
    }
}

impl Nothing {
    fn inside(self) -> Result<Self, Answer> {
        if self.depth < DEPTH { Ok(Self { depth: self.depth + 1 }) } else { Err(Answer::Other) }
    }
}

impl<'de> Deserializer<'de> for Nothing {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer::Other)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer::Fields)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Answer> {
        visitor.visit_newtype_struct(self.inside()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Answer> {
        visitor.visit_some(self.inside()?)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Named {
        _a: u64,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type counts")]
    struct Wrapped(Named);
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type counts")]
    struct Pair(u64, u64);
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its type counts")]
    struct Endless(Option<Box<Self>>);

    #[test]
    fn types() {
        assert!(for_fields::<Named>());
        assert!(for_fields::<Wrapped>());
        assert!(for_fields::<Option<Named>>());
        assert!(!for_fields::<Pair>());
        assert!(!for_fields::<(u64, Named)>());
        assert!(!for_fields::<Vec<Named>>());
        assert!(!for_fields::<String>());
        assert!(!for_fields::<Endless>());
        assert!(!for_fields::<serde_json::Value>());
    }
}
