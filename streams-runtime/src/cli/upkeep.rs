//! The flags of `state` and `offsets`: what is asked about a job's state, and where that lies.

use std::path::PathBuf;

use streams_core::plan::Settings;
use streams_core::topology::Topology;

use super::args::{Verb, Words};
use super::{Surroundings, bind};
use crate::store::Kind;
use crate::wording::nearest;

/// What to do with which state.
#[derive(Debug)]
pub(crate) struct UpkeepConfig {
    pub(crate) task: Task,
    pub(crate) place: StatePlace,
    /// What was given; a setting that is missing may not be needed.
    pub(crate) settings: Settings,
    /// Addresses of name servers, where brokers are to be asked.
    pub(crate) namesrv: Vec<String>,
}

/// What to do with a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    List(Form),
    Get {
        operator: String,
        key: String,
    },
    Export(PathBuf),
    Import {
        file: PathBuf,
        /// Whether the job has not run since the savepoint was written.
        is_last: bool,
    },
    ShowOffsets(Form),
    ResetOffsets(Reset),
}

/// How something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

/// Where inputs are to be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reset {
    pub(crate) to: ResetTo,
    /// The input port; all without it.
    pub(crate) input: Option<String>,
    /// Whether the consequences are wanted.
    pub(crate) is_confirmed: bool,
}

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetTo {
    Earliest,
    Latest,
    /// The first message stored at this time or later, in ms since the Unix epoch.
    Time(i64),
    /// An offset of a queue, a line of a file.
    Number(u64),
}

/// Where a state lies.
#[derive(Debug, Clone)]
pub(crate) enum StatePlace {
    /// In a directory, in the store that is found there where none is named.
    Directory { dir: PathBuf, store: Option<Kind> },
    /// In a database, under a group's name.
    #[cfg(all(feature = "mysql", feature = "rocketmq"))]
    Remote { address: crate::remote::mysql::Address, group: String },
}

/// What `state` can do.
pub(crate) const STATE: [&str; 4] = ["ls", "get", "export", "import"];
/// What `offsets` can do.
pub(crate) const OFFSETS: [&str; 2] = ["show", "reset"];

/// The meaning of `state` and `offsets`; none where it cannot be made out.
pub(crate) fn config(
    topology: &Topology,
    verb: Verb,
    words: &Words,
    around: &Surroundings<'_>,
    problems: &mut Vec<String>,
) -> Option<UpkeepConfig> {
    let task = task(topology, verb, words, around, problems);
    let place = place(topology, words, around, problems);
    let settings = bind::settings(topology, words, around, bind::Needed::None, problems);
    let namesrv = words.flags.get("namesrv").map(String::as_str).unwrap_or_default();
    let namesrv = namesrv.split([',', ';']).map(str::trim).filter(|address| !address.is_empty());
    let namesrv = namesrv.map(str::to_owned).collect();
    Some(UpkeepConfig { task: task?, place: place?, settings, namesrv })
}

fn task(
    topology: &Topology,
    verb: Verb,
    words: &Words,
    around: &Surroundings<'_>,
    problems: &mut Vec<String>,
) -> Option<Task> {
    let (name, known) = match verb {
        Verb::Offsets => ("offsets", &OFFSETS[..]),
        _ => ("state", &STATE[..]),
    };
    let program = &around.program;
    let Some((what, operands)) = words.operands.split_first() else {
        problems.push(format!("{name}: say what to do: {}", examples(program, name, known)));
        return None;
    };
    let (forms, task): (&[&str], _) = match (verb, what.as_str(), operands) {
        (Verb::State, "ls", []) => (&["format"], form(words, problems).map(Task::List)),
        (Verb::State, "get", [operator, key]) => {
            check_operator(topology, operator, problems);
            (&[], Some(Task::Get { operator: operator.clone(), key: key.clone() }))
        }
        (Verb::State, "export", [file]) => (&[], Some(Task::Export(file.into()))),
        (Verb::State, "import", [file]) => (&["not-run-since"], {
            let is_last = words.flags.contains_key("not-run-since");
            Some(Task::Import { file: file.into(), is_last })
        }),
        (Verb::Offsets, "show", []) => (&["format", "namesrv"], form(words, problems).map(Task::ShowOffsets)),
        (Verb::Offsets, "reset", []) => {
            (&["to", "input", "yes", "namesrv"], reset(topology, words, problems).map(Task::ResetOffsets))
        }
        (_, other, _) if known.contains(&other) => {
            problems.push(format!("{name} {other}: {}", usage(program, name, other)));
            return None;
        }
        (_, other, _) => {
            let hint = nearest(other, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| format!("there are `{}`", known.join("`, `")));
            problems.push(format!("{name}: unknown command `{other}`; {hint}"));
            return None;
        }
    };
    // Each sub-command has flags of its own.
    for flag in ["format", "namesrv", "input", "yes", "not-run-since"] {
        if words.flags.contains_key(flag) && !forms.contains(&flag) {
            problems.push(format!("--{flag}: `{name} {what}` has no such flag; leave it out"));
        }
    }
    if !words.to.is_empty() && !forms.contains(&"to") {
        problems.push(format!("--to: `{name} {what}` has no such flag; leave it out"));
    }
    task
}

fn examples(program: &str, name: &str, known: &[&str]) -> String {
    let each = known.iter().map(|what| format!("`{program} {name} {what}`"));
    each.collect::<Vec<_>>().join(", ")
}

fn usage(program: &str, name: &str, what: &str) -> String {
    let operands = match what {
        "get" => " OPERATOR KEY",
        "export" | "import" => " FILE",
        _ => "",
    };
    let hint = match what {
        "get" => "; a key with spaces stands in quotes, a tuple is JSON: '[\"a\",7]'",
        _ => "",
    };
    format!("write `{program} {name} {what}{operands}`{hint}")
}

fn form(words: &Words, problems: &mut Vec<String>) -> Option<Form> {
    match words.flags.get("format").map(String::as_str) {
        None | Some("text") => Some(Form::Text),
        Some("json") => Some(Form::Json),
        Some(other) => {
            problems.push(format!("--format: unknown format `{other}`; there are text and json"));
            None
        }
    }
}

/// The operators that can have state, by their ids.
fn operators(topology: &Topology) -> impl Iterator<Item = &'static str> {
    let named = topology.nodes.iter().filter(|node| !matches!(node.kind, "source" | "sink"));
    named.map(|node| node.name).filter(|name| !name.is_empty())
}

fn check_operator(topology: &Topology, operator: &str, problems: &mut Vec<String>) {
    if operators(topology).any(|name| name == operator) {
        return;
    }
    let known: Vec<&str> = operators(topology).collect();
    let hint = nearest(operator, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
    let hint = hint.unwrap_or_else(|| match known.as_slice() {
        [] => "none of the job's operators keeps state".to_owned(),
        _ => format!("there are `{}`", known.join("`, `")),
    });
    problems.push(format!("state get: unknown operator `{operator}`; {hint}"));
}

fn reset(topology: &Topology, words: &Words, problems: &mut Vec<String>) -> Option<Reset> {
    const FORMS: &str = "earliest, latest, time:MS (ms since the Unix epoch), or a number: an offset of a queue, a line of a file";
    let to = match words.to.as_slice() {
        [] => {
            problems.push(format!("offsets reset: say where to read on: --to {FORMS}"));
            None
        }
        [text] => parse_to(text).or_else(|| {
            let hint = nearest(text, ["earliest", "latest"]).map(|name| format!("did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| format!("write {FORMS}"));
            problems.push(format!("--to: unknown place `{text}`; {hint}"));
            None
        }),
        [_, ..] => {
            problems.push(
                "--to: is given twice; give it once, and name another input with --input in a second call"
                    .to_owned(),
            );
            None
        }
    };
    let input = words.flags.get("input").cloned();
    let mut ports = topology.sources().map(|port| port.name);
    if let Some(input) = input.as_deref().filter(|input| !ports.any(|name| name == *input)) {
        let names: Vec<&str> = topology.sources().map(|port| port.name).collect();
        let hint = nearest(input, names.iter().copied()).map(|name| format!("did you mean `{name}`?"));
        let hint = hint.unwrap_or_else(|| format!("input ports are `{}`", names.join("`, `")));
        problems.push(format!("--input: unknown input port `{input}`; {hint}"));
    }
    Some(Reset { to: to?, input, is_confirmed: words.flags.contains_key("yes") })
}

fn parse_to(text: &str) -> Option<ResetTo> {
    match text {
        "earliest" => Some(ResetTo::Earliest),
        "latest" => Some(ResetTo::Latest),
        _ => match text.strip_prefix("time:") {
            Some(ms) => ms.parse().ok().map(ResetTo::Time),
            None => text.parse().ok().map(ResetTo::Number),
        },
    }
}

#[cfg_attr(
    not(all(feature = "mysql", feature = "rocketmq")),
    expect(unused_variables, reason = "only a database has a password and a group")
)]
fn place(
    topology: &Topology,
    words: &Words,
    around: &Surroundings<'_>,
    problems: &mut Vec<String>,
) -> Option<StatePlace> {
    let (dir, remote) = (words.flags.get("state"), words.flags.get("remote"));
    if remote.is_none() && words.flags.contains_key("group") {
        problems.push("--group: names a job in a database; a directory has one job, leave it out".to_owned());
    }
    match (dir, remote) {
        (Some(dir), None) => {
            let store = words.flags.contains_key("store").then(|| bind::store(words, true, problems));
            Some(StatePlace::Directory { dir: PathBuf::from(dir), store })
        }
        (None, Some(_)) if words.flags.contains_key("store") => {
            problems.push("--store: is for a directory; leave it out".to_owned());
            None
        }
        #[cfg(all(feature = "mysql", feature = "rocketmq"))]
        (None, Some(text)) => {
            let address = crate::remote::mysql::Address::parse(text, around.env);
            let address = address.map_err(|why| problems.push(format!("--remote: {why}"))).ok()?;
            let group = words.flags.get("group").cloned().unwrap_or_else(|| topology.job.to_owned());
            Some(StatePlace::Remote { address, group })
        }
        #[cfg(not(all(feature = "mysql", feature = "rocketmq")))]
        (None, Some(_)) => {
            problems.push(
                "--remote: this program was built without it; build it with the features `mysql` and `rocketmq`"
                    .to_owned(),
            );
            None
        }
        (Some(_), Some(_)) => {
            problems.push(
                "--state, --remote: which of them? a directory beside a database has a copy of it; leave --state out"
                    .to_owned(),
            );
            None
        }
        (None, None) => {
            problems.push(
                "say where the state lies: --state DIR, or --remote mysql://USER@HOST/DATABASE".to_owned(),
            );
            None
        }
    }
}
