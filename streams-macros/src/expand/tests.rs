//! Snapshots of the expansion: each operator here, whole jobs and errors in `tests/`.

mod accumulators;
mod errors;
mod jobs;
mod joins;
mod keyed;
mod times;
mod windows;

use expect_test::{Expect, expect};
use proc_macro2::TokenStream;

use crate::ops;

/// The statements of `build`, formatted.
fn build_text(source: &str) -> String {
    build_of(crate::stream_job::expand(&TokenStream::new(), source.parse().unwrap(), "streams_core"))
}

fn build_of(expansion: TokenStream) -> String {
    let file: syn::File = syn::parse2(expansion).unwrap();
    let mut finder = Finder(None);
    syn::visit::Visit::visit_file(&mut finder, &file);
    let build = finder.0.expect("every expansion has a `build`");
    let file = syn::File { shebang: None, attrs: Vec::new(), items: vec![syn::Item::Fn(build)] };
    prettyplease::unparse(&file)
}

/// Takes `build` out of its implementation; the first one is the job's own.
struct Finder(Option<syn::ItemFn>);

impl<'ast> syn::visit::Visit<'ast> for Finder {
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.0.get_or_insert_with(|| syn::ItemFn {
            attrs: Vec::new(),
            vis: syn::Visibility::Inherited,
            sig: item.sig.clone(),
            block: Box::new(item.block.clone()),
        });
    }
}

/// The forward half between the port and the output, for a job with these statements.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(body: &str, expected: Expect) {
    let source = format!("fn job(flows: Stream<Flow>, n: u64) -> Stream<Out> {{ {body} }}");
    // Whether operators fit each other is the business of the checks; here each stands alone.
    let (job, errors) = crate::testing::lowered(&source);
    assert_eq!(errors, "");
    let analysis = crate::analyze::job(&job);
    let text = build_of(super::job(&job, &analysis, super::Root("streams_core"), super::Audience::Everyone));
    let lines = text.lines().skip_while(|line| !line.contains("__q0")).skip(1);
    let lines = lines
        .take_while(|line| !line.contains("to_port"))
        .map(|line| line.strip_prefix("    ").unwrap_or(line));
    expected.assert_eq(&(lines.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn every_row_has_a_snapshot() {
    let tests = [
        include_str!("tests.rs"),
        include_str!("tests/joins.rs"),
        include_str!("tests/keyed.rs"),
        include_str!("tests/times.rs"),
    ];
    for op in ops::OPS {
        assert!(
            tests.iter().any(|text| text.contains(&format!("\nfn {}() {{\n", op.name))),
            "no test for `{}`",
            op.name
        );
    }
}

#[test]
fn event_time() {
    check(
        "flows.event_time(|f| f.at, out_of_order(secs(5)))",
        expect![[r#"
            let __s1 = flows.event_time(|f| f.at, out_of_order(secs(5))).named("event_time");
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn filter() {
    check(
        "flows.filter(|f| f.ok)",
        expect![[r#"
            let __s1 = flows.filter(|f| f.ok);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn map() {
    check(
        "flows.map(|f| f.bytes)",
        expect![[r#"
            let __s1 = flows.map(|f| f.bytes);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn filter_map() {
    check(
        "flows.filter_map(Flow::checked)",
        expect![[r#"
            let __s1 = flows.filter_map(Flow::checked);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn flat_map() {
    check(
        "flows.flat_map::<Vec<u64>, _>(|f| f.parts)",
        expect![[r#"
            let __s1 = flows.flat_map::<Vec<u64>, _>(|f| f.parts);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn try_map() {
    check(
        "flows.try_map(|f| f.parse())",
        expect![[r#"
            let __s1 = flows.try_map(|f| f.parse()).named("try_map");
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn inspect() {
    check(
        "flows.inspect(|f| println!(\"{f:?}\"))",
        expect![[r#"
            let __s1 = flows.inspect(|f| println!("{f:?}"));
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn key_by() {
    check(
        "flows.key_by(|f| f.host.clone())",
        expect![[r#"
            let __s1 = flows.key_by(|f| f.host.clone());
            let (__e0, __x0, __s1) = __p::cut(__s1);
            let mut __m = __plan.machine();
            let __n1 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            let __n0 = __e0.connect(__m.border(__x0, __n1, __p::level));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn window() {
    check(
        "flows.window(tumbling(secs(10)))",
        expect![[r#"
            const __SPEC1: __p::Tumbling = __p::checked_tumbling(tumbling(secs(10)));
            let __s1 = flows.window(__SPEC1);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn running() {
    check(
        "flows.running(ttl(mins(10)))",
        expect![[r#"
            let __s1 = flows.running(ttl(mins(10)));
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn aggregate() {
    check(
        "flows.aggregate((key(), count()))",
        expect![[r#"
            let __s1 = __p::aggregate(
                "aggregate",
                (count(),),
                flows,
                |__k, __w, (__a0,)| (__p::cloned(__k), __a0),
            );
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.aggregate(Out { host: key().0, end: window_end(), mean: sum(|f| f.bytes) / count() })",
        expect![[r#"
            let __s1 = __p::aggregate(
                "aggregate",
                (sum(flows.typer().by_ref(|f| f.bytes)), count()),
                flows,
                |__k, __w, (__a0, __a1)| Out {
                    host: __p::cloned(__k).0,
                    end: __w.end,
                    mean: __a0 / __a1,
                },
            );
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.aggregate(acc(Distinct::new(16), |f| f.host.clone()))",
        expect![[r#"
            let __s1 = __p::aggregate(
                "aggregate",
                (acc(Distinct::new(16), flows.typer().by_ref(|f| f.host.clone())),),
                flows,
                |__k, __w, (__a0,)| __a0,
            );
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.aggregate(key())",
        expect![[r#"
            let __s1 = __p::aggregate("aggregate", (), flows, |__k, __w, ()| __p::cloned(__k));
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "flows.aggregate((sum(|f| f.bytes * n), std::cmp::max(n, 1), format!(\"{}\", key())))",
        expect![[r#"
            let __s1 = {
                let n = ::core::clone::Clone::clone(&n);
                __p::aggregate(
                    "aggregate",
                    (
                        sum(
                            flows
                                .typer()
                                .by_ref({
                                    let n = ::core::clone::Clone::clone(&n);
                                    move |f| f.bytes * n
                                }),
                        ),
                    ),
                    flows,
                    move |__k, __w, (__a0,)| (
                        __a0,
                        std::cmp::max(n, 1),
                        format!("{}", __p::cloned(__k)),
                    ),
                )
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn late() {
    check(
        "let rows = flows.key_by(|f| f.h).window(w()).aggregate(count()); rows.late().map(Out::late).union(rows)",
        expect![[r#"
            let __s1 = flows.key_by(|f| f.h);
            let (__e0, __x0, __s1) = __p::cut(__s1);
            let __s2 = __s1.window(__plan.window(w())?);
            let (__e1, __s3, __s4) = __p::aggregate_late(
                "rows",
                (count(),),
                __s2,
                |__k, __w, (__a0,)| __a0,
            );
            let __s5 = __s4.map(Out::late);
            let (__e2, __e3, __s6) = __p::union((__s5, __s3));
            let mut __m = __plan.machine();
            let __n4 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s6));
            let __u1 = __p::Merge::new("union", 2, __n4);
            let __n3 = __e3.connect(__p::Shared(1));
            let __n2 = __e2.connect(__p::Shared(0));
            let __n1 = __e1.connect_late(__n2, __n3);
            let __n0 = __e0.connect(__m.border(__x0, __n1, __p::level));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
            }
        "#]],
    );
}

#[test]
fn union() {
    check(
        "flows.union(flows.filter(|f| f.ok)).named(\"both\")",
        expect![[r#"
            let (__e0, __t0) = __p::tee(flows);
            let __s1 = __p::fork(&__t0).filter(|f| f.ok);
            let (__e1, __e2, __s2) = __p::union((__p::fork(&__t0), __s1));
            let mut __m = __plan.machine();
            let __n3 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s2));
            let __u1 = __p::Merge::new("both", 2, __n3);
            let __n2 = __e2.connect(__p::Shared(1));
            let __n1 = __e1.connect(__p::Shared(0));
            let __n0 = __e0.connect(__p::Tee::new(__n2, __n1));
            __m.source(__q0, __n0).finish((__u1, __p::Cx::new()))
            }
        "#]],
    );
}

#[test]
fn named() {
    check(
        "flows.try_map(|f| f.parse()).named(\"parsed\")",
        expect![[r#"
            let __s1 = flows.try_map(|f| f.parse()).named("parsed");
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn captures_are_cloned_and_moved() {
    check(
        "flows.filter(|f| f.bytes > n).map(|n| n)",
        expect![[r#"
            let __s1 = {
                let n = ::core::clone::Clone::clone(&n);
                flows.filter(move |f| f.bytes > n)
            };
            let __s2 = __s1.map(|n| n);
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s2));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "let (a, b) = (n + 1, n + 2); flows.map(move |f| f.bytes * a + b)",
        expect![[r#"
            let (a, b) = (n + 1, n + 2);
            let __s1 = {
                let a = ::core::clone::Clone::clone(&a);
                let b = ::core::clone::Clone::clone(&b);
                flows.map(move |f| f.bytes * a + b)
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
    check(
        "let factor = 2; flows.map(scaled(|f| f.bytes * factor))",
        expect![[r#"
            let factor = 2;
            let __s1 = {
                let factor = ::core::clone::Clone::clone(&factor);
                flows.map(scaled(move |f| f.bytes * factor))
            };
            let mut __m = __plan.machine();
            let __n0 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s1));
            __m.source(__q0, __n0).finish(__p::Cx::new())
            }
        "#]],
    );
}

#[test]
fn a_stream_with_three_uses() {
    check(
        "let a = flows.map(|f| f); let b = a.union(a.filter(|f| f.ok)).named(\"b\"); b.union(a.aggregate(count()))",
        expect![[r#"
            let __s1 = flows.map(|f| f);
            let (__e0, __t1) = __p::tee(__s1);
            let __s2 = __p::fork(&__t1).filter(|f| f.ok);
            let (__e1, __e2, __s3) = __p::union((__p::fork(&__t1), __s2));
            let __s = __p::fork(&__t1);
            let __s4 = __p::aggregate("aggregate", (count(),), __s, |__k, __w, (__a0,)| __a0);
            let (__e3, __e4, __s5) = __p::union((__s3, __s4));
            let mut __m = __plan.machine();
            let __n5 = __m.sink(__p::outlet::<Stream<Out>>("job", 0), __p::written(__s5));
            let __u1 = __p::Merge::new("union_2", 2, __n5);
            let __n4 = __e4.connect(__p::Up(__p::Shared(1)));
            let __n3 = __e3.connect(__p::Shared(0));
            let __u2 = __p::Merge::new("b", 2, __n3);
            let __n2 = __e2.connect(__p::Shared(1));
            let __n1 = __e1.connect(__p::Shared(0));
            let __n0 = __e0.connect(__p::Tee::new(__n2, __p::Tee::new(__n1, __n4)));
            __m.source(__q0, __n0).finish((__u2, (__u1, __p::Cx::new())))
            }
        "#]],
    );
}
