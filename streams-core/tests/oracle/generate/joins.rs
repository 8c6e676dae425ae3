//! Joins in generated jobs: every kind with every bound, behind sides of every shape.

use super::{Builder, Open};
use crate::menu::KEYS;
use crate::plan::{Bound, Input, Join, Kind, Let, Op, Origin};

const KINDS: [Kind; 4] = [Kind::Inner, Kind::Left, Kind::Right, Kind::Full];

impl Builder {
    /// Joins two open streams, or one with itself; `number` says how.
    pub(super) fn join(&mut self, number: usize) {
        let which = self.random.below(self.open.len());
        let left = self.open[which];
        let fits = |other: &&Open| {
            other.name != left.name && other.timed == left.timed && other.joins + left.joins < 2
        };
        let others: Vec<Open> = self.open.iter().filter(fits).copied().collect();
        let right = match others.is_empty() {
            false if self.random.percent(85) => self.random.pick(&others),
            _ if left.joins == 0 => left,
            _ => return,
        };
        let join = self.kind_of_join(number, left.timed);
        self.open.retain(|open| open.name != left.name && open.name != right.name);
        let keyed = KEYS.iter().position(|entry| Some(entry.kind) == left.key.or(right.key));
        let entry = keyed.unwrap_or_else(|| self.random.below(KEYS.len()));
        let sides = if left.name == right.name && self.random.percent(50) {
            let side = self.side(left, entry);
            [side, side]
        } else {
            [self.side(left, entry), self.side(right, entry)]
        };
        let mut ops = Vec::new();
        self.stateless(&mut ops, 1);
        let key = Some(KEYS[entry].kind);
        let open = Open { key, late: None, joins: left.joins + right.joins + 1, ..left };
        self.push(Let { origin: Origin::Join(sides[0], sides[1], join), ops }, open);
    }

    /// The stream with the key of the join.
    fn side(&mut self, open: Open, entry: usize) -> Input {
        if open.key == Some(KEYS[entry].kind) && self.random.percent(60) {
            return Input::Let(open.name);
        }
        let mut ops = vec![Op::KeyBy(entry)];
        self.stateless(&mut ops, 1);
        self.lets.push(Let { origin: Origin::Let(open.name), ops });
        Input::Let(self.lets.len() - 1)
    }

    fn kind_of_join(&mut self, number: usize, timed: bool) -> Join {
        let (kind, bound) = (number % 4, number / 4 % 4);
        let random = &mut self.random;
        let bound = match bound {
            _ if !timed => Bound::Table(None),
            0 => Bound::Tumbling(random.pick(&[1, 5, 10, 60, 1000])),
            1 => {
                let (size, slide) = random.pick(&[(10, 5), (10, 4), (7, 2), (100, 30), (6, 1), (60, 60)]);
                Bound::Hopping(size, slide)
            }
            2 => {
                let lengths = [0, 0, 1, 5, 20, 100, i64::MAX as u64];
                Bound::Within(random.pick(&lengths), random.pick(&lengths))
            }
            _ => Bound::Table(random.pick(&[None, Some(0), Some(10), Some(100)])),
        };
        let kinds = if matches!(bound, Bound::Table(_)) { 2 } else { 4 };
        Join { kind: KINDS[kind % kinds], bound }
    }
}
