//! A seed is a run, byte for byte; and how the fleet is scheduled changes nothing that readers accept.

use streams_core::sim::sim;

use crate::jobs::{late, traffic, two_shuffles, union_of_two};

#[test]
fn the_same_seed_is_the_same_run() {
    let mut hashes = Vec::new();
    for seed in 0..40 {
        let hash = sim(two_shuffles).trace_hash(seed);
        assert_eq!(hash, sim(two_shuffles).trace_hash(seed), "seed {seed}");
        hashes.push(hash);
    }
    println!("trace of seed 0: {:016x}", hashes[0]);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 40, "each seed is a run of its own");
}

#[test]
fn batches_and_checkpoints_change_nothing() {
    for seed in 0..100 {
        let [one, other] = sim(traffic).never_idle().without_faults().accepted_streams(seed);
        assert_eq!(one, other, "traffic, seed {seed}");
        let [one, other] = sim(union_of_two).never_idle().without_faults().accepted_streams(seed);
        assert_eq!(one, other, "union_of_two, seed {seed}");
    }
}

#[test]
fn held_stages_hold() {
    sim(traffic).held().seeds(100).run();
    sim(two_shuffles).held().seeds(100).run();
    sim(late).held().often_idle().seeds(100).run();
    sim(union_of_two).direct().often_idle().seeds(100).run();
}

#[test]
fn records_can_be_made_by_hand() {
    let make = |random: u64, at: i64| format!(r#"{{"host":"h{}","out_flow":7,"at":{at}}}"#, random % 2);
    let report = sim(traffic).records_of("flows", make).instances(2).queues(2).records(30).seeds(30).run();
    assert!(report.tally.records >= 30 * 20, "{report}");
}
