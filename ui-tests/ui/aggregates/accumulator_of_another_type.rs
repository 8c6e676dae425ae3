use streams_core::prelude::*;

#[record]
struct Flow { host: String, out_flow: u64, load: f64, at: i64 }

struct Longest;
impl Accumulator<String> for Longest {
    type State = usize;
    type Out = usize;
    fn init(&self) -> usize { 0 }
    fn add(&self, state: &mut usize, value: String) { *state = (*state).max(value.len()) }
    fn merge(&self, state: &mut usize, behind: usize) { *state = (*state).max(behind) }
    fn finish(&self, state: usize) -> usize { state }
}
#[stream_job]
fn job(flows: Stream<Flow>) -> Stream<usize> {
    flows.key_by(|f| f.host.clone()).running(forever()).aggregate(acc(Longest, |f| f.out_flow))
}

fn main() {}
