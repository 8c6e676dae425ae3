mod job {
    use streams_core::prelude::*;

    #[stream_job]
    fn main(flows: Stream<u64>) -> Stream<u64> {
        flows.map(|n| n)
    }
}

fn main() {}
