//! The plan of good jobs as text, and a bad input for every name that can fail to resolve.

use std::fmt::Write as _;

use expect_test::{Expect, expect};

use crate::ir::{Call, Job};
use crate::testing::{DAG, TRAFFIC, lowered, with_body};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&lowered(source).1);
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn plan(source: &str, expected: Expect) {
    let (job, errors) = lowered(source);
    assert_eq!(errors, "");
    expected.assert_eq(&text(&job));
}

fn text(job: &Job) -> String {
    let mut out = String::new();
    for (number, node) in job.nodes.iter().enumerate() {
        let captures = match &node.call {
            Call::Args(args) => &args.captures,
            Call::Aggregate(aggregate) => &aggregate.captures,
            _ => &Vec::new(),
        };
        let captures: Vec<_> = captures.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "{number} {} {:?} <- {:?} {:?} captures {captures:?}: {}",
            node.op.name, node.id, node.inputs, node.kind, node.text
        );
    }
    for output in &job.outputs {
        let _ = writeln!(out, "-> {} <- {}", output.name, output.node);
    }
    out
}

#[test]
fn plans() {
    plan(
        TRAFFIC,
        expect![[r#"
            0 source "flows" <- [] Plain captures []: Flow
            1 event_time "event_time" <- [0] Plain captures []: |f| f.at, out_of_order(secs(5))
            2 filter "" <- [1] Plain captures []: |f| f.out_flow > 0
            3 key_by "" <- [2] Keyed captures []: |f| f.host.clone()
            4 window "" <- [3] Windowed captures []: tumbling(secs(10))
            5 aggregate "aggregate" <- [4] Rows captures []: Total { host: key(), from: window_start(), total: sum(|f| f.…
            -> traffic <- 5
        "#]],
    );
    plan(
        DAG,
        expect![[r#"
            0 source "flows" <- [] Plain captures []: Flow
            1 event_time "timed" <- [0] Plain captures ["slack"]: |f| f.at, out_of_order(slack)
            2 filter "" <- [1] Plain captures []: |f| f.out_flow > 100
            3 map "" <- [2] Plain captures []: |f| f.normalized()
            4 filter "" <- [1] Plain captures []: |f| f.is_failed
            5 union "union" <- [3, 4] Plain captures []: failed
            6 key_by "" <- [5] Keyed captures []: |f| f.host.clone()
            7 window "" <- [6] Windowed captures []: tumbling(mins(1))
            8 aggregate "totals" <- [7] Rows captures []: Total { host: key(), from: window_start(), total: sum(|f| f.…
            9 late "" <- [8] Plain captures []: 
            -> totals <- 8
            -> late <- 9
        "#]],
    );
}

#[test]
fn ids_come_from_names_lets_and_positions() {
    plan(
        "fn job(a: Stream<A>, b: Stream<A>) -> Stream<A> {
            let x = a.event_time(|f| f.at, out_of_order(secs(1))).filter(|f| f.ok);
            let y = b.event_time(|f| f.at, out_of_order(secs(1)));
            let both = x.union(y).try_map(|f| f.check()).named(\"checked\");
            both.union(a.event_time(|f| f.at, out_of_order(secs(1))))
        }",
        expect![[r#"
            0 source "a" <- [] Plain captures []: A
            1 source "b" <- [] Plain captures []: A
            2 event_time "event_time" <- [0] Plain captures []: |f| f.at, out_of_order(secs(1))
            3 filter "" <- [2] Plain captures []: |f| f.ok
            4 event_time "y" <- [1] Plain captures []: |f| f.at, out_of_order(secs(1))
            5 union "union" <- [3, 4] Plain captures []: y
            6 try_map "checked" <- [5] Plain captures []: |f| f.check()
            7 event_time "event_time_3" <- [0] Plain captures []: |f| f.at, out_of_order(secs(1))
            8 union "union_2" <- [6, 7] Plain captures []: a.event_time(|f| f.at, out_of_order(secs(1)))
            -> job <- 8
        "#]],
    );
}

#[test]
fn captures_and_plain_lets() {
    plan(
        "fn job(a: Stream<A>, limit: u64, prefix: String) -> Stream<A> {
            let double = limit * 2;
            a.filter(|f| f.limit > double).map(|f| format!(\"{prefix}{f}\")).map(|limit| limit)
        }",
        expect![[r#"
            0 source "a" <- [] Plain captures []: A
            1 filter "" <- [0] Plain captures ["double"]: |f| f.limit > double
            2 map "" <- [1] Plain captures ["prefix"]: |f| format!("{prefix}{f}")
            3 map "" <- [2] Plain captures []: |limit| limit
            -> job <- 3
        "#]],
    );
}

#[test]
fn aliases_and_shadowing() {
    plan(
        "fn job(flows: Stream<A>) -> Stream<A> {
            let same = flows;
            let flows = same.map(|f| f);
            let flows = flows.filter(|f| f.ok);
            flows
        }",
        expect![[r#"
            0 source "flows" <- [] Plain captures []: A
            1 map "" <- [0] Plain captures []: |f| f
            2 filter "" <- [1] Plain captures []: |f| f.ok
            -> job <- 2
        "#]],
    );
}

#[test]
fn unknown_operators() {
    check(
        &with_body("flows.filtr(|f| f.ok).mapp(|f| f)"),
        expect![[r#"
        filtr <- unknown operator `filtr`; did you mean `filter`?
        mapp <- unknown operator `mapp`; did you mean `map`?
    "#]],
    );
    check(
        &with_body("flows.group_by(|f| f.host)"),
        expect![[r#"
        group_by <- unknown operator `group_by`; did you mean `key_by`?
    "#]],
    );
    check(
        &with_body("flows.frobnicate()"),
        expect![[r#"
            frobnicate <- unknown operator `frobnicate`; the operators are `event_time`, `processing_time`, `store_time`, `filter`, `map`, `filter_map`, `flat_map`, `try_map`, `inspect`, `through`, `key_by`, `distinct_within`, `window`, `running`, `aggregate`, `late`, `union`, `join`, `left_join`, `right_join`, `full_join`, `join_table`, `left_join_table`, `lookup`, `left_lookup`, `named`
        "#]],
    );
}

#[test]
fn arity() {
    check(
        &with_body("flows.filter()"),
        expect![[r#"
        filter <- `filter` takes 1 argument; write `.filter(|r| r.bytes > 0)`
    "#]],
    );
    check(
        &with_body("flows.filter(|f| f.ok, 3)"),
        expect![[r#"
        3 <- `filter` takes 1 argument; write `.filter(|r| r.bytes > 0)`
    "#]],
    );
    check(
        &with_body("flows.event_time(|f| f.at)"),
        expect![[r#"
        event_time <- `event_time` takes 2 arguments; write `.event_time(|r| r.at, out_of_order(secs(5)))`
    "#]],
    );
    check(
        &with_body("flows.union()"),
        expect![[r#"
        union <- `union` takes 1 argument; write `.union(other)`
    "#]],
    );
    check(
        &with_body("flows.running()"),
        expect![[r#"
        running <- unbounded state; write `.running(ttl(mins(10)))` to forget a key that has been quiet, or `.running(forever())`
    "#]],
    );
    check(
        &with_body("flows.aggregate((sum(), count(|f| f.x), acc(A), key(1)))"),
        expect![[r#"
            sum <- `sum` takes 1 argument in an aggregate; write `sum(|r| r.bytes)`
            |f| f.x <- `count` takes no argument in an aggregate; write `count()`, or for some of the records `sum(|r| u64::from(r.is_failed))`
            acc <- `acc` takes 2 arguments in an aggregate; write `acc(MyAccumulator, |r| r.bytes)`
            1 <- `key` takes no argument in an aggregate; write `key()`
        "#]],
    );
}

#[test]
fn unfinished_operators() {
    check(
        &with_body("flows.fil"),
        expect![[r#"
        fil <- `fil` is half of an operator; write `.filter(|r| r.bytes > 0)`
    "#]],
    );
    check(
        &with_body("flows.xyzzy.map(|f| f)"),
        expect![[r#"
        xyzzy <- `xyzzy` is half of an operator; write an operator such as `.map(..)`
    "#]],
    );
}

#[test]
fn names_of_operators() {
    check(
        &with_body("flows.named(\"a\")"),
        expect![[r#"
        named <- a port already has a name; write `.named(..)` after an operator
    "#]],
    );
    check(
        &with_body("flows.map(|f| f).named(NAME)"),
        expect![[r#"
        NAME <- the name of an operator is known when the job is compiled; write it as a literal: `.named("errors")`
    "#]],
    );
    check(
        &with_body("flows.map(|f| f).named(\"a b\")"),
        expect![[r#"
        "a b" <- `a b` cannot name an operator; use letters, digits, `_` and `-`
    "#]],
    );
    check(
        &with_body("flows.map(|f| f).named(\"a\").named(\"b\")"),
        expect![[r#"
        named <- this operator already has a name; remove one of the two
    "#]],
    );
}

#[test]
fn late_needs_a_windowed_aggregate() {
    check(
        &with_body("flows.late()"),
        expect![[r#"
            late <- only a windowed aggregate and a join of two streams have late records; write `let totals = ..aggregate(..);` and then `totals.late()`
        "#]],
    );
    check(
        &with_body("flows.key_by(|f| f.h).running(forever()).aggregate(count()).late()"),
        expect![[r#"
            late <- only a windowed aggregate and a join of two streams have late records; write `let totals = ..aggregate(..);` and then `totals.late()`
        "#]],
    );
    check(
        &with_body("flows.key_by(|f| f.h).window(w()).aggregate(count()).map(|n| n).late()"),
        expect![[r#"
            late <- only a windowed aggregate and a join of two streams have late records; write `let totals = ..aggregate(..);` and then `totals.late()`
        "#]],
    );
}

#[test]
fn unions_take_streams() {
    check(
        &with_body("flows.union(flow)"),
        expect![[r#"
        flow <- `flow` is not a stream; did you mean `flows`?
    "#]],
    );
    check(
        &with_body("flows.union(load())"),
        expect![[r#"
        load() <- `union` takes a stream of this job; write `.union(other)`
    "#]],
    );
}

#[test]
fn names_that_are_no_streams() {
    check(
        &with_body("let x = flws.map(|f| f); x"),
        expect![[r#"
        flws <- `flws` is not a stream; did you mean `flows`?
    "#]],
    );
    check(
        &with_body("flws"),
        expect![[r#"
        flws <- `flws` is not a stream; did you mean `flows`?
    "#]],
    );
    check(
        &with_body("Some(flows)"),
        expect![[r#"
            Some(flows) <- the job must end with its output; write a stream or a tuple of streams
        "#]],
    );
    check(
        &with_body("let x = wrap(flows); x"),
        expect![[r#"
            flows <- a plain function takes no stream; put `#[stream_part]` on `wrap` and write `flows.through(wrap)`
        "#]],
    );
    check(
        &with_body("flows.map(|f| lookup(flows))"),
        expect![[r#"
        flows <- `flows` is a stream and not a value; read it with an operator such as `flows.map(..)`
    "#]],
    );
}

#[test]
fn names_of_streams() {
    check(
        &with_body("let x: Stream<Flow> = flows.map(|f| f); x"),
        expect![[r#"
        Stream<Flow> <- the type of a stream is inferred; remove the type
    "#]],
    );
    check(
        &with_body("let (x, y) = flows.map(|f| f); flows"),
        expect![[r#"
        (x, y) <- a stream is bound to a plain name; write `let name = ..`
    "#]],
    );
    check(
        &with_body("let _ = flows.map(|f| f); flows"),
        expect![[r#"
        _ <- this stream is built and never used; return it or remove it
    "#]],
    );
}

#[test]
fn streams_thrown_away() {
    check(
        &with_body("flows.map(|f| f); flows"),
        expect![[r#"
        flows.map(|f| f) <- this stream is built and never used; bind it with `let` and return it, or remove it
    "#]],
    );
    check(
        &with_body("setup(); flows"),
        expect![[r#"
        setup() <- a job is a pipeline; this expression has no part in it, call functions inside an operator
    "#]],
    );
}

#[test]
fn outputs() {
    check(
        &with_body("let x = 1;"),
        expect![[r#"
        job <- the job `job` has no output; end it with a stream
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> (Stream<A>, Stream<A>) { let b = a.map(|f| f); (b, a.filter(|f| f.ok)) }",
        expect![[r#"
        a.filter(|f| f.ok) <- an output of several needs a name; name it with a `let` first and return the variable
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> (Stream<A>, Stream<A>) { (a, a) }",
        expect![[r#"
        a <- the output `a` is returned twice; give it a second name with `let`
    "#]],
    );
}

#[test]
fn streams_where_values_are_expected() {
    for (body, expected) in [
        ("let x = if on { flows } else { flows.map(f) }; x", "which streams a job has is fixed"),
        ("match n { 0 => flows, _ => flows.map(f) }; flows", "a `match` at this level would run once"),
        ("let (x, y) = (flows.map(f), flows); x", "write one `let name = ..` for each"),
        ("[flows, flows.map(f)]", "write one `let name = ..` for each"),
        ("let x = a::large(flows, 3); x", "put `#[stream_part]` on `large` and write `flows.through(large)`"),
        ("large(flows)", "put `#[stream_part]` on `large` and write `flows.through(large)`"),
        ("let x = &flows; x", "write `flows` without `&`"),
        ("flows = flows.map(f); flows", "write `let flows = ..`"),
        ("flows.clone()", "leave `.clone()` out"),
    ] {
        let (_, said) = lowered(&with_body(body));
        assert_eq!(said.matches(" <- ").count(), 1, "{body}: {said}");
        assert!(said.contains(expected), "{body}: {said}");
    }
}

#[test]
fn aggregates_in_macros() {
    let row = |row: &str| with_body(&format!("flows.key_by(k).running(forever()).aggregate({row})"));
    check(&row("(vec![count(); 3], vec![key(), key()], vec![1; n()])"), expect![[r#""#]]);
    check(
        &row("json!({ \"n\": [count()], \"m\": sum(|f| f.n) })"),
        expect![[r#"
            count <- `count()` is not seen inside of `json!`, whose arguments are no list of expressions; write `let n = count(..);` in a block around it, and `n` inside
        "#]],
    );
    check(
        &row("pair!(1 => window_end())"),
        expect![[r#"
            window_end <- `window_end()` is not seen inside of `pair!`, whose arguments are no list of expressions; write `let n = window_end(..);` in a block around it, and `n` inside
        "#]],
    );
    check(
        &row("pair!(1 => (f.count(), u64::max(1, 2), count[1], my::first(2), counted()))"),
        expect![[r#""#]],
    );
}
