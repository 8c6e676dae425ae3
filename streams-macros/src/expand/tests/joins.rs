//! Snapshots of the joins: what stands between two keyed streams and the output.

use expect_test::{Expect, expect};

use super::build_text;

/// The statements behind the ports, for a job that joins like this.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(join: &str, expected: Expect) {
    let setting = if join.contains("size") { ", size: Duration" } else { "" };
    let source = format!(
        "fn job(a: Stream<A>, b: Stream<B>{setting}) -> Stream<C> {{
            let a = a.event_time(|r| r.at, out_of_order(secs(1))).key_by(|r| r.id);
            let b = b.event_time(|r| r.at, out_of_order(secs(1))).key_by(|r| r.id);
            a.{join}
        }}"
    );
    let text = build_text(&source);
    let lines = text.lines().skip_while(|line| !line.contains("__q1")).skip(1);
    let lines = lines.filter(|line| !line.contains("event_time") && *line != "}");
    let lines = lines.map(|line| line.strip_prefix("    ").unwrap_or(line));
    expected.assert_eq(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn join() {
    check(
        "join(b, tumbling(secs(10)), |l, r| row(l, r))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            const __SPEC6: __p::Tumbling = __p::checked_tumbling(tumbling(secs(10)));
            let (__e0, __e1, __e2, __x2, __s6) = __p::join(
                "join",
                __s3,
                __s5,
                __SPEC6,
                |l, r| row(l, r),
            );
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("join.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

#[test]
fn left_join() {
    check(
        "left_join(b, hopping(secs(10), secs(5)), |l, r| row(l, r))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            const __SPEC6: __p::Hopping = __p::checked_hopping(hopping(secs(10), secs(5)));
            let (__e0, __e1, __e2, __x2, __s6) = __p::left_join(
                "left_join",
                __s3,
                __s5,
                __SPEC6,
                |l, r| row(l, r),
            );
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("left_join.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

#[test]
fn right_join() {
    check(
        "right_join(b, within(secs(5), secs(0)), |l, r| row(l, r))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            const __SPEC6: __p::Within = __p::checked_within(within(secs(5), secs(0)));
            let (__e0, __e1, __e2, __x2, __s6) = __p::right_join(
                "right_join",
                __s3,
                __s5,
                __SPEC6,
                |l, r| row(l, r),
            );
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("right_join.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

#[test]
fn full_join() {
    check(
        "full_join(b, tumbling(size), |l, r| row(l, r, size))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            let (__e0, __e1, __e2, __x2, __s6) = {
                let size = ::core::clone::Clone::clone(&size);
                __p::full_join(
                    "full_join",
                    __s3,
                    __s5,
                    __plan.join_bound(tumbling(size))?,
                    move |l, r| row(l, r, size),
                )
            };
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("full_join.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

#[test]
fn join_table() {
    check(
        "join_table(b.map(Some), forever(), |l, r| row(l, r))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            let __s6 = __s5.map(Some);
            let (__e0, __e1, __e2, __x2, __s7) = __p::join_table(
                "join_table",
                __s3,
                __p::changes(__s6),
                forever(),
                |l, r| row(l, r),
            );
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s7));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("join_table.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

#[test]
fn left_join_table() {
    check(
        "left_join_table(b, ttl(size), |l, r| row(l, r))",
        expect![[r#"
            let __s3 = __s2.key_by(|r| r.id);
            let __s5 = __s4.key_by(|r| r.id);
            let (__e0, __e1, __e2, __x2, __s6) = {
                let size = ::core::clone::Clone::clone(&size);
                __p::left_join_table(
                    "left_join_table",
                    __s3,
                    __p::changes(__s5),
                    ttl(size),
                    |l, r| row(l, r),
                )
            };
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("left_join_table.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        "#]],
    );
}

/// A stream that is keyed already, or that somebody else reads too, crosses the shuffle of the join again.
#[test]
fn a_side_with_a_shuffle_of_its_own() {
    let source = "fn job(a: Stream<A>, b: Stream<B>) -> (Stream<C>, Stream<A>) {
        let a = a.event_time(|r| r.at, out_of_order(secs(1))).key_by(|r| r.id);
        let sums = b.event_time(|r| r.at, out_of_order(secs(1))).key_by(|r| r.id).running(forever()).aggregate(count());
        let both = a.join(sums, tumbling(secs(1)), |l, r| row(l, r)).named(\"both\");
        (both, a)
    }";
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let (__q0, a) = __plan.source::<Stream<A>, _>("a");
            let (__q1, b) = __plan.source::<Stream<B>, _>("b");
            let __s2 = a.event_time(|r| r.at, out_of_order(secs(1))).named("event_time");
            let __s3 = __s2.key_by(|r| r.id);
            let (__e0, __x0, __s3) = __p::cut(__s3);
            let (__e1, __t3) = __p::tee(__s3);
            let __s4 = b.event_time(|r| r.at, out_of_order(secs(1))).named("event_time_2");
            let __s5 = __s4.key_by(|r| r.id);
            let (__e2, __x2, __s5) = __p::cut(__s5);
            let __s6 = __s5.running(forever());
            let __s7 = __p::aggregate("sums", (count(),), __s6, |__k, __w, (__a0,)| __a0);
            const __SPEC8: __p::Tumbling = __p::checked_tumbling(tumbling(secs(1)));
            let (__e3, __e4, __e5, __x5, __s8) = __p::join(
                "both",
                __p::fork(&__t3),
                __s7,
                __SPEC8,
                |l, r| row(l, r),
            );
            let mut __m = __plan.machine();
            let __n7 = __m
                .sink(__p::outlet::<Stream<A>>("a", 1), __p::written(__p::fork(&__t3)));
            let __n6 = __m.sink(__p::outlet::<Stream<C>>("both", 0), __p::written(__s8));
            let __n5 = __e5.connect(__m.border(__x5, __n6, __p::Up));
            let __u1 = __p::Merge::new("both.sides", 2, __n5);
            let __n4 = __e4.connect(__p::Shared(1));
            let __n3 = __e3.connect(__p::Shared(0));
            let __n2 = __e2.connect(__m.border(__x2, __n4, __p::level));
            __m.source(__q1, __n2);
            let __n1 = __e1.connect(__p::Tee::new(__n3, __n7));
            let __n0 = __e0.connect(__m.border(__x0, __n1, __p::level));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        }
    "#]]
    .assert_eq(&build_text(source));
}

#[test]
fn a_row_that_says_where_it_belongs() {
    let source = "fn job(a: Stream<A>, b: Stream<B>, n: u64) -> Stream<C> {
        let b = b.event_time(|r| r.at, w()).key_by(|r| r.id);
        a.event_time(|r| r.at, w()).key_by(|r| r.id).left_join(b, tumbling(secs(1)), |l, r| {
            Row { at: window_start(), who: format!(\"{}\", key()), n, l, r }
        })
    }";
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let n = __plan.setting("n", __p::setting_type::<u64>())?;
            let (__q0, a) = __plan.source::<Stream<A>, _>("a");
            let (__q1, b) = __plan.source::<Stream<B>, _>("b");
            let __s2 = b.event_time(|r| r.at, w()).named("event_time");
            let __s3 = __s2.key_by(|r| r.id);
            let __s4 = a.event_time(|r| r.at, w()).named("event_time_2");
            let __s5 = __s4.key_by(|r| r.id);
            const __SPEC6: __p::Tumbling = __p::checked_tumbling(tumbling(secs(1)));
            let (__e0, __e1, __e2, __x2, __s6) = {
                let n = ::core::clone::Clone::clone(&n);
                __p::left_join_at(
                    "left_join",
                    __s5,
                    __s3,
                    __SPEC6,
                    move |__k, __w, l, r| {
                        Row {
                            at: __w.start,
                            who: format!("{}", __p::cloned(__k)),
                            n,
                            l,
                            r,
                        }
                    },
                )
            };
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s6));
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u1 = __p::Merge::new("left_join.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
        }
    "#]]
    .assert_eq(&build_text(source));
}

#[test]
fn latecomers_of_a_join() {
    let source = "fn job(a: Stream<A>, b: Stream<B>) -> Stream<C> {
        let b = b.event_time(|r| r.at, w()).key_by(|r| r.id);
        let pairs = a.event_time(|r| r.at, w()).key_by(|r| r.id).join(b, tumbling(secs(1)), row);
        pairs.late().map(C::late).union(pairs)
    }";
    expect![[r#"
        fn build<__L: __p::Layout, __P: __p::Ports>(
            mut __plan: __p::Plan<__L, __P>,
        ) -> __p::Built {
            let (__q0, a) = __plan.source::<Stream<A>, _>("a");
            let (__q1, b) = __plan.source::<Stream<B>, _>("b");
            let __s2 = b.event_time(|r| r.at, w()).named("event_time");
            let __s3 = __s2.key_by(|r| r.id);
            let __s4 = a.event_time(|r| r.at, w()).named("event_time_2");
            let __s5 = __s4.key_by(|r| r.id);
            const __SPEC6: __p::Tumbling = __p::checked_tumbling(tumbling(secs(1)));
            let (__e0, __e1, __e2, __x2, __s6) = __p::join("pairs", __s5, __s3, __SPEC6, row);
            let (__e3, __s6, __s7) = __p::join_late(__s6);
            let __s8 = __s7.map(C::late);
            let (__e4, __e5, __s9) = __p::union((__s8, __s6));
            let mut __m = __plan.machine();
            let __n6 = __m.sink(__p::outlet::<Stream<C>>("job", 0), __p::written(__s9));
            let __u1 = __p::Merge::new("union", 2, __n6);
            let __n5 = __e5.connect(__p::Shared(1));
            let __n4 = __e4.connect(__p::Shared(0));
            let __n3 = __e3.connect_late(__n4, __n5);
            let __n2 = __e2.connect(__m.border(__x2, __n3, __p::Up));
            let __u2 = __p::Merge::new("pairs.sides", 2, __n2);
            let __n1 = __e1.connect(__p::Shared(1));
            __m.source(__q1, __n1);
            let __n0 = __e0.connect(__p::Shared(0));
            __m.source(__q0, __n0).finish((__u2, (__u1, __p::Cx::new())))
        }
    "#]]
    .assert_eq(&build_text(source));
}
