//! What a program of the benchmark does: it reads its command line, checks each result, measures, prints JSON.

use std::io::Write as _;
use std::process::ExitCode;

use super::encode::{Row, fingerprint};
use super::input::{Bids, Input};
use super::measure::{self, Sample, median, timed};

const USAGE: &str = "\
usage: --engine ENGINE --query QUERY[,QUERY..]
       [--events 2000000] [--group 1] [--bids fat|slim] [--threads 1] [--runs 5]
queries: q0 q1 q2 q3 q4 q5 q7 q8 q11 qk";

/// Whether a result was that of the oracle.
#[derive(PartialEq)]
pub enum Verdict {
    Match,
    Mismatch,
}

/// Answers a query by one of the engines, if that engine has it; made by [`engines!`](crate::engines).
pub type Answer = fn(&Bench<'_>, &str) -> Result<Verdict, String>;

/// The engines that a program has: for each its name and how it answers a query.
///
/// `"name" module: q0 q1` are the queries that have a function of their name in the module.
#[macro_export]
macro_rules! engines {
    ($($name:literal $module:path: $($query:ident)*;)*) => {
        &[$(($name, |bench, query| {
            use $module as engine;
            match query {
                $(stringify!($query) => bench.run(query, $crate::nexmark::oracle::$query, engine::$query),)*
                query => Err(format!("{} does not answer {query}", $name)),
            }
        })),*]
    };
}

/// The `main` of a program with these engines: 0 when all results are right, 1 when one is not, 2 when it was asked
/// for something that there is not.
pub fn main(engines: &[(&str, Answer)]) -> ExitCode {
    match Args::parse(std::env::args().skip(1)).and_then(|args| run(&args, engines)) {
        Ok(Verdict::Match) => ExitCode::SUCCESS,
        Ok(Verdict::Mismatch) => ExitCode::FAILURE,
        Err(message) => {
            let names: Vec<&str> = engines.iter().map(|(name, _)| *name).collect();
            eprintln!("{message}\n{USAGE}\nengines: {}", names.join(" "));
            ExitCode::from(2)
        }
    }
}

/// Runs the queries one after the other, up to the first mismatch.
fn run(args: &Args, engines: &[(&str, Answer)]) -> Result<Verdict, String> {
    let answer = engines.iter().find_map(|(name, answer)| (*name == args.engine).then_some(answer));
    let answer = answer.ok_or_else(|| format!("no engine `{}`", args.engine))?;
    let bench = Bench::new(args);
    for query in args.queries.split(',') {
        if answer(&bench, query)? == Verdict::Mismatch {
            return Ok(Verdict::Mismatch);
        }
    }
    Ok(Verdict::Match)
}

pub type Query<R> = fn(Input, usize) -> Vec<R>;

/// The input, and how it is measured.
pub struct Bench<'a> {
    args: &'a Args,
    input: Input,
    events_hash: u64,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args) -> Self {
        let input = Input::generate(args.events, args.group, args.bids);
        Self { args, input, events_hash: input.fingerprint() }
    }

    /// Checks the engine, then times it; checks every timed run as well. Prints one line.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn run<R: Row>(&self, query: &str, oracle: Query<R>, engine: Query<R>) -> Result<Verdict, String> {
        let Self { args, input, events_hash } = *self;
        let expected = fingerprint(oracle(input, 1));
        let mut found = fingerprint(engine(input, args.threads));

        let input_rss_mb = measure::start_peak_rss();
        let mut samples = Vec::new();
        while found == expected && samples.len() < args.runs {
            let (rows, sample) = timed(|| engine(input, args.threads));
            samples.push(sample);
            found = fingerprint(rows);
        }

        let Args { engine, events, group, threads, .. } = args;
        let bids = if args.bids == Bids::Slim { "slim" } else { "fat" };
        let (rows, rows_hash) = found;
        let matches = found == expected;
        let (rest, verdict) = if matches {
            (summary(&samples, *events, input_rss_mb), Verdict::Match)
        } else {
            let expected = format!(r#""expected_rows":{},"expected_hash":"{:016x}""#, expected.0, expected.1);
            (expected, Verdict::Mismatch)
        };
        let line = format!(
            r#"{{"engine":"{engine}","query":"{query}","events":{events},"group":{group},"bids":"{bids}","threads":{threads},"events_hash":"{events_hash:016x}","rows":{rows},"rows_hash":"{rows_hash:016x}","match":{matches},{rest}}}"#,
        );
        writeln!(std::io::stdout(), "{line}").map_err(|error| format!("cannot print: {error}"))?;
        Ok(verdict)
    }
}

fn summary(samples: &[Sample], events: usize, input_rss_mb: f64) -> String {
    let walls: Vec<f64> = samples.iter().map(|sample| sample.wall_s).collect();
    let min = walls.iter().copied().fold(f64::INFINITY, f64::min);
    let max = walls.iter().copied().fold(0.0, f64::max);
    let wall = median(walls);
    let cpu = median(samples.iter().map(|sample| sample.cpu_s).collect());
    format!(
        r#""wall_s_median":{wall:.6},"wall_s_min":{min:.6},"wall_s_max":{max:.6},"cpu_s":{cpu:.6},"peak_rss_mb":{:.1},"input_rss_mb":{input_rss_mb:.1},"events_per_s":{:.0}"#,
        measure::peak_rss_mb(),
        events as f64 / wall,
    )
}

struct Args {
    engine: String,
    queries: String,
    events: usize,
    group: usize,
    bids: Bids,
    threads: usize,
    runs: usize,
}

impl Args {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            engine: String::new(),
            queries: String::new(),
            events: 2_000_000,
            group: 1,
            bids: Bids::Fat,
            threads: 1,
            runs: 5,
        };
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
            let count = || value.parse().map_err(|_| format!("{option}: {value} is not a count"));
            match option.as_str() {
                "--engine" => args.engine = value,
                "--query" => args.queries = value,
                "--events" => args.events = count()?,
                "--group" => args.group = count()?,
                "--bids" => {
                    args.bids = match value.as_str() {
                        "fat" => Bids::Fat,
                        "slim" => Bids::Slim,
                        _ => return Err(format!("bids are fat or slim, not {value}")),
                    }
                }
                "--threads" => args.threads = count()?,
                "--runs" => args.runs = count()?,
                _ => return Err(format!("no option {option}")),
            }
        }
        args.check().map(|()| args)
    }

    fn check(&self) -> Result<(), String> {
        if self.threads == 0 || self.runs == 0 {
            return Err("there is at least one thread and one run".into());
        }
        if self.threads > 1 && ["oracle", "loop"].contains(&self.engine.as_str()) {
            return Err(format!("{} runs on one thread", self.engine));
        }
        Input::check(self.events, self.group)
    }
}
