//! Jobs in processing time, with every fault: what time it was is fixed by the commits, and nothing leaves before.

use streams_core::sim::sim;

use crate::jobs::{arrivals, arrivals_and_flows, stamped};
use crate::{seeds, show};

#[test]
fn windows_of_arrival() {
    let report = sim(arrivals).seeds(seeds()).run();
    show("arrivals", &report);
}

#[test]
fn beside_another_time() {
    show("arrivals_and_flows", &sim(arrivals_and_flows).often_idle().seeds(seeds()).run());
}

#[test]
fn without_a_shuffle() {
    show("stamped", &sim(stamped).direct().seeds(seeds()).run());
}
