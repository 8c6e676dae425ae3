//! A bad input for every rule about the form of a job, and what the reader makes of a good one.

use expect_test::{Expect, expect};

use crate::testing::{parsed, with_body};

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` makes a value")]
fn check(source: &str, expected: Expect) {
    expected.assert_eq(&parsed(source).1);
}

#[test]
fn reads_a_good_job_without_a_word() {
    check(crate::testing::TRAFFIC, expect![[""]]);
    check(crate::testing::DAG, expect![[""]]);
}

#[test]
fn takes_chains_apart() {
    let (job, _) = parsed(crate::testing::DAG);
    let job = job.unwrap();
    let text: String = job
        .body
        .iter()
        .map(|stmt| match stmt {
            crate::ast::Stmt::Let(bound) => {
                let words = bound.chain.links.iter().map(|link| link.word.to_string());
                format!("{:?} {}\n", bound.chain.head, words.collect::<Vec<_>>().join(" "))
            }
            other => format!("{other:?}\n"),
        })
        .collect();
    expect![[r#"
        Name(Ident { sym: flows, span: bytes(..) }) event_time
        Name(Ident { sym: timed, span: bytes(..) }) filter map
        Name(Ident { sym: timed, span: bytes(..) }) filter
        Name(Ident { sym: big, span: bytes(..) }) union key_by window aggregate
        Name(Ident { sym: totals, span: bytes(..) }) late
    "#]]
    .assert_eq(&text.replace(char::is_numeric, ""));
    assert_eq!(job.doc, "Totals of large and failed flows.");
    assert_eq!(job.params[1].doc, "How late a flow may be.");
    assert_eq!(job.params[1].default.as_ref().unwrap().value(), "60s");
}

#[test]
fn arguments_of_the_attribute() {
    let ctxt = crate::ctxt::Ctxt::new();
    super::job(&ctxt, &"parallel = 2".parse().unwrap(), with_body("flows").parse().unwrap());
    expect![[r#"
        parallel = 2 <- `#[stream_job]` takes no arguments; settings are parameters of the function
    "#]]
    .assert_eq(&crate::testing::shown("parallel = 2", ctxt));
}

#[test]
fn items_that_are_no_function() {
    check(
        "struct Job;",
        expect![[r#"
        struct <- `#[stream_job]` belongs on a function; write `fn job(input: Stream<..>) -> Stream<..>`
    "#]],
    );
    check(
        "fn job(flows: Stream<Flow>) -> Stream<Flow>;",
        expect![[r#"
        ; <- `#[stream_job]` belongs on a function; write `fn job(input: Stream<..>) -> Stream<..>`
    "#]],
    );
}

#[test]
fn of_a_dot_and_nothing_behind_it_rustc_has_said_enough() {
    check(&with_body("let x = flows.; x"), expect![[""]]);
}

#[test]
fn modifiers() {
    check(
        "async fn job(a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        async <- a job is not `async`, it describes a pipeline and returns at once; remove `async`
    "#]],
    );
    check(
        "unsafe fn job(a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        unsafe <- a job cannot be `unsafe`; remove `unsafe` and call unsafe code from a safe function
    "#]],
    );
    check(
        "const fn job(a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        const <- a job cannot be `const`; remove `const`
    "#]],
    );
    check(
        "extern \"C\" fn job(a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        extern "C" <- a job cannot be `extern`; remove `extern`
    "#]],
    );
    check(
        "fn job<T>(a: Stream<T>) -> Stream<T> { a }",
        expect![[r#"
        <T> <- a job cannot be generic, its topology is fixed when it is compiled; write the types out
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> Stream<A> where A: Clone { a }",
        expect![[r#"
        where A: Clone <- a job cannot be generic; remove the `where` clause
    "#]],
    );
    check(
        "#[inline] fn job(a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        inline <- `#[inline]` has no meaning on a job; remove it
    "#]],
    );
}

#[test]
fn parameters() {
    check(
        "fn job(&self, a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        self <- a job cannot be a method; move it out of the `impl` and make what it needs a setting
    "#]],
    );
    check(
        "fn job(mut a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        mut <- a job cannot hold `mut` variables, they would not survive a checkpoint; remove `mut`
    "#]],
    );
    check(
        "fn job((a, b): (Stream<A>, Stream<A>)) -> Stream<A> { a }",
        expect![[r#"
            (a, b) <- a parameter of a job is a plain name, it becomes a port or a flag; write `name: Type`
            job <- the job `job` has no input; give it a parameter that is a stream: `records: Stream<..>`
        "#]],
    );
    check(
        "fn job(a: Stream<A>, a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        a <- the name `a` is taken by another parameter; choose another one
    "#]],
    );
    check(
        "fn job(a: Stream<A>, a: u32) -> Stream<A> { a }",
        expect![[r#"
        a <- the name `a` is taken by another parameter; choose another one
    "#]],
    );
    check(
        "fn job(a: Stream) -> Stream<A> { a }",
        expect![[r#"
        Stream <- a stream names the type of its records and nothing else; write `Stream<Record>`
    "#]],
    );
    check(
        "fn job(a: Stream<A, B>) -> Stream<A> { a }",
        expect![[r#"
        Stream<A, B> <- a stream names the type of its records and nothing else; write `Stream<Record>`
    "#]],
    );
    check(
        "fn job(a: Stream<A>, host: &str) -> Stream<A> { a }",
        expect![[r#"
        & <- the setting `host` must own its value; write `String` for `&str`, or the type without `&`
    "#]],
    );
    check(
        "fn job(a: Stream<A>, f: impl Fn()) -> Stream<A> { a }",
        expect![[r#"
        impl <- the parameter `f` needs a plain type; write the type out
    "#]],
    );
}

#[test]
fn jobs_without_input() {
    check(
        "fn job(n: u32) -> Stream<A> { make(n) }",
        expect![[r#"
        job <- the job `job` has no input; give it a parameter that is a stream: `records: Stream<..>`
    "#]],
    );
}

#[test]
fn settings() {
    let job = |attribute: &str| format!("fn job(a: Stream<A>, {attribute} n: u32) -> Stream<A> {{ a }}");
    check(
        &job("#[arg(default = 5)]"),
        expect![[r#"
        5 <- a default is text, as on the command line; write `default = "5"`
    "#]],
    );
    check(
        &job("#[arg(default)]"),
        expect![[r#"
        default <- `default` has no text; write `default = "60s"`
    "#]],
    );
    check(
        &job("#[arg]"),
        expect![[r#"
        arg <- `#[arg]` says nothing; write `#[arg(default = "60s")]` or remove it
    "#]],
    );
    check(
        &job("#[arg(short = \"n\")]"),
        expect![[r#"
        short <- unknown word in `#[arg(..)]`; write `#[arg(default = "60s")]`
    "#]],
    );
    check(
        &job("#[arg(default = \"1\", default = \"2\")]"),
        expect![[r#"
        default = "2" <- a setting has one default; remove this one
    "#]],
    );
    check(
        &job("#[flag]"),
        expect![[r#"
        flag <- a parameter of a job takes only `#[arg(default = "..")]` and doc comments; remove it
    "#]],
    );
    check(
        "fn job(#[arg(default = \"x\")] a: Stream<A>) -> Stream<A> { a }",
        expect![[r#"
        arg <- the port `a` takes no `#[arg(..)]`, it is bound when the job runs; remove it
    "#]],
    );
}

#[test]
fn outputs() {
    check(
        "fn job(a: Stream<A>) { a }",
        expect![[r#"
        job <- the job `job` has no output; return a stream: `-> Stream<..>`
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> () { a }",
        expect![[r#"
        () <- the job `job` has no output; return a stream: `-> Stream<..>`
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> u32 { a }",
        expect![[r#"
        u32 <- a job returns streams; write `Stream<..>` or a tuple of streams
    "#]],
    );
    check(
        "fn job(a: Stream<A>) -> (Stream<A>, u32) { a }",
        expect![[r#"
        u32 <- a job returns streams; write `Stream<..>` or a tuple of streams
    "#]],
    );
    check(
        &with_body("flows.map(|f| f);"),
        expect![[r#"
        ; <- the job ends without its output; remove this `;`
    "#]],
    );
    check(
        &with_body("return flows;"),
        expect![[r#"
        return <- a job is a pipeline; write its output as the last expression, without `return`
    "#]],
    );
}

#[test]
fn let_mut() {
    check(
        &with_body("let mut n = 0; let (a, mut b) = (1, 2); flows"),
        expect![[r#"
        mut <- a job cannot hold `mut` variables, they would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
        mut <- a job cannot hold `mut` variables, they would not survive a checkpoint; keep state in an operator such as `.aggregate(..)`
    "#]],
    );
}

#[test]
fn lets_without_a_value() {
    check(
        &with_body("let x; flows"),
        expect![[r#"
        x <- a `let` of a job has a value; write `let name = ..;`
    "#]],
    );
    check(
        &with_body("let Some(x) = y else { panic!() }; flows"),
        expect![[r#"
        else <- a job is a pipeline; a `let` at this level cannot have an `else`
    "#]],
    );
}

#[test]
fn statements_that_are_no_pipeline() {
    check(
        &with_body("for x in 0..3 { f(x); } flows"),
        expect![[r#"
        for <- a job is a pipeline; a loop at this level would run once, before the first record, use `.flat_map(..)` for several records from one
    "#]],
    );
    check(
        &with_body("while true {} flows"),
        expect![[r#"
        while <- a job is a pipeline; a loop at this level would run once, before the first record, put it into an operator's closure
    "#]],
    );
    check(
        &with_body("loop {} flows"),
        expect![[r#"
        loop <- a job is a pipeline; a loop at this level would run once, before the first record, put it into an operator's closure
    "#]],
    );
    check(
        &with_body("if true { flows } else { flows }"),
        expect![[r#"
        if <- a job is a pipeline; an `if` at this level would run once, before the first record, choose per record with `.filter(..)` or inside `.map(..)`
    "#]],
    );
    check(
        &with_body("match x { _ => flows }"),
        expect![[r#"
        match <- a job is a pipeline; a `match` at this level would run once, before the first record, choose per record inside `.map(..)` or `.filter_map(..)`
    "#]],
    );
    check(
        &with_body("{ f(); } flows"),
        expect![[r#"
        { <- a job is a pipeline; write its steps without an inner block
    "#]],
    );
    check(
        &with_body("unsafe { f() } flows"),
        expect![[r#"
        unsafe <- a job is a pipeline; call unsafe code from a safe function inside an operator
    "#]],
    );
    check(
        &with_body("println!(\"hello\"); flows"),
        expect![[r#"
        println <- a job is a pipeline; a macro at this level would run once, before the first record; call it inside an operator such as `.inspect(|r| ..)`
    "#]],
    );
    check(
        &with_body("let x = load()?; flows"),
        expect![[r#"
        ? <- a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record
    "#]],
    );
    check(
        &with_body("let x = f(load()?); flows"),
        expect![[r#"
        ? <- a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record
    "#]],
    );
    check(
        &with_body("flows.map(|f| f)?"),
        expect![[r#"
        ? <- a job is a pipeline; `?` has nothing to return to, write `.try_map(..)` for what can fail per record
    "#]],
    );
    check(
        &with_body("let x = load().await; flows"),
        expect![[r#"
        await <- a job is a pipeline and waits for nothing; remove `.await`
    "#]],
    );
    check(
        &with_body("let x = f(return flows); flows"),
        expect![[r#"
        return <- a job is a pipeline; it cannot be left early, remove `return`
    "#]],
    );
}

#[test]
fn attributes_of_expressions() {
    check(
        &with_body("#[cfg(unix)] flows"),
        expect![[r#"
            cfg <- an attribute has no meaning on an output of a job; write it on a `let`, and return what that names
        "#]],
    );
}

#[test]
fn types_that_a_macro_passed_on() {
    let ty = |name: &str| {
        let inner: proc_macro2::TokenStream = name.parse().unwrap();
        let group = proc_macro2::Group::new(proc_macro2::Delimiter::None, inner);
        proc_macro2::TokenTree::from(group)
    };
    let (input, output) = (ty("Stream<Flow>"), ty("Stream<Flow>"));
    let ctxt = crate::ctxt::Ctxt::new();
    let job = super::job(&ctxt, &quote::quote!(), quote::quote!(fn job(flows: #input) -> #output { flows }));
    assert!(ctxt.check().is_ok());
    assert!(job.unwrap().params[0].is_port);
}
