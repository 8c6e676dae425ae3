//! Records in the order in which they came, in blocks: those that are there are not moved for one that comes, as a
//! `Vec` that grows would move them.

#[derive(Debug)]
pub(super) struct Blocks<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

/// A block has room for twice as many records as the one before, up to so many.
const MOST: usize = 1 << 14;

impl<T> Blocks<T> {
    pub(super) fn new() -> Self {
        Self { full: Vec::new(), last: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if self.last.len() == self.last.capacity() {
            self.begin();
        }
        self.last.push(value);
    }

    #[cold]
    fn begin(&mut self) {
        let room = (2 * self.last.len()).clamp(4, MOST);
        self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(room)));
    }

    pub(super) fn len(&self) -> usize {
        self.full.iter().map(Vec::len).sum::<usize>() + self.last.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.full.iter().chain([&self.last]).flatten()
    }

    /// From this place on.
    pub(super) fn from(&self, mut place: usize) -> impl Iterator<Item = &T> {
        self.full.iter().chain([&self.last]).flat_map(move |block| {
            let before = place.min(block.len());
            place -= before;
            block.iter().skip(before)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_a_vec_has() {
        let mut blocks = Blocks::new();
        for n in 0..3 * MOST {
            assert_eq!(blocks.len(), n);
            blocks.push(n);
        }
        assert!(blocks.iter().copied().eq(0..3 * MOST));
        for place in [0, 1, 3, 4, 5, 11, 12, 13, MOST, 3 * MOST - 1, 3 * MOST, 3 * MOST + 1] {
            assert!(blocks.from(place).copied().eq(place..3 * MOST), "from {place}");
        }
    }
}
