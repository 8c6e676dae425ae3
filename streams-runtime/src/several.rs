//! Several jobs in one binary: the first word of the command line says which.
//!
//! What comes behind it is the command line of that job alone; nothing is shared between them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use streams_core::plan::Job;

use crate::error::{Error, ErrorKind};
use crate::job::JobHandle;
use crate::wording::nearest;

/// The `main` of a binary with several jobs: `PROGRAM JOB run ..`, `PROGRAM JOB topology`, `PROGRAM --help`.
///
/// # Examples
/// ```no_run
/// use streams_runtime::prelude::*;
///
/// #[record] struct Hit { host: String, bytes: u64 }
///
/// /// Large hits.
/// #[stream_job]
/// fn large(hits: Stream<Hit>) -> Stream<Hit> {
///     hits.filter(|h| h.bytes > 1_000_000)
/// }
///
/// /// Bytes per host so far.
/// #[stream_job]
/// fn bytes(hits: Stream<Hit>) -> Stream<u64> {
///     hits.key_by(|h| h.host.clone()).running(forever()).aggregate(sum(|h| h.bytes))
/// }
///
/// fn main() -> std::process::ExitCode {
///     streams_runtime::main_of![large, bytes]
/// }
/// ```
#[macro_export]
macro_rules! main_of {
    ($($job:expr),+ $(,)?) => {
        $crate::main_of_all(vec![$($crate::OneOf::jobs($job)),+])
    };
}

/// One of the jobs of a binary.
#[derive(Debug)]
pub struct OneOf(JobHandle);

impl OneOf {
    /// This job.
    pub fn jobs<J: Job>(_job: J) -> Self {
        Self(JobHandle::of::<J>())
    }
}

/// What [`main_of!`](crate::main_of) calls: the exit code is that of the job, or 2 if there is no such job.
pub fn main_of_all(jobs: Vec<OneOf>) -> ExitCode {
    let mut words = std::env::args_os();
    let program = program(words.next()).unwrap_or_else(|| "PROGRAM".to_owned());
    let first = words.next();
    let first = first.as_deref().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    if matches!(first.as_str(), "--help" | "-h" | "help") {
        return crate::show(&help(&jobs, &program));
    }
    match choose(&jobs, &program, &first) {
        Ok(number) => match jobs.into_iter().nth(number) {
            Some(OneOf(job)) => {
                let program = format!("{program} {}", job.topology.job);
                crate::perform(job, program, words.collect())
            }
            None => ExitCode::FAILURE,
        },
        Err(problem) => {
            let error: Error = ErrorKind::Usage(vec![problem]).into();
            crate::tell(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// The number of the job that a word names.
fn choose(jobs: &[OneOf], program: &str, word: &str) -> Result<usize, String> {
    let names = || jobs.iter().map(|OneOf(job)| job.topology.job);
    if let Some(number) = names().position(|name| name == word) {
        return Ok(number);
    }
    let all = names().map(|name| format!("`{program} {name}`")).collect::<Vec<_>>().join(", ");
    if word.is_empty() {
        return Err(format!("say which job: {all}"));
    }
    let hint = nearest(word, names())
        .map_or_else(|| format!("there are {all}"), |name| format!("did you mean `{name}`?"));
    Err(format!("no job is called `{word}`; {hint}"))
}

fn help(jobs: &[OneOf], program: &str) -> String {
    let mut out = format!("{program} has several jobs; `{program} JOB --help` has more\n\n");
    let width = jobs.iter().map(|OneOf(job)| job.topology.job.chars().count()).max().unwrap_or(0);
    for OneOf(job) in jobs {
        let about = job.topology.doc.trim().lines().next().unwrap_or_default();
        out.push_str(format!("  {:width$}  {about}", job.topology.job).trim_end());
        out.push('\n');
    }
    out
}

/// The name under which the program was called.
pub(crate) fn program(word: Option<OsString>) -> Option<String> {
    let path = word.map(PathBuf::from)?;
    Path::new(&path).file_name()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use streams_core::prelude::*;

    /// All of them.
    #[stream_job]
    fn all(numbers: Stream<u64>) -> Stream<u64> {
        numbers.filter(|_| true)
    }

    #[stream_job]
    fn odd(numbers: Stream<u64>) -> Stream<u64> {
        numbers.filter(|n| n % 2 == 1)
    }

    #[track_caller]
    fn check(word: &str, expect: Result<usize, &str>) {
        let chosen = choose(&[OneOf::jobs(all), OneOf::jobs(odd)], "numbers", word);
        assert_eq!(chosen.as_ref().map(|number| *number).map_err(String::as_str), expect);
    }

    #[test]
    fn the_first_word_is_the_job() {
        check("odd", Ok(1));
        check("al", Err("no job is called `al`; did you mean `all`?"));
        check("primes", Err("no job is called `primes`; there are `numbers all`, `numbers odd`"));
        check("", Err("say which job: `numbers all`, `numbers odd`"));
    }

    #[test]
    fn help_lists_the_jobs() {
        let text = help(&[OneOf::jobs(all), OneOf::jobs(odd)], "numbers");
        assert_eq!(
            text,
            "numbers has several jobs; `numbers JOB --help` has more\n\n  all  All of them.\n  odd\n"
        );
    }
}
