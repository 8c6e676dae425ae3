//! The compiler of `#[stream_job]`: a function's pipeline becomes fused operators at build time.
//!
//! This crate is the shell that rustc calls.
//! It knows the words of the language and the shape of a job; it knows no types, runs nothing, and
//! everything that its output names lives under `__private` of the crate that re-exports it.
//! User documentation belongs to that crate as well.

mod analyze;
mod ast;
mod check;
mod conditions;
mod ctxt;
mod expand;
mod ident;
mod impure;
mod ir;
mod lower;
mod nearest;
mod ops;
mod parse;
mod print;
mod record;
mod scope;
mod stream_job;
mod stream_part;
mod symbol;
#[cfg(test)]
mod testing;
mod text;

use proc_macro::TokenStream;

/// Compiles a job for a crate that depends on `streams-runtime`.
#[proc_macro_attribute]
pub fn stream_job(args: TokenStream, item: TokenStream) -> TokenStream {
    stream_job::expand(&args.into(), item.into(), symbol::RUNTIME_ROOT).into()
}

/// Compiles a job for a crate that depends on `streams-core` alone.
#[proc_macro_attribute]
pub fn stream_job_core(args: TokenStream, item: TokenStream) -> TokenStream {
    stream_job::expand(&args.into(), item.into(), symbol::CORE_ROOT).into()
}

/// Makes a chain of operators a part of jobs, for a crate that depends on `streams-runtime`.
#[proc_macro_attribute]
pub fn stream_part(args: TokenStream, item: TokenStream) -> TokenStream {
    stream_part::expand(&args.into(), item.into(), symbol::RUNTIME_ROOT).into()
}

/// Makes a chain of operators a part of jobs, for a crate that depends on `streams-core` alone.
#[proc_macro_attribute]
pub fn stream_part_core(args: TokenStream, item: TokenStream) -> TokenStream {
    stream_part::expand(&args.into(), item.into(), symbol::CORE_ROOT).into()
}

/// Makes a struct or an enum a record, for a crate that depends on `streams-runtime`.
#[proc_macro_attribute]
pub fn record(args: TokenStream, item: TokenStream) -> TokenStream {
    record::expand(&args.into(), item.into(), symbol::RUNTIME_ROOT).into()
}

/// Makes a struct or an enum a record, for a crate that depends on `streams-core` alone.
#[proc_macro_attribute]
pub fn record_core(args: TokenStream, item: TokenStream) -> TokenStream {
    record::expand(&args.into(), item.into(), symbol::CORE_ROOT).into()
}
