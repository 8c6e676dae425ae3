//! What the tests of all passes share: running a job up to a pass and showing its errors.
//!
//! Only tests see this module.

use crate::ctxt::Ctxt;
use crate::{ast, check, ir, lower, parse};
use proc_macro2::TokenStream;

/// The job of the documentation.
pub(crate) const TRAFFIC: &str = r#"
/// Outgoing traffic per host, every ten seconds; records may be five seconds out of order.
pub fn traffic(flows: Stream<Flow>) -> Stream<Total> {
    flows
        .event_time(|f| f.at, out_of_order(secs(5)))
        .filter(|f| f.out_flow > 0)
        .key_by(|f| f.host.clone())
        .window(tumbling(secs(10)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() })
}
"#;

/// A job with everything that makes a graph.
pub(crate) const DAG: &str = r#"
/// Totals of large and failed flows.
fn dag(
    flows: Stream<Flow>,
    /// How late a flow may be.
    #[arg(default = "60s")] slack: Duration,
) -> (Stream<Total>, Stream<Flow>) {
    let timed = flows.event_time(|f| f.at, out_of_order(slack));
    let big = timed.filter(|f| f.out_flow > 100).map(|f| f.normalized());
    let failed = timed.filter(|f| f.is_failed);
    let totals = big
        .union(failed)
        .key_by(|f| f.host.clone())
        .window(tumbling(mins(1)))
        .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.out_flow), count: count() });
    let late = totals.late();
    (totals, late)
}
"#;

/// A job `flows -> Stream<Flow>` with this body, on one line.
pub(crate) fn with_body(body: &str) -> String {
    format!("fn job(flows: Stream<Flow>) -> Stream<Flow> {{ {body} }}")
}

/// The job as written, and what parsing reports.
pub(crate) fn parsed(source: &str) -> (Option<ast::Job>, String) {
    let ctxt = Ctxt::new();
    let job = parse::job(&ctxt, &TokenStream::new(), source.parse().expect("test sources are tokens"));
    (job, shown(source, ctxt))
}

/// The job as meant, and what lowering reports.
pub(crate) fn lowered(source: &str) -> (ir::Job, String) {
    let (job, errors) = parsed(source);
    let ctxt = Ctxt::new();
    let job = lower::job(&ctxt, &job.expect("test sources are functions"));
    (job, errors + &shown(source, ctxt))
}

/// What all passes together report.
pub(crate) fn checked(source: &str) -> (ir::Job, String) {
    let (job, errors) = lowered(source);
    let ctxt = Ctxt::new();
    check::job(&ctxt, &job);
    (job, errors + &shown(source, ctxt))
}

/// One line per error, or per warning where there is none: the guilty text, then the message.
pub(crate) fn shown(source: &str, ctxt: Ctxt) -> String {
    let line = |span: proc_macro2::Span, message: String| {
        let guilty = span.source_text().unwrap_or_else(|| text_between(source, span));
        format!("{guilty} <- {message}\n")
    };
    match ctxt.check() {
        Ok(warnings) => warnings
            .iter()
            .map(|warning| line(warning.span, format!("warning: {}", warning.message)))
            .collect(),
        Err(errors) => errors.iter().map(|error| line(error.span(), error.to_string())).collect(),
    }
}

fn text_between(source: &str, span: proc_macro2::Span) -> String {
    let (start, end) = (span.start(), span.end());
    let line = source.lines().nth(start.line.saturating_sub(1)).unwrap_or_default();
    line.chars().skip(start.column).take(end.column.saturating_sub(start.column)).collect()
}
