//! `state get OPERATOR KEY`: what an operator keeps of one key, one JSON object a row.

use std::fmt::Write as _;

use streams_core::inspect::{Answer, Inquiry, Shown};
use streams_core::plan::Settings;

use super::kept::{Kept, Layout, Part};
use super::without_ports;
use crate::cli::upkeep::UpkeepConfig;
use crate::driver::guard;
use crate::error::Error;
use crate::job::JobHandle;

/// The rows of the key.
pub(super) fn run(
    job: &JobHandle,
    config: &UpkeepConfig,
    kept: &Kept,
    operator: &str,
    key: &str,
) -> Result<String, Error> {
    let mut machine = match &kept.layout {
        Layout::Files(snapshot) => {
            snapshot.admits(job.topology, snapshot.workers)?;
            let settings = settings(&snapshot.settings, &config.settings);
            without_ports(job, &settings, snapshot.workers).machine()?
        }
        #[cfg(feature = "rocketmq")]
        Layout::Topics(_) => without_ports(job, &config.settings, 1).sharded(&[])?,
    };
    let (mut text, mut answered) = (String::new(), false);
    for part in kept.parts() {
        let place = || format!("`state get {operator} {key}`");
        let answer = kept.with_rows(&part, |rows| {
            let inquiry = Inquiry::new(rows, &part.prefix, operator, key);
            guard(&place, || machine.inspect(inquiry).answer())
        })??;
        match answer.map_err(Error::state)? {
            Answer::NoRows => {}
            Answer::NoKey { wanted, why } => {
                return Err(Error::usage(format!(
                    "state get: `{key}` is no key of `{operator}`, whose keys are of type {wanted} ({why}); write a text as it stands and anything else as JSON, '[\"a\",7]' for a tuple"
                )));
            }
            Answer::Found(rows) => {
                answered = true;
                rows.iter().for_each(|row| line(&mut text, operator, &part, row));
            }
        }
    }
    if !answered {
        return Err(Error::usage(format!(
            "state get: operator `{operator}` keeps no rows by key; `state ls` shows how many rows each has"
        )));
    }
    if text.is_empty() {
        return Err(Error::state(format!("operator `{operator}` keeps nothing of the key `{key}`")));
    }
    Ok(text)
}

/// What the state was written with, and what is said on the command line.
fn settings(kept: &Settings, given: &Settings) -> Settings {
    let mut settings = kept.clone();
    settings.extend(given.clone());
    settings
}

fn line(text: &mut String, operator: &str, part: &Part, row: &Shown) {
    let name = |text: &str| serde_json::Value::from(text).to_string();
    let _ = write!(text, "{{\"operator\":{},\"in\":{},\"key\":{}", name(operator), name(&part.name), row.key);
    for (what, value) in &row.at {
        let _ = write!(text, ",\"{what}\":{value}");
    }
    let _ = writeln!(text, ",\"value\":{}}}", row.value);
}
