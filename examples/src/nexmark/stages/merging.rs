//! What puts the parts of several workers together, for engines that run these stages on several.

use super::{END, Stage, Windows};
use crate::nexmark::queries::{Q5Row, TallyRow, WINDOW_MS, hotter, merge_tallies};

/// Adds up the tallies of all workers. Only the worker that receives them emits a row.
#[derive(Default)]
pub struct MergeTallies(Option<TallyRow>);

impl Stage for MergeTallies {
    type In = TallyRow;
    type Out = TallyRow;

    fn push(&mut self, part: TallyRow, _out: &mut Vec<TallyRow>) {
        self.0 = Some(self.0.map_or(part, |sum| merge_tallies(sum, part)));
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<TallyRow>) {
        if watermark == END {
            out.extend(self.0);
        }
    }
}

/// q5 on several workers: the hottest of each window's candidates.
pub struct HottestOfAll(Windows<Option<(u64, u64)>>);

impl Default for HottestOfAll {
    fn default() -> Self {
        Self(Windows::new(WINDOW_MS))
    }
}

impl Stage for HottestOfAll {
    type In = Q5Row;
    type Out = Q5Row;

    fn push(&mut self, (window, auction, count): Q5Row, _out: &mut Vec<Q5Row>) {
        let best = self.0.at(window);
        if best.is_none_or(|best| hotter((auction, count), best)) {
            *best = Some((auction, count));
        }
    }

    fn close(&mut self, watermark: u64, out: &mut Vec<Q5Row>) {
        while let Some((window, best)) = self.0.pop_closed(watermark) {
            out.extend(best.map(|(auction, count)| (window, auction, count)));
        }
    }
}
