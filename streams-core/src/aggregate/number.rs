//! Numbers that can be summed without losing anything on the way.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize as De, Deserializer, Serialize, Serializer};

use crate::aggregate::AggregateError;

/// A type that `sum` and `avg` take.
#[diagnostic::on_unimplemented(
    message = "`sum` and `avg` cannot add values of type `{Self}`",
    label = "gives `{Self}`, not a number",
    note = "`sum` and `avg` take integers, floats and `Duration`; for an `Option` write e.g. `sum(|r| r.field.unwrap_or(0))`"
)]
pub trait Number: Sized + Send + 'static {
    crate::proof::told_once!(Number);
    /// A sum of any number of them, exact for integers.
    type Total: Serialize + DeserializeOwned + Clone + Default + Send + std::fmt::Debug + 'static;

    /// Whether sums of parts are, to the bit, the sum of the whole.
    const EXACT: bool = true;

    /// Adds one.
    fn add(total: &mut Self::Total, value: Self);
    /// Adds another total.
    fn merge(total: &mut Self::Total, behind: Self::Total);
    /// The total as the type itself.
    ///
    /// # Errors
    /// When it does not fit.
    fn finish(total: Self::Total) -> Result<Self, AggregateError>;
    /// The total as the nearest float, for averages. Of a `Duration`: seconds.
    fn to_f64(total: &Self::Total) -> f64;
}

// Sums of values of up to 64 bits are kept in 128, those of 128-bit values in 192: no number of values that fits
// a 64-bit count can leave them. So adding never fails, and neither order nor the parts of a window decide
// whether a sum fits: with values of both signs one order leaves the type on the way and another does not. Only
// the result can fail to fit.

/// A 128-bit sum as two words: aligned like a `u64`, so that a row of state is no larger than it must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Words<H> {
    low: u64,
    high: H,
}

macro_rules! words {
    ($($wide:ty, $high:ty);*) => {$(
        impl Words<$high> {
            #[inline(always)]
            fn get(self) -> $wide {
                (<$wide>::from(self.high) << 64) | <$wide>::from(self.low)
            }

            #[inline(always)]
            fn add(&mut self, value: $wide) {
                let sum = self.get().wrapping_add(value);
                *self = Self { low: sum as u64, high: (sum >> 64) as $high };
            }
        }

        impl Serialize for Words<$high> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.get().serialize(serializer)
            }
        }

        impl<'de> De<'de> for Words<$high> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let wide = <$wide>::deserialize(deserializer)?;
                Ok(Self { low: wide as u64, high: (wide >> 64) as $high })
            }
        }
    )*};
}

words!(u128, u64; i128, i64);

macro_rules! integers {
    ($wide:ty, $high:ty: $($int:ty),*) => {$(
        impl Number for $int {
            crate::proof::holds!();
            type Total = Words<$high>;

            #[inline(always)]
            fn add(total: &mut Words<$high>, value: Self) {
                total.add(value as $wide);
            }

            #[inline(always)]
            fn merge(total: &mut Words<$high>, behind: Words<$high>) {
                total.add(behind.get());
            }

            #[inline(always)]
            fn finish(total: Words<$high>) -> Result<Self, AggregateError> {
                Self::try_from(total.get()).map_err(|_| AggregateError::Overflow {
                    sum: total.get().to_string(),
                    of: stringify!($int),
                })
            }

            fn to_f64(total: &Words<$high>) -> f64 {
                total.get() as f64
            }
        }
    )*};
}

integers!(u128, u64: u8, u16, u32, u64, usize);
integers!(i128, i64: i8, i16, i32, i64, isize);

/// A sum of 128-bit values in 192 bits, as two's complement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, De)]
pub struct Wide(u128, i64);

impl Wide {
    fn add(&mut self, Self(low, high): Self) {
        let (sum, carry) = self.0.overflowing_add(low);
        *self = Self(sum, self.1.wrapping_add(high).wrapping_add(i64::from(carry)));
    }

    fn to_f64(self) -> f64 {
        match i128::try_from(self) {
            Ok(small) => small as f64,
            // Beyond 128 bits the halves cannot cancel each other to less than half.
            Err(_) => self.1 as f64 * 2.0_f64.powi(128) + self.0 as f64,
        }
    }
}

impl From<u128> for Wide {
    fn from(value: u128) -> Self {
        Self(value, 0)
    }
}

impl From<i128> for Wide {
    fn from(value: i128) -> Self {
        Self(value as u128, if value < 0 { -1 } else { 0 })
    }
}

impl TryFrom<Wide> for u128 {
    type Error = ();

    fn try_from(Wide(low, high): Wide) -> Result<Self, ()> {
        if high == 0 { Ok(low) } else { Err(()) }
    }
}

impl TryFrom<Wide> for i128 {
    type Error = ();

    fn try_from(wide: Wide) -> Result<Self, ()> {
        let low = wide.0 as Self;
        if Wide::from(low) == wide { Ok(low) } else { Err(()) }
    }
}

macro_rules! widest {
    ($($int:ty),*) => {$(
        impl Number for $int {
            crate::proof::holds!();
            type Total = Wide;

            fn add(total: &mut Wide, value: Self) {
                total.add(Wide::from(value));
            }

            fn merge(total: &mut Wide, behind: Wide) {
                total.add(behind);
            }

            fn finish(total: Wide) -> Result<Self, AggregateError> {
                Self::try_from(total).map_err(|()| AggregateError::Overflow {
                    sum: format!("of about {:e}", total.to_f64()),
                    of: stringify!($int),
                })
            }

            fn to_f64(total: &Wide) -> f64 {
                total.to_f64()
            }
        }
    )*};
}

widest!(u128, i128);

/// A sum of floats with the rounding error carried along: Neumaier's variant of Kahan's summation ("Rundungs-
/// fehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, De)]
pub struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    #[inline]
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.error +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    fn value(self) -> f64 {
        // An infinite sum has a meaningless error.
        if self.sum.is_finite() { self.sum + self.error } else { self.sum }
    }
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Number for $float {
            crate::proof::holds!();
            type Total = Compensated;

            const EXACT: bool = false;

            #[inline]
            fn add(total: &mut Compensated, value: Self) {
                total.add(f64::from(value));
            }

            fn merge(total: &mut Compensated, behind: Compensated) {
                total.add(behind.sum);
                total.error += behind.error;
            }

            fn finish(total: Compensated) -> Result<Self, AggregateError> {
                Ok(total.value() as $float)
            }

            fn to_f64(total: &Compensated) -> f64 {
                total.value()
            }
        }
    )*};
}

floats!(f32, f64);

impl Number for Duration {
    crate::proof::holds!();
    type Total = u128;

    #[inline]
    fn add(total: &mut u128, value: Self) {
        *total = total.saturating_add(value.as_nanos());
    }

    fn merge(total: &mut u128, behind: u128) {
        *total = total.saturating_add(behind);
    }

    fn finish(total: u128) -> Result<Self, AggregateError> {
        const NANOS: u128 = 1_000_000_000;
        match u64::try_from(total / NANOS) {
            Ok(whole) => Ok(Self::new(whole, (total % NANOS) as u32)),
            Err(_) => Err(AggregateError::Overflow { sum: format!("{total} ns"), of: "Duration" }),
        }
    }

    fn to_f64(total: &u128) -> f64 {
        *total as f64 / 1e9
    }
}
