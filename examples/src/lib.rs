//! The examples are the programs in `src/bin`, one job a file. Here is what the programs of the benchmark share.

pub mod nexmark;
