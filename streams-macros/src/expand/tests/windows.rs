//! Snapshots of windows: which are checked as constants, and as what.

use expect_test::expect;

use super::check;

#[test]
fn constant_windows() {
    check(
        "flows.window(tumbling(days(1)).offset_back(hours(8)))",
        expect![[r#"
            const __SPEC1: __p::Tumbling = __p::checked_tumbling(
                tumbling(days(1)).offset_back(hours(8)),
            );
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(hopping(Duration::from_secs(2 * SIZE), config::SLIDE))",
        expect![[r#"
            const __SPEC1: __p::Hopping = __p::checked_hopping(
                hopping(Duration::from_secs(2 * SIZE), config::SLIDE),
            );
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(tumbling(secs(n)))",
        expect![[r#"
            let __s1 = {
                let n = ::core::clone::Clone::clone(&n);
                flows.window(__plan.window(tumbling(secs(n)))?)
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(my_window())",
        expect![[r#"
            let __s1 = flows.window(__plan.window(my_window())?);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(tumbling(secs(10)).early(secs(1)).lateness(secs(30)).discarding())",
        expect![[r#"
            const __SPEC1: __p::Updating<__p::Tumbling> = __p::checked_updating(
                tumbling(secs(10)).early(secs(1)).lateness(secs(30)).discarding(),
            );
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(session(mins(30)))",
        expect![[r#"
            const __SPEC1: __p::Session = __p::checked_session(session(mins(30)));
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(count_window(100, forever()))",
        expect![[r#"
            const __SPEC1: __p::CountWindow<__p::Forever> = __p::checked_count(
                count_window(100, forever()),
            );
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.window(global(ttl(mins(30))).every(10).early(secs(1)))",
        expect![[r#"
            const __SPEC1: __p::Updating<__p::Global<__p::Ttl>> = __p::checked_updating(
                global(ttl(mins(30))).every(10).early(secs(1)),
            );
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}
