//! Prints the expansion of one job on request.
//!
//! Formatting is rustfmt's business; where rustfmt is missing, one statement per line must do.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proc_macro2::TokenStream;

use crate::symbol;

/// Prints `expansion` to standard error if the environment asks for this job.
pub(crate) fn on_request(job: &str, expansion: &TokenStream) {
    if std::env::var(symbol::EXPAND_VARIABLE).is_ok_and(|wanted| wanted == job) {
        let source = expansion.to_string();
        eprintln!("{}", rustfmt(&source).unwrap_or_else(|| plain(&source)));
    }
}

fn rustfmt(source: &str) -> Option<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        .args(["--config", "max_width=130,use_small_heuristics=Max"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // Order: the input must be closed before waiting, or rustfmt waits for more.
    child.stdin.take()?.write_all(source.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn plain(source: &str) -> String {
    source.replace("; ", ";\n").replace("{ ", "{\n").replace("} ", "}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_a_statement_per_line() {
        assert_eq!(plain("fn f() { a; b; }"), "fn f() {\na;\nb;\n}");
    }
}
