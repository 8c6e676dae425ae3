//! Snapshots of the ways in which a stream comes by its time.

use expect_test::expect;

use super::check;

#[test]
fn processing_time() {
    check(
        "flows.processing_time().named(\"arrival\").filter(|f| f.ok)",
        expect![[r#"
            let __s1 = flows.processing_time().named("arrival");
            let __s2 = __s1.filter(|f| f.ok);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s2));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn store_time() {
    check(
        "flows.store_time(out_of_order(secs(n)))",
        expect![[r#"
            let __s1 = {
                let n = ::core::clone::Clone::clone(&n);
                flows.store_time(out_of_order(secs(n))).named("store_time")
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}
