//! The addresses of inputs and outputs: `file:PATH[?format=json|csv|lines]`, `stdin:`, `print:`,
//! `topic:NAME[?format=json|lines&tags=A||B]`, and `&tag=A` on the way out, `mysql://USER@HOST/DATABASE?table=NAME`.
//!
//! Reads and checks the text only; whether a file is there is asked by [`crate::cli`].

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::format::Format;
use crate::wording::nearest;

/// Where records come from or go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Standard output.
    Print,
    /// A topic of Apache RocketMQ.
    Topic(String),
    /// A table of a database; which one says the text.
    Table,
}

/// An address with what was asked for behind its `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    place: Place,
    format: Option<Format>,
    tags: Vec<String>,
    text: String,
}

/// Which way records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    From,
    To,
}

impl Direction {
    fn schemes(self) -> &'static [&'static str] {
        match self {
            Self::From => &["file", "stdin", "topic"],
            Self::To => &["file", "print", "topic", "mysql"],
        }
    }

    fn known(self) -> &'static str {
        match self {
            Self::From => "inputs are `file:PATH`, `stdin:` and `topic:NAME`",
            Self::To => {
                "outputs are `file:PATH`, `print:`, `topic:NAME` and `mysql://USER@HOST/DATABASE?table=NAME`"
            }
        }
    }
}

impl Url {
    /// Where.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The path of a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// The format that was asked for with `?format=`.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format
    }

    /// The tags that messages are chosen by on the way in, all where there are none; the one that they get on the
    /// way out.
    #[cfg_attr(not(any(feature = "rocketmq", test)), expect(dead_code, reason = "only messages have tags"))]
    pub(crate) fn tags(&self) -> &[String] {
        &self.tags
    }

    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Standard output.
    pub(crate) fn print() -> Self {
        Self { place: Place::Print, format: None, tags: Vec::new(), text: "print:".to_owned() }
    }

    /// The topic of this name.
    pub(crate) fn topic(name: &str) -> Self {
        let place = Place::Topic(name.to_owned());
        Self { place, format: None, tags: Vec::new(), text: format!("topic:{name}") }
    }

    /// Reads an address; an error says what to write instead.
    pub(crate) fn parse(text: &str, direction: Direction) -> Result<Self, String> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(format!("`{text}` is no URL; for a file write `file:{text}`"));
        };
        if scheme == "mysql" && direction == Direction::To {
            // Order: nothing shows the address before it is known to have no password in it.
            let place = rest.split_once('?').map_or(rest, |(place, _)| place);
            let user = place.rsplit_once('@').map_or("", |(user, _)| user);
            if user.contains(':') {
                return Err("a password in an address shows in lists of processes and in logs; leave it out and set \
                            STREAMS_MYSQL_PASSWORD, or STREAMS_MYSQL_PASSWORD_FILE to the name of a file that has it"
                    .to_owned());
            }
            let (place, text) = (Place::Table, text.to_owned());
            return Ok(Self { place, format: None, tags: Vec::new(), text });
        }
        let mut asked = Options::default();
        let rest = match rest.rsplit_once('?') {
            Some((path, query)) => {
                let takes_tags = (scheme == "topic").then_some(direction);
                query.split('&').try_for_each(|option| asked.take(query, option, takes_tags))?;
                path
            }
            None => rest,
        };
        let place = match (scheme, direction) {
            ("file", _) => Place::File(file_path(text, rest)?),
            ("topic", _) if rest.is_empty() => {
                return Err(format!("`{text}` names no topic; write `topic:NAME`"));
            }
            ("topic", _) => Place::Topic(rest.to_owned()),
            ("stdin", Direction::From) => bare(scheme, rest, Place::Stdin)?,
            ("print", Direction::To) => bare(scheme, rest, Place::Print)?,
            ("print", Direction::From) => {
                return Err(
                    "nothing can be read from `print:`; inputs are `file:PATH`, `stdin:` and `topic:NAME`"
                        .to_owned(),
                );
            }
            ("stdin", Direction::To) => {
                return Err(format!("nothing can be written to `stdin:`; {}", direction.known()));
            }
            _ => {
                let hint = nearest(scheme, direction.schemes().iter().copied())
                    .map(|name| format!("; did you mean `{name}:`?"));
                let hint = hint.unwrap_or_else(|| format!("; {}", direction.known()));
                return Err(format!("unknown URL scheme `{scheme}:` in `{text}`{hint}"));
            }
        };
        let Options { format, tags } = asked;
        Ok(Self { place, format, tags, text: text.to_owned() })
    }
}

/// What stands behind the `?`.
#[derive(Default)]
struct Options {
    format: Option<Format>,
    tags: Vec<String>,
}

impl Options {
    /// Takes one option; `topic` says which way records go where the address is a topic.
    fn take(&mut self, query: &str, option: &str, topic: Option<Direction>) -> Result<(), String> {
        let Some((key, value)) = option.split_once('=') else {
            return Err(format!(
                "`?{option}` is no option; write `?format=json`, `?format=csv` or `?format=lines`"
            ));
        };
        match (key, topic) {
            ("format", _) => self.format = Some(format_named(value)?),
            ("tag", Some(Direction::To)) => self.tags = vec![tag(value)?],
            ("tags", Some(Direction::From)) => {
                self.tags = value.split("||").map(tag).collect::<Result<_, _>>()?
            }
            ("tag", Some(Direction::From)) => {
                return Err(format!("`{option}` is for outputs; an input takes `?tags={value}`"));
            }
            ("tags", Some(Direction::To)) => {
                return Err(format!("`{option}` is for inputs; an output takes one tag, `?tag=NAME`"));
            }
            ("tag" | "tags", None) => return Err(format!("`{option}`: only messages of a topic have tags")),
            _ => {
                let more = match topic {
                    Some(Direction::From) => " and `?tags=A||B`",
                    Some(Direction::To) => " and `?tag=NAME`",
                    None => "",
                };
                return Err(format!(
                    "unknown option `{key}` in `?{query}`; there is `?format=json|csv|lines`{more}"
                ));
            }
        }
        Ok(())
    }
}

/// A tag as brokers and other consumers understand it.
fn tag(text: &str) -> Result<String, String> {
    let fits = |c: char| !c.is_whitespace() && !c.is_control() && c != '|';
    if text.is_empty() || text == "*" || !text.chars().all(fits) {
        return Err(format!("`{text}` is no tag; a tag is a word without white space and `|`"));
    }
    Ok(text.to_owned())
}

fn format_named(value: &str) -> Result<Format, String> {
    Format::named(value).ok_or_else(|| {
        let hint = nearest(value, Format::NAMES).map(|name| format!("; did you mean `{name}`?"));
        let hint = hint.unwrap_or_else(|| "; formats are `json`, `csv` and `lines`".to_owned());
        format!("unknown format `{value}`{hint}")
    })
}

fn file_path(text: &str, rest: &str) -> Result<PathBuf, String> {
    let path = match rest.strip_prefix("//") {
        // `file:///tmp/x` has an empty host in front of its path.
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(path) => return Err(format!("`{text}` names a host; for a file here write `file:{path}`")),
        None => rest,
    };
    if path.is_empty() {
        Err(format!("`{text}` has no path; write `file:PATH`"))
    } else {
        Ok(PathBuf::from(path))
    }
}

fn bare(scheme: &str, rest: &str, place: Place) -> Result<Place, String> {
    if rest.is_empty() {
        Ok(place)
    } else {
        Err(format!("`{scheme}:` takes nothing behind it, but has `{rest}`"))
    }
}

/// As it may be shown: without a password, which should not stand there.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{scheme}://{user}:\u{2026}@{host}{path}").into(),
        None => text.into(),
    }
}

/// Splits `[PORT=]URL`: the port is an identifier before the first `=` that precedes the first `:`.
pub(crate) fn split_port(text: &str) -> (Option<&str>, &str) {
    let head = text.find(':').map_or(text, |colon| text.get(..colon).unwrap_or(text));
    match head.split_once('=') {
        Some((port, _)) if is_identifier(port) => {
            (Some(port), text.get(port.len() + 1..).unwrap_or_default())
        }
        _ => (None, text),
    }
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, direction: Direction, expect: &str) {
        let shown = match Url::parse(text, direction) {
            Ok(url) => format!("{:?} {:?}", url.place(), url.format()),
            Err(error) => error,
        };
        assert_eq!(shown, expect);
    }

    #[test]
    fn places() {
        check("file:a.jsonl", Direction::From, r#"File("a.jsonl") None"#);
        check("file:a?format=csv", Direction::From, r#"File("a") Some(Csv)"#);
        check("file:///tmp/x", Direction::To, r#"File("/tmp/x") None"#);
        check("file:C:\\a.csv", Direction::To, r#"File("C:\\a.csv") None"#);
        check("stdin:", Direction::From, "Stdin None");
        check("print:", Direction::To, "Print None");
    }

    #[test]
    fn mistakes() {
        check(
            "mysql://u:open-sesame@h/db?table=t",
            Direction::To,
            "a password in an address shows in lists of processes and in logs; leave it out and set \
             STREAMS_MYSQL_PASSWORD, or STREAMS_MYSQL_PASSWORD_FILE to the name of a file that has it",
        );
        check("a.jsonl", Direction::From, "`a.jsonl` is no URL; for a file write `file:a.jsonl`");
        check("flie:a", Direction::From, "unknown URL scheme `flie:` in `flie:a`; did you mean `file:`?");
        check(
            "kafka:a",
            Direction::To,
            "unknown URL scheme `kafka:` in `kafka:a`; outputs are `file:PATH`, `print:`, `topic:NAME` and `mysql://USER@HOST/DATABASE?table=NAME`",
        );
        check("file:", Direction::To, "`file:` has no path; write `file:PATH`");
        check("file://a/b", Direction::To, "`file://a/b` names a host; for a file here write `file:a/b`");
        check("file:a?format=jsn", Direction::To, "unknown format `jsn`; did you mean `json`?");
        check(
            "file:a?fmt=json",
            Direction::To,
            "unknown option `fmt` in `?fmt=json`; there is `?format=json|csv|lines`",
        );
        check("print:x", Direction::To, "`print:` takes nothing behind it, but has `x`");
    }

    #[test]
    fn tags() {
        let tags = |text, direction| Url::parse(text, direction).map(|url| url.tags().to_vec());
        assert_eq!(tags("topic:t?tags=a||b", Direction::From), Ok(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(tags("topic:t?format=json&tag=a", Direction::To), Ok(vec!["a".to_owned()]));
        check("topic:t?tags=a&format=lines", Direction::From, r#"Topic("t") Some(Lines)"#);
        check("topic:t?tag=a", Direction::From, "`tag=a` is for outputs; an input takes `?tags=a`");
        check(
            "topic:t?tags=a||b",
            Direction::To,
            "`tags=a||b` is for inputs; an output takes one tag, `?tag=NAME`",
        );
        check("file:a?tag=b", Direction::To, "`tag=b`: only messages of a topic have tags");
        check(
            "topic:t?tags=a|b",
            Direction::From,
            "`a|b` is no tag; a tag is a word without white space and `|`",
        );
        check(
            "topic:t?x=1",
            Direction::To,
            "unknown option `x` in `?x=1`; there is `?format=json|csv|lines` and `?tag=NAME`",
        );
    }

    #[test]
    fn passwords_are_not_shown() {
        for (text, expect) in [
            ("mysql://u:secret@h/db?table=t", "mysql://u:\u{2026}@h/db?table=t"),
            ("totals=mysql://u:s@cr:t@h:3306/db", "totals=mysql://u:\u{2026}@h:3306/db"),
            ("mysql://u@h:3306/db", "mysql://u@h:3306/db"),
            ("file:///a:b@c", "file:///a:b@c"),
            ("topic:a@b", "topic:a@b"),
        ] {
            assert_eq!(shown(text), expect);
        }
    }

    #[test]
    fn ports() {
        assert_eq!(split_port("flows=file:a"), (Some("flows"), "file:a"));
        assert_eq!(split_port("file:a=b"), (None, "file:a=b"));
        assert_eq!(split_port("file:a?format=csv"), (None, "file:a?format=csv"));
        assert_eq!(split_port("flows=a.jsonl"), (Some("flows"), "a.jsonl"));
        assert_eq!(split_port("../x=1:2"), (None, "../x=1:2"));
    }
}
