//! DDSketch: how many values fall into each of the buckets whose width grows with the values.
//!
//! A bucket is named by the first bits of the float: sign, exponent and six bits of the mantissa. So each
//! doubling has 64 buckets of equal width, and no logarithm, which might differ between machines, is needed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many bits of the mantissa choose a bucket.
const SUB_BITS: u32 = 6;
/// How many bits of a float do not.
const REST_BITS: u32 = f64::MANTISSA_DIGITS - 1 - SUB_BITS;
/// The bucket of infinity; those of finite numbers are below.
const INFINITE: u32 = (f64::INFINITY.to_bits() >> REST_BITS) as u32;

/// The values that were added, by bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// Buckets in ascending order of their values; the negative ones have negative numbers, zero has zero.
    counts: BTreeMap<i32, u64>,
    smallest: f64,
    largest: f64,
    has_nan: bool,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), smallest: f64::INFINITY, largest: f64::NEG_INFINITY, has_nan: false }
    }
}

/// The number of the bucket that holds a value.
fn bucket(value: f64) -> i32 {
    let magnitude = value.abs();
    if magnitude < f64::MIN_POSITIVE {
        return 0;
    }
    let number = (magnitude.to_bits() >> REST_BITS) as i32;
    if value < 0.0 { -number } else { number }
}

/// The value that is nearest, in proportion, to everything in a bucket.
fn middle(bucket: i32) -> f64 {
    let number = bucket.unsigned_abs().min(INFINITE);
    if number == 0 {
        return 0.0;
    }
    let low = f64::from_bits(u64::from(number) << REST_BITS);
    // The bucket is [low, low · (1 + 1/(64 + sub))], and the harmonic mean of its ends is as far from both.
    let sub = f64::from(number % (1 << SUB_BITS));
    let middle = low * (1.0 + 1.0 / (129.0 + 2.0 * sub));
    if bucket < 0 { -middle } else { middle }
}

impl Sketch {
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        if value.is_nan() {
            self.has_nan = true;
            return;
        }
        // There is one zero.
        let value = value + 0.0;
        *self.counts.entry(bucket(value)).or_default() += 1;
        if value < self.smallest {
            self.smallest = value;
        }
        if value > self.largest {
            self.largest = value;
        }
    }

    pub(super) fn merge(&mut self, behind: Self) {
        for (bucket, n) in behind.counts {
            let count = self.counts.entry(bucket).or_default();
            *count = count.saturating_add(n);
        }
        if behind.smallest < self.smallest {
            self.smallest = behind.smallest;
        }
        if behind.largest > self.largest {
            self.largest = behind.largest;
        }
        self.has_nan |= behind.has_nan;
    }

    /// The quantile; `None` of nothing.
    pub(super) fn quantile(&self, rank: f64) -> Option<f64> {
        let n = self.counts.values().fold(0_u64, |n, count| n.saturating_add(*count));
        let Some(last) = n.checked_sub(1) else {
            return self.has_nan.then_some(f64::NAN);
        };
        let at = (rank * last as f64).floor() as u64;
        // Both ends are known exactly.
        if at == 0 || at >= last {
            return Some(if at == 0 { self.smallest } else { self.largest });
        }
        let mut seen = 0_u64;
        for (bucket, count) in &self.counts {
            seen = seen.saturating_add(*count);
            if seen > at {
                return Some(middle(*bucket).max(self.smallest).min(self.largest));
            }
        }
        Some(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(values: &[f64]) -> Sketch {
        let mut sketch = Sketch::default();
        values.iter().for_each(|value| sketch.add(*value));
        sketch
    }

    const RANKS: [f64; 9] = [0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.99, 0.999, 1.0];

    /// Every quantile is within 1/129 of the value that has its number.
    #[track_caller]
    fn check(mut values: Vec<f64>) {
        let sketch = sketch(&values);
        values.sort_by(f64::total_cmp);
        for rank in RANKS {
            let exact = values[(rank * (values.len() - 1) as f64) as usize];
            let found = sketch.quantile(rank).unwrap();
            let error = if found == exact { 0.0 } else { ((found - exact) / exact).abs() };
            assert!(error <= 1.0 / 129.0 + 1e-12, "{rank} of {} is {exact}, found {found}", values.len());
        }
    }

    #[test]
    fn every_quantile_is_within_the_bound() {
        check((1..=10_000).map(f64::from).collect());
        check((1..=3_000).map(|n| 1.01_f64.powi(n - 1_500)).collect());
        check((1..=3_000).map(|n| -f64::from(n) * 1e-7).collect());
        check((-1_000..1_000).map(|n| f64::from(n).powi(3)).collect());
        check(vec![f64::NEG_INFINITY, f64::MIN, -1.0, 0.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY]);
        check(vec![4.25]);
    }

    #[test]
    fn a_bucket_holds_what_its_middle_says() {
        for value in [f64::MIN_POSITIVE, 1e-300, 0.3, 1.0, 1.015_625, 63.999, 64.0, 1e18, f64::MAX] {
            for value in [value, -value, value.next_down(), value.next_up()] {
                if value.is_infinite() || value.abs() < f64::MIN_POSITIVE {
                    continue;
                }
                let found = middle(bucket(value));
                assert!(((found - value) / value).abs() <= 1.0 / 129.0 + 1e-12, "{value} is {found}");
                assert_eq!(bucket(found), bucket(value));
            }
        }
        assert_eq!((middle(bucket(f64::INFINITY)), middle(i32::MIN)), (f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn nan_counts_only_alone() {
        assert_eq!(Sketch::default().quantile(0.5), None);
        assert!(sketch(&[f64::NAN]).quantile(0.5).is_some_and(f64::is_nan));
        assert_eq!(sketch(&[f64::NAN, 2.0, f64::NAN]).quantile(0.5), Some(2.0));
    }

    #[test]
    fn order_and_merging_change_nothing() {
        let values: Vec<f64> = (0..500).map(|n| f64::from(n * 7_919 % 1_000) / 3.0 - 100.0).collect();
        let whole = sketch(&values);
        let reversed: Vec<f64> = values.iter().rev().copied().collect();
        assert_eq!(sketch(&reversed), whole);
        for cut in [0, 1, 250, 500] {
            let (front, behind) = values.split_at(cut);
            let mut merged = sketch(front);
            merged.merge(sketch(behind));
            assert_eq!(merged, whole);
        }
    }
}
