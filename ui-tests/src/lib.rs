//! Holds no code of its own: the crate is its tests.
