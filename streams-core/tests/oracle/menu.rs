//! What generated jobs are made of: every entry is the text that goes into the job's source and the plain
//! function that the oracle calls.
//!
//! Closures are the user's side of a job, so both sides may share them; what an operator does with them may
//! not. Aggregates are therefore written twice: as the words of the language and as plain loops.

use crate::event::{Event, letters, look, refuse_some};

/// A closure and its text.
pub(crate) struct Closure<F: 'static> {
    pub(crate) text: &'static str,
    pub(crate) run: F,
}

// Braces and semicolons keep a formatter from breaking the closures into pieces.
macro_rules! closures {
    ($($closure:expr;)*) => { &[$(Closure { text: stringify!($closure), run: $closure }),*] };
}

pub(crate) const TIMES: &[Closure<fn(&Event) -> i64>] = closures! {
    |r| r.at;
    |r| r.at.saturating_sub(3);
    |r| r.at / 2;
};

pub(crate) const MAPS: &[Closure<fn(Event) -> Event>] = closures! {
    |r| Event { v: r.v.wrapping_mul(3), ..r };
    |r| Event { s: format!("{}{}", r.s, r.k % 2), ..r };
    |r| Event { u: r.u / 2, f: r.f + 0.125, ..r };
    |r| Event { k: r.k.wrapping_add(1), ..r };
};

pub(crate) const FILTERS: &[Closure<fn(&Event) -> bool>] = closures! {
    |r| r.v >= 0;
    |r| r.k != 1;
    |r| r.u % 4 != 0;
};

pub(crate) const FILTER_MAPS: &[Closure<fn(Event) -> Option<Event>>] = closures! {
    |r| if r.k == 0 { None } else { Some(Event { k: r.k - 1, ..r }) };
    |r| r.v.checked_add(1).map(|v| Event { v, ..r });
};

pub(crate) const FLAT_MAPS: &[Closure<fn(Event) -> Vec<Event>>] = closures! {
    |r| vec![r.clone(), Event { v: r.v.wrapping_neg(), ..r }];
    |r| (0..r.k % 3).map(|n| Event { k: n, ..r.clone() }).collect::<Vec<_>>();
};

pub(crate) const TRY_MAPS: &[Closure<fn(&Event) -> Result<Event, String>>] = closures! {
    refuse_some;
    |r| r.u.checked_add(9).map(|u| Event { u, ..r.clone() }).ok_or("too large".to_owned());
};

pub(crate) const INSPECTS: &[Closure<fn(&Event)>] = closures! {
    look;
};

/// A key of any kind; keys of one stream are of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Byte(u8),
    Text(String),
    Pair(u8, String),
    Int(i64),
}

/// The kind of a key, which is its type in the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Byte,
    Text,
    Pair,
    Int,
}

/// One way to choose a key.
pub(crate) struct KeyBy {
    pub(crate) kind: Kind,
    pub(crate) text: &'static str,
    pub(crate) run: fn(&Event) -> Key,
}

macro_rules! key_by {
    ($($kind:ident: $closure:expr => $run:expr),* $(,)?) => {
        &[$(KeyBy { kind: Kind::$kind, text: stringify!($closure), run: $run }),*]
    };
}

pub(crate) const KEYS: &[KeyBy] = key_by![
    Byte: |r| r.k => |r| Key::Byte(r.k),
    Text: |r| r.s.clone() => |r| Key::Text(r.s.clone()),
    Pair: |r| (r.k % 2, r.s.clone()) => |r| Key::Pair(r.k % 2, r.s.clone()),
    Int: |r| r.v.rem_euclid(5) - 2 => |r| Key::Int(r.v.rem_euclid(5) - 2),
    Byte: |_| 7u8 => |_| Key::Byte(7),
];

/// What one result is made from: the records of one key in one window, in the order in which they came, but
/// that the parts of windows which overlap come in the order of their times.
pub(crate) struct Group<'a> {
    pub(crate) key: &'a Key,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Why there is a result: 0 early, 1 final, 2 an update.
    pub(crate) fired: u64,
    pub(crate) rows: &'a [Event],
}

/// Where an entry can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Key(Kind),
    /// It names the window's bounds.
    Window,
    /// A window that is never put together from parts.
    OnePart,
    /// It says why there is a result.
    Fired,
}

/// One way to fill a field of a result; no value means that the result is rejected.
pub(crate) struct Field<T: 'static> {
    pub(crate) needs: Needs,
    pub(crate) text: &'static str,
    pub(crate) run: fn(&Group<'_>) -> Option<T>,
}

macro_rules! fields {
    ($($needs:expr; $words:expr => $run:expr),* $(,)?) => {
        &[$(Field { needs: $needs, text: stringify!($words), run: $run }),*]
    };
}

use Needs::{Nothing, OnePart, Window};

pub(crate) const BYTES: &[Field<u8>] = fields![
    Needs::Key(Kind::Byte); key() => |g| match g.key { Key::Byte(k) => Some(*k), _ => unreachable!() },
    Needs::Key(Kind::Pair); key().0 => |g| match g.key { Key::Pair(k, _) => Some(*k), _ => unreachable!() },
    Nothing; min(|r| r.k) => |g| g.rows.iter().map(|r| r.k).min(),
    Nothing; max(|r| r.k) => |g| g.rows.iter().map(|r| r.k).max(),
    Nothing; (count() % 5) as u8 => |g| u8::try_from(g.rows.len() % 5).ok(),
    Nothing; sum(|r| r.k % 64) => |g| u8::try_from(total(g, |r| i128::from(r.k % 64))).ok(),
    Nothing; first(|r| r.k) => |g| g.rows.first().map(|r| r.k),
    Nothing; last(|r| r.k) => |g| g.rows.last().map(|r| r.k),
    Nothing; reduce(|r| r.k, |a, b| a ^ b) => |g| Some(g.rows.iter().fold(0, |all, r| all ^ r.k)),
    Nothing; min_by(|r| r.f, |r| r.k) => |g| best(g, |r| r.f, |a, b| a < b).map(|r| r.k),
];

pub(crate) const TEXTS: &[Field<String>] = fields![
    Needs::Key(Kind::Text); key() => |g| match g.key { Key::Text(s) => Some(s.clone()), _ => unreachable!() },
    Needs::Key(Kind::Pair); key().1 => |g| match g.key { Key::Pair(_, s) => Some(s.clone()), _ => unreachable!() },
    Nothing; min(|r| r.s.clone()) => |g| g.rows.iter().map(|r| r.s.clone()).min(),
    Nothing; max(|r| r.s.clone()) => |g| g.rows.iter().map(|r| r.s.clone()).max(),
    Nothing; acc(Trail, |r| r.s.clone()) => |g| {
        Some(letters(&g.rows.iter().map(|r| r.s.clone()).collect::<Vec<_>>().join("/")))
    },
    Nothing; max_by(|r| r.v, |r| r.s.clone()) => |g| best(g, |r| r.v, |a, b| a > b).map(|r| r.s.clone()),
    Nothing; letters(&collect(9, |r| r.s.clone()).join("/")) => |g| {
        let all: Vec<String> = g.rows.iter().map(|r| r.s.clone()).collect();
        if all.len() > 9 { None } else { Some(letters(&all.join("/"))) }
    },
    Nothing; letters(&reduce(|r| r.s.clone(), |a, b| a + &b)) => |g| {
        Some(letters(&g.rows.iter().map(|r| r.s.as_str()).collect::<String>()))
    },
    Nothing; letters(&top_k(2, |r| (r.k, r.s.clone())).iter().map(|(_, s)| s.as_str()).collect::<String>()) => |g| {
        let mut all: Vec<(u8, String)> = g.rows.iter().map(|r| (r.k, r.s.clone())).collect();
        all.sort_by(|a, b| b.cmp(a));
        Some(letters(&all.iter().take(2).map(|(_, s)| s.as_str()).collect::<String>()))
    },
];

pub(crate) const SIGNED: &[Field<i64>] = fields![
    Needs::Key(Kind::Int); key() => |g| match g.key { Key::Int(v) => Some(*v), _ => unreachable!() },
    Nothing; sum(|r| r.v) => |g| i64::try_from(total(g, |r| i128::from(r.v))).ok(),
    Nothing; min(|r| r.v) => |g| g.rows.iter().map(|r| r.v).min(),
    Nothing; max(|r| r.v) => |g| g.rows.iter().map(|r| r.v).max(),
    Nothing; max(|r| r.v).wrapping_sub(min(|r| r.v)) => |g| {
        let (largest, smallest) = (g.rows.iter().map(|r| r.v).max()?, g.rows.iter().map(|r| r.v).min()?);
        Some(largest.wrapping_sub(smallest))
    },
    Window; window_end().wrapping_sub(window_start()) => |g| Some(g.end.wrapping_sub(g.start)),
    OnePart; fold(1i64, |n, r| n.wrapping_mul(31).wrapping_add(r.v)) => |g| {
        let mut n = 1_i64;
        for r in g.rows {
            n = n.wrapping_mul(31).wrapping_add(r.v);
        }
        Some(n)
    },
    Nothing; fold_merge(0i64, |n, r| n.wrapping_add(r.v ^ 5), |n, m| n.wrapping_add(m)) => |g| {
        Some(g.rows.iter().map(|r| r.v ^ 5).fold(0, i64::wrapping_add))
    },
    Nothing; sum(|r| i128::from(r.v) << 63) as i64 => |g| {
        // What leaves 128 bits is a reject.
        let units = total(g, |r| i128::from(r.v));
        if (-(1_i128 << 64)..1 << 64).contains(&units) { Some((units << 63) as i64) } else { None }
    },
];

pub(crate) const UNSIGNED: &[Field<u64>] = fields![
    Nothing; count() => |g| u64::try_from(g.rows.len()).ok(),
    Nothing; sum(|r| r.u) => |g| u64::try_from(total(g, |r| i128::from(r.u))).ok(),
    Nothing; max(|r| r.u) => |g| g.rows.iter().map(|r| r.u).max(),
    Nothing; min(|r| r.u) => |g| g.rows.iter().map(|r| r.u).min(),
    Nothing; sum(|r| r.u) / count() => |g| {
        let sum = u64::try_from(total(g, |r| i128::from(r.u))).ok()?;
        Some(sum / u64::try_from(g.rows.len()).ok()?)
    },
    Nothing; avg(|r| r.u).to_bits() => |g| Some(mean(g, |r| i128::from(r.u)).to_bits()),
    Nothing; avg(|r| r.v).to_bits() => |g| Some(mean(g, |r| i128::from(r.v)).to_bits()),
    Nothing; acc(Second, |r| r.u) => |g| {
        let mut all: Vec<u64> = g.rows.iter().map(|r| r.u).collect();
        all.sort_unstable();
        all.iter().rev().nth(1).or(all.last()).copied()
    },
    Nothing; count_distinct(|r| (r.k, r.s.clone())) => |g| {
        let mut all: Vec<(u8, &str)> = g.rows.iter().map(|r| (r.k, r.s.as_str())).collect();
        all.sort_unstable();
        all.dedup();
        u64::try_from(all.len()).ok()
    },
    // Exact where there are few.
    Nothing; approx_count_distinct(|r| r.u % 7) => |g| {
        u64::try_from((0..7).filter(|rest| g.rows.iter().any(|r| r.u % 7 == *rest)).count()).ok()
    },
    Nothing; top_k(3, |r| r.u).last().copied().unwrap_or(0) => |g| {
        let mut all: Vec<u64> = g.rows.iter().map(|r| r.u).collect();
        all.sort_unstable();
        all.iter().rev().nth(2).or(all.first()).copied()
    },
    Needs::Fired; fired() as u64 => |g| Some(g.fired),
];

// Means are brought back to multiples of 1/8, so that sums of them stay exact.
pub(crate) const FLOATS: &[Field<f64>] = fields![
    Nothing; sum(|r| r.f) => |g| Some(g.rows.iter().map(|r| r.f).sum()),
    Nothing; min(|r| r.f) => |g| Some(g.rows.iter().map(|r| r.f).fold(f64::NAN, f64::min)),
    Nothing; max(|r| r.f) => |g| Some(g.rows.iter().map(|r| r.f).fold(f64::NAN, f64::max)),
    Nothing; (avg(|r| r.f) * 8.0).floor() / 8.0 => |g| {
        let sum: f64 = g.rows.iter().map(|r| r.f).sum();
        Some((sum / g.rows.len() as f64 * 8.0).floor() / 8.0)
    },
    Nothing; (avg(|r| r.k) * 8.0).floor() / 8.0 => |g| {
        Some((mean(g, |r| i128::from(r.k)) * 8.0).floor() / 8.0)
    },
    Nothing; count() as f64 => |g| Some(g.rows.len() as f64),
    Nothing; (quantile(0.5, |r| r.f) * 8.0).floor() / 8.0 => |g| {
        Some((quantile_of(g, 0.5, |r| r.f) * 8.0).floor() / 8.0)
    },
    Nothing; quantiles([0.25, 1.0], |r| r.v % 1_000).map(|f| f.floor() / 8.0).iter().sum::<f64>() => |g| {
        let of = |r: &Event| (r.v % 1_000) as f64;
        Some(quantile_of(g, 0.25, of).floor() / 8.0 + quantile_of(g, 1.0, of).floor() / 8.0)
    },
    Nothing; top_k(2, |r| r.f).first().copied().unwrap_or(0.0) => |g| {
        Some(g.rows.iter().map(|r| r.f).fold(f64::NAN, f64::max))
    },
    Nothing; last(|r| r.f) => |g| g.rows.last().map(|r| r.f),
];

pub(crate) const INSTANTS: &[Field<i64>] = fields![
    Window; window_start() => |g| Some(g.start),
    Window; window_end() => |g| Some(g.end),
    Nothing; min(|r| r.at) => |g| g.rows.iter().map(|r| r.at).min(),
    Nothing; max(|r| r.at) => |g| g.rows.iter().map(|r| r.at).max(),
];

/// The first record whose key is better than those of all others; one that is not comparable gives way.
fn best<'a, K: PartialOrd>(
    group: &Group<'a>,
    key: fn(&Event) -> K,
    better: fn(&K, &K) -> bool,
) -> Option<&'a Event> {
    let comparable = |r: &&Event| key(r).partial_cmp(&key(r)).is_some();
    let mut found = group.rows.iter().find(comparable).or(group.rows.first())?;
    for row in group.rows.iter().filter(comparable) {
        if better(&key(row), &key(found)) {
            found = row;
        }
    }
    Some(found)
}

/// What a sketch with 64 parts of equal width for every doubling says of the value with the number
/// ⌊rank · (n − 1)⌋; the smallest and the largest value are known exactly.
fn quantile_of(group: &Group<'_>, rank: f64, of: impl Fn(&Event) -> f64) -> f64 {
    let mut all: Vec<f64> = group.rows.iter().map(of).filter(|f| !f.is_nan()).collect();
    all.sort_by(|a, b| a.partial_cmp(b).expect("there is no NaN"));
    let Some(last) = all.len().checked_sub(1) else { return f64::NAN };
    let at = (rank * last as f64) as usize;
    let value = all[at];
    if at == 0 || at == last || value == 0.0 || value.is_infinite() {
        return value;
    }
    let mut doubling = 1.0;
    while value.abs() < doubling {
        doubling /= 2.0;
    }
    while value.abs() >= doubling * 2.0 {
        doubling *= 2.0;
    }
    let part = ((value.abs() / doubling - 1.0) * 64.0).floor();
    // Its lower end and a little more: as far from both ends in proportion to them.
    let middle = doubling * (1.0 + part / 64.0) * (1.0 + 1.0 / (129.0 + 2.0 * part));
    middle.copysign(value).clamp(all[0], all[last])
}

fn total(group: &Group<'_>, of: fn(&Event) -> i128) -> i128 {
    group.rows.iter().map(of).sum()
}

fn mean(group: &Group<'_>, of: fn(&Event) -> i128) -> f64 {
    total(group, of) as f64 / group.rows.len() as f64
}
