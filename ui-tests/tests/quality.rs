//! What every message must be, checked over all ui cases: on the user's own word, short, with a remedy, alone.
//!
//! The messages are those that are pinned beside the cases; that rustc says them, and says them under
//! `cargo check` alone, is what `ui.rs` shows.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// Names that belong to the engine: a user has never written one of them.
const INTERNAL: &[&str] = &[
    "__",
    "Chain<",
    "Fused",
    "Then<",
    "Rec<",
    "Closed",
    "NoKey",
    "NoTime",
    "NoWindow",
    "EventTimed",
    "Side<",
    "{closure",
    "ToPort",
    "Push<",
    "ByRef",
    "streams_core::",
];

/// What rustc itself says well, so that the text is not ours.
const RUSTC: &[&str] = &[
    "E0063", "E0106", "E0107", "E0282", "E0308", "E0373", "E0412", "E0425", "E0593", "E0599", "E0600",
    "E0609", "E0631",
];

/// Cases in which rustc goes on behind our message, and why that cannot be helped.
const FOLLOWED: &[(&str, &str)] =
    &[("record/plain_field", "serde's derived code needs what is missing as well")];

/// One mistake in a ui case.
struct Case {
    path: PathBuf,
    source: String,
    messages: Vec<Message>,
}

/// One message of the compiler.
struct Message {
    text: String,
    /// The code in brackets; the macro's own errors have none.
    code: Option<String>,
    line: usize,
    column: usize,
    /// How many characters are underlined.
    width: usize,
}

impl Case {
    fn name(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
        self.path.strip_prefix(root).unwrap().with_extension("").display().to_string()
    }

    /// How many mistakes it makes: one, or what `// mistakes: N` says.
    fn mistakes(&self) -> usize {
        let said = self.source.lines().find_map(|line| line.strip_prefix("// mistakes: "));
        said.map_or(1, |n| n.parse().unwrap())
    }

    /// The text that a message underlines.
    fn guilty(&self, message: &Message) -> String {
        let line = self.source.lines().nth(message.line - 1).unwrap_or_default();
        line.chars().skip(message.column - 1).take(message.width).collect()
    }
}

impl Message {
    fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    fn is_ours(&self) -> bool {
        let syntax = self.first_line().starts_with("error: unexpected token");
        !syntax && self.code.as_deref().is_none_or(|code| !RUSTC.contains(&code))
    }

    /// Whether it says what to write instead: the text of the macro behind a semicolon, a type's bound in a note.
    fn has_remedy(&self) -> bool {
        let notes = self.text.lines().filter_map(|line| line.trim().strip_prefix("= note: "));
        let said = notes
            .filter(|note| !note.starts_with("required for") && !note.starts_with("this error originates"));
        self.first_line().contains("; ") || self.first_line().contains("did you mean") || said.count() > 0
    }
}

fn messages(stderr: &str) -> Vec<Message> {
    let mut texts: Vec<String> = Vec::new();
    for line in stderr.lines() {
        let begins = ["error", "warning"].iter().any(|word| line.starts_with(word));
        match texts.last_mut() {
            Some(last) if !begins => {
                last.push_str(line);
                last.push('\n');
            }
            _ => texts.push(format!("{line}\n")),
        }
    }
    texts.into_iter().map(|text| message(text.trim_end())).collect()
}

fn message(text: &str) -> Message {
    let code = text.strip_prefix("error[").and_then(|rest| rest.split(']').next()).map(str::to_owned);
    let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> ")).unwrap_or_default();
    let mut numbers = place.rsplit(':').map(|part| part.parse().unwrap_or(0));
    let (column, line) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    // Carets underline the primary span, in the first such line.
    let carets = text.lines().find(|line| line.contains('^')).unwrap_or_default();
    let width = carets.chars().skip_while(|c| *c != '^').take_while(|c| *c == '^').count();
    Message { text: text.to_owned(), code, line, column, width }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for topic in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("ui")).unwrap() {
        for entry in fs::read_dir(topic.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                let stderr = fs::read_to_string(path.with_extension("stderr")).unwrap();
                let mut case = Case { messages: messages(&stderr), source, path };
                if FOLLOWED.iter().any(|(name, _)| *name == case.name()) {
                    case.messages.truncate(1);
                }
                cases.push(case);
            }
        }
    }
    cases.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(cases.len() >= 80, "{} ui cases", cases.len());
    cases
}

/// Fails with all messages for which `wrong` says why.
#[track_caller]
fn none(rule: &str, wrong: impl Fn(&Case, &Message) -> Option<String>) {
    let mut found = Vec::new();
    for case in cases() {
        for message in &case.messages {
            found.extend(wrong(&case, message).map(|why| format!("{}: {why}", case.name())));
        }
    }
    assert!(found.is_empty(), "{rule}; {} do not:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_message_stands_on_the_guilty_word() {
    none("a message stands on the user's word and not on the job as a whole", |case, message| {
        let file = format!("--> ui/{}.rs:", case.name());
        if !message.text.contains(&file) || message.line == 0 || message.width == 0 {
            return Some(message.text.clone());
        }
        let guilty = case.guilty(message);
        let attribute = guilty.starts_with("#[");
        // What is missing has no word: the job's name stands for it.
        let missing = message.first_line().contains("the job `");
        let whole = guilty == "job" && !missing;
        (attribute || whole || guilty.trim().is_empty())
            .then(|| format!("`{guilty}`: {}", message.first_line()))
    });
}

#[test]
fn a_message_is_short() {
    const MOST: usize = 25;
    none("a message has at most 25 lines", |_, message| {
        let lines = message.text.lines().count();
        (lines > MOST).then(|| format!("{lines} lines: {}", message.first_line()))
    });
}

#[test]
fn a_message_names_nothing_that_is_not_the_users() {
    none("the first line of a message has no name of the engine's", |_, message| {
        let found = INTERNAL.iter().find(|name| message.first_line().contains(*name))?;
        Some(format!("`{found}`: {}", message.first_line()))
    });
}

#[test]
fn a_message_says_what_to_write_instead() {
    none("a message of ours has a remedy", |_, message| {
        (message.is_ours() && !message.has_remedy()).then(|| message.first_line().to_owned())
    });
}

#[test]
fn a_mistake_is_said_once() {
    let wrong: Vec<String> = cases()
        .iter()
        .filter(|case| case.messages.len() != case.mistakes())
        .map(|case| {
            let all: Vec<&str> = case.messages.iter().map(Message::first_line).collect();
            format!(
                "{}: {} mistakes, {} messages:\n  {}",
                case.name(),
                case.mistakes(),
                all.len(),
                all.join("\n  ")
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} cases have another number of messages than of mistakes:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn all_mistakes_of_a_function_are_said_in_one_compile() {
    let several = cases().iter().filter(|case| case.mistakes() > 2).count();
    assert!(several >= 2, "only {several} cases make several mistakes");
}

#[test]
fn words_of_the_engine_are_its_words() {
    // What is looked for is really called so: a renamed type would pass unseen.
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../streams-core/src");
    let mut text = String::new();
    let mut folders = vec![core];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => text.push_str(&fs::read_to_string(path).unwrap()),
            }
        }
    }
    let names = INTERNAL.iter().filter(|name| name.starts_with(char::is_uppercase));
    let gone: Vec<_> = names.filter(|name| !text.contains(**name)).collect();
    assert!(gone.is_empty(), "{gone:?} are no names of the engine any more");
}
