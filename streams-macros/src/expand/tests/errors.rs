//! Snapshots of what is emitted beside errors.

use expect_test::{Expect, expect};

use super::build_text;
use super::jobs::whole_text;
use crate::testing::with_body;

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&whole_text(source));
}

#[test]
fn errors_come_last_and_editors_get_the_chain() {
    check(
        &with_body("flows.filtr(|f| f.ok)"),
        expect![[r##"
            #[allow(non_camel_case_types, missing_debug_implementations)]
            struct job;
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(any(rust_analyzer, all(rust_analyzer)))]
                impl __p::Job for job {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        mut __plan: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        let (__q0, flows) = __plan.source::<Stream<Flow>, _>("flows");
                        let __s1 = flows.filtr(|f| f.ok);
                        ::core::unreachable!()
                    }
                    const ABOUT: __p::About = __p::about("job", 0x19e31707f6fd4930);
                    const NODES: &'static [__p::Node] = &[
                        __p::Node::new("source", "flows", &[], "Flow", 1),
                        __p::Node::new("unknown", "", &[0], "", 1),
                        __p::Node::new("sink", "job", &[1], "Flow", 1),
                    ];
                }
            };
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(not(rust_analyzer))]
                impl __p::Job for job {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        _: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        ::core::unreachable!()
                    }
                    const ABOUT: __p::About = __p::about("job", 0);
                    const NODES: &'static [__p::Node] = &[];
                }
            };
            const _: ::core::option::Option<fn(Stream<Flow>, Stream<Flow>)> = ::core::option::Option::None;
            ::core::compile_error! {
                "unknown operator `filtr`; did you mean `filter`?"
            }
        "##]],
    );
}

#[test]
fn a_half_written_operator_is_passed_on() {
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let (__q0, flows) = __plan.source::<Stream<Flow>, _>("flows");
            let __s1 = flows.filter(|f| f.ok);
            let __s2 = __s1.ma;
            ::core::unreachable!()
        }
    "#]]
    .assert_eq(&build_text(&with_body("flows.filter(|f| f.ok).ma")));
}

#[test]
fn an_unreadable_function_still_has_a_type() {
    check(
        "pub fn job(flows: Stream<Flow>) -> Stream<Flow>;",
        expect![[r##"
            #[allow(
                non_camel_case_types,
                missing_debug_implementations,
                unreachable_pub,
                missing_docs
            )]
            pub struct job;
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(not(rust_analyzer))]
                impl __p::Job for job {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        _: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        ::core::unreachable!()
                    }
                    const ABOUT: __p::About = __p::about("job", 0);
                    const NODES: &'static [__p::Node] = &[];
                }
            };
            ::core::compile_error! {
                "`#[stream_job]` belongs on a function; write `fn job(input: Stream<..>) -> Stream<..>`"
            }
        "##]],
    );
}
