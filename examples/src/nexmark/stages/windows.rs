//! The open windows of one operator.

use std::collections::VecDeque;

/// The open windows of one operator by start, oldest first. There are few: a deque beats a map.
pub(super) struct Windows<T> {
    size: u64,
    open: VecDeque<(u64, T)>,
}

impl<T: Default> Windows<T> {
    pub(super) fn new(size: u64) -> Self {
        Self { size, open: VecDeque::new() }
    }

    /// The window with this start, opened if it is new. It is nearly always the newest.
    #[inline]
    pub(super) fn at(&mut self, start: u64) -> &mut T {
        if self.open.back().is_none_or(|&(newest, _)| newest != start) {
            let index = self.find_or_open(start);
            return &mut self.open.get_mut(index).expect("it is there by now").1;
        }
        &mut self.open.back_mut().expect("it was seen").1
    }

    #[cold]
    fn find_or_open(&mut self, start: u64) -> usize {
        let newer = self.open.partition_point(|&(open, _)| open < start);
        if self.open.get(newer).is_none_or(|&(open, _)| open != start) {
            self.open.insert(newer, (start, T::default()));
        }
        newer
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.open.front().map(|&(start, _)| start)
    }

    pub(super) fn pop_closed(&mut self, watermark: u64) -> Option<(u64, T)> {
        self.open.pop_front_if(|(start, _)| *start + self.size <= watermark)
    }

    /// Removes the oldest window if it is the one with this start.
    pub(super) fn take(&mut self, start: u64) -> Option<T> {
        self.open.pop_front_if(|(oldest, _)| *oldest == start).map(|(_, window)| window)
    }
}
