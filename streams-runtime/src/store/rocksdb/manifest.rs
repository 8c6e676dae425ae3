//! Tells a manifest whose last record was damaged from one whose writer was killed.
//!
//! The manifest lists the tables. Its records carry a sum over everything but their length; a record that
//! claims to be longer than the file looks like the torn end that a kill leaves, and the database leaves it
//! out: with the tables of an older list and the newest log it would show rows of no commit. But behind a
//! length that was damaged the record is whole, and its sum says so.
//!
//! A file that was cut short cannot be told from a torn one, and is not.

use std::fs;
use std::io;
use std::path::Path;

/// Records do not cross the borders of blocks.
const BLOCK_BYTES: usize = 32 * 1024;

/// Sum (4), length (2), type (1).
const HEADER_BYTES: usize = 7;

/// Whether the length of the last record of the current manifest is damaged.
///
/// Whatever else is wrong with it the database notices by itself.
pub(super) fn has_damaged_end(folder: &Path) -> io::Result<bool> {
    let current = fs::read_to_string(folder.join("CURRENT"));
    let name = match &current {
        Ok(text) => text.trim_end(),
        // Damage in the name itself.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        Err(_) => return current.map(|_| false),
    };
    match fs::read(folder.join(name)) {
        Ok(bytes) => Ok(is_damaged(&bytes)),
        // Nor is there a file of a damaged name.
        Err(_) if !name.starts_with("MANIFEST-") => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_damaged(bytes: &[u8]) -> bool {
    // Only in the last block can a record end behind the file.
    let Some(mut rest) = bytes.chunks(BLOCK_BYTES).last() else { return false };
    while let Some((header, behind)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let [a, b, c, d, low, high, kind] = *header;
        let len = usize::from(u16::from_le_bytes([low, high]));
        match behind.get(len..) {
            Some(next) => rest = next,
            None => return fits(u32::from_le_bytes([a, b, c, d]), kind, behind),
        }
    }
    false
}

/// Whether the sum is that of a record of this type in some length.
fn fits(sum: u32, kind: u8, bytes: &[u8]) -> bool {
    let mut state = step(!0, kind);
    masked(!state) == sum
        || bytes.iter().any(|byte| {
            state = step(state, *byte);
            masked(!state) == sum
        })
}

/// CRC-32C, a bit at a time: some thousand bytes, once at an open, and only when something is wrong.
fn step(state: u32, byte: u8) -> u32 {
    (0..8).fold(state ^ u32::from(byte), |state, _| (state >> 1) ^ (0x82f6_3b78 * (state & 1)))
}

/// As RocksDB stores it.
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(payload: &[u8]) -> Vec<u8> {
        let sum = masked(!payload.iter().fold(step(!0, 1), |state, byte| step(state, *byte)));
        let len = u16::try_from(payload.len()).unwrap();
        [&sum.to_le_bytes()[..], &len.to_le_bytes(), &[1], payload].concat()
    }

    #[test]
    fn the_sum_is_crc_32c() {
        assert_eq!(!b"123456789".iter().fold(!0, |state, byte| step(state, *byte)), 0xe306_9283);
    }

    #[test]
    fn lengths_that_were_damaged_are_told_from_torn_ends() {
        let whole = [record(b"first"), record(b"the second one"), record(b"")].concat();
        assert!(!is_damaged(&whole));
        assert!(!is_damaged(b""));
        for len in 0..whole.len() {
            assert!(!is_damaged(&whole[..len]), "cut to {len}");
        }
        for start in [0, 12, 33] {
            for damaged in [start + 4, start + 5] {
                let mut bytes = whole.clone();
                bytes[damaged] ^= 0xff;
                assert!(is_damaged(&bytes), "byte {damaged}");
                // Also where the end is torn as well.
                bytes.pop();
                assert!(is_damaged(&bytes) || start == 33, "byte {damaged}, and cut");
            }
        }
    }
}
