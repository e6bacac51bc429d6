//! Mistakes in derives are errors where they stand, with the rule and a way out; what is no mistake compiles.

// What a derive says is the same with and without a server, and takes a minute to be looked at.
#![cfg(feature = "server")]

#[test]
fn mistakes_are_told_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}

#[test]
fn unusual_code_compiles() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}
