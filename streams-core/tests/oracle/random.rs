//! A small generator of random numbers, so that a seed gives the same jobs and streams everywhere.

/// Marsaglia's xorshift with a multiplication (xorshift64*).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero, and near seeds must not give near numbers.
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let n = u64::try_from(n.max(1)).expect("a usize fits");
        usize::try_from((self.next() >> 16) % n).expect("it is below a usize")
    }

    /// A number between the two, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = usize::try_from(high - low + 1).expect("the range is small and not empty");
        low + i64::try_from(self.below(span)).expect("it is below the span")
    }

    /// Whether something that happens `n` times in a hundred happens.
    pub(crate) fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
