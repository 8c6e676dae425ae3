//! Every interleaving of a tiny fleet.

use streams_core::sim::{Budget, sim};

use crate::jobs::traffic;

/// How many states are gone through: `STREAMS_SIM_STATES`, or a part that a test may take time for.
fn most() -> u64 {
    std::env::var("STREAMS_SIM_STATES").map_or(60_000, |text| text.parse().unwrap())
}

#[test]
fn one_thing_goes_wrong_in_every_order() {
    for budget in [
        Budget { crashes: 0, takeovers: 0, unknown: 0 },
        Budget { crashes: 1, takeovers: 0, unknown: 0 },
        Budget { crashes: 0, takeovers: 1, unknown: 0 },
        Budget { crashes: 0, takeovers: 0, unknown: 1 },
    ] {
        match sim(traffic).records(4).exhaust(budget, most()) {
            Ok(found) => println!("{budget:?}: {found}"),
            Err(failure) => panic!("{failure}"),
        }
    }
}

#[test]
fn all_three_go_wrong_in_every_order() {
    let budget = Budget { crashes: 1, takeovers: 1, unknown: 1 };
    match sim(traffic).records(4).exhaust(budget, most()) {
        Ok(found) => println!("exhaustive, {budget:?}: {found}"),
        Err(failure) => panic!("{failure}"),
    }
}
