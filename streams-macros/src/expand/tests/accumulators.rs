//! Snapshots of the accumulators: what is put around their arguments.

use expect_test::{Expect, expect};

use super::build_of;
use crate::symbol;

/// The accumulators of one aggregate, a line each.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(row: &str, expected: Expect) {
    let source = format!("fn job(flows: Stream<Flow>, n: u64) -> Stream<Out> {{ flows.aggregate(({row})) }}");
    let (job, errors) = crate::testing::lowered(&source);
    assert_eq!(errors, "");
    let analysis = crate::analyze::job(&job);
    let root = crate::expand::Root("streams_core");
    let text = build_of(crate::expand::job(&job, &analysis, root, crate::expand::Audience::Everyone));
    let (_, rest) = text.split_once("\"aggregate\",").unwrap();
    let (tuple, _) = rest.split_once("flows,\n").unwrap();
    let lines = tuple.lines().map(|line| line.strip_prefix("        ").unwrap_or(line).trim_end());
    expected.assert_eq(&(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn each_takes_its_example() {
    for accumulator in symbol::ACCUMULATORS {
        let call: syn::ExprCall = syn::parse_str(accumulator.example).unwrap();
        assert_eq!(call.args.len(), accumulator.arguments.len(), "{}", accumulator.example);
        assert!(accumulator.example.starts_with(&format!("{}(", accumulator.name)));
        let twice = symbol::ACCUMULATORS.iter().filter(|other| other.name == accumulator.name).count();
        assert_eq!(twice, 1, "{}", accumulator.name);
    }
    let examples: Vec<&str> = symbol::ACCUMULATORS.iter().map(|accumulator| accumulator.example).collect();
    check(
        &examples.join(", "),
        expect![[r#"
        (
            sum(flows.typer().by_ref(|r| r.bytes)),
            count(),
            min(flows.typer().by_ref(|r| r.bytes)),
            max(flows.typer().by_ref(|r| r.bytes)),
            avg(flows.typer().by_ref(|r| r.bytes)),
            first(flows.typer().by_ref(|r| r.city.clone())),
            last(flows.typer().by_ref(|r| r.city.clone())),
            min_by(
                flows.typer().by_ref(|r| r.ms),
                flows.typer().by_ref(|r| r.path.clone()),
            ),
            max_by(
                flows.typer().by_ref(|r| r.ms),
                flows.typer().by_ref(|r| r.path.clone()),
            ),
            top_k(
                {
                    const __N: usize = __p::checked_limit(3);
                    __N
                },
                flows.typer().by_ref(|r| r.bytes),
            ),
            collect(
                {
                    const __N: usize = __p::checked_limit(100);
                    __N
                },
                flows.typer().by_ref(|r| r.path.clone()),
            ),
            count_distinct(flows.typer().by_ref(|r| r.user.clone())),
            approx_count_distinct(flows.typer().by_ref(|r| r.user.clone())),
            quantile(
                {
                    const __N: f64 = __p::checked_rank(0.99);
                    __N
                },
                flows.typer().by_ref(|r| r.ms),
            ),
            quantiles(
                {
                    const __N: [f64; 2usize] = __p::checked_ranks([0.5, 0.99]);
                    __N
                },
                flows.typer().by_ref(|r| r.ms),
            ),
            reduce(flows.typer().by_ref(|r| r.flags), |a, b| a | b),
            fold(flows.typer().start(0), |acc, r| acc + r.bytes),
            fold_merge(
                flows.typer().start(0),
                |acc, r| acc + r.bytes,
                |acc, behind| acc + behind,
            ),
            acc(MyAccumulator, flows.typer().by_ref(|r| r.bytes)),
        ),
    "#]],
    );
}

#[test]
fn arguments_that_mention_settings() {
    check(
        "top_k(n, |f| f.bytes % n), collect(n as usize, |f| f.at)",
        expect![[r#"
        (
            top_k(
                __plan
                    .limit({
                        let n = ::core::clone::Clone::clone(&n);
                        n
                    })?,
                flows
                    .typer()
                    .by_ref({
                        let n = ::core::clone::Clone::clone(&n);
                        move |f| f.bytes % n
                    }),
            ),
            collect(
                __plan
                    .limit({
                        let n = ::core::clone::Clone::clone(&n);
                        n as usize
                    })?,
                flows.typer().by_ref(|f| f.at),
            ),
        ),
    "#]],
    );
    check(
        "fold(n, |all, f| all + f.bytes / n), min_by(|f| f.at % n, |f| f.bytes * n)",
        expect![[r#"
        (
            fold(
                flows
                    .typer()
                    .start({
                        let n = ::core::clone::Clone::clone(&n);
                        n
                    }),
                {
                    let n = ::core::clone::Clone::clone(&n);
                    move |all, f| all + f.bytes / n
                },
            ),
            min_by(
                flows
                    .typer()
                    .by_ref({
                        let n = ::core::clone::Clone::clone(&n);
                        move |f| f.at % n
                    }),
                flows
                    .typer()
                    .by_ref({
                        let n = ::core::clone::Clone::clone(&n);
                        move |f| f.bytes * n
                    }),
            ),
        ),
    "#]],
    );
    check(
        "acc(Limited(n), |f| f.bytes), reduce(|f| f.bytes, |a, b| a.max(b).min(n))",
        expect![[r#"
        (
            acc(
                {
                    let n = ::core::clone::Clone::clone(&n);
                    Limited(n)
                },
                flows.typer().by_ref(|f| f.bytes),
            ),
            reduce(
                flows.typer().by_ref(|f| f.bytes),
                {
                    let n = ::core::clone::Clone::clone(&n);
                    move |a, b| a.max(b).min(n)
                },
            ),
        ),
    "#]],
    );
}

#[test]
fn numbers_are_constants_where_they_can_be() {
    check(
        "top_k(2 * SIZE, |f| f.bytes), top_k(size(), |f| f.bytes)",
        expect![[r#"
        (
            top_k(
                {
                    const __N: usize = __p::checked_limit(2 * SIZE);
                    __N
                },
                flows.typer().by_ref(|f| f.bytes),
            ),
            top_k(__plan.limit(size())?, flows.typer().by_ref(|f| f.bytes)),
        ),
    "#]],
    );
    check(
        "quantile(P99, |f| f.ms), quantiles([0.5, P99], |f| f.ms), quantiles(ALL, |f| f.ms)",
        expect![[r#"
            (
                quantile(
                    {
                        const __N: f64 = __p::checked_rank(P99);
                        __N
                    },
                    flows.typer().by_ref(|f| f.ms),
                ),
                quantiles(
                    {
                        const __N: [f64; 2usize] = __p::checked_ranks([0.5, P99]);
                        __N
                    },
                    flows.typer().by_ref(|f| f.ms),
                ),
                quantiles(__plan.rank(ALL)?, flows.typer().by_ref(|f| f.ms)),
            ),
        "#]],
    );
}

#[test]
fn a_repeated_value_is_one_accumulator() {
    check(
        "vec![sum(|f| f.bytes * n); 3]",
        expect![[r#"
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
    "#]],
    );
}
