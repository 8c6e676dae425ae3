//! Every interleaving of a tiny fleet.

use streams_core::sim::{Budget, Exhausted, sim};

use crate::jobs::traffic;

/// How many states are gone through at the most: `STREAMS_SIM_STATES`, or a part that a test may take time for.
fn most() -> u64 {
    std::env::var("STREAMS_SIM_STATES").map_or(60_000, |text| text.parse().unwrap())
}

fn budget(crashes: u8, takeovers: u8, unknown: u8) -> Budget {
    Budget { crashes, takeovers, unknown, every_order: false }
}

fn explore(records: usize, budget: Budget) -> Exhausted {
    match sim(traffic).records(records).exhaust(budget, most()) {
        Ok(found) => {
            println!("{records} records, {budget:?}: {found}");
            found
        }
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn one_thing_goes_wrong_in_every_order() {
    for budget in [budget(0, 0, 0), budget(1, 0, 0), budget(0, 1, 0), budget(0, 0, 1)] {
        assert!(explore(4, budget).complete);
    }
}

/// The search leaves out orders that are said to lead nowhere else: they do not.
#[test]
fn the_orders_that_are_left_out_end_where_others_do() {
    let mut budgets =
        vec![budget(0, 0, 0), budget(1, 0, 0), budget(0, 1, 0), budget(0, 0, 1), budget(1, 0, 1)];
    if most() >= 1_000_000 {
        budgets.push(budget(1, 1, 0));
    }
    for budget in budgets {
        let reduced = explore(2, budget);
        let every = explore(2, Budget { every_order: true, ..budget });
        assert!(reduced.complete && every.complete);
        assert_eq!(reduced.ends, every.ends, "{budget:?}");
    }
}

#[test]
fn all_three_go_wrong_in_every_order() {
    explore(4, budget(1, 1, 1));
}
