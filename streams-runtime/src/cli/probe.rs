//! Looks at the files that a command line names, so that a typo is told before anything runs.
//!
//! Leaves nothing behind: a file that was created to see whether it can be is removed again. What is no regular
//! file is not opened here: who opens a pipe and closes it again has taken what was in it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Component, Path, PathBuf};

use streams_core::topology::Topology;

use super::RunConfig;

/// Checks all files of a run.
pub(crate) fn files(topology: &Topology, config: &RunConfig, problems: &mut Vec<String>) {
    let mut seen: BTreeMap<Identity, String> = BTreeMap::new();
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
        if let Some(dir) = config.state.as_deref().filter(|dir| resolved(path).starts_with(resolved(dir))) {
            problems.push(format!(
                "{flag}: {} lies in the state directory {}, which only the store writes to; give another place",
                path.display(),
                dir.display()
            ));
            continue;
        }
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
            problems.push(format!(
                "--state: cannot create {}: {error}; give a directory that can be written, or see to its rights",
                dir.display()
            ));
        }
    }
}

fn readable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a directory; give a file".to_owned());
    }
    if is_special(path) {
        return Ok(());
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
    if is_special(path) {
        return Ok(());
    }
    if path.exists() {
        return OpenOptions::new().write(true).open(path).map(drop).map_err(|error| error.to_string());
    }
    // A link to nowhere is where the file will be created.
    let link = path.is_symlink().then(|| resolved(path));
    let path = link.as_deref().unwrap_or(path);
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

/// What the same file is recognized by, under whatever names.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    #[cfg(unix)]
    Inode(u64, u64),
    Path(PathBuf),
}

fn identity(path: &Path) -> Identity {
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::MetadataExt as _;
        return Identity::Inode(metadata.dev(), metadata.ino());
    }
    Identity::Path(resolved(path))
}

/// The path without links, also where nothing is there yet.
fn resolved(path: &Path) -> PathBuf {
    /// Links that lead in a circle lead nowhere.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(there) = path.canonicalize() {
            return there;
        }
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    // What is missing may be missing with its directory.
    let missing = path.file_name().map(PathBuf::from);
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new(".").canonicalize().ok(),
        Some(parent) if parent.components().next_back() != Some(Component::ParentDir) => {
            Some(resolved(parent))
        }
        _ => None,
    };
    match (parent, missing) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path,
    }
}
