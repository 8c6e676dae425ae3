//! A bad input for every rule between the parts of a job.

use expect_test::{Expect, expect};

use crate::testing::{DAG, TRAFFIC, checked, with_body};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&checked(source).1);
}

#[test]
fn good_jobs() {
    check(TRAFFIC, expect![[""]]);
    check(DAG, expect![[""]]);
}

#[test]
fn names_hide_nothing() {
    check(
        "fn job(a: Stream<A>, out_of_order: u64) -> Stream<A> { a.filter(|f| f.n > out_of_order) }",
        expect![[r#"
        out_of_order <- the setting `out_of_order` hides the function `out_of_order`; choose another name
    "#]],
    );
    check(
        "fn job(count: Stream<A>) -> Stream<A> { count }",
        expect![[r#"
        count <- the port `count` hides the function `count`; choose another name
    "#]],
    );
    check(
        &with_body("let sum = 3; flows.filter(|f| f.n > sum)"),
        expect![[r#"
        sum <- the variable `sum` hides the function `sum`; choose another name
    "#]],
    );
}

#[test]
fn settings_are_no_flags() {
    check(
        "fn job(a: Stream<A>, checkpoint_interval: u64) -> Stream<A> { a }",
        expect![[r#"
            checkpoint_interval <- the setting `checkpoint_interval` collides with the flag `--checkpoint-interval` of every job; choose another name
            checkpoint_interval <- the setting `checkpoint_interval` is never used; use it in an operator or remove the parameter
        "#]],
    );
    check(
        "fn job(a: Stream<A>, start: i64) -> Stream<A> { a.filter(|f| f.at > start) }",
        expect![[r#"
            start <- the setting `start` collides with the flag `--start` of every job; choose another name
        "#]],
    );
}

#[test]
fn a_setting_behind_a_binding_of_its_name_is_used() {
    check(
        "fn job(a: Stream<A>, limit: u64) -> Stream<A> { \
         a.filter(|f| f.n > if let Some(limit) = f.limit { limit } else { limit }) }",
        expect![[""]],
    );
}

#[test]
fn a_field_may_be_called_like_a_stream() {
    check(
        "fn job(bids: Stream<A>) -> Stream<A> { bids.filter(|f| matches!(f.bids, Some(n) if n > 3)) }",
        expect![[""]],
    );
}

#[test]
fn ports_are_used() {
    check(
        "fn job(a: Stream<A>, extra: Stream<B>) -> Stream<A> { a }",
        expect![[r#"
        extra <- input port `extra` is never read; use it or remove the parameter
    "#]],
    );
}

#[test]
fn streams_are_used() {
    check(
        &with_body("let big = flows.filter(|f| f.big); flows"),
        expect![[r#"
        big <- stream `big` is built and never used; return it or remove it
    "#]],
    );
    check(
        &with_body("let same = flows; flows"),
        expect![[r#"
        same <- stream `same` is built and never used; return it or remove it
    "#]],
    );
    check(
        &with_body("flows.key_by(|f| f.h).window(w()).aggregate(count()).late()"),
        expect![[r#"
            aggregate <- the result of this `aggregate` is built and never used; bind it with `let` and return it
        "#]],
    );
    check(
        &with_body("let t = flows.key_by(|f| f.h).window(w()).aggregate(count()); t.late()"),
        expect![[r#"
            aggregate <- the result of this `aggregate` is built and never used; bind it with `let` and return it
        "#]],
    );
}

#[test]
fn output_count() {
    check(
        "fn job(a: Stream<A>) -> (Stream<A>, Stream<A>) { a }",
        expect![[r#"
        -> (Stream<A>, Stream<A>) <- the job returns 1 stream but its signature says 2; return a tuple of 2 streams
    "#]],
    );
    check(
        "fn job(a: Stream<A>, b: Stream<A>) -> Stream<A> { (a, b) }",
        expect![[r#"
        -> Stream<A> <- the job returns 2 streams but its signature says 1; return one stream
    "#]],
    );
}

#[test]
fn unique_operator_names() {
    check(
        &with_body("flows.map(|f| f).named(\"a\").filter(|f| f.ok).named(\"a\")"),
        expect![[r#"
        "a" <- two operators are named `a`; give one of them another name with `.named("..")`
    "#]],
    );
    check(
        &with_body("let t = flows.event_time(|f| f.at, b()); let t = t.event_time(|f| f.at, b()); t"),
        expect![[r#"
            t <- two operators are named `t`; give one of them another name with `.named("..")`
        "#]],
    );
}

#[test]
fn keys_are_owned() {
    check(
        &with_body("flows.key_by(|f| &f.host)"),
        expect![[r#"
        & <- a key must be owned, it outlives its record; write `.clone()` behind the field instead of `&` before it
    "#]],
    );
    check(
        &with_body("flows.key_by(|f| (f.port, &f.host))"),
        expect![[r#"
        & <- a key must be owned, it outlives its record; write `.clone()` behind the field instead of `&` before it
    "#]],
    );
    check(
        &with_body("flows.key_by(|f| { &f.host })"),
        expect![[r#"
        & <- a key must be owned, it outlives its record; write `.clone()` behind the field instead of `&` before it
    "#]],
    );
}

#[test]
fn window_words_need_a_window() {
    check(
        &with_body("flows.key_by(|f| f.h).running(forever()).aggregate((key(), window_start()))"),
        expect![[r#"
        window_start <- `window_start` needs a window and this aggregate is running; remove it or write `.window(tumbling(secs(10)))`
    "#]],
    );
}

#[test]
fn accumulator_limit() {
    let sums = "sum(|f| f.x), ".repeat(13);
    check(
        &with_body(&format!("flows.key_by(|f| f.h).window(w()).aggregate(({sums}))")),
        expect![[r#"
            sum <- an aggregate takes at most 12 accumulators; gather several values in one with `acc(..)`
        "#]],
    );
}

#[test]
fn captures_are_constant() {
    check(
        "fn job(a: Stream<A>, min_flow: u64) -> Stream<A> { a.filter(|f| { min_flow += 1; f.n > min_flow }) }",
        expect![[r#"
            min_flow <- an operator cannot change `min_flow`, the change would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
        "#]],
    );
    check(
        &with_body("let n = 0; flows.filter(|_| { n += 1; n % 2 == 0 })"),
        expect![[r#"
        n <- an operator cannot change `n`, the change would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
    "#]],
    );
    check(
        &with_body("let n = v(); flows.inspect(|f| push(&mut n, f))"),
        expect![[r#"
        n <- an operator cannot change `n`, the change would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
    "#]],
    );
}

#[test]
fn operators_do_not_wait() {
    check(
        &with_body("flows.map(|f| fetch(f).await)"),
        expect![[r#"
        await <- an operator cannot wait, a batch runs through its operators at once; fetch the data before and send it in through a port of its own
    "#]],
    );
    check(
        &with_body("flows.map(async |f| fetch(f).await)"),
        expect![[r#"
        async <- an operator cannot wait, a batch runs through its operators at once; fetch the data before and send it in through a port of its own
    "#]],
    );
    check(
        &with_body("flows.map(|f| async move { fetch(f).await })"),
        expect![[r#"
        async <- an operator cannot wait, a batch runs through its operators at once; fetch the data before and send it in through a port of its own
    "#]],
    );
}

#[test]
fn operators_replay() {
    check(
        &with_body("flows.map(|f| (f, SystemTime::now()))"),
        expect![[r#"
            SystemTime::now <- `SystemTime::now` in an operator breaks replay; use a time that is in the record, or write `#[allow_impure(reason = "..")]` in front of the closure where it must be
        "#]],
    );
    check(
        &with_body("flows.event_time(|f| std::time::Instant::now().x(), b())"),
        expect![[r#"
            std::time::Instant::now <- `std::time::Instant::now` in an operator breaks replay; use a time that is in the record, or write `#[allow_impure(reason = "..")]` in front of the closure where it must be
        "#]],
    );
    check(
        &with_body("flows.filter(|f| rand::random())"),
        expect![[r#"
            rand::random <- `rand::random` in an operator breaks replay; derive the number from the record, for example from a hash of its key, or write `#[allow_impure(reason = "..")]` in front of the closure where it must be
        "#]],
    );
    check(
        &with_body("flows.filter(|f| thread_rng().random_bool(0.5))"),
        expect![[r#"
            thread_rng <- `thread_rng` in an operator breaks replay; derive the number from the record, for example from a hash of its key, or write `#[allow_impure(reason = "..")]` in front of the closure where it must be
        "#]],
    );
    check(
        &with_body("flows.map(|f| format!(\"{:?}\", SystemTime::now()))"),
        expect![[r#"
            SystemTime::now <- `SystemTime::now` in an operator breaks replay; use a time that is in the record, or write `#[allow_impure(reason = "..")]` in front of the closure where it must be
        "#]],
    );
}

#[test]
fn questions_outside_of_closures() {
    check(
        &with_body("flows.map(load()?)"),
        expect![[r#"
        ? <- a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record
    "#]],
    );
}

#[test]
fn all_mistakes_at_once() {
    check(
        &with_body(
            "let mut n = 0; let x = flows.filtr(|f| f.ok).mapp(|f| f); x.keyby(|f| { n += 1; f.host })",
        ),
        expect![[r#"
            mut <- a job cannot hold `mut` variables, they would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
            filtr <- unknown operator `filtr`; did you mean `filter`?
            mapp <- unknown operator `mapp`; did you mean `map`?
            keyby <- unknown operator `keyby`; did you mean `key_by`?
            n <- an operator cannot change `n`, the change would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
        "#]],
    );
}

/// Two ports.
fn joining(body: &str) -> String {
    format!("fn job(a: Stream<A>, b: Stream<A>) -> Stream<A> {{ {body} }}")
}

#[test]
fn keys_before_join() {
    let keyed = "event_time(|f| f.at, o()).key_by(|f| f.h)";
    check(
        &joining(&format!("a.event_time(|f| f.at, o()).join(b.{keyed}, w(), |l, r| l)")),
        expect![[r#"
        join <- `join` needs a key on both sides and the left one has none; write `.key_by(|r| r.id)` in it
    "#]],
    );
    check(
        &joining(&format!("a.{keyed}.join(b, w(), |l, r| l)")),
        expect![[r#"
        b <- `join` needs a key on both sides and the right one has none; write `.key_by(|r| r.id)` in it
    "#]],
    );
    check(
        &joining("a.join_table(b.map(Some), forever(), |l, r| l)"),
        expect![[r#"
        join_table <- `join_table` needs a key on both sides and the left one has none; write `.key_by(|r| r.id)` in it
        b.map(Some) <- `join_table` needs a key on both sides and the right one has none; write `.key_by(|r| r.id)` in it
    "#]],
    );
}

#[test]
fn time_before_join() {
    let keyed = "event_time(|f| f.at, o()).key_by(|f| f.h)";
    check(
        &joining(&format!("a.{keyed}.left_join(b.key_by(|f| f.h), w(), |l, r| l)")),
        expect![[r#"
        b.key_by(|f| f.h) <- `left_join` needs event time on both sides and the right one has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`
    "#]],
    );
    check(
        &joining("a.key_by(|f| f.h).full_join(b.key_by(|f| f.h), w(), |l, r| l)"),
        expect![[r#"
        full_join <- `full_join` needs event time on both sides and the left one has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`
        b.key_by(|f| f.h) <- `full_join` needs event time on both sides and the right one has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`
    "#]],
    );
    check(
        &joining(&format!("a.{keyed}.join_table(b.key_by(|f| f.h), forever(), |l, r| l)")),
        expect![[r#"
        b.key_by(|f| f.h) <- `join_table` needs event time on both sides and the right one has none; write `.event_time(|r| r.at, out_of_order(secs(5)))` before its `key_by`
    "#]],
    );
    check(&joining("a.key_by(|f| f.h).join_table(b.key_by(|f| f.h), forever(), |l, r| l)"), expect![[""]]);
}

#[test]
fn no_window_before_join() {
    let keyed = "event_time(|f| f.at, o()).key_by(|f| f.h)";
    check(
        &joining(&format!("a.{keyed}.window(w()).join(b.{keyed}, w(), |l, r| l)")),
        expect![[r#"
        window <- this `window` has no aggregate behind it; a join takes its window as an argument: `.join(other, tumbling(secs(10)), |l, r| ..)`
    "#]],
    );
    check(
        &joining(&format!("a.{keyed}.join(b.{keyed}.running(forever()), w(), |l, r| l)")),
        expect![[r#"
        running <- this `running` has no aggregate behind it; a join takes its window as an argument: `.join(other, tumbling(secs(10)), |l, r| ..)`
    "#]],
    );
}

#[test]
fn joins_are_bounded() {
    let keyed = "event_time(|f| f.at, o()).key_by(|f| f.h)";
    check(
        &joining(&format!("a.{keyed}.join(b.{keyed}, |l, r| l)")),
        expect![[r#"
        | <- a join without a bound of time would keep every record for ever; write `.join(other, tumbling(secs(10)), |l, r| ..)`
    "#]],
    );
    check(
        &joining("a.key_by(|f| f.h).join_table(b.key_by(|f| f.h), |l, r| l)"),
        expect![[r#"
        | <- this table would keep every row for ever; say so, or for how long: write `.join_table(changes, forever(), |r, row| ..)`
    "#]],
    );
    check(
        &joining(&format!("a.{keyed}.join(c, w(), |l, r| l)")),
        expect![[r#"
        c <- `c` is not a stream; did you mean `a`?
    "#]],
    );
}

#[test]
fn keys_vary() {
    check(
        &with_body("flows.key_by(|_| 0).map(|f| f).key_by(|_| ()).map(|f| f).key_by(|f| f.host.clone())"),
        expect![[r#"
            | <- warning: every record gets the same key, so that one machine does all the work; key by a field of the record, or write `|_| ()` where that is meant
        "#]],
    );
}

#[test]
fn filters_stand_before_windows() {
    check(
        &with_body(
            "flows.key_by(|f| f.h).filter(|f| f.ok).running(forever()).filter(|f| f.ok).aggregate(count())",
        ),
        expect![[r#"
            filter <- warning: this filter drops records that have crossed the shuffle; write it in front of `.key_by(..)`
        "#]],
    );
}

#[test]
fn permission_needs_a_reason() {
    check(
        &with_body("flows.map(#[allow_impure(reason = \"a stamp\")] |f| (f, SystemTime::now()))"),
        expect![[""]],
    );
    check(
        &with_body("flows.filter(#[allow_impure(reason = \"\")] |f| rand::random())"),
        expect![[r#"
        allow_impure <- opting out of replay needs a reason, which the topology shows; write `#[allow_impure(reason = "..")]`
    "#]],
    );
}

#[test]
fn values_replay() {
    check(
        &with_body("let began = Instant::now(); flows.filter(|f| f.at > began)"),
        expect![[r#"
        Instant::now <- `Instant::now` gives another value after a restart, when records are read again; make it a setting, a parameter of the job that is no stream
    "#]],
    );
}
