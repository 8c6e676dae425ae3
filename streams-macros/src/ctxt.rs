//! The error collector that all passes share.
//!
//! It exists so that one compile shows every mistake of a job.
//! It decides nothing: the driver asks it once, after the last pass that may report.

use std::cell::RefCell;

use proc_macro2::Span;
use quote::ToTokens;

/// Collects errors until [`Ctxt::check`]; dropping it unchecked is a bug of this crate and panics.
#[derive(Debug)]
pub(crate) struct Ctxt {
    // `None` after the check, so that a late report is noticed.
    errors: RefCell<Option<Vec<syn::Error>>>,
    warnings: RefCell<Vec<Warning>>,
}

/// Something that is legal and hardly meant.
#[derive(Debug)]
pub(crate) struct Warning {
    /// The rule, which rustc shows as the name of what is used.
    pub(crate) rule: &'static str,
    /// What is suspicious, and what to write instead or to say that it is meant.
    pub(crate) message: String,
    /// Where.
    pub(crate) span: Span,
}

impl Ctxt {
    /// An empty collector.
    pub(crate) fn new() -> Self {
        Self { errors: RefCell::new(Some(Vec::new())), warnings: RefCell::default() }
    }

    /// Reports at one token.
    pub(crate) fn error_at(&self, span: Span, message: impl std::fmt::Display) {
        self.syn_error(syn::Error::new(span, message));
    }

    /// Reports at everything between the first and the last token of a piece of syntax.
    pub(crate) fn error_on(&self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.syn_error(syn::Error::new_spanned(tokens, message));
    }

    /// Takes over an error of syn.
    pub(crate) fn syn_error(&self, error: syn::Error) {
        self.errors
            .borrow_mut()
            .as_mut()
            .expect("no pass reports after the collector was checked")
            .push(error);
    }

    /// Warns at one token.
    pub(crate) fn warn_at(&self, span: Span, rule: &'static str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(Warning { rule, message: message.into(), span });
    }

    /// True if something was reported so far.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors.borrow().as_ref().is_some_and(|errors| !errors.is_empty())
    }

    /// The only way out: all errors, or none and all warnings.
    pub(crate) fn check(self) -> Result<Vec<Warning>, Vec<syn::Error>> {
        let errors = self.errors.borrow_mut().take().expect("the collector is checked once");
        if errors.is_empty() { Ok(self.warnings.take()) } else { Err(errors) }
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        // A second panic would abort and hide the first one.
        if !std::thread::panicking() && self.errors.borrow().is_some() {
            panic!("the errors of a pass were never checked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reported_is_ok() {
        assert!(Ctxt::new().check().is_ok());
    }

    #[test]
    fn all_errors_come_out_in_order() {
        let ctxt = Ctxt::new();
        ctxt.error_at(Span::call_site(), "first");
        assert!(ctxt.has_errors());
        ctxt.error_on(quote::quote!(a b), "second");
        let texts: Vec<_> = ctxt.check().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["first", "second"]);
    }

    #[test]
    fn an_unchecked_collector_panics() {
        let dropped = std::panic::catch_unwind(|| drop(Ctxt::new()));
        assert!(dropped.is_err());
    }
}
