//! `--idle-after`: which inputs are not waited for when they have had nothing for how long.

use std::time::Duration;

use streams_core::setting;
use streams_core::topology::Topology;

use super::args::Words;
use crate::url::{Place, Url};
use crate::wording::nearest;

/// By input port.
pub(crate) fn after(
    topology: &Topology,
    words: &Words,
    from: &[Url],
    problems: &mut Vec<String>,
) -> Vec<Option<Duration>> {
    let ports: Vec<&str> = topology.sources().map(|port| port.name).collect();
    let mut named: Vec<Option<Duration>> = vec![None; ports.len()];
    let mut all = None;
    for text in &words.idle_after {
        let (port, length) =
            text.split_once('=').map_or((None, text.as_str()), |(port, len)| (Some(port), len));
        let Some(length) = length_of(text, length, problems) else { continue };
        let Some(port) = port else {
            if all.replace(length).is_some() {
                problems.push(format!(
                    "--idle-after {text}: is given twice; give it once, or one for each port: --idle-after PORT={text}"
                ));
            } else if from.iter().all(ends) {
                problems.push(format!(
                    "--idle-after {text}: all inputs are files, which end and are never idle; leave it out"
                ));
            }
            continue;
        };
        let Some(index) = ports.iter().position(|name| *name == port) else {
            let hint = nearest(port, ports.iter().copied()).map(|name| format!("did you mean `{name}`?"));
            let hint = hint.unwrap_or_else(|| format!("input ports are `{}`", ports.join("`, `")));
            problems.push(format!("--idle-after {text}: unknown input port `{port}`; {hint}"));
            continue;
        };
        if from.get(index).is_some_and(ends) {
            problems.push(format!(
                "--idle-after {text}: port `{port}` reads a file, which ends and is never idle; leave it out"
            ));
        }
        if named.get_mut(index).and_then(|place| place.replace(length)).is_some() {
            problems.push(format!("--idle-after {text}: port `{port}` has one already; give it once"));
        }
    }
    named.into_iter().map(|length| length.or(all)).collect()
}

fn length_of(text: &str, length: &str, problems: &mut Vec<String>) -> Option<Duration> {
    match setting::duration(length) {
        Ok(length) if length.is_zero() => {
            problems.push(format!(
                "--idle-after {text}: every input would be idle at once; write for example 30s"
            ));
            None
        }
        Ok(length) => Some(length),
        Err(why) => {
            problems.push(format!("--idle-after: {why}"));
            None
        }
    }
}

/// Whether it is read to its end; what is at a path may be a pipe.
fn ends(url: &Url) -> bool {
    matches!(url.place(), Place::File(path) if path.is_file())
}
