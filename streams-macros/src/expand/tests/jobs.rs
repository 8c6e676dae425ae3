//! Snapshots of whole jobs and the limits of their size.

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;

use super::build_text;
use crate::testing::{DAG, TRAFFIC};

pub(super) fn whole_text(source: &str) -> String {
    let expansion =
        crate::stream_job::expand(&TokenStream::new(), source.parse().unwrap(), "streams_runtime");
    prettyplease::unparse(&syn::parse2(expansion).unwrap())
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&whole_text(source));
}

/// A reader looks at an expansion to see what a job costs; it must fit on a page.
#[test]
fn builders_stay_short() {
    assert!(build_text(TRAFFIC).lines().count() < 40);
    assert!(build_text(DAG).lines().count() < 80);
}

#[test]
fn traffic() {
    check(
        TRAFFIC,
        expect![[r#"
            /// Outgoing traffic per host, every ten seconds; records may be five seconds out of order.
            #[allow(non_camel_case_types, missing_debug_implementations)]
            pub struct traffic;
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(any(rust_analyzer, not(rust_analyzer)))]
                impl __p::Job for traffic {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        mut __plan: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        let (__q0, flows) = __plan.source::<Stream<Flow>, _>("flows");
                        let __s1 = flows
                            .event_time(|f| f.at, out_of_order(secs(5)))
                            .named("event_time");
                        let __s2 = __s1.filter(|f| f.out_flow > 0);
                        let __s3 = __s2.key_by(|f| f.host.clone());
                        let (__e0, __x0, __s3) = __p::cut(__s3);
                        const __SPEC4: __p::Tumbling = __p::checked_tumbling(tumbling(secs(10)));
                        let __s4 = __s3.window(__SPEC4);
                        let __s5 = __p::aggregate(
                            "aggregate",
                            (sum(__s4.typer().by_ref(|f| f.out_flow)), count()),
                            __s4,
                            |__k, __w, (__a0, __a1)| Total {
                                host: __p::cloned(__k),
                                from: __w.start,
                                total: __a0,
                                count: __a1,
                            },
                        );
                        let mut __m = __plan.machine();
                        let __n1 = __m
                            .sink(__p::outlet::<Stream<Total>>("traffic", 0), __p::written(__s5));
                        let __n0 = __e0.connect(__m.combining(__x0, __n1, __p::level));
                        __m.source(__q0, __n0).finish(__p::Cx::new())
                    }
                    const ABOUT: __p::About = __p::about("traffic", 0xf877b05e967538da);
                    const DOC: &'static str = "Outgoing traffic per host, every ten seconds; records may be five seconds out of order.";
                    const NODES: &'static [__p::Node] = &[
                        __p::Node::new("source", "flows", &[], "Flow", 3),
                        __p::Node::new(
                            "event_time",
                            "event_time",
                            &[0],
                            "|f| f.at, out_of_order(secs(5))",
                            5,
                        ),
                        __p::Node::new("filter", "", &[1], "|f| f.out_flow > 0", 6),
                        __p::Node::new("key_by", "", &[2], "|f| f.host.clone()", 7),
                        __p::Node::new("window", "", &[3], "tumbling(secs(10))", 8),
                        __p::Node::new(
                            "aggregate",
                            "aggregate",
                            &[4],
                            "Total { host: key(), from: window_start(), total: sum(|f| f.…",
                            9,
                        ),
                        __p::Node::new("sink", "traffic", &[5], "Total", 3),
                    ];
                }
            };
            /**# The graph

            ```text
              0  source flows  Flow
              1  event_time    |f| f.at, out_of_order(secs(5))
              2  filter        |f| f.out_flow > 0
              3  key_by        |f| f.host.clone()
              4  window        tumbling(secs(10))
              5  aggregate     Total { host: key(), from: window_start(), total: sum(|f| f.…
              6  sink traffic
            ```*/
            impl traffic {}
        "#]],
    );
}

#[test]
fn dag() {
    check(
        DAG,
        expect![[r#"
            /// Totals of large and failed flows.
            #[allow(non_camel_case_types, missing_debug_implementations)]
            struct dag;
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(any(rust_analyzer, not(rust_analyzer)))]
                impl __p::Job for dag {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        mut __plan: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        let slack = __plan.setting("slack", __p::setting_type::<Duration>())?;
                        let (__q0, flows) = __plan.source::<Stream<Flow>, _>("flows");
                        let __s1 = {
                            let slack = ::core::clone::Clone::clone(&slack);
                            flows.event_time(|f| f.at, out_of_order(slack)).named("timed")
                        };
                        let (__e0, __t1) = __p::tee(__s1);
                        let __s2 = __p::fork(&__t1).filter(|f| f.out_flow > 100);
                        let __s3 = __s2.map(|f| f.normalized());
                        let __s4 = __p::fork(&__t1).filter(|f| f.is_failed);
                        let (__e1, __e2, __s5) = __p::union((__s3, __s4));
                        let __s6 = __s5.key_by(|f| f.host.clone());
                        let (__e3, __x3, __s6) = __p::cut(__s6);
                        const __SPEC7: __p::Tumbling = __p::checked_tumbling(tumbling(mins(1)));
                        let __s7 = __s6.window(__SPEC7);
                        let (__e4, __s8, __s9) = __p::aggregate_late(
                            "totals",
                            (sum(__s7.typer().by_ref(|f| f.out_flow)), count()),
                            __s7,
                            |__k, __w, (__a0, __a1)| Total {
                                host: __p::cloned(__k),
                                from: __w.start,
                                total: __a0,
                                count: __a1,
                            },
                        );
                        let mut __m = __plan.machine();
                        let __n6 = __m
                            .sink(__p::outlet::<Stream<Flow>>("late", 1), __p::written(__s9));
                        let __n5 = __m
                            .sink(__p::outlet::<Stream<Total>>("totals", 0), __p::written(__s8));
                        let __n4 = __e4.connect_late(__n6, __n5);
                        let __n3 = __e3.connect(__m.border(__x3, __n4, __p::Up));
                        let __u1 = __p::Merge::new("union", 2, __n3);
                        let __n2 = __e2.connect(__p::Shared(1));
                        let __n1 = __e1.connect(__p::Shared(0));
                        let __n0 = __e0.connect(__p::Tee::new(__n1, __n2));
                        __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
                    }
                    const ABOUT: __p::About = __p::about("dag", 0x5f583b1429a69e80);
                    const DOC: &'static str = "Totals of large and failed flows.";
                    const SETTINGS: &'static [__p::SettingSpec] = &[
                        __p::SettingSpec::new(
                            "slack",
                            ::core::option::Option::Some("60s"),
                            "How late a flow may be.",
                            __p::setting_type::<Duration>(),
                        ),
                    ];
                    const NODES: &'static [__p::Node] = &[
                        __p::Node::new("source", "flows", &[], "Flow", 4),
                        __p::Node::new(
                            "event_time",
                            "timed",
                            &[0],
                            "|f| f.at, out_of_order(slack)",
                            8,
                        ),
                        __p::Node::new("filter", "", &[1], "|f| f.out_flow > 100", 9),
                        __p::Node::new("map", "", &[2], "|f| f.normalized()", 9),
                        __p::Node::new("filter", "", &[1], "|f| f.is_failed", 10),
                        __p::Node::new("union", "union", &[3, 4], "failed", 12),
                        __p::Node::new("key_by", "", &[5], "|f| f.host.clone()", 13),
                        __p::Node::new("window", "", &[6], "tumbling(mins(1))", 14),
                        __p::Node::new(
                            "aggregate",
                            "totals",
                            &[7],
                            "Total { host: key(), from: window_start(), total: sum(|f| f.…",
                            15,
                        ),
                        __p::Node::new("late", "", &[8], "", 16),
                        __p::Node::new("sink", "totals", &[8], "Total", 17),
                        __p::Node::new("sink", "late", &[9], "Flow", 17),
                    ];
                }
            };
            /**# The graph

            ```text
              0  source flows      Flow
              1  event_time timed  |f| f.at, out_of_order(slack)
              2  filter            |f| f.out_flow > 100
              3  map               |f| f.normalized()
              4  filter            |f| f.is_failed  <- 1
              5  union             failed  <- 3, 4
              6  key_by            |f| f.host.clone()
              7  window            tumbling(mins(1))
              8  aggregate totals  Total { host: key(), from: window_start(), total: sum(|f| f.…
              9  late
             10  sink totals         <- 8
             11  sink late           <- 9
            ```*/
            impl dag {}
        "#]],
    );
}

#[test]
fn borders_inside_unions_are_lifted() {
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let (__q0, a) = __plan.source::<Stream<A>, _>("a");
            let (__q1, b) = __plan.source::<Stream<A>, _>("b");
            let (__q2, c) = __plan.source::<Stream<A>, _>("c");
            let (__e0, __e1, __s3) = __p::union((a, b));
            let __s4 = __s3.key_by(|f| f.h);
            let (__e2, __x2, __s4) = __p::cut(__s4);
            let __s5 = c.key_by(|f| f.h);
            let (__e3, __x3, __s5) = __p::cut(__s5);
            let (__e4, __e5, __s6) = __p::union((__s4, __s5));
            let __s7 = __s6.key_by(|f| f.g);
            let (__e6, __x6, __s7) = __p::cut(__s7);
            let mut __m = __plan.machine();
            let __n7 = __m.sink(__p::outlet::<Stream<A>>("job", 0), __p::written(__s7));
            let __n6 = __e6.connect(__m.border(__x6, __n7, |__n| __p::Up(__p::Up(__n))));
            let __u1 = __p::Merge::new("union_2", 2, __n6);
            let __n5 = __e5.connect(__p::Up(__p::Shared(1)));
            let __n4 = __e4.connect(__p::Shared(0));
            let __n3 = __e3.connect(__m.border(__x3, __n5, __p::level));
            __m.source(__q2, __n3);
            let __n2 = __e2.connect(__m.border(__x2, __n4, __p::Up));
            let __u2 = __p::Merge::new("union", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u2, (__u1, __p::Cx::new())))
        }
    "#]]
    .assert_eq(&build_text(
        "fn job(a: Stream<A>, b: Stream<A>, c: Stream<A>) -> Stream<A> {
            let ab = a.union(b).key_by(|f| f.h);
            ab.union(c.key_by(|f| f.h)).key_by(|f| f.g)
        }",
    ));
}

#[test]
fn attributes_and_items_are_kept() {
    check(
        "#[cfg(unix)] #[allow(clippy::all)] pub(crate) fn job(flows: Stream<A>) -> Stream<A> { const N: u64 = 3; flows.filter(|f| f.n > N) }",
        expect![[r##"
            #[cfg(unix)]
            #[allow(clippy::all)]
            #[allow(non_camel_case_types, missing_debug_implementations)]
            pub(crate) struct job;
            #[cfg(unix)]
            #[allow(clippy::all)]
            #[allow(unexpected_cfgs)]
            const _: () = {
                use ::streams_runtime::__private as __p;
                #[cfg(any(rust_analyzer, not(rust_analyzer)))]
                impl __p::Job for job {
                    fn build<__L: __p::Layout, __P: __p::Ports>(
                        mut __plan: __p::Plan<__L, __P>,
                    ) -> __p::Built {
                        let (__q0, flows) = __plan.source::<Stream<A>, _>("flows");
                        const N: u64 = 3;
                        let __s1 = flows.filter(|f| f.n > N);
                        let mut __m = __plan.machine();
                        let __n0 = __m.sink(__p::outlet::<Stream<A>>("job", 0), __p::written(__s1));
                        __m.source(__q0, __n0).finish(__p::Cx::new())
                    }
                    const ABOUT: __p::About = __p::about("job", 0x698b5ec4464e175c);
                    const NODES: &'static [__p::Node] = &[
                        __p::Node::new("source", "flows", &[], "A", 1),
                        __p::Node::new("filter", "", &[0], "|f| f.n > N", 1),
                        __p::Node::new("sink", "job", &[1], "A", 1),
                    ];
                }
            };
            #[cfg(unix)]
            #[allow(clippy::all)]
            /**# The graph

            ```text
              0  source flows  A
              1  filter        |f| f.n > N
              2  sink job
            ```*/
            impl job {}
        "##]],
    );
}

#[test]
fn raw_identifiers() {
    let text = build_text("fn r#move(r#in: Stream<A>) -> Stream<A> { r#in.union(r#in) }");
    assert!(text.contains("source::<Stream<A>, _>(\"in\")"), "{text}");
    assert!(text.contains("__p::tee(r#in)"), "{text}");
    assert!(text.contains("(\"move\", 0)"), "{text}");
}

#[test]
fn a_long_row_is_cut_behind_32_operators() {
    let text = build_text(&format!(
        "fn job(flows: Stream<Flow>) -> Stream<Flow> {{ flows{}.map(|f| f).inspect(|f| see(f)) }}",
        ".filter(|f| f.ok)".repeat(32)
    ));
    // The row itself is not of interest.
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains(".filter(")).collect();
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let (__q0, flows) = __plan.source::<Stream<Flow>, _>("flows");
            let (__e0, __s32) = __p::pause(__s32);
            let __s33 = __s32.map(|f| f);
            let __s34 = __s33.inspect(|f| see(f));
            let mut __m = __plan.machine();
            let __n1 = __m.sink(__p::outlet::<Stream<Flow>>("job", 0), __p::written(__s34));
            let __n0 = __e0.connect(__p::Boxed::new(__n1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
        }
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}
