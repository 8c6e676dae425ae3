//! What is read here is what the core reads.

use super::{Known, known};

/// The core's own file, which depends on nothing: this crate cannot depend on the core.
#[path = "../../../../streams-core/src/setting.rs"]
#[allow(dead_code, unreachable_pub, reason = "the core uses the rest of it")]
mod setting;

/// Values of some type or other, and texts that are none of any.
const TEXTS: &[&str] = &[
    "",
    " ",
    "0",
    "5",
    "-5",
    "+5",
    " 5",
    "5.0",
    "1e3",
    "255",
    "256",
    "-129",
    "99999999999999999999",
    "ten",
    "1_000",
    "0x10",
    "inf",
    "NaN",
    ".",
    "true",
    "false",
    "True",
    "yes",
    "x",
    "ü",
    "xy",
    "250ms",
    "5s",
    "1.5m",
    "10min",
    "1h30m",
    " 10 s ",
    "1h 30 m",
    "7d",
    "0s",
    "s",
    "-5s",
    "5 sec",
    "10 sekunden",
    "99999999999999d",
    "1..5s",
    "5S",
    "100000000000d 100000000000d",
    "5s,",
    "5s5",
];

macro_rules! compare {
    ($($ty:ty)*) => {$(
        let ty = known(&syn::parse_quote!($ty)).unwrap();
        for text in TEXTS {
            let there = setting::check::<$ty>(text);
            let here = ty.read(text);
            match (&here, &there) {
                (Ok(()), Ok(())) => {}
                (Err(here), Err(there)) if here.starts_with(there.as_str()) => {}
                _ => panic!("`{text}` as {}: {here:?}, and in the core {there:?}", stringify!($ty)),
            }
        }
    )*};
}

#[test]
fn every_text_is_read_as_by_the_core() {
    use std::time::Duration;
    compare!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char);
    compare!(Duration Option<u64> Option<Duration> Option<bool>);
    compare!(String Option<String>);
}

#[test]
fn a_type_of_the_users_is_not_judged() {
    let unknown =
        ["my::Duration", "chrono::Duration", "my::u64", "Vec<u64>", "<A as B>::u64", "Option<my::u64>"];
    for ty in unknown {
        assert!(known(&syn::parse_str(ty).unwrap()).is_none(), "{ty}");
    }
    for ty in ["std::time::Duration", "core::time::Duration"] {
        assert!(known(&syn::parse_str(ty).unwrap()).unwrap().read("5").is_err(), "{ty}");
    }
    let own = known(&syn::parse_quote!(Limit)).unwrap();
    assert_eq!(Known::read(&own, "ten"), Ok(()));
}
