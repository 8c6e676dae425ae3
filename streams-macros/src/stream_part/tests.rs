//! What becomes of a part, and what may not stand in one.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    let expansion = super::expand(&TokenStream::new(), source.parse().unwrap(), "streams_core");
    let file = syn::parse2(expansion).unwrap();
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_part_keeps_its_body() {
    check(
        "/// Good ones.\npub fn clean(raw: Stream<Raw>) -> Stream<Flow> { raw.filter(|r| r.ok).map(Flow::of) }",
        expect![[r#"
            /// Good ones.
            pub fn clean<__K, __Tm>(
                raw: Stream<
                    Raw,
                    __K,
                    __Tm,
                    ::streams_core::__private::NoWindow,
                    ::streams_core::__private::Id,
                    ::streams_core::__private::Rec<__K, Raw>,
                >,
            ) -> Stream<
                Flow,
                __K,
                __Tm,
                ::streams_core::__private::NoWindow,
                impl ::streams_core::__private::Operator<
                    ::streams_core::__private::Rec<__K, Raw>,
                    Out = ::streams_core::__private::Rec<__K, Flow>,
                >,
                ::streams_core::__private::Rec<__K, Raw>,
            > {
                raw.filter(|r| r.ok).map(Flow::of)
            }
        "#]],
    );
}

#[test]
fn a_shuffle_cannot_stand_in_a_part() {
    check(
        "fn keyed(raw: Stream<Raw>, n: u64) -> Stream<Raw> { raw.filter(|r| r.n > n).key_by(|r| r.host.clone()) }",
        expect![[r#"
            fn keyed<__K, __Tm>(
                raw: Stream<
                    Raw,
                    __K,
                    __Tm,
                    ::streams_core::__private::NoWindow,
                    ::streams_core::__private::Id,
                    ::streams_core::__private::Rec<__K, Raw>,
                >,
            ) -> Stream<
                Raw,
                __K,
                __Tm,
                ::streams_core::__private::NoWindow,
                impl ::streams_core::__private::Operator<
                    ::streams_core::__private::Rec<__K, Raw>,
                    Out = ::streams_core::__private::Rec<__K, Raw>,
                >,
                ::streams_core::__private::Rec<__K, Raw>,
            > {
                raw.map(|_| -> Raw { ::core::unreachable!() })
            }
            ::core::compile_error! {
                "a part has one input and no settings; make `n` a constant, or write the operator that needs it in the job"
            }
            ::core::compile_error! {
                "`key_by` cannot stand in a part, which looks at one record at a time; write it in the job, before or behind `.through(..)`"
            }
        "#]],
    );
}
