//! `--memory`: how much memory a run takes, state beyond it being in the store.

use super::RunConfig;
use super::args::Words;
use crate::deadletter::OnBad;
use crate::store::Kind;

/// Less is used up before the first record.
const LEAST: u64 = 8 << 20;

/// The number of bytes, where it is one.
pub(crate) fn bytes(words: &Words, problems: &mut Vec<String>) -> Option<u64> {
    let text = words.flags.get("memory")?;
    let found = size(text);
    match found {
        Some(bytes) if bytes >= LEAST => return found,
        Some(_) => problems.push(format!("--memory: `{text}` is too little; write 8MB or more")),
        None => problems.push(format!("--memory: `{text}` is no size; write for example 64MB or 1GB")),
    }
    None
}

/// What does not go with it.
pub(crate) fn check(config: &RunConfig, problems: &mut Vec<String>) {
    if config.memory.is_none() {
        return;
    }
    let mut refuse = |why: &str| problems.push(format!("--memory: {why}"));
    if config.cluster.is_some() {
        refuse("is for runs on files; with --namesrv each queue has its own state, leave it out");
    } else if config.state.is_none() || config.store != Kind::Rocksdb {
        refuse("what does not fit is in a database; add --state DIR --store rocksdb");
    }
    if config.workers != 1 {
        refuse("the state of one worker can be larger than memory; leave --workers out");
    }
    if config.on_bad == OnBad::Stop {
        refuse("--on-bad stop keeps a copy of the state in memory; choose dead-letter or skip");
    }
}

/// Bytes of `64MB` and the like.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let factor: u64 = match unit.trim().to_ascii_uppercase().as_str() {
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes() {
        let sizes = [("64MB", Some(64 << 20)), ("1 gb", Some(1 << 30)), ("8192KB", Some(8 << 20))];
        for (text, bytes) in
            sizes.into_iter().chain([("64", None), ("MB", None), ("1.5GB", None), ("", None)])
        {
            assert_eq!(super::size(text), bytes, "{text}");
        }
    }
}
