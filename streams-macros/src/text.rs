//! Source text for the topology: what the user wrote, on one line.
//!
//! It also condenses tokens into the fingerprint of a job.
//! Nothing here reaches the code that runs.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

/// Longer texts are cut; a topology shows a job, it does not store it.
const LIMIT: usize = 60;

/// The text between two parentheses: the source if it is at hand, else the tokens printed nicely.
pub(crate) fn arguments(parens: Span, tokens: TokenStream) -> String {
    let source = parens.source_text().filter(|text| !text.contains("//") && !text.contains("/*"));
    let inner = source
        .as_deref()
        .map(str::trim)
        .and_then(|text| text.strip_prefix('(')?.strip_suffix(')'))
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = inner.unwrap_or_else(|| print(tokens));
    shorten(text.trim_end_matches(',').trim_end())
}

/// The tokens on one line, cut where the source would be.
pub(crate) fn shortened(tokens: TokenStream) -> String {
    shorten(&print(tokens))
}

/// The text of a type; never cut, because schemas compare it.
pub(crate) fn of_type(tokens: TokenStream) -> String {
    let mut printer = Printer { in_type: true, ..Printer::default() };
    printer.stream(tokens);
    printer.out
}

/// Tokens on one line, spaced about as rustfmt would.
pub(crate) fn print(tokens: TokenStream) -> String {
    let mut printer = Printer::default();
    printer.stream(tokens);
    printer.out
}

/// The line of a span; zero where there is none.
pub(crate) fn line(span: Span) -> u32 {
    u32::try_from(span.start().line).unwrap_or(0)
}

/// FNV-1a over the tokens, so that neither layout nor comments change it.
pub(crate) fn fingerprint(tokens: TokenStream) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    fold(&mut hash, tokens);
    hash
}

fn fold(hash: &mut u64, tokens: TokenStream) {
    let eat = |hash: &mut u64, text: &str| {
        for byte in text.bytes().chain([0]) {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                eat(hash, open(group.delimiter()));
                fold(hash, group.stream());
                eat(hash, close(group.delimiter()));
            }
            token => eat(hash, &token.to_string()),
        }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}

fn open(delimiter: Delimiter) -> &'static str {
    match delimiter {
        Delimiter::Parenthesis => "(",
        Delimiter::Brace => "{",
        Delimiter::Bracket => "[",
        Delimiter::None => "",
    }
}

fn close(delimiter: Delimiter) -> &'static str {
    match delimiter {
        Delimiter::Parenthesis => ")",
        Delimiter::Brace => "}",
        Delimiter::Bracket => "]",
        Delimiter::None => "",
    }
}

/// What was printed last, as far as spacing depends on it.
#[derive(Clone, Copy, Default, PartialEq)]
enum Last {
    /// Nothing, or an opening delimiter: no space follows and an operator is unary.
    #[default]
    Start,
    /// A word, a literal or a group.
    Operand,
    /// Something that no space follows.
    Tight,
    /// Something that a space follows and after which an operator is unary.
    Loose,
}

#[derive(Default)]
struct Printer {
    out: String,
    last: Last,
    in_type: bool,
    in_parameters: bool,
}

impl Printer {
    fn stream(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.group(group.delimiter(), group.stream()),
                TokenTree::Ident(ident) => self.operand(&ident.to_string()),
                TokenTree::Literal(literal) => self.operand(&literal.to_string()),
                TokenTree::Punct(first) => {
                    let mut text = first.as_char().to_string();
                    let mut spacing = first.spacing();
                    while let (Spacing::Joint, Some(TokenTree::Punct(next))) = (spacing, tokens.peek()) {
                        // Only operators of several characters are glued; `>>` in types closes twice.
                        if !is_operator(&text, next.as_char()) {
                            break;
                        }
                        text.push(next.as_char());
                        spacing = next.spacing();
                        tokens.next();
                    }
                    self.punct(&text);
                }
            }
        }
    }

    fn group(&mut self, delimiter: Delimiter, inner: TokenStream) {
        let brace = delimiter == Delimiter::Brace;
        let empty = inner.is_empty();
        if self.last == Last::Loose || (brace && self.last == Last::Operand) {
            self.out.push(' ');
        }
        self.out.push_str(open(delimiter));
        if brace && !empty {
            self.out.push(' ');
        }
        self.last = Last::Start;
        self.stream(inner);
        if brace && !empty {
            self.out.push(' ');
        }
        self.out.push_str(close(delimiter));
        self.last = Last::Operand;
    }

    fn operand(&mut self, text: &str) {
        if matches!(self.last, Last::Operand | Last::Loose) {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.last =
            if matches!(text, "move" | "return" | "in" | "mut" | "as") { Last::Loose } else { Last::Operand };
    }

    fn punct(&mut self, text: &str) {
        let unary = self.last != Last::Operand;
        let (before, after) = match text {
            "." | "::" | "?" | ".." | "..=" => (false, Last::Tight),
            "," | ";" | ":" => (false, Last::Loose),
            "<" | ">" if self.in_type => (false, if text == ">" { Last::Operand } else { Last::Start }),
            "|" if self.in_parameters => {
                self.in_parameters = false;
                (false, Last::Loose)
            }
            "|" if unary => {
                self.in_parameters = true;
                (true, Last::Tight)
            }
            "||" if unary => (true, Last::Loose),
            "'" => (true, Last::Tight),
            "!" if !unary => (false, Last::Tight),
            "&" | "*" | "-" | "!" | "&&" | "#" if unary => (true, Last::Tight),
            _ => (true, Last::Loose),
        };
        let space = match self.last {
            Last::Loose => text != "," && text != ";",
            Last::Operand => before,
            Last::Start | Last::Tight => false,
        };
        if space {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.last = after;
    }
}

fn is_operator(so_far: &str, next: char) -> bool {
    const LONG: &[&str] = &[
        "::", "..", "..=", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=",
        "^=", "&=", "|=", "<<", "<<=",
    ];
    LONG.contains(&format!("{so_far}{next}").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str) {
        assert_eq!(print(source.parse().unwrap()), source);
    }

    #[test]
    fn prints_as_written() {
        check("|f| f.at, out_of_order(secs(5))");
        check("Total { host: key(), total: sum(|f| f.out_flow), count: count() }");
        check("move |f| f.a > -1 && !f.b.is_empty()");
        check("|f| format!(\"{}/{}\", f.a, f.b)");
        check("|(a, b)| a[0] + *b as u64");
        check("|f| { Some(&f.host)? }");
        check("acc(Set::new(), |f| f.x)");
    }

    #[test]
    fn prints_types_without_spaces() {
        let text = |source: &str| of_type(source.parse().unwrap());
        assert_eq!(text("Option < Vec < ( String , u64 ) > >"), "Option<Vec<(String, u64)>>");
        assert_eq!(text("std :: time :: Duration"), "std::time::Duration");
        assert_eq!(text("[u8; 4]"), "[u8; 4]");
    }

    #[test]
    fn fingerprint_ignores_layout_only() {
        let print = |source: &str| fingerprint(source.parse().unwrap());
        assert_eq!(print("a . b ( c )"), print("a.b(c) // note"));
        assert_ne!(print("ab"), print("a b"));
        assert_ne!(print("a(b)"), print("a b"));
    }

    #[test]
    fn long_text_is_cut() {
        let text = shorten(&"x".repeat(200));
        assert_eq!(text.chars().count(), LIMIT + 1);
        assert!(text.ends_with('…'));
    }
}
