//! The flags of a run on Apache RocketMQ.

use streams_core::topology::Topology;

use super::args::Words;
use super::{ClusterConfig, RunConfig, StartPosition, Surroundings};
use crate::deadletter::OnBad;
use crate::url::{Place, shown};
use crate::wording::nearest;

/// More queues than this are more than a topic should have.
const MOST_QUEUES: u16 = 1_024;

/// What `--namesrv` and its companions mean; `None` for a run without brokers.
#[cfg_attr(not(feature = "mysql"), expect(unused_variables, reason = "only a database has a password"))]
pub(crate) fn config(
    topology: &Topology,
    words: &Words,
    around: &Surroundings<'_>,
    problems: &mut Vec<String>,
) -> Option<ClusterConfig> {
    let Some(namesrv) = words.flags.get("namesrv") else {
        for flag in ["group", "local-only", "remote", "start", "shuffle-queues"] {
            if words.flags.contains_key(flag) {
                problems.push(format!("--{flag}: is for a run on Apache RocketMQ; add --namesrv HOST:9876"));
            }
        }
        return None;
    };
    if !cfg!(feature = "rocketmq") {
        problems.push(
            "--namesrv: this program was built without Apache RocketMQ; build it with the feature `rocketmq`"
                .to_owned(),
        );
    }
    let local_only = words.flags.contains_key("local-only");
    let remote = words.flags.get("remote");
    if !local_only && remote.is_none() && words.flags.contains_key("state") {
        problems.push(
            "--state: with --namesrv a directory keeps the state of one instance, or a copy of what instances share; add --local-only or --remote, or leave --state out"
                .to_owned(),
        );
    }
    if local_only && remote.is_some() {
        problems.push("--remote: with --local-only nothing is shared; leave one of them out".to_owned());
    }
    #[cfg(not(feature = "mysql"))]
    if remote.is_some() {
        problems.push(
            "--remote: this program was built without it; build it with the feature `mysql`".to_owned(),
        );
    }
    #[cfg(feature = "mysql")]
    let remote = remote.and_then(|text| {
        let address = crate::remote::mysql::Address::parse(text, around.env);
        address.map_err(|why| problems.push(format!("--remote: {why}"))).ok()
    });
    Some(ClusterConfig {
        namesrv: namesrv.split([',', ';']).map(|address| address.trim().to_owned()).collect(),
        group: words.flags.get("group").cloned().unwrap_or_else(|| topology.job.to_owned()),
        start: start(words, problems),
        local_only,
        #[cfg(feature = "mysql")]
        remote,
        shuffle_queues: shuffle_queues(words, problems),
    })
}

fn start(words: &Words, problems: &mut Vec<String>) -> StartPosition {
    match words.flags.get("start").map(String::as_str) {
        None | Some("earliest") => StartPosition::Earliest,
        Some("latest") => StartPosition::Latest,
        Some(other) => other.parse().map(StartPosition::At).unwrap_or_else(|_| {
            let hint = nearest(other, ["earliest", "latest"]).map(|name| format!("did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| "write earliest, latest or ms since the Unix epoch".to_owned());
            problems.push(format!("--start: unknown position `{other}`; {hint}"));
            StartPosition::Earliest
        }),
    }
}

fn shuffle_queues(words: &Words, problems: &mut Vec<String>) -> u16 {
    let Some(text) = words.flags.get("shuffle-queues") else { return 8 };
    match text.parse() {
        Ok(n) if (1..=MOST_QUEUES).contains(&n) => n,
        _ => {
            problems.push(format!("--shuffle-queues: `{text}` is no number from 1 to {MOST_QUEUES}"));
            8
        }
    }
}

/// What does not go together, on one side and on the other.
pub(crate) fn check(topology: &Topology, config: &RunConfig, problems: &mut Vec<String>) {
    let inputs = topology.sources().zip(&config.from).map(|pair| ("--from", pair));
    let outputs = topology.sinks().zip(&config.to).map(|pair| ("--to", pair));
    for (flag, (port, url)) in inputs.chain(outputs) {
        let (name, text) = (port.name, shown(url.as_str()));
        match (url.place(), &config.cluster) {
            (Place::Table, None) => problems.push(format!(
                "{flag} {text}: tables are written by runs on Apache RocketMQ; add --namesrv HOST:9876"
            )),
            (Place::Table, Some(_)) if !cfg!(feature = "mysql") => problems.push(format!(
                "{flag} {text}: this program was built without tables; build it with the feature `mysql`"
            )),
            (Place::Topic(_), None) => {
                problems.push(format!("{flag} {text}: port `{name}` needs a broker; add --namesrv HOST:9876"));
            }
            (Place::File(_) | Place::Stdin, Some(_)) => problems.push(format!(
                "{flag} {text}: with --namesrv port `{name}` takes topics; write {flag} {name}=topic:{name}, or leave --namesrv out"
            )),
            _ => {}
        }
        if config.cluster.is_some() && url.format() == Some(crate::format::Format::Csv) {
            problems.push(format!("{flag} {text}: a message has no header line; write format=json or lines"));
        }
    }
    if config.cluster.is_some() {
        if config.workers != 1 {
            problems
                .push("--workers: with --namesrv the queues are the unit of work; leave it out".to_owned());
        }
        if config.on_bad == OnBad::Stop {
            problems.push(
                "--on-bad stop: is for runs on files; with --namesrv there are dead-letter and skip"
                    .to_owned(),
            );
        }
    }
}
