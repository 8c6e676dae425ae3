//! The error index, `docs/errors.md`: every rule of the compiler has a case, every case an entry, and the change
//! that an entry proposes compiles.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Refusals that no case can reach, and why.
const UNREACHABLE: &[(&str, &str)] = &[
    ("Push", "what is left when nothing else is said; no mistake is known that leads to it"),
    ("Keyed", "`check_key_before_window` and `check_key_before_join` say it first"),
    ("Windowed", "`check_window_before_aggregate` says it first"),
    ("SameTime", "`check_time_before_join` says it first"),
    ("Timed", "`check_time_before_join` and `check_time_before_window` say it first"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust files under a folder, without tests.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "testing.rs" {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
                let short = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((short, lines.collect::<Vec<_>>().join("\n")));
            }
        }
    }
    found.sort();
    found
}

/// The string literals of a file, each with the text in front of it.
fn literals(code: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = code[at..].find('"').map(|start| at + start) {
        let mut text = String::new();
        let mut rest = code[start + 1..].char_indices();
        let mut end = code.len();
        while let Some((offset, c)) = rest.next() {
            match c {
                '"' => {
                    end = start + 1 + offset + 1;
                    break;
                }
                '\\' => text.extend(rest.next().map(|(_, escaped)| escaped)),
                c => text.push(c),
            }
        }
        // `'"'` is a character.
        if !code[..start].ends_with('\'') {
            found.push((&code[..start], text));
        }
        at = end;
    }
    found
}

/// The name behind the last of these words.
fn name_behind(before: &str, words: &[&str]) -> String {
    let last = words.iter().filter_map(|word| before.rfind(word).map(|at| at + word.len())).max();
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    last.map(|at| before[at..].chars().take_while(is_name).collect()).unwrap_or_default()
}

/// A rule of the compiler: its name, and the pieces of its message between what is filled in.
struct Rule {
    name: String,
    pieces: Vec<String>,
}

impl Rule {
    fn new(name: String, message: &str) -> Self {
        let mut pieces = vec![String::new()];
        let mut inside = false;
        for c in message.chars() {
            match c {
                '{' => {
                    inside = true;
                    pieces.push(String::new());
                }
                '}' => inside = false,
                c if !inside => pieces.last_mut().unwrap().push(c),
                _ => {}
            }
        }
        Self { name, pieces }
    }

    fn says(&self, stderr: &str) -> bool {
        stderr.lines().any(|line| {
            let mut rest = line;
            self.pieces.iter().all(|piece| match rest.find(piece.as_str()) {
                Some(at) => {
                    rest = &rest[at + piece.len()..];
                    true
                }
                None => false,
            })
        })
    }
}

/// Everything that the macro, the traits and the constants refuse.
fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for (_, code) in sources("streams-macros/src") {
        for (before, text) in literals(&code) {
            if text.contains("; ") && text.len() >= 25 {
                rules.push(Rule::new(name_behind(before, &["fn ", "const "]), &text));
            }
        }
    }
    for (_, code) in sources("streams-core/src") {
        for (before, text) in literals(&code) {
            if before.ends_with("on_unimplemented(\n    message = ") {
                let behind = &code[before.len()..];
                let name = behind.split("pub trait ").nth(1).unwrap_or_default();
                let name = name.chars().take_while(|c| c.is_alphanumeric()).collect();
                rules.push(Rule::new(name, &text));
            } else if text.contains("; write e.g. ") && !before.ends_with("note = ") {
                rules.push(Rule::new(name_behind(before, &["fn ", "const "]), &text));
            }
        }
    }
    assert!(rules.len() > 100, "{} rules", rules.len());
    rules
}

/// The pinned messages, by case.
fn pinned() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for topic in fs::read_dir(root().join("ui-tests/ui")).unwrap() {
        let topic = topic.unwrap();
        for entry in fs::read_dir(topic.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "stderr") {
                let case = path.file_stem().unwrap().to_str().unwrap();
                let name = format!("{}/{case}", topic.file_name().to_str().unwrap());
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

/// An entry of the index.
struct Entry {
    meaning: String,
    message: String,
    /// Lines that go, and what comes in their place.
    changes: Vec<(Vec<String>, Vec<String>)>,
}

fn entries() -> BTreeMap<String, Entry> {
    let text = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let mut found = BTreeMap::new();
    for section in text.split("\n### `").skip(1) {
        let (name, rest) = section.split_once("`\n").unwrap();
        let (meaning, rest) = rest.split_once("```text\n").unwrap();
        let (message, rest) = rest.split_once("\n```").unwrap();
        let diff = rest.split_once("```diff\n").unwrap().1.split_once("\n```").unwrap().0;
        let mut changes: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for line in diff.lines() {
            let begins = changes.last().is_none_or(|(_, new)| line.starts_with('-') && !new.is_empty());
            if begins {
                changes.push((Vec::new(), Vec::new()));
            }
            let (old, new) = changes.last_mut().unwrap();
            match line.split_at(1) {
                ("-", line) => old.push(line.to_owned()),
                ("+", line) => new.push(line.to_owned()),
                _ => panic!("`{line}` of {name} neither goes nor comes"),
            }
        }
        let entry = Entry { meaning: meaning.trim().to_owned(), message: message.to_owned(), changes };
        assert!(found.insert(name.to_owned(), entry).is_none(), "{name} has two entries");
    }
    found
}

/// A case with the change that its entry proposes.
fn mended(name: &str, entry: &Entry) -> String {
    let case = fs::read_to_string(root().join(format!("ui-tests/ui/{name}.rs"))).unwrap();
    let mut lines: Vec<String> = case.lines().map(str::to_owned).collect();
    let mut from = 0;
    for (old, new) in &entry.changes {
        let found = (from..lines.len()).find(|at| lines[*at..].starts_with(old));
        let at = found.unwrap_or_else(|| panic!("{name} does not have the lines {old:?}"));
        lines.splice(at..at + old.len(), new.iter().cloned());
        from = at + new.len();
    }
    lines.join("\n")
}

#[test]
fn every_rule_has_a_case_and_every_case_an_entry() {
    let (pinned, entries) = (pinned(), entries());
    let mut gaps = Vec::new();
    for rule in rules() {
        let cases: Vec<&str> =
            pinned.iter().filter(|(_, stderr)| rule.says(stderr)).map(|(name, _)| name.as_str()).collect();
        let exempt = UNREACHABLE.iter().find(|(name, _)| *name == rule.name);
        match (cases.as_slice(), exempt) {
            ([], Some((_, why))) => println!("{} -> none: {why}", rule.name),
            ([], None) => gaps.push(format!("`{}` has no case: {}", rule.name, rule.pieces.join(".."))),
            (cases, _) => println!("{} -> {}", rule.name, cases.join(", ")),
        }
    }
    gaps.extend(
        pinned.keys().filter(|name| !entries.contains_key(*name)).map(|name| format!("{name} has no entry")),
    );
    gaps.extend(
        entries.keys().filter(|name| !pinned.contains_key(*name)).map(|name| format!("{name} is no case")),
    );
    assert!(gaps.is_empty(), "{} gaps:\n{}", gaps.len(), gaps.join("\n"));
}

#[test]
fn entries_quote_their_messages() {
    let (pinned, entries) = (pinned(), entries());
    let wrong: Vec<String> = entries
        .iter()
        .filter(|(name, entry)| {
            let said = pinned.get(*name).and_then(|stderr| stderr.lines().next());
            said != Some(entry.message.as_str()) || entry.meaning.is_empty()
        })
        .map(|(name, entry)| format!("{name}: {}", entry.message))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} entries quote another message than is given:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_entries_propose_compiles() {
    let mut all = String::from("//! All cases, mended.\n#![allow(unused)]\n\nfn main() {}\n");
    for (name, entry) in entries() {
        let case = mended(&name, &entry);
        let deny = if case.contains("deny(deprecated)") { "" } else { "#![deny(deprecated)]\n" };
        all.push_str(&format!("\nmod {} {{\n{deny}{case}\n}}\n", name.replace('/', "_")));
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mended.rs");
    fs::write(&file, all).unwrap();
    trybuild::TestCases::new().pass(file);
}
