//! What a command line means for a job: ports get their URLs, settings their texts, options their values.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use streams_core::plan::Settings;
use streams_core::setting;
use streams_core::topology::{Node, Rendering, Topology};

use super::args::Words;
use super::{RunConfig, Surroundings, flag, variable};
use crate::deadletter::OnBad;
use crate::store::Kind;
use crate::url::{Direction, Place, Url, shown, split_port};
use crate::wording::nearest;

/// More threads than this help nobody, and each pair of them has a channel.
pub(crate) const MAX_WORKERS: usize = 256;

/// Between two checkpoints, where nothing else is said.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

/// The form that `topology` asks for.
pub(crate) fn rendering(words: &Words, problems: &mut Vec<String>) -> Rendering {
    let Some(text) = words.flags.get("format") else { return Rendering::Text };
    Rendering::named(text).unwrap_or_else(|| {
        let hint = nearest(text, Rendering::NAMES).map(|name| format!("; did you mean `{name}`?"));
        let hint = hint.unwrap_or_else(|| format!("; there are {}", Rendering::NAMES.join(", ")));
        problems.push(format!("--format: unknown format `{text}`{hint}"));
        Rendering::Text
    })
}

/// The meaning of `run`. Where something is wrong a placeholder stands in the result, which is then not used.
pub(crate) fn run(
    topology: &Topology,
    words: &Words,
    around: &Surroundings<'_>,
    problems: &mut Vec<String>,
) -> RunConfig {
    let cluster = super::cluster::config(topology, words, around, problems);
    let from = inputs(topology, words, around, cluster.is_some(), problems);
    let to = outputs(topology, words, cluster.is_some(), problems);
    let settings = settings(topology, words, around, Needed::WithoutDefault, problems);
    for (flag, text) in crate::tables::addresses(topology, &settings) {
        if let Err(why) = crate::tables::Address::parse(text) {
            let is_given = settings.contains_key(&flag.replace('-', "_"));
            let why = if is_given { why } else { topology.wrong_default(text, &why) };
            problems.push(format!("--{flag}: {why}"));
        }
    }
    let state = words.flags.get("state").map(PathBuf::from);
    let store = store(words, state.is_some(), problems);
    let interval = words
        .flags
        .get("checkpoint-interval")
        .map_or(Ok(CHECKPOINT_INTERVAL), |text| setting::duration(text));
    let checkpoint_interval = interval.unwrap_or_else(|why| {
        problems.push(format!("--checkpoint-interval: {why}"));
        CHECKPOINT_INTERVAL
    });
    if checkpoint_interval.is_zero() {
        problems.push(
            "--checkpoint-interval: no time would be left for records; write for example 10ms".to_owned(),
        );
    }
    let on_bad = on_bad(words, problems);
    let dead_letter = dead_letter(words, on_bad, problems);
    if state.is_some() && from.iter().any(|url| *url.place() == Place::Stdin) {
        problems.push(
            "--state: standard input cannot be read again, so a state could not resume it; read a file, or leave --state out"
                .to_owned(),
        );
    }
    let idle_after = super::idle::after(topology, words, &from, problems);
    let config = RunConfig {
        from,
        to,
        settings,
        state,
        store,
        memory: super::memory::bytes(words, problems),
        workers: workers(words, problems),
        checkpoint_interval,
        dead_letter,
        on_bad,
        idle_after,
        report: report(words, problems),
        cluster,
    };
    super::memory::check(&config, problems);
    super::cluster::check(topology, &config, problems);
    config
}

fn inputs(
    topology: &Topology,
    words: &Words,
    around: &Surroundings<'_>,
    on_topics: bool,
    problems: &mut Vec<String>,
) -> Vec<Url> {
    let ports: Vec<&Node> = topology.sources().collect();
    let mut bound = bind("--from", Direction::From, &ports, &words.from, problems);
    if on_topics {
        name_topics(&ports, &mut bound);
    }
    let missing: Vec<&str> =
        ports.iter().zip(&bound).filter(|(_, url)| url.is_none()).map(|(port, _)| port.name).collect();
    // A mistake about a --from is told already; that its port is missing as well would be noise.
    if !missing.is_empty() && !problems.iter().any(|problem| problem.contains("--from")) {
        let example: Vec<String> = ports
            .iter()
            .map(|port| {
                let ending = if port.text == "String" { "log" } else { "jsonl" };
                let name = if ports.len() == 1 { String::new() } else { format!("{}=", port.name) };
                format!("--from {name}file:{}.{ending}", port.name)
            })
            .collect();
        let which = if missing.len() == 1 { "input port" } else { "input ports" };
        problems.push(format!(
            "--from: {which} `{}` {} not bound; for example: {} run {}",
            missing.join("`, `"),
            if missing.len() == 1 { "is" } else { "are" },
            around.program,
            example.join(" ")
        ));
    }
    let stdin = bound.iter().flatten().filter(|url| *url.place() == Place::Stdin).count();
    if stdin > 1 {
        problems
            .push("--from: standard input can be read by one port only; give the others a file".to_owned());
    }
    bound.into_iter().map(|url| url.unwrap_or_else(Url::print)).collect()
}

/// A port that is not bound is a topic of its name.
fn name_topics(ports: &[&Node], bound: &mut [Option<Url>]) {
    for (port, url) in ports.iter().zip(bound) {
        url.get_or_insert_with(|| Url::topic(port.name));
    }
}

fn outputs(topology: &Topology, words: &Words, on_topics: bool, problems: &mut Vec<String>) -> Vec<Url> {
    let ports: Vec<&Node> = topology.sinks().collect();
    if words.to.is_empty() && !on_topics {
        return ports.iter().map(|_| Url::print()).collect();
    }
    let before = problems.len();
    let mut bound = bind("--to", Direction::To, &ports, &words.to, problems);
    if on_topics && problems.len() == before {
        name_topics(&ports, &mut bound);
    }
    for (port, url) in ports.iter().zip(&bound) {
        if url.is_none() && problems.len() == before {
            let name = port.name;
            problems.push(format!("--to: output port `{name}` is not bound; add --to {name}=file:{name}.jsonl or --to {name}=print:"));
        }
    }
    bound.into_iter().map(|url| url.unwrap_or_else(Url::print)).collect()
}

fn bind(
    what: &str,
    direction: Direction,
    ports: &[&Node],
    texts: &[String],
    problems: &mut Vec<String>,
) -> Vec<Option<Url>> {
    let mut bound: Vec<Option<Url>> = ports.iter().map(|_| None).collect();
    let names = || ports.iter().map(|port| port.name);
    let all = || names().collect::<Vec<_>>().join("`, `");
    for text in texts {
        let (port, url) = split_port(text);
        let text = shown(text);
        let index = match port {
            Some(port) => names().position(|name| name == port),
            None if ports.len() == 1 => Some(0),
            None => {
                problems.push(format!(
                    "{what} {text}: which port? write {what} PORT={text}; ports are `{}`",
                    all()
                ));
                None
            }
        };
        if let (Some(port), None) = (port, index) {
            let side = if direction == Direction::From { "input" } else { "output" };
            let hint = nearest(port, names()).map(|name| format!("; did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| match ports.len() {
                1 => format!("; the {side} port is `{}`", all()),
                _ => format!("; {side} ports are `{}`", all()),
            });
            problems.push(format!("{what} {text}: unknown {side} port `{port}`{hint}"));
        }
        let url = Url::parse(url, direction).map_err(|why| problems.push(format!("{what}: {why}"))).ok();
        if let Some(slot) = index.and_then(|index| bound.get_mut(index)) {
            if let Some(first) = slot {
                let name = index.and_then(|index| ports.get(index)).map_or("", |port| port.name);
                problems.push(format!(
                    "{what} {text}: port `{name}` is bound already, to {}; bind it once",
                    shown(first.as_str())
                ));
            } else {
                *slot = url;
            }
        }
    }
    bound
}

/// Which settings have to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needed {
    /// Those without a default.
    WithoutDefault,
    /// None: the state may say what they were.
    None,
}

pub(super) fn settings(
    topology: &Topology,
    words: &Words,
    around: &Surroundings<'_>,
    needed: Needed,
    problems: &mut Vec<String>,
) -> Settings {
    let mut given = Settings::new();
    for spec in topology.settings {
        let (flag, variable) = (flag(spec.name), variable(topology.job, spec.name));
        let by_flag = words.flags.get(&flag).map(|text| (format!("--{flag}"), text.clone()));
        let by_environment = || {
            let text = (around.env)(&variable)?.into_string();
            Some((variable.clone(), text.map_err(|_| "the value is not UTF-8".to_owned())))
        };
        let given_text = by_flag.map(|(origin, text)| (origin, Ok(text))).or_else(by_environment);
        match given_text {
            Some((origin, Err(why))) => problems.push(format!("{origin}: {why}")),
            Some((origin, Ok(text))) => match (spec.check)(&text) {
                Ok(()) => drop(given.insert(spec.name.to_owned(), text)),
                Err(why) => problems.push(format!("{origin}: {why}")),
            },
            None if needed == Needed::WithoutDefault && spec.default.is_none() => problems.push(format!(
                "--{flag}: this setting has no default; give --{flag} {} or set {variable}",
                spec.placeholder
            )),
            None if needed == Needed::WithoutDefault => {
                if let Some((default, Err(why))) = spec.default.map(|text| (text, (spec.check)(text))) {
                    problems.push(format!("--{flag}: {}", topology.wrong_default(default, &why)));
                }
            }
            None => {}
        }
    }
    given
}

pub(super) fn store(words: &Words, with_state: bool, problems: &mut Vec<String>) -> Kind {
    let built: Vec<&str> = Kind::ALL.into_iter().filter(|kind| kind.is_built()).map(Kind::name).collect();
    let Some(text) = words.flags.get("store") else {
        if with_state && built.is_empty() {
            problems.push(
                "--state: this program was built without a store; build it with the feature `redb`"
                    .to_owned(),
            );
        }
        return Kind::preferred().unwrap_or(Kind::Redb);
    };
    let Some(kind) = Kind::named(text) else {
        let hint = nearest(text, Kind::ALL.map(Kind::name)).map(|name| format!("did you mean `{name}`?"));
        let hint = hint.unwrap_or_else(|| format!("this program has `{}`", built.join("` and `")));
        problems.push(format!("--store: unknown store `{text}`; {hint}"));
        return Kind::Redb;
    };
    if !kind.is_built() {
        problems.push(format!(
            "--store: this program was built without the store `{text}`; build it with the feature `{text}`{}",
            if built.is_empty() { String::new() } else { format!(", or use `{}`", built.join("` or `")) }
        ));
    } else if !with_state {
        problems.push(
            "--store: there is nothing to store without --state DIR; add it, or leave --store out".to_owned(),
        );
    }
    kind
}

fn workers(words: &Words, problems: &mut Vec<String>) -> usize {
    let Some(text) = words.flags.get("workers") else { return 1 };
    match usize::from_str(text) {
        Ok(n @ 1..=MAX_WORKERS) => n,
        _ => {
            problems.push(format!(
                "--workers: `{text}` is no number from 1 to {MAX_WORKERS}; write for example --workers 2"
            ));
            1
        }
    }
}

fn on_bad(words: &Words, problems: &mut Vec<String>) -> OnBad {
    match words.flags.get("on-bad").map(String::as_str) {
        None | Some("dead-letter") => OnBad::DeadLetter,
        Some("skip") => OnBad::Skip,
        Some("stop") => OnBad::Stop,
        Some(other) => {
            let hint = nearest(other, ["dead-letter", "skip", "stop"])
                .map(|name| format!("; did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| "; there are `dead-letter`, `skip` and `stop`".to_owned());
            problems.push(format!("--on-bad: unknown policy `{other}`{hint}"));
            OnBad::DeadLetter
        }
    }
}

fn dead_letter(words: &Words, on_bad: OnBad, problems: &mut Vec<String>) -> Option<PathBuf> {
    let text = words.flags.get("dead-letter")?;
    match Url::parse(text, Direction::To) {
        Ok(url) => {
            if on_bad == OnBad::Skip {
                problems.push("--dead-letter: with --on-bad skip nothing would be written there; leave one of the two out".to_owned());
            }
            if url.path().is_none() {
                problems.push(format!("--dead-letter: `{text}` is no file; write file:PATH"));
            }
            url.path().map(PathBuf::from)
        }
        Err(why) => {
            problems.push(format!("--dead-letter: {why}"));
            None
        }
    }
}

/// A path, as such or as the URL of a file, as everywhere else.
fn report(words: &Words, problems: &mut Vec<String>) -> Option<PathBuf> {
    let text = words.flags.get("report")?;
    if !text.starts_with("file:") {
        return Some(PathBuf::from(text));
    }
    match Url::parse(text, Direction::To) {
        Ok(url) => url.path().map(PathBuf::from),
        Err(why) => {
            problems.push(format!("--report: {why}"));
            None
        }
    }
}
