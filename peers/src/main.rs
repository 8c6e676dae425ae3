//! The benchmark with other engines beside ours: Renoir in two forms, and timely. `scripts/bench` runs it.

mod renoir;
mod renoir_native;
mod timely;

use std::process::ExitCode;

fn main() -> ExitCode {
    examples::nexmark::bench::main(examples::engines! {
        "oracle" examples::nexmark::oracle: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "loop" examples::nexmark::hand_written: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "streams" examples::nexmark::engine: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "renoir" crate::renoir: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
        "renoir-native" crate::renoir_native: q3 q7 q8 qk;
        "timely" crate::timely: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk;
    })
}
