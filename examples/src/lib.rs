//! The examples are the programs in `src/bin`, one job a file; this library is empty.
