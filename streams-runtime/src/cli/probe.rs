//! Looks at the files that a command line names, so that a typo is told before anything runs.
//!
//! Leaves nothing behind: a file that was created to see whether it can be is removed again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use streams_core::topology::Topology;

use super::RunConfig;

/// Checks all files of a run.
pub(crate) fn files(topology: &Topology, config: &RunConfig, problems: &mut Vec<String>) {
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    for (port, url) in topology.sources().zip(&config.from) {
        if let Some(path) = url.path() {
            if let Err(why) = readable(path) {
                problems.push(format!(
                    "--from: cannot read {} (port `{}`): {why}",
                    path.display(),
                    port.name
                ));
            }
            seen.insert(identity(path), format!("is read by port `{}`", port.name));
        }
    }
    let outputs = topology.sinks().zip(&config.to).filter_map(|(port, url)| {
        let what = format!("is written by port `{}`", port.name);
        url.path().map(|path| ("--to", path, what))
    });
    let letters = config
        .dead_letter
        .iter()
        .map(|path| ("--dead-letter", path.as_path(), "takes the dead letters".to_owned()));
    let report = config.report.iter().map(|path| ("--report", path.as_path(), "takes the report".to_owned()));
    for (flag, path, what) in outputs.chain(letters).chain(report) {
        if let Err(why) = writable(path) {
            problems.push(format!("{flag}: cannot write {}: {why}", path.display()));
            continue;
        }
        if is_special(path) {
            continue;
        }
        if let Some(other) = seen.insert(identity(path), what) {
            problems.push(format!("{flag}: {} already {other}; give each its own file", path.display()));
        }
    }
    if let Some(dir) = &config.state
        && dir.exists()
        && !dir.is_dir()
    {
        problems.push(format!("--state: {} is a file; give a directory", dir.display()));
    }
    if let Some(dir) = config.state.as_ref().filter(|dir| !dir.exists()) {
        let created = std::fs::create_dir_all(dir).and_then(|()| std::fs::remove_dir(dir));
        if let Err(error) = created {
            problems.push(format!("--state: cannot create {}: {error}", dir.display()));
        }
    }
}

fn readable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a directory; give a file".to_owned());
    }
    match File::open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("there is no such file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn writable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a directory; give a file".to_owned());
    }
    if path.exists() {
        return OpenOptions::new().write(true).open(path).map(drop).map_err(|error| error.to_string());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.exists() {
        return Err(format!("there is no directory {}; create it first", parent.display()));
    }
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| error.to_string())?;
    std::fs::remove_file(path).map_err(|error| error.to_string())
}

fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

/// The path by which the same file is recognized, also where it does not exist yet.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let parent = path.parent().and_then(|parent| {
            if parent.as_os_str().is_empty() { Path::new(".").canonicalize() } else { parent.canonicalize() }
                .ok()
        });
        match (parent, path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => path.to_owned(),
        }
    })
}
