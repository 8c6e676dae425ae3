//! Varints: LEB128 for unsigned numbers and the zigzag mapping that makes small negative ones short.
//!
//! Only the shortest form of a number is written, and only that is accepted, so that equal keys have equal
//! bytes. Positions and errors belong to the decoder; this module sees a byte slice and advances it.

/// Why a varint could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes end inside the number.
    Truncated,
    /// The number does not fit the type that was asked for.
    TooLarge,
    /// The number was written with more bytes than it needs.
    NotShortest,
}

/// Appends a number of up to 64 bits.
#[inline]
pub(super) fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low_bits(u128::from(value)) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(u128::from(value)));
}

/// Appends a number of up to 128 bits.
pub(super) fn put_u128(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

/// Sets the number for which one byte was reserved at `at`, and moves what follows when one is too few.
///
/// Almost all lengths fit that byte. The rest costs a move of bytes that are still in the cache, which is
/// cheaper than three unused bytes in each field of each stored row.
#[inline]
pub(super) fn patch(out: &mut Vec<u8>, at: usize, value: usize) {
    match (u8::try_from(value), out.get_mut(at)) {
        (Ok(short @ 0..0x80), Some(byte)) => *byte = short,
        _ => patch_long(out, at, value),
    }
}

#[cold]
fn patch_long(out: &mut Vec<u8>, at: usize, value: usize) {
    let mut rest = value;
    let n_bytes = (usize::BITS - value.leading_zeros()).div_ceil(7).max(1);
    // An exact iterator lets `splice` move the tail once and allocate nothing but the growth of `out`.
    let bytes = (1..=n_bytes).map(|nth| {
        let byte = low_bits(rest as u128) | if nth < n_bytes { 0x80 } else { 0 };
        rest >>= 7;
        byte
    });
    out.splice(at..=at, bytes);
}

/// Reads a number of up to 64 bits.
#[inline]
pub(super) fn take_u64(bytes: &mut &[u8]) -> Result<u64, Fault> {
    match bytes.split_first() {
        Some((&byte @ 0..0x80, rest)) => {
            *bytes = rest;
            Ok(u64::from(byte))
        }
        _ => take_long64(bytes),
    }
}

/// Reads a number of up to 128 bits.
pub(super) fn take_u128(bytes: &mut &[u8]) -> Result<u128, Fault> {
    take_long128(bytes)
}

// Twice from one text, since arithmetic on 128 bits would make every timestamp slower to read.
macro_rules! take_long {
    ($name:ident: $type:ty) => {
        fn $name(bytes: &mut &[u8]) -> Result<$type, Fault> {
            let mut value: $type = 0;
            let mut shift = 0_u32;
            for (nth, &byte) in bytes.iter().enumerate() {
                let part = <$type>::from(byte & 0x7f);
                if shift >= <$type>::BITS || (part << shift) >> shift != part {
                    return Err(Fault::TooLarge);
                }
                value |= part << shift;
                if byte < 0x80 {
                    *bytes = bytes.get(nth + 1..).unwrap_or_default();
                    return if byte == 0 && nth > 0 { Err(Fault::NotShortest) } else { Ok(value) };
                }
                shift += 7;
            }
            Err(Fault::Truncated)
        }
    };
}

take_long!(take_long64: u64);
take_long!(take_long128: u128);

/// Maps 0, -1, 1, -2, … to 0, 1, 2, 3, ….
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Undoes [`zigzag`].
#[inline]
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// As [`zigzag`], for 128 bits.
pub(super) fn zigzag128(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)).cast_unsigned()
}

/// As [`unzigzag`], for 128 bits.
pub(super) fn unzigzag128(value: u128) -> i128 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[inline]
fn low_bits(value: u128) -> u8 {
    u8::try_from(value & 0x7f).expect("seven bits fit a byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: u128, len: usize) {
        let mut out = Vec::new();
        put_u128(&mut out, value);
        assert_eq!(out.len(), len);
        assert_eq!(take_u128(&mut out.as_slice()), Ok(value));
        if let Ok(small) = u64::try_from(value) {
            let mut short = Vec::new();
            put_u64(&mut short, small);
            assert_eq!(short, out);
            assert_eq!(take_u64(&mut out.as_slice()), Ok(small));
        } else {
            assert_eq!(take_u64(&mut out.as_slice()), Err(Fault::TooLarge));
        }
        for end in 0..len {
            assert_eq!(take_u128(&mut &out[..end]), Err(Fault::Truncated));
        }
        let mut patched = vec![7, 0, 9];
        if let Ok(n_bytes) = usize::try_from(value) {
            patch(&mut patched, 1, n_bytes);
            assert_eq!(patched, [&[7][..], &out, &[9]].concat());
        }
    }

    #[test]
    fn edges() {
        check(0, 1);
        check(127, 1);
        check(128, 2);
        check(16_383, 2);
        check(16_384, 3);
        check(u128::from(u64::MAX) >> 1, 9);
        check(u128::from(u64::MAX), 10);
        check(u128::from(u64::MAX) + 1, 10);
        check(u128::MAX, 19);
    }

    #[test]
    fn long_and_large_forms_are_refused() {
        assert_eq!(take_u64(&mut &[0x80, 0][..]), Err(Fault::NotShortest));
        assert_eq!(take_u64(&mut &[0xff, 0x80, 0][..]), Err(Fault::NotShortest));
        assert_eq!(take_u64(&mut &[0xff; 11][..]), Err(Fault::TooLarge));
        assert_eq!(take_u128(&mut &[0xff; 30][..]), Err(Fault::TooLarge));
    }

    #[test]
    fn zigzag_round_trips() {
        for value in [0, 1, -1, 63, -64, 64, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
            assert_eq!(zigzag128(value.into()), zigzag(value).into());
            assert_eq!(unzigzag128(zigzag128(value.into())), value.into());
        }
        assert_eq!(zigzag(-1), 1);
        for value in [i128::MIN, i128::MAX] {
            assert_eq!(unzigzag128(zigzag128(value)), value);
        }
    }
}
