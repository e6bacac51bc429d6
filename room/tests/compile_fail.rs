//! Mistakes in derives are errors where they stand, with the rule and a way out; what is no mistake compiles.

#[test]
fn mistakes_are_told_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}

#[test]
fn unusual_code_compiles() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}
