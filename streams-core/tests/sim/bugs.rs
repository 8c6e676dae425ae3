//! Each planted bug is found, and by which run.

use streams_core::plan::Job;
use streams_core::sim::{Bug, Sim, Violation, sim};

use crate::jobs::{
    ahead, arrivals, bounded, few_flows, join_with_totals, late, limits, looked_up, panics, so_far, traffic,
    two_shuffles, union_of_two,
};

/// How many runs may pass before a bug is found.
const MOST: u64 = 500;

fn search<J: Job>(runs: Sim<J>, bug: Bug, most: u64) -> Option<(u64, Violation)> {
    runs.seeds(most).plant(bug).first_violation()
}

#[test]
fn each_planted_bug_is_found() {
    let mut missed = Vec::new();
    println!("{:>3} {:<22} {:>5} {:<14} found by", "no.", "bug", "seeds", "job");
    for bug in Bug::ALL {
        // The job whose shape the bug needs, and the first that finds it.
        let searches: [(&str, &dyn Fn(u64) -> Option<(u64, Violation)>); 10] = [
            ("traffic", &|most| search(sim(traffic), bug, most)),
            ("two_shuffles", &|most| search(sim(two_shuffles), bug, most)),
            ("union_of_two", &|most| search(sim(union_of_two), bug, most)),
            ("late", &|most| search(sim(late), bug, most)),
            ("bounded", &|most| search(sim(bounded).records_of("flows", ahead), bug, most)),
            ("so_far", &|most| search(sim(so_far), bug, most)),
            ("arrivals", &|most| search(sim(arrivals), bug, most)),
            ("panics", &|most| search(sim(panics).records_of("flows", few_flows), bug, most)),
            ("looked_up", &|most| search(sim(looked_up).rows_of("limits", limits), bug, most)),
            ("join_with_totals", &|most| search(sim(join_with_totals), bug, most)),
        ];
        let mut best: Option<(u64, &str, Violation)> = None;
        for (job, search) in searches {
            // Only an earlier run would be a better one.
            let most = best.as_ref().map_or(MOST, |(seed, ..)| *seed);
            best = search(most).map(|(seed, found)| (seed, job, found)).or(best);
        }
        match best {
            Some((seed, job, violation)) => {
                let text: String = violation.text.chars().take(90).collect();
                let name = format!("{bug:?}");
                let number = bug.number();
                println!("{number:>3} {name:<22} {:>5} {job:<14} {}: {text}", seed + 1, violation.invariant);
            }
            None => {
                println!("{:>3} {:<22} NOT FOUND", bug.number(), format!("{bug:?}"));
                missed.push(bug);
            }
        }
    }
    println!("{} of {} planted bugs found", Bug::ALL.len() - missed.len(), Bug::ALL.len());
    assert!(missed.is_empty(), "not found: {missed:?}");
}
