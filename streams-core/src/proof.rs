//! Bounds that are told once where they do not hold.
//!
//! What a job calls gives `V::Proven<Stream<..>>` where the bound is one on `V`: the stream itself if the bound
//! holds, else no type at all, and rustc is silent about everything that such a value goes into. For a trait that
//! a blanket implementation gives to all types this takes a second implementation: with one alone rustc takes it
//! for granted, finds the type behind the name, and repeats the message wherever the type is needed again. Having
//! two, it looks which of them holds. So these traits have a parameter: [`Holds`] wherever the engine names one,
//! open in the functions that a job calls.

/// The bound holds.
#[derive(Debug, Clone, Copy)]
pub struct Holds;

/// The bound does not hold; nothing has it.
#[derive(Debug, Clone, Copy)]
pub struct Fails;

/// No type is one.
pub trait Never {}

/// In a trait: the type that a function gives that asks for it.
macro_rules! told_once {
    ($bound:path) => {
        /// `X` where the bound holds, see [`crate::proof`].
        type Proven<X>;

        /// What was made under the bound.
        fn proven<X>(made: X) -> <Self as $bound>::Proven<X>;
    };
}

/// In an implementation: the bound holds.
macro_rules! holds {
    () => {
        type Proven<X> = X;

        #[inline(always)]
        fn proven<X>(made: X) -> X {
            made
        }
    };
}

pub(crate) use {holds, told_once};
