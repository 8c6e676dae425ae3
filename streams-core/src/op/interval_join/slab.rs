//! Values at places that stay theirs, and that are used again. One that comes moves no other, but for those of the
//! first block while that grows.

/// Values in blocks. A block that is empty again gives its memory back, but for the one that is filled.
#[derive(Debug)]
pub(super) struct Slab<T> {
    blocks: Vec<Block<T>>,
    /// The block that is filled.
    filled: usize,
    /// Other blocks with room.
    open: Vec<usize>,
}

#[derive(Debug)]
struct Block<T> {
    slots: Vec<Option<T>>,
    /// Which of the slots are empty.
    free: Vec<u8>,
    /// Whether a value has come or changed since the last time that these were asked for.
    touched: bool,
}

/// In a block; a number of them fits into a byte.
const SLOTS: usize = 256;

impl<T> Block<T> {
    fn is_full(&self) -> bool {
        self.slots.len() == SLOTS && self.free.is_empty()
    }
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { blocks: Vec::new(), filled: 0, open: Vec::new() }
    }

    /// Takes in a value; where it lies.
    #[inline]
    pub(super) fn put(&mut self, value: T) -> usize {
        if self.blocks.get(self.filled).is_none_or(Block::is_full) {
            self.turn();
        }
        let Some(block) = self.blocks.get_mut(self.filled) else { unreachable!("there is a block to fill") };
        block.touched = true;
        let slot = match block.free.pop() {
            Some(slot) => {
                let slot = usize::from(slot);
                if let Some(empty) = block.slots.get_mut(slot) {
                    *empty = Some(value);
                }
                slot
            }
            None => {
                block.slots.push(Some(value));
                block.slots.len() - 1
            }
        };
        self.filled * SLOTS + slot
    }

    /// Another block is filled now.
    #[cold]
    fn turn(&mut self) {
        self.filled = self.open.pop().unwrap_or(self.blocks.len());
        if self.filled == self.blocks.len() {
            self.blocks.push(Block { slots: Vec::new(), free: Vec::new(), touched: false });
        }
        // Who has few values needs no whole block.
        if let Some(block) = self.blocks.get_mut(self.filled).filter(|block| block.slots.is_empty())
            && self.filled > 0
        {
            block.slots.reserve_exact(SLOTS);
        }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.blocks.get(at / SLOTS)?.slots.get(at % SLOTS)?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.blocks.get_mut(at / SLOTS)?.slots.get_mut(at % SLOTS)?.as_mut()
    }

    /// The value there is to be among the touched ones.
    pub(super) fn touch(&mut self, at: usize) {
        if let Some(block) = self.blocks.get_mut(at / SLOTS) {
            block.touched = true;
        }
    }

    /// Takes a value out.
    pub(super) fn take(&mut self, at: usize) -> Option<T> {
        let number = at / SLOTS;
        let block = self.blocks.get_mut(number)?;
        let value = block.slots.get_mut(at % SLOTS)?.take()?;
        let is_filled = number == self.filled;
        if block.is_full() && !is_filled {
            self.open.push(number);
        }
        block.free.push((at % SLOTS) as u8);
        if block.free.len() == block.slots.len() && !is_filled {
            (block.slots, block.free) = (Vec::new(), Vec::new());
        }
        Some(value)
    }

    /// The values of blocks that were touched since the last call, the untouched ones among them too.
    pub(super) fn touched(&mut self) -> impl Iterator<Item = &mut T> {
        let touched =
            self.blocks.iter_mut().filter_map(|block| std::mem::take(&mut block.touched).then_some(block));
        touched.flat_map(|block| block.slots.iter_mut().flatten())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn values_stay_where_they_were_put_until_they_are_taken() {
        let mut slab = Slab::new();
        let mut expected = BTreeMap::new();
        let mut draw = 7_usize;
        for n in 0..20_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // It fills, empties and fills again.
            let keeps = if n / 4_000 % 2 == 0 { 3 } else { 1 };
            if (draw >> 33) % 4 < keeps {
                let at = slab.put(n);
                assert_eq!(expected.insert(at, n), None, "the place was taken");
            } else if let Some((&at, &value)) = expected.range(draw >> 53..).next().or(expected.iter().next())
            {
                assert_eq!(slab.take(at), Some(value));
                assert_eq!(slab.take(at), None);
                expected.remove(&at);
            }
        }
        for (&at, value) in &mut expected {
            assert_eq!(slab.get(at), Some(&*value));
            assert_eq!(slab.get_mut(at), Some(value));
        }
        let all: Vec<usize> = slab.touched().map(|value| *value).collect();
        assert!(all.iter().eq(expected.values()), "{} values of {}", all.len(), expected.len());
        assert_eq!(slab.touched().count(), 0);
    }

    #[test]
    fn a_block_that_is_empty_gives_its_memory_back() {
        let mut slab = Slab::new();
        let room = |slab: &Slab<usize>| slab.blocks.iter().map(|block| block.slots.capacity()).sum::<usize>();
        let places: Vec<usize> = (0..4 * SLOTS).map(|n| slab.put(n)).collect();
        assert_eq!(room(&slab), 4 * SLOTS);
        for at in &places {
            slab.take(*at);
        }
        assert!(room(&slab) <= SLOTS, "{} slots", room(&slab));
        let again: Vec<usize> = (0..4 * SLOTS).map(|n| slab.put(n)).collect();
        assert_eq!(slab.blocks.len(), 4);
        assert!(again.iter().enumerate().all(|(n, at)| slab.get(*at) == Some(&n)));
    }

    #[test]
    fn touched_values_are_told_once() {
        let mut slab = Slab::new();
        let places: Vec<usize> = (0..3 * SLOTS).map(|n| slab.put(n)).collect();
        assert_eq!(slab.touched().count(), 3 * SLOTS);
        slab.touch(places[SLOTS + 3]);
        slab.take(places[SLOTS]);
        assert!(slab.touched().map(|value| *value).eq(SLOTS + 1..2 * SLOTS));
    }
}
