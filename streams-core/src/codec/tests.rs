//! Tests of the format: round trips, what a changed type may still read, and the bytes themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::net::IpAddr;
use std::time::Duration;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

use super::*;

pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    to_vec(value, &mut out).unwrap();
    out
}

#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let mut bytes = vec![9, 9];
    to_vec(value, &mut bytes).unwrap();
    assert_eq!(&from_slice::<T>(&bytes[2..]).unwrap(), value);
    let mut key = Vec::new();
    key_to_vec(value, &mut key).unwrap();
    assert_eq!(key, bytes[3..]);
    assert_eq!(&key_from_slice::<T>(&key).unwrap(), value);
    key.push(0);
    assert!(key_from_slice::<T>(&key).is_err(), "a trailing byte was accepted");
}

#[track_caller]
fn reads<T: DeserializeOwned + PartialEq + Debug>(written: &impl Serialize, want: &T) {
    assert_eq!(&from_slice::<T>(&encode(written)).unwrap(), want);
}

#[track_caller]
fn refuses<T: DeserializeOwned + Debug>(bytes: &[u8], text: &str) {
    let error = from_slice::<T>(bytes).unwrap_err().to_string();
    assert!(error.contains(text), "`{error}` does not say `{text}`");
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Total {
    pub(super) host: String,
    pub(super) from: i64,
    pub(super) total: u64,
    pub(super) mean: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Event {
    Idle,
    Login(String),
    Move(i32, i32),
    Empty(),
    Alert { level: u8, cause: Box<Self> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Nothing();
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NoFields {}
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapped(u32);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u32, String);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Chain(Option<Box<Self>>);

pub(super) fn total() -> Total {
    Total { host: "web-1".to_owned(), from: -60_000, total: 300, mean: Some(1.5) }
}

pub(super) fn events() -> Vec<Event> {
    vec![
        Event::Idle,
        Event::Login("ann".to_owned()),
        Event::Move(-1, 300),
        Event::Empty(),
        Event::Alert { level: 255, cause: Box::new(Event::Login("é".repeat(200))) },
    ]
}

#[test]
fn numbers_round_trip() {
    check(&(u8::MAX, u16::MAX, u32::MAX, u64::MAX, u128::MAX, usize::MAX));
    check(&(i8::MIN, i16::MIN, i32::MIN, i64::MIN, i128::MIN, isize::MIN));
    check(&(i8::MAX, i16::MAX, i32::MAX, i64::MAX, i128::MAX));
    check(&(0_u8, -1_i8, 127_u8, 128_u8, -64_i64, -65_i64));
    check(&(f32::MIN_POSITIVE, f64::MAX, f64::NEG_INFINITY, -0.0_f32));
    check(&(true, false, 'a', 'ß', char::MAX));
}

#[test]
fn everything_else_round_trips() {
    check(&());
    check(&(Unit, Nothing(), NoFields {}, PhantomData::<u8>, [0_u8; 0]));
    check(&(Wrapped(7), Pair(7, "x".to_owned()), [1_u8, 2, 3]));
    check(&(Some(Some(1_u8)), Some(None::<u8>), None::<Option<u8>>));
    check(&("".to_owned(), "grüße\0".to_owned(), "long".repeat(1000)));
    check(&vec![(), (), ()]);
    check(&vec![vec![1_u64, 2], vec![], vec![u64::MAX]]);
    check(&(0..300).map(|n| (n, n.to_string())).collect::<BTreeMap<i32, String>>());
    check(&BTreeSet::from([(1, 'a'), (2, 'b')]));
    check(&Duration::new(5, 999_999_999));
    check(&std::ops::Range { start: 1_u8, end: 4 });
    check(&[Ok(1_u8), Err("no".to_owned())]);
    check(&["10.0.0.1".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]);
    check(&(total(), Total::default()));
    check(&events());
    check(&Chain(Some(Box::new(Chain(Some(Box::new(Chain(None))))))));
}

#[test]
fn bytes_round_trip() {
    #[derive(Debug, PartialEq)]
    struct Bytes(Vec<u8>);
    impl Serialize for Bytes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&self.0)
        }
    }
    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl serde::de::Visitor<'_> for Visitor {
                type Value = Bytes;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("bytes")
                }
                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                    Ok(Bytes(bytes.to_vec()))
                }
            }
            deserializer.deserialize_byte_buf(Visitor)
        }
    }
    check(&Bytes(vec![]));
    check(&Bytes((0..=255).collect()));
}

#[test]
fn text_and_sequences_of_unknown_length() {
    struct Shown(usize);
    impl Serialize for Shown {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{:>1$}", "x", self.0))
        }
    }
    struct Open(u32);
    impl Serialize for Open {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut seq = serializer.serialize_seq(None)?;
            (0..self.0).try_for_each(|n| seq.serialize_element(&n))?;
            seq.end()
        }
    }
    for n in [1, 127, 128, 20_000] {
        reads(&Shown(n), &format!("{:>n$}", "x"));
        reads(&Open(n.try_into().unwrap()), &(0..n.try_into().unwrap()).collect::<Vec<u32>>());
    }
    reads(&Open(0), &Vec::<u32>::new());
}

#[test]
fn fields_may_come_and_go() {
    #[derive(Debug, Serialize)]
    struct Written {
        gone: Vec<String>,
        kept: u32,
        also_gone: Option<Box<Total>>,
        old_name: String,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Read {
        #[serde(alias = "old_name")]
        name: String,
        added: Option<u8>,
        #[serde(default = "seven")]
        defaulted: u64,
        kept: u64,
    }
    fn seven() -> u64 {
        7
    }
    let written = Written {
        gone: vec!["x".repeat(300)],
        kept: 5,
        also_gone: Some(Box::default()),
        old_name: "n".to_owned(),
    };
    reads(&written, &Read { name: "n".to_owned(), added: None, defaulted: 7, kept: 5 });
    refuses::<Total>(&encode(&written), "missing field `host`");
}

#[test]
fn skipped_fields_are_absent() {
    #[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
    struct Sparse {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a: Option<u8>,
        #[serde(skip)]
        b: u8,
        c: u8,
    }
    check(&Sparse { a: None, b: 0, c: 1 });
    check(&Sparse { a: Some(3), b: 0, c: 1 });
    assert_eq!(encode(&Sparse::default()).len(), 8);
}

#[test]
fn variants_may_be_reordered_and_added() {
    #[derive(Debug, PartialEq, Deserialize)]
    enum Later {
        New,
        Alert {
            cause: Box<Self>,
            level: u16,
            note: Option<String>,
        },
        Move(i64, i64),
        #[serde(rename = "Login")]
        LoggedIn(String),
        Idle,
        Empty(),
    }
    let want = vec![
        Later::Idle,
        Later::LoggedIn("ann".to_owned()),
        Later::Move(-1, 300),
        Later::Empty(),
        Later::Alert { level: 255, note: None, cause: Box::new(Later::LoggedIn("é".repeat(200))) },
    ];
    reads(&events(), &want);

    #[derive(Debug, Deserialize)]
    enum Fewer {
        Idle,
    }
    refuses::<Vec<Fewer>>(&encode(&events()), "unknown variant 0x");
}

#[test]
fn names_with_one_hash_are_told_apart_by_order_or_refused() {
    assert_eq!(name_id("costarring"), name_id("liquid"));
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Colliding {
        costarring: u8,
        liquid: u8,
    }
    check(&Colliding { costarring: 1, liquid: 2 });
    #[derive(Serialize)]
    struct Reordered {
        other: u8,
        liquid: u8,
    }
    refuses::<Colliding>(&encode(&Reordered { other: 3, liquid: 1 }), "missing field `liquid`");
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is never built")]
    struct Shifted {
        first: u8,
        costarring: u8,
        liquid: u8,
    }
    refuses::<Shifted>(&encode(&Reordered { other: 3, liquid: 1 }), "`costarring` and `liquid`");
    #[derive(Debug, Serialize, Deserialize)]
    enum Variants {
        #[serde(rename = "liquid")]
        Liquid,
        #[serde(rename = "costarring")]
        Costarring,
    }
    assert_eq!(encode(&Variants::Liquid), encode(&Variants::Costarring));
    refuses::<Variants>(&encode(&Variants::Liquid), "have the same hash");
}

#[test]
fn self_describing_types_are_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        A(u8),
    }
    refuses::<Untagged>(&encode(&Untagged::A(1)), "self-describing");
    refuses::<serde_json::Value>(&encode(&serde_json::json!({"a": 1})), "self-describing");
    refuses::<serde::de::IgnoredAny>(&encode(&1), "self-describing");

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", content = "data")]
    enum Adjacent {
        A,
        B(u8),
    }
    check(&[Adjacent::A, Adjacent::B(4)]);
}

#[test]
fn a_refused_value_leaves_the_output_alone() {
    struct Liar(usize);
    impl Serialize for Liar {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut fields = serializer.serialize_struct("Liar", self.0)?;
            fields.serialize_field("a", &1)?;
            fields.serialize_field("b", &1)?;
            fields.end()
        }
    }
    let mut out = vec![1, 2, 3];
    for announced in [0, 1, 3] {
        let error = to_vec(&Liar(announced), &mut out).unwrap_err().to_string();
        assert!(error.contains("another number of elements"), "{error}");
        key_to_vec(&Liar(announced), &mut out).unwrap_err();
        assert_eq!(out, [1, 2, 3]);
    }
    to_vec(&Liar(2), &mut out).unwrap();
}

#[test]
fn depth_is_limited_alike_on_both_sides() {
    let chain = |levels: u32| (1..levels).fold(Chain(None), |inner, _| Chain(Some(Box::new(inner))));
    // One level for the newtype, one for the option; the innermost has no value inside its option.
    check(&chain(MAX_DEPTH / 2));
    let error = to_vec(&chain(MAX_DEPTH / 2 + 1), &mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "the value nests more than 128 levels deep");

    let login = || Event::Login(String::new());
    let alerts =
        |levels: u32| (1..levels).fold(login(), |inner, _| Event::Alert { level: 0, cause: Box::new(inner) });
    check(&alerts(MAX_DEPTH));
    to_vec(&alerts(MAX_DEPTH + 1), &mut Vec::new()).unwrap_err();

    let mut bytes = vec![VERSION];
    bytes.resize(10_000, 1);
    refuses::<Chain>(&bytes, "more than 128 levels");
}

#[test]
fn versions_are_checked() {
    refuses::<u8>(&[], "the format version");
    refuses::<u8>(&[0, 1], "format version 0 at byte 0");
    refuses::<u8>(&[2, 1], "format version 2; this build reads up to 1");
}

#[test]
fn errors_name_the_place() {
    refuses::<bool>(&[1, 7], "7 instead of a bool at byte 1");
    refuses::<u8>(&[1, 0x80, 2], "256 is no u8, at byte 1");
    refuses::<i8>(&[1, 0x80, 2], "128 is no i8, at byte 1");
    refuses::<char>(&[1, 0x80, 0xb0, 3], "55296 is no char, at byte 1");
    refuses::<String>(&[1, 2, 0xff, 0xff], "a string that is not UTF-8 at byte 1");
    refuses::<String>(&[1, 3, b'a'], "length 3, with 1 bytes left, at byte 1");
    refuses::<(u8, u64)>(&[1, 1, 0x80], "the bytes end at 3, inside a number");
    refuses::<u8>(&[1, 1, 1], "1 bytes too many, behind the value, at byte 2");
    let mut field = encode(&Wide { n: 1 });
    field[6] = 2;
    field.push(0);
    refuses::<Wide>(&field, "1 bytes too many, behind a field, at byte 8");
}

#[derive(Debug, Serialize, Deserialize)]
struct Wide {
    n: u64,
}

/// The bytes that are in people's stores. If this fails, [`VERSION`] must go up and the old format stay readable.
#[test]
fn golden() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let want = concat!(
        "01",
        "04",
        "6fa5feaf",
        "06",
        "057765622d31",
        "7580cd95",
        "03",
        "bfa907",
        "fd92d004",
        "02",
        "ac02",
        "5429de9e",
        "09",
        "01000000000000f83f",
    );
    assert_eq!(hex(&encode(&total())), want);
    assert_eq!(hex(&encode(&Event::Move(-1, 300))), "01342a2c7f01d804");
}
