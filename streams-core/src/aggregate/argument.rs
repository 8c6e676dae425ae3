//! The numbers that aggregates take: how many values to keep, which quantile. Checked while the job is
//! compiled where they are constants, and when it starts where they come from a setting.

/// How many values an aggregate keeps at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit;

/// A quantile, from 0 (the smallest) to 1 (the largest).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank;

/// A number that stands for a `Role`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number for this aggregate",
    label = "gives `{Self}`",
    note = "`top_k` and `collect` take a `usize`, `quantile` an `f64`, `quantiles` an array of `f64`"
)]
pub trait Argument<Role> {
    crate::proof::told_once!(Argument<Role>);

    /// Why it cannot be, if so.
    fn problem(&self) -> Option<&'static str>;
}

const LIMIT: &str =
    "an aggregate that keeps no value has no use; give a limit of at least 1, e.g. `top_k(3, |r| r.bytes)`";
const RANK: &str =
    "a quantile lies between 0 and 1; write e.g. `quantile(0.99, |r| r.ms)` for what 99 of 100 are below";

#[diagnostic::do_not_recommend]
impl Argument<Limit> for usize {
    crate::proof::holds!();

    fn problem(&self) -> Option<&'static str> {
        limit_problem(*self)
    }
}

#[diagnostic::do_not_recommend]
impl Argument<Rank> for f64 {
    crate::proof::holds!();

    fn problem(&self) -> Option<&'static str> {
        rank_problem(*self)
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> Argument<Rank> for [f64; N] {
    crate::proof::holds!();

    fn problem(&self) -> Option<&'static str> {
        self.iter().find_map(|rank| rank_problem(*rank))
    }
}

const fn limit_problem(limit: usize) -> Option<&'static str> {
    if limit == 0 { Some(LIMIT) } else { None }
}

const fn rank_problem(rank: f64) -> Option<&'static str> {
    // NaN is in no range.
    if 0.0 <= rank && rank <= 1.0 { None } else { Some(RANK) }
}

/// The limit itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when it is zero; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_limit(limit: usize) -> usize {
    match limit_problem(limit) {
        None => limit,
        Some(problem) => panic!("{}", problem),
    }
}

/// The quantile itself, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when there is no such quantile; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_rank(rank: f64) -> f64 {
    match rank_problem(rank) {
        None => rank,
        Some(problem) => panic!("{}", problem),
    }
}

/// The quantiles themselves, checked while the user's crate is compiled.
///
/// # Panics
/// At compile time, when there is no such quantile; the message says what to write.
#[must_use]
#[track_caller]
pub const fn checked_ranks<const N: usize>(ranks: [f64; N]) -> [f64; N] {
    let mut rest: &[f64] = &ranks;
    while let [rank, others @ ..] = rest {
        if let Some(problem) = rank_problem(*rank) {
            panic!("{}", problem);
        }
        rest = others;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_numbers_say_what_to_write() {
        assert_eq!((Argument::<Limit>::problem(&1_usize), checked_limit(7)), (None, 7));
        assert_eq!((Argument::<Rank>::problem(&[0.0, 1.0]), checked_ranks([0.0, 1.0])), (None, [0.0, 1.0]));
        let problems = [
            Argument::<Limit>::problem(&0_usize),
            Argument::<Rank>::problem(&1.5),
            Argument::<Rank>::problem(&-0.1),
            Argument::<Rank>::problem(&f64::NAN),
            Argument::<Rank>::problem(&[0.5, 50.0]),
        ];
        assert!(problems.iter().all(|problem| problem.is_some_and(|text| text.contains("e.g."))));
    }
}
