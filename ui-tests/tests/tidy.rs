//! The house rules that a machine can check.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MEMBERS: [&str; 5] = ["streams-macros", "streams-core", "streams-runtime", "examples", "ui-tests"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All Rust files of the members, without the ui cases.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = MEMBERS.iter().map(|member| root().join(member)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "ui" && name != "target" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 100, "the search for sources went wrong");
    files
}

/// Fails with everything that breaks a rule.
#[track_caller]
fn none(rule: &str, found: impl IntoIterator<Item = String>) {
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[test]
fn every_file_says_what_it_is() {
    let silent = sources().into_iter().filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        !text.starts_with("//!")
    });
    none("a file begins with `//!`", silent.map(|path| short(&path)));
}

#[test]
fn files_stay_small() {
    const MOST: usize = 480;
    let large = sources().into_iter().filter_map(|path| {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        // What a generator wrote is read by nobody.
        let generated = short(&path).contains("tests/oracle/jobs/");
        (lines > MOST && !generated).then(|| format!("{}: {lines} lines", short(&path)))
    });
    none("a file has at most 480 lines", large);
}

#[test]
fn nothing_is_left_for_later() {
    // Put together so that this file does not hold the words itself.
    let words = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["X", "XX"].concat()];
    let left = sources().into_iter().filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        words.iter().any(|word| text.contains(word))
    });
    none("nothing is left for later without an issue", left.map(|path| short(&path)));
}

#[test]
fn modules_are_declared() {
    let lost = sources().into_iter().filter(|path| {
        let folder = path.parent().unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let folder_name = folder.file_name().unwrap().to_string_lossy().into_owned();
        // Roots of crates, programs and test targets.
        let manifests =
            MEMBERS.map(|member| fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap());
        if manifests.iter().any(|manifest| manifest.contains(&format!("/{name}.rs\""))) {
            return false;
        }
        if ["lib", "main", "build"].contains(&name.as_str())
            || ["bin", "tests", "examples", "benches"].contains(&folder_name.as_str())
                && folder
                    .parent()
                    .is_some_and(|parent| parent.join("Cargo.toml").exists() || folder_name == "bin")
        {
            return false;
        }
        let mut parents = vec![folder.with_extension("rs")];
        parents.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        let declared = format!("mod {name};");
        !parents.iter().any(|parent| fs::read_to_string(parent).is_ok_and(|text| text.contains(&declared)))
    });
    none("a module file is declared by its parent", lost.map(|path| short(&path)));
}

#[test]
fn members_are_the_five_and_share_their_lints() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let line = manifest.lines().find(|line| line.starts_with("members")).unwrap();
    let members: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    assert_eq!(members, MEMBERS);
    let strangers = MEMBERS.into_iter().filter(|member| {
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        !manifest.contains("[lints]\nworkspace = true")
    });
    none("a member has the lints of the workspace", strangers.map(str::to_owned));
}

#[test]
fn every_message_is_pinned() {
    let mut cases = BTreeSet::new();
    let mut pinned = BTreeSet::new();
    let mut long = Vec::new();
    for topic in fs::read_dir(root().join("ui-tests/ui")).unwrap() {
        for entry in fs::read_dir(topic.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let without = path.with_extension("");
            match path.extension().unwrap().to_str().unwrap() {
                "rs" => {
                    let lines = fs::read_to_string(&path).unwrap().lines().count();
                    if lines > 20 {
                        long.push(short(&path));
                    }
                    cases.insert(without)
                }
                "stderr" => pinned.insert(without),
                other => panic!("what is a `.{other}` file doing among the ui cases?"),
            };
        }
    }
    assert!(cases.len() >= 15, "{} ui cases", cases.len());
    assert_eq!(cases, pinned);
    none("a ui case has at most 20 lines", long);
    for case in &pinned {
        let text = fs::read_to_string(case.with_extension("stderr")).unwrap();
        let place = text.lines().find(|line| line.trim_start().starts_with("-->")).unwrap_or_default();
        assert!(place.contains("ui/"), "the first place of {} is not the user's own text", short(case));
    }
}

/// The names of the rows of the operator table.
fn operators() -> Vec<String> {
    let table = fs::read_to_string(root().join("streams-macros/src/ops.rs")).unwrap();
    let row = |line: &str| {
        let starts = ["straight(\"", "shaped(\"", "join(\"", "Op { name: \""];
        let name = starts.iter().find_map(|start| line.trim().strip_prefix(start))?;
        Some(name.split('"').next().unwrap().to_owned())
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn every_operator_is_documented_where_editors_look() {
    let operators = operators();
    assert!(operators.len() >= 14, "{operators:?}");
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let files =
        ["stream.rs", "stream/straight.rs", "stream/joins.rs", "stream/lookups.rs", "stream/times.rs"];
    let stream: String = files.iter().map(|file| read(&format!("streams-core/src/{file}"))).collect();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let missing = operators.into_iter().filter(|name| {
        let method = stream.lines().position(|line| line.trim().starts_with(&format!("pub fn {name}")));
        let documented = method.is_some_and(|at| {
            let above = stream.lines().take(at).collect::<Vec<_>>();
            let mut above = above.iter().rev().skip_while(|line| line.trim().starts_with("#["));
            above.next().is_some_and(|line| line.trim().starts_with("///"))
        });
        !documented || !readme.contains(name.as_str())
    });
    none("an operator is a documented method of `Stream` and stands in the README", missing);
}

/// The names of the accumulators of the aggregate language.
fn accumulators() -> Vec<String> {
    let table = fs::read_to_string(root().join("streams-macros/src/symbol.rs")).unwrap();
    let row = |line: &str| Some(line.trim().strip_prefix("accumulator(\"")?.split('"').next()?.to_owned());
    table.lines().filter_map(row).collect()
}

#[test]
fn every_accumulator_is_in_the_prelude_and_documented_with_an_example() {
    let accumulators = accumulators();
    assert!(accumulators.len() >= 19, "{accumulators:?}");
    let prelude = fs::read_to_string(root().join("streams-core/src/prelude.rs")).unwrap();
    let words: Vec<&str> = prelude.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let folder = root().join("streams-core/src/aggregate");
    let files: Vec<String> = sources()
        .into_iter()
        .filter(|path| path.starts_with(&folder))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let missing = accumulators.into_iter().filter(|name| {
        // In its own file, alone or as one of a macro.
        let documented = files.iter().any(|text| {
            let is_here = text.contains(&format!("pub fn {name}<"))
                || text.contains(&format!("pub const fn {name}("))
                || text.contains("pub fn $function<") && text.contains(&format!("    {name} "));
            is_here && text.contains("/// # Examples")
        });
        !documented || !words.contains(&name.as_str()) || !readme.contains(&format!("`{name}("))
    });
    none("an accumulator has an example, is in the prelude and stands in the README", missing);
}
