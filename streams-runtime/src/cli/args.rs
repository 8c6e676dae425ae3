//! The words of a command line, sorted by flag. What they mean for the job is not asked here.

use std::collections::BTreeMap;
use std::ffi::OsString;

use streams_core::topology::Topology;

use super::flag;
use crate::wording::nearest;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Run,
    Topology,
    State,
    Offsets,
    Help,
    Version,
}

/// Flags of `run` that every job has, with the form of their value.
pub(crate) const RUN_FLAGS: [(&str, &str); 17] = [
    ("from", "[PORT=]URL"),
    ("to", "[PORT=]URL"),
    ("state", "DIR"),
    ("store", "redb|rocksdb"),
    ("memory", "SIZE"),
    ("workers", "N"),
    ("checkpoint-interval", "DURATION"),
    ("dead-letter", "file:PATH"),
    ("on-bad", "dead-letter|skip|stop"),
    ("idle-after", "[PORT=]DURATION"),
    ("report", "FILE"),
    ("namesrv", "HOST:PORT[,HOST:PORT]"),
    ("group", "NAME"),
    ("local-only", ""),
    ("remote", "mysql://USER@HOST/DATABASE"),
    ("start", "earliest|latest|MS"),
    ("shuffle-queues", "N"),
];

/// Flags of `state` and `offsets`, beside the job's settings.
pub(crate) const UPKEEP_FLAGS: [(&str, &str); 9] = [
    ("state", "DIR"),
    ("store", "redb|rocksdb"),
    ("remote", "mysql://USER@HOST/DATABASE"),
    ("group", "NAME"),
    ("namesrv", "HOST:PORT[,HOST:PORT]"),
    ("format", "text|json"),
    ("input", "PORT"),
    ("yes", ""),
    ("not-run-since", ""),
];

/// A command line.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) command: Option<Verb>,
    /// The words behind `state` and `offsets` that belong to no flag.
    pub(crate) operands: Vec<String>,
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
    pub(crate) idle_after: Vec<String>,
    /// Every other flag, by name.
    pub(crate) flags: BTreeMap<String, String>,
}

impl Words {
    fn is_upkeep(&self) -> bool {
        matches!(self.command, Some(Verb::State | Verb::Offsets))
    }
}

/// Sorts the words; what cannot be placed is a problem.
pub(crate) fn read(topology: &Topology, words: Vec<OsString>, problems: &mut Vec<String>) -> Words {
    let mut found = Words::default();
    let mut parser = lexopt::Parser::from_args(words);
    // Behind an unknown flag a bare word is most likely its value; blaming it as well would only confuse.
    let mut forgive = false;
    loop {
        let arg = match parser.next() {
            Ok(Some(arg)) => arg,
            Ok(None) => return found,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        let name = match arg {
            lexopt::Arg::Short('h') => "help".to_owned(),
            lexopt::Arg::Short('V') => "version".to_owned(),
            lexopt::Arg::Short(letter) if found.is_upkeep() => {
                let _ = parser.optional_value();
                problems.push(format!(
                    "-{letter}: unknown flag; a key that begins with a dash stands behind `--`, and flags in front of it"
                ));
                continue;
            }
            lexopt::Arg::Short(letter) => {
                problems.push(format!("-{letter}: unknown flag; see --help"));
                forgive = true;
                continue;
            }
            lexopt::Arg::Long(name) => name.to_owned(),
            lexopt::Arg::Value(word) => {
                let word = word.to_string_lossy();
                match (found.command, word.as_ref()) {
                    (None, "run") => found.command = Some(Verb::Run),
                    (None, "topology") => found.command = Some(Verb::Topology),
                    (None, "state") => found.command = Some(Verb::State),
                    (None, "offsets") => found.command = Some(Verb::Offsets),
                    (None, "help") => found.command = Some(Verb::Help),
                    (None, other) => {
                        let hint = nearest(other, ["run", "topology", "state", "offsets", "help"]);
                        let hint = hint.map(|name| format!("did you mean `{name}`?"));
                        let hint = hint.unwrap_or_else(|| {
                            "there are `run`, `topology`, `state` and `offsets`".to_owned()
                        });
                        problems.push(format!("unknown command `{other}`; {hint}"));
                    }
                    (Some(Verb::State | Verb::Offsets), other) if !forgive => {
                        found.operands.push(other.to_owned());
                    }
                    (Some(_), other) if !forgive => problems.push(stray(other)),
                    (Some(_), _) => {}
                }
                forgive = false;
                continue;
            }
        };
        forgive = false;
        match name.as_str() {
            "help" => found.command = Some(Verb::Help),
            "version" if found.command.is_none() => found.command = Some(Verb::Version),
            _ => match known(topology, found.command, &name) {
                Some(placeholder) => value(&mut parser, &name, placeholder, &mut found, problems),
                None => {
                    let _ = parser.optional_value();
                    problems.push(unknown(topology, found.command, &name));
                    forgive = true;
                }
            },
        }
    }
}

fn value(
    parser: &mut lexopt::Parser,
    name: &str,
    placeholder: &str,
    found: &mut Words,
    problems: &mut Vec<String>,
) {
    let inline = parser.optional_value();
    if placeholder.is_empty() {
        match inline {
            Some(_) => problems.push(format!("--{name}: takes no value; write --{name}")),
            None => drop(found.flags.insert(name.to_owned(), String::new())),
        }
        return;
    }
    // A flag where a value should be is a forgotten value; `--x=--y` still gives one that begins with dashes.
    let forgotten = inline.is_none()
        && parser.try_raw_args().is_some_and(|raw| {
            raw.peek().is_none_or(|next| next.to_str().is_some_and(|text| text.starts_with("--")))
        });
    if forgotten {
        problems.push(format!("--{name}: the value is missing; write --{name} {placeholder}"));
        return;
    }
    let Some(word) = inline.or_else(|| parser.value().ok()) else { return };
    let Ok(text) = word.into_string() else {
        problems.push(format!("--{name}: the value is not UTF-8"));
        return;
    };
    match name {
        "from" => found.from.push(text),
        "to" => found.to.push(text),
        "idle-after" => found.idle_after.push(text),
        _ => {
            if let Some(before) = found.flags.insert(name.to_owned(), text) {
                problems.push(format!("--{name} is given twice (first `{before}`); give it once"));
            }
        }
    }
}

/// The form of a flag's value, where the flag is known to the command.
fn known(topology: &Topology, command: Option<Verb>, name: &str) -> Option<&'static str> {
    if command == Some(Verb::Topology) {
        return (name == "format").then_some("text|mermaid|dot|svg|json");
    }
    if let Some(Verb::State | Verb::Offsets) = command {
        if command == Some(Verb::Offsets) && name == "to" {
            return Some("earliest|latest|time:MS|N");
        }
        let of_upkeep = UPKEEP_FLAGS.iter().find(|(known, _)| *known == name);
        return of_upkeep.map(|(_, placeholder)| *placeholder).or_else(|| of_setting(topology, name));
    }
    let of_run = RUN_FLAGS.iter().find(|(known, _)| *known == name).map(|(_, placeholder)| *placeholder);
    of_run.or_else(|| of_setting(topology, name))
}

fn of_setting(topology: &Topology, name: &str) -> Option<&'static str> {
    topology.settings.iter().find(|setting| flag(setting.name) == name).map(|setting| setting.placeholder)
}

fn unknown(topology: &Topology, command: Option<Verb>, name: &str) -> String {
    let settings: Vec<String> = topology.settings.iter().map(|setting| flag(setting.name)).collect();
    let of_job = || settings.iter().map(String::as_str);
    let run = RUN_FLAGS.iter().map(|(name, _)| *name).chain(of_job());
    let known: Vec<&str> = match command {
        Some(Verb::State | Verb::Offsets) => {
            let upkeep = UPKEEP_FLAGS.iter().map(|(name, _)| *name);
            let to = (command == Some(Verb::Offsets)).then_some("to");
            upkeep.chain(to).chain(of_job()).chain(["help"]).collect()
        }
        Some(Verb::Topology) => vec!["format", "help"],
        _ => run.chain(["help", "version"]).collect(),
    };
    match nearest(name, known) {
        Some(meant) => format!("--{name}: unknown flag; did you mean --{meant}?"),
        None if command == Some(Verb::Topology) => {
            format!("--{name}: `topology` has no such flag; it takes --format text|mermaid|dot|svg|json")
        }
        None => format!("--{name}: unknown flag; --help lists all flags"),
    }
}

fn stray(word: &str) -> String {
    if word.contains(':') {
        format!("`{word}`: a URL stands behind --from or --to; write --from {word} or --to {word}")
    } else {
        format!("`{word}`: this word belongs to no flag; --help shows the usage")
    }
}
