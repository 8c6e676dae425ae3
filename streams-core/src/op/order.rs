//! Puts rows in the order of their keys.

use std::any::Any;

/// Bits that are looked at in one pass, and how many values they have.
const DIGIT: u32 = 11;
const VALUES: usize = 1 << DIGIT;

/// Gives out rows in the order of their keys, of which no two are equal.
///
/// Keys that are whole numbers are sorted by their digits, from the last to the first that differs (radix sort, Knuth,
/// The Art of Computer Programming 3, 5.2.5), which takes two or three passes for the keys that there usually are;
/// others, and few, by comparing them.
pub(crate) fn by_key<K: Ord + 'static, S>(mut rows: Vec<(K, S)>, mut each: impl FnMut((K, S))) {
    match by_digits(&rows) {
        Some(order) => {
            let mut rows: Vec<Option<(K, S)>> = rows.into_iter().map(Some).collect();
            let row = |place: usize| rows.get_mut(place).and_then(Option::take);
            order.filter_map(row).for_each(each);
        }
        None => {
            rows.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            rows.into_iter().for_each(&mut each);
        }
    }
}

/// The places of the rows in the order of their keys, where their digits tell it faster than comparing does.
fn by_digits<K: 'static, S>(rows: &[(K, S)]) -> Option<impl Iterator<Item = usize> + use<K, S>> {
    // A pass clears and adds up all values once.
    if rows.len() < VALUES {
        return None;
    }
    let first = rows.first().and_then(|(key, _)| rank(key))?;
    let ranks = || rows.iter().map_while(|(key, _)| rank(key));
    let (lowest, highest, differing) =
        ranks().fold((first, first, 0), |(lowest, highest, differing), rank| {
            (rank.min(lowest), rank.max(highest), differing | (rank ^ first))
        });
    // Bits below the first that differs are those of the lowest, too.
    let (low, high) = (differing.trailing_zeros(), u64::BITS - (highest - lowest).leading_zeros());
    let passes = high.saturating_sub(low).div_ceil(DIGIT);
    // The number of a row stands behind the digits.
    let width = usize::BITS - rows.len().leading_zeros();
    if rows.len() / VALUES < passes as usize || high.saturating_sub(low) + width > u64::BITS {
        return None;
    }
    let mut order: Vec<u64> =
        (0..).zip(ranks()).map(|(row, rank): (u64, _)| (rank - lowest) >> low << width | row).collect();
    let mut other = vec![0; order.len()];
    for pass in 0..passes {
        sort_digit(&order, &mut other, width + pass * DIGIT);
        std::mem::swap(&mut order, &mut other);
    }
    let row = (1 << width) - 1;
    Some(order.into_iter().map(move |both| (both & row) as usize))
}

/// Writes what is in `from` into `to`, in the order of the digit at `shift`, else as it was.
#[expect(clippy::indexing_slicing, reason = "a digit has so many values, and both have so many rows")]
fn sort_digit(from: &[u64], to: &mut [u64], shift: u32) {
    let digit = |both: u64| (both >> shift) as usize & (VALUES - 1);
    let mut places = [0_u32; VALUES];
    for &both in from {
        places[digit(both)] += 1;
    }
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    for &both in from {
        let place = &mut places[digit(both)];
        to[*place as usize] = both;
        *place += 1;
    }
}

/// A number that is smaller the smaller the key is, where the key is one.
#[inline(always)]
fn rank<K: 'static>(key: &K) -> Option<u64> {
    let key: &dyn Any = key;
    macro_rules! number {
        ($($signed:ty, $unsigned:ty);*) => {
            $(
                if let Some(n) = key.downcast_ref::<$unsigned>() {
                    return Some(*n as u64);
                }
                if let Some(n) = key.downcast_ref::<$signed>() {
                    // Negative ones come first.
                    return Some((*n as i64 as u64) ^ (1 << 63));
                }
            )*
        };
    }
    number!(i64, u64; i32, u32; isize, usize);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with these keys, each once, in no order.
    #[track_caller]
    fn check<K: Ord + Clone + std::fmt::Debug + 'static>(n: u64, is_by_digits: bool, key: impl Fn(u64) -> K) {
        // Multiplying with an odd number maps different numbers to different ones.
        let scattered = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 << 32 | i);
        let mut keys: Vec<K> = scattered.map(key).collect();
        keys.dedup();
        let rows: Vec<(K, usize)> = keys.into_iter().zip(0..).collect();
        let mut expected = rows.clone();
        expected.sort_by(|(a, _), (b, _)| a.cmp(b));
        assert_eq!(by_digits(&rows).is_some(), is_by_digits);
        let mut found = Vec::new();
        by_key(rows, |row| found.push(row));
        assert!(found == expected, "{n} rows are not in order");
    }

    /// Below `n`, each once, in no order.
    fn below(i: u64, n: u64) -> u64 {
        (i & 0xFFFF_FFFF).wrapping_mul(7_919) % n
    }

    #[test]
    fn whole_numbers_are_sorted_by_their_digits() {
        check(10_000, true, |i| below(i, 10_000));
        check(5_000, true, |i| below(i, 5_000) * 1_024 + 7);
        check(10_000, true, |i| below(i, 10_000) as i64 - 5_000);
        check(5_000, true, |i| below(i, 5_000) as i32 - 10);
        check(5_000, true, |i| below(i, 5_000) as usize);
        check(20_000, true, |i| i >> 20);
        check(20_000, true, |i| (i >> 20) as i64);
        check(20_000, true, |i| below(i, 20_000) as i64 + i64::MIN);
    }

    #[test]
    fn others_are_compared() {
        check(5_000, false, |i| below(i, 5_000).to_string());
        check(5_000, false, |i| (below(i, 5_000), 1_u64));
        check(5_000, false, |i| below(i, 5_000) as u16);
        // Too few for as many digits as they have, or at all; or with too many digits.
        check(5_000, false, |i| i >> 20);
        check(20_000, false, |i| i);
        check(100, false, |i| i);
        check(1, false, |i| i);
        check(0, false, |i| i);
    }
}
