//! The byte layout under the fingerprints, for events and for result rows.

use xxhash_rust::xxh3::Xxh3;

use super::input::Event;

/// Feeds a value to the hasher: integers as 8 bytes little endian, strings as their length in bytes
/// (an integer) and their UTF-8 bytes, tuples field by field.
pub trait Encode {
    fn encode(&self, hasher: &mut Xxh3);
}

/// A result row. Tuples order field by field, which is the order in which rows are hashed.
pub trait Row: Encode + Ord + Send + 'static {}
impl<R: Encode + Ord + Send + 'static> Row for R {}

/// The number of rows and the xxh3-64 over all of them, sorted.
pub fn fingerprint<R: Row>(mut rows: Vec<R>) -> (usize, u64) {
    rows.sort_unstable();
    let mut hasher = Xxh3::new();
    for row in &rows {
        row.encode(&mut hasher);
    }
    (rows.len(), hasher.digest())
}

impl Encode for u64 {
    fn encode(&self, hasher: &mut Xxh3) {
        hasher.update(&self.to_le_bytes());
    }
}

impl Encode for usize {
    fn encode(&self, hasher: &mut Xxh3) {
        (*self as u64).encode(hasher);
    }
}

impl Encode for String {
    fn encode(&self, hasher: &mut Xxh3) {
        self.len().encode(hasher);
        hasher.update(self.as_bytes());
    }
}

macro_rules! encode_fields {
    ($hasher:expr; $($field:expr),+) => {{ $($field.encode($hasher);)+ }};
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn encode(&self, hasher: &mut Xxh3) {
        encode_fields!(hasher; self.0, self.1);
    }
}

impl<A: Encode, B: Encode, C: Encode> Encode for (A, B, C) {
    fn encode(&self, hasher: &mut Xxh3) {
        encode_fields!(hasher; self.0, self.1, self.2);
    }
}

impl<A: Encode, B: Encode, C: Encode, D: Encode> Encode for (A, B, C, D) {
    fn encode(&self, hasher: &mut Xxh3) {
        encode_fields!(hasher; self.0, self.1, self.2, self.3);
    }
}

impl Encode for Event {
    fn encode(&self, hasher: &mut Xxh3) {
        match self {
            Self::Person(p) => encode_fields!(hasher; 0u64, p.id, p.name, p.email_address, p.credit_card,
                p.city, p.state, p.date_time, p.extra),
            Self::Auction(a) => {
                encode_fields!(hasher; 1u64, a.id, a.item_name, a.description, a.initial_bid,
                a.reserve, a.date_time, a.expires, a.seller, a.category, a.extra)
            }
            Self::Bid(b) => encode_fields!(hasher; 2u64, b.auction, b.bidder, b.price, b.channel, b.url,
                b.date_time, b.extra),
        }
    }
}
