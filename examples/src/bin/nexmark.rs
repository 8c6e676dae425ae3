//! The queries of the Nexmark benchmark as jobs, beside the loop that one would write by hand.
//!
//! Each result is compared with that of a slow evaluation over the whole input before anything is measured. `SPEC.md`
//! pins the data, the queries and what is timed; `scripts/bench` runs all of it and prints a table.
//!
//! ```text
//! cargo run --profile nexmark -p examples --bin nexmark -- --engine streams --query qk --bids slim --group 640
//! ```
//!
//! prints one JSON object: fingerprints, rows, seconds, memory.

use std::process::ExitCode;

fn main() -> ExitCode {
    examples::nexmark::bench::main(examples::engines! {
        "oracle" examples::nexmark::oracle: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "loop" examples::nexmark::hand_written: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "streams" examples::nexmark::engine: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
    })
}
