//! HyperLogLog over 64-bit hashes: what it keeps is a function of the set of hashes alone, so that neither
//! order nor merging changes it.

use serde::{Deserialize, Serialize};

/// How many bits of a hash choose its register.
const INDEX_BITS: u32 = 12;
/// How many registers there are.
pub(super) const N_REGISTERS: usize = 1 << INDEX_BITS;
/// The largest value of a register: all other bits of the hash are zero.
const LARGEST: u8 = 64 - INDEX_BITS as u8 + 1;
/// Up to so many hashes are kept as they are, in half the memory of the registers.
const MOST_HASHES: usize = N_REGISTERS / 16;

/// The hashes that were added, or what the registers know of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Sketch(Form);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// All hashes, in ascending order.
    Hashes(Vec<u64>),
    /// For each register, the longest run of zeros among the hashes that chose it, plus one.
    Registers(Vec<u8>),
}

/// A sketch as it is stored, not yet checked.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Stored {
    Hashes(Vec<u64>),
    Registers(Vec<u8>),
}

impl From<Sketch> for Stored {
    fn from(sketch: Sketch) -> Self {
        match sketch.0 {
            Form::Hashes(hashes) => Self::Hashes(hashes),
            Form::Registers(registers) => Self::Registers(registers),
        }
    }
}

impl TryFrom<Stored> for Sketch {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, &'static str> {
        match stored {
            Stored::Hashes(hashes) if hashes.len() > MOST_HASHES || !hashes.is_sorted_by(|a, b| a < b) => {
                Err("the hashes of a sketch are too many or out of order")
            }
            Stored::Hashes(hashes) => Ok(Self(Form::Hashes(hashes))),
            Stored::Registers(registers)
                if registers.len() != N_REGISTERS || registers.iter().any(|value| *value > LARGEST) =>
            {
                Err("the registers of a sketch are of another number or too large")
            }
            Stored::Registers(registers) => Ok(Self(Form::Registers(registers))),
        }
    }
}

impl Sketch {
    pub(super) fn new() -> Self {
        Self(Form::Hashes(Vec::new()))
    }

    pub(super) fn add(&mut self, hash: u64) {
        match &mut self.0 {
            Form::Registers(registers) => raise(registers, hash),
            Form::Hashes(hashes) => {
                let Err(at) = hashes.binary_search(&hash) else { return };
                hashes.insert(at, hash);
                if hashes.len() > MOST_HASHES {
                    let mut registers = vec![0; N_REGISTERS];
                    hashes.iter().for_each(|hash| raise(&mut registers, *hash));
                    self.0 = Form::Registers(registers);
                }
            }
        }
    }

    pub(super) fn merge(&mut self, mut behind: Self) {
        if matches!((&self.0, &behind.0), (Form::Hashes(_), Form::Registers(_))) {
            std::mem::swap(self, &mut behind);
        }
        match (&mut self.0, behind.0) {
            (Form::Registers(registers), Form::Registers(behind)) => {
                registers.iter_mut().zip(behind).for_each(|(value, other)| *value = other.max(*value));
            }
            (_, Form::Hashes(hashes)) => hashes.into_iter().for_each(|hash| self.add(hash)),
            (Form::Hashes(_), Form::Registers(_)) => unreachable!("the two were swapped"),
        }
    }

    /// About how many different hashes were added.
    pub(super) fn estimate(&self) -> u64 {
        match &self.0 {
            Form::Hashes(hashes) => hashes.len() as u64,
            Form::Registers(registers) => estimate(registers),
        }
    }
}

/// Lets the register that the first bits of the hash choose know how many zeros follow them.
fn raise(registers: &mut [u8], hash: u64) {
    let index = (hash >> (64 - INDEX_BITS)) as usize;
    // The bit behind the hash ends a run of nothing but zeros.
    let rest = (hash << INDEX_BITS) | (1 << (INDEX_BITS - 1));
    let zeros = rest.leading_zeros() as u8;
    if let Some(value) = registers.get_mut(index) {
        *value = (*value).max(zeros + 1);
    }
}

/// Algorithm 6 of Ertl's paper. It uses nothing but `+ - * /` and square roots, which are the same everywhere.
fn estimate(registers: &[u8]) -> u64 {
    const M: f64 = N_REGISTERS as f64;
    let mut counts = [0_u32; LARGEST as usize + 1];
    for value in registers {
        if let Some(count) = counts.get_mut(usize::from(*value)) {
            *count += 1;
        }
    }
    let [empty, between @ .., full] = &counts;
    let mut sum = M * tau(1.0 - f64::from(*full) / M);
    for count in between.iter().rev() {
        sum = 0.5 * (sum + f64::from(*count));
    }
    sum += M * sigma(f64::from(*empty) / M);
    let estimate = M / (2.0 * std::f64::consts::LN_2) * M / sum;
    estimate.round() as u64
}

/// What registers that are still empty add.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * y;
        y += y;
        if sum == before {
            return sum;
        }
    }
}

/// What registers that can rise no more add.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        y *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * y;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::codec;

    fn sketch(numbers: impl Iterator<Item = u64>) -> Sketch {
        let mut sketch = Sketch::new();
        numbers.for_each(|number| sketch.add(xxh3_64(&number.to_le_bytes())));
        sketch
    }

    #[test]
    fn the_error_is_what_the_documentation_says() {
        const N_RUNS: u64 = 50;
        for n in [200_u64, 257, 1_000, 4_096, 20_000, 100_000] {
            let errors: Vec<f64> = (0..N_RUNS)
                .map(|run| {
                    let found = sketch((0..n).map(|number| (run << 32) | number)).estimate();
                    found as f64 / n as f64 - 1.0
                })
                .collect();
            let largest = errors.iter().fold(0.0_f64, |largest, error| largest.max(error.abs()));
            let spread = (errors.iter().map(|error| error * error).sum::<f64>() / N_RUNS as f64).sqrt();
            let bias = errors.iter().sum::<f64>() / N_RUNS as f64;
            println!("{n:>6} values: largest error {largest:.4}, standard error {spread:.4}, bias {bias:.4}");
            if n <= MOST_HASHES as u64 {
                assert_eq!(largest, 0.0);
                continue;
            }
            // Over 50 runs the standard error itself is known to about a tenth.
            assert!(spread < 1.3 * 0.0163, "{n}: {spread}");
            assert!(bias.abs() < 0.007, "{n}: {bias}");
            assert!(largest < 4.0 * 0.0163, "{n}: {largest}");
        }
    }

    #[test]
    fn order_and_merging_change_nothing() {
        for n in [0_u64, 10, 256, 257, 300, 5_000] {
            let whole = sketch(0..n);
            assert_eq!(sketch((0..n).rev().chain(0..n)), whole, "{n}");
            for cut in [0, n / 7, n / 2, n] {
                let mut merged = sketch(0..cut);
                // Some values are in both.
                merged.merge(sketch(cut.saturating_sub(20)..n));
                assert_eq!(merged, whole, "{n} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_register_takes_the_longest_run_of_zeros() {
        let mut registers = vec![0; N_REGISTERS];
        raise(&mut registers, 0);
        raise(&mut registers, u64::MAX);
        raise(&mut registers, 1 << 40);
        assert_eq!((registers[0], registers[N_REGISTERS - 1]), (LARGEST, 1));
        raise(&mut registers, (1 << 52) | (1 << 49));
        assert_eq!(registers[1], 3);
    }

    #[test]
    fn the_ends_of_the_range_have_an_estimate() {
        assert_eq!(estimate(&[0; N_REGISTERS]), 0);
        assert!(estimate(&[LARGEST; N_REGISTERS]) > 1 << 62);
    }

    #[test]
    fn what_is_stored_is_checked() {
        let encoded = |stored: Stored| {
            let mut bytes = Vec::new();
            codec::to_vec(&stored, &mut bytes).unwrap();
            codec::from_slice::<Sketch>(&bytes)
        };
        assert_eq!(encoded(Stored::Hashes(vec![1, 2])).unwrap(), Sketch(Form::Hashes(vec![1, 2])));
        let registers = Form::Registers(vec![LARGEST; N_REGISTERS]);
        assert_eq!(encoded(Stored::from(Sketch(registers.clone()))).unwrap(), Sketch(registers));
        let damaged = [
            Stored::Hashes(vec![2, 1]),
            Stored::Hashes(vec![1, 1]),
            Stored::Hashes((0..=MOST_HASHES as u64).collect()),
            Stored::Registers(vec![0; N_REGISTERS - 1]),
            Stored::Registers(vec![LARGEST + 1; N_REGISTERS]),
        ];
        for stored in damaged {
            let error = encoded(stored).unwrap_err().to_string();
            assert!(error.contains("of a sketch are"), "{error}");
        }
    }
}
