//! Snapshots of records and a bad input for every refusal.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;
use quote::ToTokens;

use super::fields::field_id;

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    let expansion = super::expand(&TokenStream::new(), source.parse().unwrap(), "streams_core");
    expected.assert_eq(&prettyplease::unparse(&syn::parse2(expansion).unwrap()));
}

/// The messages alone.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn refused(args: &str, source: &str, expected: Expect) {
    let expansion =
        super::expand(&args.parse().unwrap(), source.parse().unwrap(), "streams_core").to_string();
    let messages = expansion.split("compile_error !").skip(1).filter_map(|rest| rest.split('"').nth(1));
    expected.assert_eq(&messages.collect::<Vec<_>>().join("\n"));
}

#[test]
fn ids_do_not_change() {
    // Stored records carry these numbers.
    assert_eq!(field_id(""), 0x811c_9dc5);
    assert_eq!(field_id("a"), 0xe40c_292c);
    assert_eq!(field_id("foobar"), 0xbf9c_f968);
}

#[test]
fn structs() {
    check(
        "/// A flow.\npub struct Flow { /// Who.\n pub host: String, pub(crate) tags: Vec<(u8, Option<String>)>, r#type: u8 }",
        expect![[r##"
        #[derive(
            ::core::clone::Clone,
            ::streams_core::__private::serde::Serialize,
            ::streams_core::__private::serde::Deserialize
        )]
        /// A flow.
        #[serde(crate = "::streams_core::__private::serde")]
        pub struct Flow {
            /// Who.
            pub host: String,
            pub(crate) tags: Vec<(u8, Option<String>)>,
            r#type: u8,
        }
        impl ::streams_core::__private::Schema for Flow {
            const NAME: &'static str = "Flow";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (2952701295u32, "host", "String"),
                (4095142816u32, "tags", "Vec<(u8, Option<String>)>"),
                (1361572173u32, "type", "u8"),
            ];
        }
    "##]],
    );
    check(
        "struct Id(u64, String);",
        expect![[r##"
        #[derive(
            ::core::clone::Clone,
            ::streams_core::__private::serde::Serialize,
            ::streams_core::__private::serde::Deserialize
        )]
        #[serde(crate = "::streams_core::__private::serde")]
        struct Id(u64, String);
        impl ::streams_core::__private::Schema for Id {
            const NAME: &'static str = "Id";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (890022063u32, "0", "u64"),
                (873244444u32, "1", "String"),
            ];
        }
    "##]],
    );
    check(
        "struct Tick;",
        expect![[r##"
        #[derive(
            ::core::clone::Clone,
            ::streams_core::__private::serde::Serialize,
            ::streams_core::__private::serde::Deserialize
        )]
        #[serde(crate = "::streams_core::__private::serde")]
        struct Tick;
        impl ::streams_core::__private::Schema for Tick {
            const NAME: &'static str = "Tick";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[];
        }
    "##]],
    );
}

#[test]
fn enums() {
    check(
        "enum Event { Start, Stop(u64, String), Move { x: i64, y: i64 } }",
        expect![[r##"
        #[derive(
            ::core::clone::Clone,
            ::streams_core::__private::serde::Serialize,
            ::streams_core::__private::serde::Deserialize
        )]
        #[serde(crate = "::streams_core::__private::serde")]
        enum Event {
            Start,
            Stop(u64, String),
            Move { x: i64, y: i64 },
        }
        impl ::streams_core::__private::Schema for Event {
            const NAME: &'static str = "Event";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (182978943u32, "Start", ""),
                (1266644741u32, "Stop", "(u64, String)"),
                (2133600820u32, "Move", "{ x: i64, y: i64 }"),
            ];
        }
    "##]],
    );
}

#[test]
fn what_is_derived_already_is_not_derived_again() {
    check(
        "#[derive(Debug, Clone, serde::Serialize)] struct A { a: u8 }",
        expect![[r##"
        #[derive(::streams_core::__private::serde::Deserialize)]
        #[derive(Debug, Clone, serde::Serialize)]
        #[serde(crate = "::streams_core::__private::serde")]
        struct A {
            a: u8,
        }
        impl ::streams_core::__private::Schema for A {
            const NAME: &'static str = "A";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (3826002220u32, "a", "u8"),
            ];
        }
    "##]],
    );
    check(
        "#[derive(Serialize, Deserialize)] #[serde(rename_all = \"camelCase\")] struct A { a: u8 }",
        expect![[r##"
        #[derive(::core::clone::Clone)]
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct A {
            a: u8,
        }
        impl ::streams_core::__private::Schema for A {
            const NAME: &'static str = "A";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (3826002220u32, "a", "u8"),
            ];
        }
    "##]],
    );
    check(
        "#[derive(Debug)] #[serde(rename = \"b\", crate = \"my::serde\")] struct A { a: u8 }",
        expect![[r##"
        #[derive(
            ::core::clone::Clone,
            ::streams_core::__private::serde::Serialize,
            ::streams_core::__private::serde::Deserialize
        )]
        #[derive(Debug)]
        #[serde(rename = "b", crate = "my::serde")]
        struct A {
            a: u8,
        }
        impl ::streams_core::__private::Schema for A {
            const NAME: &'static str = "A";
            const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                (3826002220u32, "a", "u8"),
            ];
        }
    "##]],
    );
}

/// The types that are asked about, as in the source.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn asked(source: &str, expected: Expect) {
    let item = syn::parse_str(source).unwrap();
    let types = super::parts::of(&item).into_iter().map(|ty| crate::text::of_type(ty.to_token_stream()));
    expected.assert_eq(&types.collect::<Vec<_>>().join("; "));
}

#[test]
fn types_that_may_be_the_users() {
    asked(
        "struct A { a: u8, b: String, c: Vec<(u8, Option<std::time::Duration>)>, d: [bool; 3] }",
        expect![""],
    );
    asked(
        "struct A(B, my::C, Vec<(B, Option<Box<D>>)>, BTreeMap<E, [F; 2]>, Mine<G>, PhantomData<H>);",
        expect!["B; my::C; D; E; F; Mine<G>; PhantomData<H>"],
    );
    asked("enum A { B(C), D { e: E }, F }", expect!["C; E"]);
    asked("struct A { a: Option<Box<Self>>, #[cfg(b)] b: B, c: C }", expect!["C"]);
    asked("enum A { #[cfg(b)] B(C), #[serde(skip)] D(E), F(Vec<A>) }", expect!["A"]);
    asked("struct A { #[serde(with = \"b\")] b: B, #[serde(skip)] c: C, #[doc = \"d\"] d: D }", expect!["D"]);
    asked(
        "#[serde(rename_all = \"camelCase\", bound(serialize = \"\"), default)] struct A { b: B }",
        expect!["B"],
    );
    asked("#[serde(try_from = \"B\", into = \"B\")] struct A { c: C }", expect![""]);
}

#[test]
fn a_type_of_the_users_is_asked_about_in_front() {
    check(
        "struct A { b: Option<my::B>, c: my::B }",
        expect![[r##"
            #[allow(deprecated)]
            const _: fn() = || {
                ::streams_core::__private::stored::<my::B, _>();
            };
            #[derive(
                ::core::clone::Clone,
                ::streams_core::__private::serde::Serialize,
                ::streams_core::__private::serde::Deserialize
            )]
            #[serde(crate = "::streams_core::__private::serde")]
            struct A {
                b: Option<my::B>,
                c: my::B,
            }
            impl ::streams_core::__private::Schema for A {
                const NAME: &'static str = "A";
                const FIELDS: &'static [(u32, &'static str, &'static str)] = &[
                    (3876335077u32, "b", "Option<my::B>"),
                    (3859557458u32, "c", "my::B"),
                ];
            }
        "##]],
    );
}

#[test]
fn refusals() {
    refused("version = 2", "struct A;", expect!["`#[record]` takes no arguments; remove the parentheses"]);
    refused(
        "",
        "union A { a: u8 }",
        expect!["a union cannot be a record, nobody knows which field holds; write an `enum`"],
    );
    refused("", "fn a() {}", expect!["`#[record]` belongs on a struct or an enum; remove it"]);
    refused(
        "",
        "struct A<T> { a: T }",
        expect![
            "the record `A` cannot be generic, its schema is fixed when it is compiled; write the types out"
        ],
    );
    refused(
        "",
        "struct A<'a> { a: &'a str }",
        expect![
            "the record `A` must own its fields, it outlives what it was read from; write `String` for `&str` and remove the lifetime"
        ],
    );
    refused(
        "",
        "struct A { a: &'static str, b: Option<&'static [u8]> }",
        expect![[r#"
        a record must own its fields, it outlives what it was read from; write `String` for `&str`, `Vec<T>` for `&[T]`
        a record must own its fields, it outlives what it was read from; write `String` for `&str`, `Vec<T>` for `&[T]`"#]],
    );
    refused(
        "",
        "enum A { B(&'static str) }",
        expect![
            "a record must own its fields, it outlives what it was read from; write `String` for `&str`, `Vec<T>` for `&[T]`"
        ],
    );
    refused(
        "",
        "struct A { a: std::collections::HashMap<u8, Vec<HashSet<u8>>>, b: HashMap<u8, u8, Fixed>, c: BTreeMap<u8, u8> }",
        expect![[r#"
            a `HashMap` has another order in each run, so that results differ and a loop over it breaks replay; write `BTreeMap`, which has one order
            a `HashSet` has another order in each run, so that results differ and a loop over it breaks replay; write `BTreeSet`, which has one order"#]],
    );
    refused(
        "",
        "enum A { B(Option<HashSet<u8>>), C { d: HashSet<u8, Fixed> } }",
        expect![
            "a `HashSet` has another order in each run, so that results differ and a loop over it breaks replay; write `BTreeSet`, which has one order"
        ],
    );
    refused("", "struct A { a u8 }", expect!["expected `:`"]);
}

/// Two names with one id were found by search.
#[test]
fn colliding_names() {
    refused(
        "",
        "struct A { costarring: u8, liquid: u8 }",
        expect!["the names `liquid` and `costarring` have the same id in stored records; rename this one"],
    );
}
