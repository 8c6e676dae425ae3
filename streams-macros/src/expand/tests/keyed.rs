//! Snapshots of operators that keep or find something per key and are called as they are written.

use expect_test::expect;

use super::check;

#[test]
fn distinct_within() {
    check(
        "flows.key_by(|f| f.h).distinct_within(secs(n))",
        expect![[r#"
            let __s1 = flows.key_by(|f| f.h);
            let (__e0, __x0, __s1) = __p::cut(__s1);
            let __s2 = {
                let n = ::core::clone::Clone::clone(&n);
                __s1.distinct_within(secs(n)).named("distinct_within")
            };
            let mut __m = __plan.machine();
            let __n1 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s2));
            let __n0 = __e0.connect(__m.border(__x0, __n1, __p::level));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn lookup() {
    check(
        "flows.lookup(hosts, |f| f.h, |h| h.name.clone(), |f, h| (f, h.x + n))",
        expect![[r#"
            let __s1 = {
                let n = ::core::clone::Clone::clone(&n);
                flows
                    .lookup(hosts, |f| f.h, |h| h.name.clone(), move |f, h| (f, h.x + n))
                    .named("lookup")
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn a_table_is_asked_for_its_rows() {
    let source = "fn job(a: Stream<A>, t: Table<Row>, u: streams_runtime::prelude::Table<Row>, v: my::Table<Row>) -> Stream<A> { a }";
    let built = super::build_text(source);
    let settings: Vec<&str> =
        built.lines().filter(|line| line.contains("__plan.setting")).map(str::trim).collect();
    expect![[r#"
        let t = __plan.setting("t", __p::table_type::<Row, _>())?;
        let u = __plan.setting("u", __p::table_type::<Row, _>())?;
        let v = __plan.setting("v", __p::setting_type::<my::Table<Row>>())?;"#]]
    .assert_eq(&settings.join("\n"));
}

#[test]
fn left_lookup() {
    check(
        "flows.left_lookup(hosts, key, key_of, row).named(\"owners\")",
        expect![[r#"
            let __s1 = flows.left_lookup(hosts, key, key_of, row).named("owners");
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn through() {
    check(
        "flows.through(part)",
        expect![[r#"
        let __s1 = flows.through(part);
        let mut __m = __plan.machine();
        let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
        __m.source(__q0, __n0).finish(__p::Cx::new())
        }
    "#]],
    );
}
