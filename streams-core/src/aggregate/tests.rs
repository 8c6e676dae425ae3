//! The laws of all aggregates: merging agrees with adding and is associative, states survive their encoding,
//! and a value that is asked for early is the one that comes in the end.

use std::cmp::Reverse;
use std::fmt::Debug;
use std::time::Duration;

use super::*;
use crate::codec;

/// A record with one field of every kind.
#[derive(Debug, Clone)]
struct Item {
    n: i64,
    text: String,
    x: f64,
}

/// Records with ties, duplicates, NaN and extremes, the same in every run.
fn items(n: usize) -> Vec<Item> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed >> 20
    };
    let item = |_| {
        let n = (next() % 40) as i64 - 20;
        let text = format!("{}{}", ["a", "b", "é"][(next() % 3) as usize], next() % 5);
        let x = match next() % 12 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => -0.0,
            _ => (next() % 800) as f64 / 8.0 - 40.0,
        };
        Item { n, text, x }
    };
    (0..n).map(item).collect()
}

fn typer() -> Typer<Item> {
    Typer(PhantomData)
}

fn encoded<S: Serialize>(state: &S) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::to_vec(state, &mut bytes).unwrap();
    bytes
}

/// Adds the items, one after the other, to nothing.
fn added<A: Aggregate<Item>>(aggregate: &A, items: &[Item]) -> A::State {
    let mut state = aggregate.init();
    items.iter().for_each(|item| aggregate.add(&mut state, item));
    state
}

/// The state of both, and it goes through its encoding on the way.
fn merged<A: Aggregate<Item>>(aggregate: &A, front: &A::State, behind: A::State) -> A::State {
    let mut state: A::State = codec::from_slice(&encoded(front)).unwrap();
    aggregate.merge(&mut state, behind);
    state
}

#[track_caller]
fn laws<A: Aggregate<Item>>(aggregate: &A)
where
    A::Out: Debug,
{
    for n in [0, 1, 2, 7, 30, 400] {
        let items = items(n);
        let whole = added(aggregate, &items);
        let value = format!("{:?}", aggregate.value(&whole));
        assert_eq!(value, format!("{:?}", aggregate.finish(whole.clone())), "of {n}");
        for (cut, second) in [(0, 0), (1, 1), (n / 3, n / 2), (n / 2, n), (n - n / 5, n)] {
            let (cut, second) = (cut.min(n), second.min(n));
            let part = |from: usize, to: usize| added(aggregate, &items[from..to]);
            let (a, b, c) = (part(0, cut), part(cut, second), part(second, n));
            let left = merged(aggregate, &merged(aggregate, &a, b.clone()), c.clone());
            let right = merged(aggregate, &a, merged(aggregate, &b, c));
            assert_eq!(encoded(&left), encoded(&whole), "{n} cut at {cut} and {second}");
            assert_eq!(encoded(&right), encoded(&whole), "{n} cut at {cut} and {second}, from behind");
        }
    }
}

/// The laws of one whose records come together before a shuffle.
#[track_caller]
fn combines<A: Aggregate<Item>>(aggregate: &A)
where
    A::Out: Debug,
{
    assert!(A::COMBINES);
    laws(aggregate);
}

#[test]
fn what_is_rounded_on_the_way_or_large_or_of_ones_own_does_not_combine() {
    fn does_combine<A: Aggregate<Item>>(_aggregate: &A) -> bool {
        A::COMBINES
    }
    let t = typer();
    assert!(!does_combine(&sum(t.by_ref(|i| i.x))));
    assert!(!does_combine(&avg(t.by_ref(|i| i.x as f32))));
    assert!(!does_combine(&reduce(t.by_ref(|i| i.x), |a, b| a + b)));
    assert!(!does_combine(&fold(t.start(0_i64), |n, i| n + i.n)));
    assert!(!does_combine(&fold_merge(t.start(0_i64), |n, i| n + i.n, |a, b| a + b)));
    assert!(!does_combine(&count_distinct(t.by_ref(|i| i.n))));
    assert!(!does_combine(&acc(Texts, t.by_ref(|i| i.text.clone()))));
    fn do_combine<A: Aggregates<Item>>(_aggregates: &A) -> bool {
        A::COMBINES
    }
    assert!(do_combine(&(count(), sum(t.by_ref(|i| i.n)))));
    assert!(!do_combine(&(count(), sum(t.by_ref(|i| i.x)))));
}

#[test]
fn merging_agrees_with_adding() {
    let t = typer();
    combines(&count());
    combines(&sum(t.by_ref(|i| i.n)));
    combines(&sum(t.by_ref(|i| i128::from(i.n) * (i128::MAX / 30))));
    combines(&sum(t.by_ref(|i| i.n.unsigned_abs())));
    combines(&sum(t.by_ref(|i| Duration::from_secs(i.n.unsigned_abs()))));
    combines(&avg(t.by_ref(|i| i.n)));
    combines(&min(t.by_ref(|i| i.text.clone())));
    combines(&max(t.by_ref(|i| i.x)));
    laws(&first(t.by_ref(|i| i.text.clone())));
    combines(&last(t.by_ref(|i| i.x)));
    combines(&min_by(t.by_ref(|i| i.x), t.by_ref(|i| i.text.clone())));
    combines(&max_by(t.by_ref(|i| i.n), t.by_ref(|i| i.text.clone())));
    laws(&top_k(5, t.by_ref(|i| i.x)));
    combines(&max(t.by_ref(|i| (i.n, i.x))));
    combines(&min_by(t.by_ref(|i| (i.n, i.x)), t.by_ref(|i| i.text.clone())));
    laws(&top_k(5, t.by_ref(|i| (i.n, i.x))));
    laws(&top_k(3, t.by_ref(|i| (i.n, i.text.clone()))));
    laws(&top_k(3, t.by_ref(|i| Reverse(i.n))));
    laws(&collect(20, t.by_ref(|i| i.text.clone())));
    laws(&collect(1_000, t.by_ref(|i| i.n)));
    laws(&count_distinct(t.by_ref(|i| i.text.clone())));
    laws(&approx_count_distinct(t.by_ref(|i| (i.n, i.text.clone()))));
    laws(&quantile(0.3, t.by_ref(|i| i.x)));
    laws(&quantiles([0.1, 0.9], t.by_ref(|i| i.n)));
    laws(&reduce(t.by_ref(|i| i.text.clone()), |a, b| a + &b));
    laws(&fold_merge(t.start(0_i64), |n, i| n.max(i.n), |a, b| a.max(b)));
    laws(&acc(Texts, t.by_ref(|i| i.text.clone())));
}

/// Joins texts.
struct Texts;

impl Accumulator<String> for Texts {
    type State = String;
    type Out = String;

    fn init(&self) -> String {
        String::new()
    }

    fn add(&self, state: &mut String, value: String) {
        state.push_str(&value);
    }

    fn merge(&self, state: &mut String, behind: String) {
        state.push_str(&behind);
    }

    fn finish(&self, state: String) -> String {
        state
    }
}

/// Adds values of a type of one's own and compares the result, in parts too, with what is expected.
#[track_caller]
fn check_sum<R: Number + Copy + PartialEq + Debug>(values: &[R], expected: Result<R, &str>) {
    for cut in 0..=values.len() {
        let (mut front, mut behind) = (R::Total::default(), R::Total::default());
        values[..cut].iter().for_each(|value| R::add(&mut front, *value));
        values[cut..].iter().for_each(|value| R::add(&mut behind, *value));
        R::merge(&mut front, behind);
        let found = R::finish(front).map_err(|error| error.to_string());
        match (&found, &expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            _ => panic!("{found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn only_the_result_of_a_sum_can_fail_to_fit() {
    check_sum(
        &[u8::MAX, 1],
        Err("the sum 256 does not fit `u8`; sum a wider type, e.g. `sum(|r| r.field as i128)`"),
    );
    check_sum(&[i64::MAX, i64::MAX, i64::MIN, i64::MIN], Ok(-2));
    check_sum(&[i64::MIN, -1], Err("the sum -9223372036854775809 does not fit `i64`"));
    check_sum(&[u64::MAX; 3], Err("the sum 55340232221128654845 does not fit `u64`"));
    // On the way these leave 128 bits, in one order or another.
    check_sum(&[i128::MAX, 1, -1], Ok(i128::MAX));
    check_sum(&[i128::MIN, i128::MIN, i128::MAX, i128::MAX], Ok(-2));
    check_sum(&[i128::MAX, 1], Err("the sum of about 1.7014118346046923e38 does not fit `i128`"));
    check_sum(&[i128::MIN, -1], Err("the sum of about -1.7014118346046923e38 does not fit `i128`"));
    check_sum(&[u128::MAX, 0], Ok(u128::MAX));
    check_sum(
        &[u128::MAX, u128::MAX],
        Err(
            "the sum of about 6.80564733841877e38 does not fit `u128`; sum a wider type, e.g. `sum(|r| r.field as f64)`",
        ),
    );
    check_sum(&[Duration::MAX, Duration::from_secs(1)], Err("does not fit `Duration`"));
}

#[test]
fn means_of_wide_integers_are_means() {
    let mean = |values: &[i128]| {
        let mut total = <i128 as Number>::Total::default();
        values.iter().for_each(|value| i128::add(&mut total, *value));
        <i128 as Number>::to_f64(&total) / values.len() as f64
    };
    assert_eq!(mean(&[i128::MAX, i128::MAX]), i128::MAX as f64);
    assert_eq!(mean(&[i128::MIN, i128::MIN, i128::MIN]), i128::MIN as f64);
    assert_eq!(mean(&[i128::MAX, i128::MIN, 4]), 1.0);
}

#[test]
fn floats_keep_what_adding_loses() {
    check_sum(&[1e100, 1.0, -1e100], Ok(1.0));
    check_sum(&[1.0, 1e100, 1.0, -1e100], Ok(2.0));
    let tenths = vec![0.1; 1_000_000];
    let mut total = <f64 as Number>::Total::default();
    tenths.iter().for_each(|value| f64::add(&mut total, *value));
    assert_eq!(f64::finish(total), Ok(100_000.0));
    assert_eq!(tenths.iter().sum::<f64>(), 100_000.000_001_332_88);
}

#[test]
fn a_window_keeps_to_the_k_that_it_was_begun_with() {
    let items = items(9);
    let (small, large) = (top_k(2, typer().by_ref(|i| i.n)), top_k(4, typer().by_ref(|i| i.n)));
    let mut numbers: Vec<i64> = items.iter().map(|item| item.n).collect();
    numbers.sort_by_key(|n| Reverse(*n));
    let mut state = added(&small, &items[..5]);
    items[5..].iter().for_each(|item| large.add(&mut state, item));
    assert_eq!(large.finish(state), Ok(numbers[..2].to_vec()));
    let state = added(&large, &items);
    assert_eq!(small.value(&state), Ok(numbers[..2].to_vec()));
}

/// A value that cannot be encoded when it is negative.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
struct Picky(i64);

impl Serialize for Picky {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            n if n < 0 => Err(serde::ser::Error::custom(format!("{n} is negative"))),
            n => serializer.serialize_i64(n),
        }
    }
}

#[test]
fn a_value_that_does_not_encode_is_told() {
    let aggregate = approx_count_distinct(typer().by_ref(|i| Picky(i.n)));
    let item = |n| Item { n, text: String::new(), x: 0.0 };
    let (good, bad) = (added(&aggregate, &[item(1)]), added(&aggregate, &[item(2), item(-7), item(-8)]));
    for state in [merged(&aggregate, &good, bad.clone()), merged(&aggregate, &bad, good)] {
        let error = aggregate.finish(state).unwrap_err().to_string();
        assert!(error.ends_with("cannot encode a value: -7 is negative"), "{error}");
    }
}

#[test]
fn signatures_name_the_types_of_what_is_kept() {
    fn signature<A: Aggregate<Item>>(_: &A) -> String {
        A::signature()
    }
    let t = typer();
    let signatures = [
        signature(&min_by(t.by_ref(|i| i.x), t.by_ref(|i| i.text.clone()))),
        signature(&top_k(5, t.by_ref(|i| i.n))),
        signature(&collect(5, t.by_ref(|i| i.n))),
        signature(&count_distinct(t.by_ref(|i| i.text.clone()))),
        signature(&approx_count_distinct(t.by_ref(|i| i.text.clone()))),
        signature(&quantile(0.5, t.by_ref(|i| i.x))),
        signature(&quantiles([0.5], t.by_ref(|i| i.x))),
        signature(&reduce(t.by_ref(|i| i.n), |a, b| a ^ b)),
        signature(&fold(t.start(0_u8), |n, _| n)),
        signature(&fold_merge(t.start(0_u8), |n, _| n, |n, _| n)),
    ];
    let expected = [
        "min_by(f64, String)",
        "top_k(i64)",
        "collect(i64)",
        "count_distinct(String)",
        "approx_count_distinct(String in 4096)",
        "quantiles",
        "quantiles",
        "reduce(i64)",
        "fold(u8)",
        "fold(u8)",
    ];
    assert_eq!(signatures, expected);
}
