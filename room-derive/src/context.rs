//! The mistakes of one derive.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use syn::Error;

/// Gathers mistakes, each on its own span, so that all of them are shown at once.
#[derive(Default)]
pub(crate) struct Context {
    errors: Option<Error>,
}

impl Context {
    /// Reports a mistake.
    pub(crate) fn error(&mut self, span: Span, message: impl Display) {
        self.push(Error::new(span, message));
    }

    /// Reports a parser's error.
    pub(crate) fn push(&mut self, error: Error) {
        match &mut self.errors {
            Some(errors) => errors.combine(error),
            None => self.errors = Some(error),
        }
    }

    /// Whether nothing was reported.
    pub(crate) fn is_clean(&self) -> bool {
        self.errors.is_none()
    }

    /// The reports as `compile_error!` calls.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.errors.map(|errors| errors.to_compile_error()).unwrap_or_default()
    }
}
