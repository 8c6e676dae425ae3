//! Every message of the compiler, as a person sees it.

#[test]
fn messages() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*/*.rs");
}
