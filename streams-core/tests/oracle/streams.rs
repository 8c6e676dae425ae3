//! Generated input: records, outer event time and ends, in the shapes that break stream processors.

use crate::event::Event;
use crate::random::Random;

/// One step of a case.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) port: usize,
    pub(crate) what: What,
    /// Whether a checkpoint and a new machine come before it, and before the end if it is the last, where that
    /// is asked for.
    pub(crate) restart: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Record(Event),
    /// Event time at the port is said to have reached this.
    Advance(i64),
    /// The port's input has ended.
    End,
}

/// What a stream is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Empty,
    Single,
    Ordered,
    Disorder,
    Ties,
    Duplicates,
    Negative,
    Extreme,
    AllLate,
    Gaps,
    FewKeys,
    ManyKeys,
    Huge,
    Advances,
    Edges,
    Floats,
}

const SHAPES: &[Shape] = &[
    Shape::Empty,
    Shape::Single,
    Shape::Ordered,
    Shape::Disorder,
    Shape::Ties,
    Shape::Duplicates,
    Shape::Negative,
    Shape::Extreme,
    Shape::AllLate,
    Shape::Gaps,
    Shape::FewKeys,
    Shape::ManyKeys,
    Shape::Huge,
    Shape::Advances,
    Shape::Edges,
    Shape::Floats,
    // The ones that reach most are drawn more often.
    Shape::Disorder,
    Shape::FewKeys,
    Shape::Edges,
    Shape::Extreme,
];

/// The stream number `number` for a job with this many ports.
pub(crate) fn stream(seed: u64, number: usize, n_ports: usize) -> Vec<Item> {
    let mut random = Random::new(seed);
    let shape = SHAPES[number % SHAPES.len()];
    let n = match shape {
        Shape::Empty => 0,
        Shape::Single => 1,
        _ => 4 + random.below(44),
    };
    let mut generator =
        Generator { shape, n, random, clock: 0, advanced: vec![i64::MIN; n_ports], last: None };
    generator.clock = generator.random.between(-50, 300);
    let mut items: Vec<Item> = Vec::new();
    let mut open: Vec<usize> = (0..n_ports).collect();
    let share = generator.random.between(20, 80);
    for step in 0..n {
        let first = generator.random.percent(usize::try_from(share).unwrap_or(50));
        let port = if first { open[0] } else { open[open.len() - 1] };
        let what = generator.what(port, step);
        let restart = generator.random.percent(8);
        items.push(Item { port, what, restart });
        // One of two inputs may end long before the other.
        if open.len() == 2 && generator.random.percent(2) {
            let port = open.remove(generator.random.below(2));
            let restart = generator.random.percent(20);
            items.push(Item { port, what: What::End, restart });
        }
    }
    if shape == Shape::Empty && generator.random.percent(50) {
        items.push(Item { port: 0, what: What::Advance(generator.clock), restart: true });
    }
    items
}

struct Generator {
    shape: Shape,
    n: usize,
    random: Random,
    /// Where event time is about.
    clock: i64,
    /// Outer event time must not fall.
    advanced: Vec<i64>,
    last: Option<Event>,
}

impl Generator {
    fn what(&mut self, port: usize, step: usize) -> What {
        let often = if self.shape == Shape::Advances { 30 } else { 2 };
        if self.random.percent(often) {
            let at = self.clock.saturating_add(self.random.between(-30, 120));
            let at = at.max(self.advanced[port]);
            self.advanced[port] = at;
            return What::Advance(at);
        }
        let repeated = self.shape == Shape::Duplicates && self.random.percent(60);
        let event = match self.last.take().filter(|_| repeated) {
            Some(last) => last,
            None => self.event(step),
        };
        self.last = Some(event.clone());
        What::Record(event)
    }

    fn event(&mut self, step: usize) -> Event {
        let at = self.time(step);
        let random = &mut self.random;
        let keys = match self.shape {
            Shape::FewKeys => 2,
            Shape::ManyKeys => 200,
            _ => 5,
        };
        let k = u8::try_from(random.below(keys)).unwrap_or(0);
        let letters = ["", "a", "b", "ab", "é", "z\0", "Z"];
        let s = match self.shape {
            Shape::ManyKeys => format!("{}{}", random.pick(&letters), random.below(30)),
            _ => letters[random.below(keys.min(letters.len()))].to_owned(),
        };
        let huge = self.shape == Shape::Huge && random.percent(40) || random.percent(1);
        let v = if huge { random.pick(&[i64::MAX, i64::MIN, i64::MAX - 1]) } else { random.between(-20, 20) };
        let u = if huge { random.pick(&[u64::MAX, u64::MAX - 1, 1 << 63]) } else { random.below(30) as u64 };
        let odd = self.shape == Shape::Floats && random.percent(25);
        let f = match odd {
            true => random.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]),
            false => random.between(-800, 800) as f64 / 8.0,
        };
        Event { k, s, v, u, f, at }
    }

    fn time(&mut self, step: usize) -> i64 {
        let random = &mut self.random;
        match self.shape {
            Shape::Ordered => {
                self.clock += random.between(0, 6);
                self.clock
            }
            Shape::Ties => {
                self.clock += if random.percent(15) { random.between(1, 25) } else { 0 };
                self.clock
            }
            Shape::Negative => {
                if step == 0 {
                    self.clock = -random.between(100, 1500);
                }
                self.clock += random.between(-3, 9);
                self.clock
            }
            Shape::Extreme => {
                // First near the beginning of time, then in the middle, then near its end.
                let near = random.between(0, 70);
                self.clock = match step * 3 / self.n.max(1) {
                    0 => i64::MIN + near,
                    1 => random.between(-100, 100),
                    _ => i64::MAX - near,
                };
                if random.percent(5) { random.pick(&[i64::MIN, i64::MAX, 0]) } else { self.clock }
            }
            Shape::AllLate => {
                if step == 0 {
                    self.clock = 5_000;
                    return self.clock;
                }
                random.between(-100, 4_000)
            }
            Shape::Gaps => {
                self.clock +=
                    if random.percent(25) { random.between(500, 900_000) } else { random.between(0, 4) };
                self.clock
            }
            Shape::Edges => {
                // Around multiples of the sizes and slides that jobs use.
                self.clock += random.between(0, 8);
                let span = random.pick(&[2, 5, 7, 10, 30, 60, 100]);
                self.clock / span * span + random.pick(&[-1, 0, 0, 1])
            }
            _ => {
                self.clock += random.between(-2, 8);
                let back = if random.percent(20) { random.between(0, 90) } else { random.between(0, 8) };
                self.clock - back
            }
        }
    }
}
