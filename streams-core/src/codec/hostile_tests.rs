//! Tests with damaged bytes: every truncation, every flipped bit, and pseudo-random garbage.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::tests::{Event, Total, encode, events, total};
use super::*;

/// Xorshift64*: enough disorder for a test, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    total: Total,
    events: Vec<Event>,
    by_name: BTreeMap<String, (i128, f32, char, bool)>,
    nested: Option<Vec<Option<[u16; 3]>>>,
    unit: (),
    list: Option<Box<Self>>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is decoded from garbage only")]
struct Endless(Box<Self>);

fn everything() -> Everything {
    let row = |list| Everything {
        total: total(),
        events: events(),
        by_name: [("a".to_owned(), (-5, 0.5, 'x', true)), (String::new(), (i128::MAX, -1.0, 'ß', false))]
            .into(),
        nested: Some(vec![None, Some([1, 2, 60_000])]),
        unit: (),
        list,
    };
    row(Some(Box::new(row(None))))
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = encode(&everything());
    assert_eq!(from_slice::<Everything>(&bytes).unwrap(), everything());
    for end in 0..bytes.len() {
        assert!(from_slice::<Everything>(&bytes[..end]).is_err(), "the first {end} bytes were accepted");
    }
}

#[test]
fn flipped_bits_never_panic() {
    let good = encode(&everything());
    let mut bytes = good.clone();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Ok(value) = from_slice::<Everything>(&bytes) {
                // What is accepted is a value, and a value can be written again.
                encode(&value);
            }
            bytes[at] = good[at];
        }
    }
}

#[test]
fn garbage_never_panics() {
    fn feed<T: DeserializeOwned + Debug>(bytes: &[u8]) {
        let _: Result<T, CodecError> = from_slice(bytes);
        let _: Result<T, CodecError> = key_from_slice(bytes);
    }
    let good = encode(&everything());
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        let word = noise.next();
        bytes.clear();
        if word.is_multiple_of(2) {
            // Pure noise, mostly of small bytes: large ones are refused as lengths at once.
            let len = usize::try_from(word >> 8).unwrap() % 64;
            bytes.extend((0..len).map(|_| noise.next().to_le_bytes()[3] >> (noise.next() % 8)));
            if let Some(first) = bytes.first_mut() {
                *first = VERSION;
            }
        } else {
            // A valid row with a few bytes replaced gets much deeper into the decoder.
            bytes.extend_from_slice(&good);
            for _ in 0..=(word >> 8) % 4 {
                let at = usize::try_from(noise.next() >> 8).unwrap() % bytes.len();
                bytes[at] = noise.next().to_le_bytes()[5] >> (noise.next() % 8);
            }
        }
        feed::<Everything>(&bytes);
        feed::<Vec<Event>>(&bytes);
        feed::<BTreeMap<String, Vec<Option<i64>>>>(&bytes);
        feed::<Vec<()>>(&bytes);
        feed::<Vec<[u64; 0]>>(&bytes);
    }
}

#[test]
fn lengths_beyond_the_end_reserve_nothing() {
    // 2^63 elements of the smallest and of a large type; the test would run out of memory if believed.
    let mut bytes = vec![VERSION];
    varint::put_u64(&mut bytes, 1 << 63);
    bytes.extend_from_slice(&[0; 100]);
    from_slice::<Vec<()>>(&bytes).unwrap_err();
    from_slice::<Vec<[u64; 32]>>(&bytes).unwrap_err();
    from_slice::<String>(&bytes).unwrap_err();
    from_slice::<BTreeMap<(), ()>>(&bytes).unwrap_err();
}

#[test]
fn a_type_that_never_ends_is_an_error() {
    let error = from_slice::<Endless>(&[VERSION]).unwrap_err().to_string();
    assert_eq!(error, "more than 128 levels at byte 1");
}
