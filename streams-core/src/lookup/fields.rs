//! A row of named fields as a value: texts become what the fields of its type ask for.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::value::{MapDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// The value that the fields are.
pub(super) fn decode<V: DeserializeOwned>(fields: &[(Arc<str>, Option<String>)]) -> Result<V, String> {
    let entries = fields.iter().map(|(name, text)| (&**name, Field::new(name, text.as_deref())));
    V::deserialize(MapDeserializer::new(entries)).map_err(|error: serde::de::value::Error| error.to_string())
}

/// The fields that a `V` needs and that are not among these, as far as that can be told.
pub(super) fn missing<V: DeserializeOwned>(fields: &[(Arc<str>, Option<String>)]) -> Vec<&'static str> {
    let mut missing: Vec<&'static str> = Vec::new();
    // One is told at a time, and then made up to hear of the next.
    loop {
        let entries = fields.iter().map(|(name, text)| (&**name, Field::new(name, text.as_deref())));
        let entries = entries.chain(missing.iter().map(|name| (*name, Field::made_up(name))));
        match V::deserialize(MapDeserializer::new(entries)) {
            Err(Lack::Field(name)) if !missing.contains(&name) => missing.push(name),
            _ => return missing,
        }
    }
}

/// Why fields are no value, where only missing ones count.
#[derive(Debug, thiserror::Error)]
enum Lack {
    #[error("missing field `{0}`")]
    Field(&'static str),
    #[error("something else")]
    Other,
}

impl Error for Lack {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Field(field)
    }
}

/// One field.
#[derive(Clone, Copy)]
struct Field<'a, E> {
    name: &'a str,
    text: Option<&'a str>,
    /// It stands for one that is missing.
    is_made_up: bool,
    _error: PhantomData<fn() -> E>,
}

impl<'a, E> Field<'a, E> {
    fn new(name: &'a str, text: Option<&'a str>) -> Self {
        Self { name, text, is_made_up: false, _error: PhantomData }
    }

    /// A number, a text, a `false`, or the first of the variants: something of most types.
    fn made_up(name: &'a str) -> Self {
        Self { is_made_up: true, ..Self::new(name, Some("0")) }
    }
}

impl<E: Error> Field<'_, E> {
    fn text(&self) -> Result<&str, E> {
        self.text.ok_or_else(|| E::custom(format!("column `{}`: there is no value", self.name)))
    }

    fn parsed<N: FromStr<Err: Display>>(&self) -> Result<N, E> {
        let text = self.text()?;
        text.trim().parse().map_err(|error| E::custom(format!("column `{}`: `{text}`: {error}", self.name)))
    }

    /// The text, for a type that is read from one.
    fn read<'de, V: Visitor<'de>>(
        &self,
        visit: impl FnOnce(StrDeserializer<'_, E>) -> Result<V::Value, E>,
    ) -> Result<V::Value, E> {
        visit(self.text()?.into_deserializer())
            .map_err(|error| E::custom(format!("column `{}`: {error}", self.name)))
    }
}

impl<'de, E: Error> IntoDeserializer<'de, E> for Field<'_, E> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident => $visit:ident: $type:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            visitor.$visit(self.parsed::<$type>()?)
        }
    )*};
}

impl<'de, E: Error> Deserializer<'de> for Field<'_, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            Some(_) => self.read::<V>(|text| text.deserialize_any(visitor)),
            None => visitor.visit_unit(),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text()?.trim() {
            // As databases have it.
            "1" => visitor.visit_bool(true),
            "0" => visitor.visit_bool(false),
            _ => visitor.visit_bool(self.parsed()?),
        }
    }

    parsed! {
        deserialize_i8 => visit_i8: i8;
        deserialize_i16 => visit_i16: i16;
        deserialize_i32 => visit_i32: i32;
        deserialize_i64 => visit_i64: i64;
        deserialize_i128 => visit_i128: i128;
        deserialize_u8 => visit_u8: u8;
        deserialize_u16 => visit_u16: u16;
        deserialize_u32 => visit_u32: u32;
        deserialize_u64 => visit_u64: u64;
        deserialize_u128 => visit_u128: u128;
        deserialize_f32 => visit_f32: f32;
        deserialize_f64 => visit_f64: f64;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.text {
            None | Some("") => visitor.visit_none(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        if let Some(variant) = variants.first().filter(|_| self.is_made_up) {
            return visitor.visit_enum(IntoDeserializer::<E>::into_deserializer(*variant));
        }
        self.read::<V>(|text| text.deserialize_enum(name, variants, visitor))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    enum Kind {
        Server,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Host {
        name: String,
        kind: Kind,
        weight: f64,
        up: bool,
        rack: Option<u16>,
    }

    #[track_caller]
    fn check(fields: &[(&str, Option<&str>)], expected: Result<Host, &str>) {
        let fields: Vec<_> =
            fields.iter().map(|(name, text)| (Arc::from(*name), text.map(str::to_owned))).collect();
        assert_eq!(decode::<Host>(&fields), expected.map_err(str::to_owned));
    }

    #[test]
    fn texts_become_what_is_asked_for() {
        let mut fields = [
            ("name", Some("a")),
            ("kind", Some("Server")),
            ("weight", Some("1.5")),
            ("up", Some("1")),
            ("rack", Some("7")),
            ("more", Some("is left out")),
        ];
        let host = |rack| Host { name: "a".to_owned(), kind: Kind::Server, weight: 1.5, up: true, rack };
        check(&fields, Ok(host(Some(7))));
        for none in [None, Some("")] {
            fields[4].1 = none;
            check(&fields, Ok(host(None)));
        }
        fields[3].1 = Some("true");
        check(&fields, Ok(host(None)));
        fields[2].1 = Some("heavy");
        check(&fields, Err("column `weight`: `heavy`: invalid float literal"));
        fields[2].1 = None;
        check(&fields, Err("column `weight`: there is no value"));
        fields[1].1 = Some("Desk");
        check(&fields, Err("column `kind`: unknown variant `Desk`, expected `Server`"));
        check(&fields[..1], Err("missing field `kind`"));
    }

    #[derive(serde::Deserialize)]
    #[expect(dead_code, reason = "only its type counts")]
    struct Address(std::net::IpAddr);

    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its type counts")]
    struct Row {
        #[serde(alias = "host")]
        host_name: String,
        kind: Kind,
        #[serde(default)]
        up: bool,
        rack: Option<u16>,
        load: f64,
        mark: char,
        address: Address,
        last: u8,
    }

    #[track_caller]
    fn lacks<V: DeserializeOwned>(names: &[&str], expected: &[&str]) {
        let fields: Vec<_> = names.iter().map(|name| (Arc::from(*name), Some("0".to_owned()))).collect();
        assert_eq!(missing::<V>(&fields), expected);
    }

    #[test]
    fn fields_that_may_be_absent_are_not_missing() {
        lacks::<Host>(&[], &["name", "kind", "weight", "up"]);
        lacks::<Host>(&["name", "weight", "up", "more"], &["kind"]);
        // What a column is called is the type's business.
        lacks::<Row>(&["host"], &["kind", "load", "mark", "address"]);
        lacks::<Row>(&["hostName", "load", "mark"], &["kind", "address"]);
        lacks::<Row>(&["host", "hostName"], &[]);
        // A value that is none tells nothing of the columns behind it.
        lacks::<Row>(&["host", "kind"], &[]);
        lacks::<u64>(&["a"], &[]);
        lacks::<std::collections::BTreeMap<String, String>>(&["a"], &[]);
    }
}
