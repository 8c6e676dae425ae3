//! A job in an editor: rust-analyzer completes, explains and finds what stands in half-typed jobs.
//!
//! It asks the server named by `STREAMS_RUST_ANALYZER`, else `rust-analyzer` where that answers, and says that it was
//! skipped where there is none. `scripts/claims/language_server` installs one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on has failed")]

mod library;
mod server;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use server::{Server, uri};

/// What stands in front of every job.
const HEAD: &str = "//! A job that is being written.
use streams_core::prelude::*;

/// Traffic of a host.
#[record]
pub struct Flow { pub host: String, pub out_flow: u64, pub at: i64 }

/// Traffic of a host in a window.
#[record]
pub struct Total { pub host: String, pub from: i64, pub total: u64 }

/// Flows that carry something.
#[stream_part]
pub fn carrying(flows: Stream<Flow>) -> Stream<Flow> { flows.filter(|f| f.out_flow > 0) }
";

/// The cursor.
const HERE: &str = "$0";

/// What is expected at the cursor.
enum Expect {
    /// The list has all of these.
    Offers(&'static [&'static str]),
    /// The list of what a name begins with has all of these, and none of those.
    OffersBut(&'static [&'static str], &'static [&'static str]),
    /// The text on the word has all of these.
    Says(&'static [&'static str]),
    /// The word leads to a line in this file that has this text.
    LeadsTo(&'static str, &'static str),
}

use Expect::{LeadsTo, Offers, OffersBut, Says};

const FLOW: Expect = Offers(&["host", "out_flow", "at"]);
const TOTAL: Expect = Offers(&["host", "from", "total"]);
const SIGNATURE: &str = "fn job(flows: Stream<Flow>) -> Stream<Flow>";

/// Name, signature, body, what is expected.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str, Expect)] = &[
    ("a filter's closure, closed", SIGNATURE, "flows.filter(|f| f.$0)", FLOW),
    ("a filter's closure, open", SIGNATURE, "flows.filter(|f| f.$0", FLOW),
    ("a filter's closure, with more behind it", SIGNATURE, "flows.filter(|f| f.$0).map(|f| f)", FLOW),
    ("the closure of a second operator", SIGNATURE, "flows.filter(|f| f.out_flow > 0).map(|f| f.$0)", FLOW),
    ("a field that has begun", SIGNATURE, "flows.filter(|f| f.out_f$0 > 0)", Offers(&["out_flow"])),
    ("the closure of event_time", SIGNATURE, "flows.event_time(|f| f.$0, out_of_order(secs(5)))", FLOW),
    ("the closure of key_by", SIGNATURE, "flows.key_by(|f| f.$0)", FLOW),
    ("behind a key_by", SIGNATURE, "flows.key_by(|f| f.host.clone()).filter(|f| f.$0)", FLOW),
    ("inside an aggregate's sum", "fn job(flows: Stream<Flow>) -> Stream<Total>",
        "flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone()).window(tumbling(secs(10)))
            .aggregate(Total { host: key(), from: window_start(), total: sum(|f| f.$0) })", FLOW),
    ("behind an aggregate", "fn job(flows: Stream<Flow>) -> Stream<Total>",
        "flows.key_by(|f| f.host.clone()).running(forever())
            .aggregate(Total { host: key(), from: 0, total: sum(|f| f.out_flow) }).filter(|t| t.$0)", TOTAL),
    ("a field of the row that is missing", "fn job(flows: Stream<Flow>) -> Stream<Total>",
        "flows.key_by(|f| f.host.clone()).running(forever()).aggregate(Total { host: key(), fr$0 })",
        OffersBut(&["from"], &["out_flow"])),
    ("a stream with two readers", "fn job(flows: Stream<Flow>) -> (Stream<Flow>, Stream<Flow>)",
        "let large = flows.filter(|f| f.out_flow > 9);\n    (large.filter(|f| f.$0), large)", FLOW),
    ("under an unknown operator", SIGNATURE, "let x = flows.filtr(|f| f.out_flow > 0);\n    flows.map(|f| f.$0)", FLOW),
    ("behind a part", SIGNATURE, "flows.through(carrying).map(|f| f.$0)", FLOW),
    ("behind a union", SIGNATURE, "let low = flows.filter(|f| f.at < 9);\n    flows.union(low).filter(|f| f.$0)", FLOW),
    ("the row of a join", "fn job(flows: Stream<Flow>, totals: Stream<Total>) -> Stream<Total>",
        "let flows = flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone());
    let totals = totals.event_time(|t| t.from, out_of_order(secs(5))).key_by(|t| t.host.clone());
    flows.join(totals, tumbling(secs(10)), |f, t| Total { total: f.out_flow, ..t.$0 })", TOTAL),
    ("late records", "fn job(flows: Stream<Flow>) -> (Stream<u64>, Stream<Flow>)",
        "let counts = flows.event_time(|f| f.at, out_of_order(secs(5))).key_by(|f| f.host.clone())
        .window(tumbling(secs(10))).aggregate(count());\n    (counts, counts.late().filter(|f| f.$0))", FLOW),
    ("a closure that mentions a setting", "fn job(flows: Stream<Flow>, least: u64) -> Stream<Flow>",
        "flows.filter(|f| least < f.$0)", FLOW),
    ("the operators of a port", SIGNATURE, "flows.$0",
        Offers(&["filter", "map", "key_by", "event_time", "union", "join", "aggregate", "late", "through"])),
    ("an operator that has begun", SIGNATURE, "flows.fil$0", Offers(&["filter", "filter_map"])),
    ("operators in mid-chain", SIGNATURE, "flows.filter(|f| f.out_flow > 0)\n        .$0\n        .map(|f| f)",
        Offers(&["filter", "key_by"])),
    ("an operator that has begun in mid-chain", SIGNATURE, "flows.filter(|f| f.out_flow > 0).ke$0.map(|f| f)",
        Offers(&["key_by"])),
    ("a closure in mid-chain", SIGNATURE,
        "flows.filter(|f| f.out_flow > 0)\n        .map(|f| f.$0)\n        .inspect(|n| see(n))", FLOW),
    ("operators in a let", SIGNATURE, "let x = flows.filter(|f| f.out_flow > 0).$0;\n    flows",
        Offers(&["filter", "key_by"])),
    ("operators behind a window", SIGNATURE, "flows.key_by(|f| f.host.clone()).window(tumbling(secs(9))).agg$0",
        Offers(&["aggregate"])),
    ("the words of windows", SIGNATURE, "flows.key_by(|f| f.host.clone()).window(tumb$0)", Offers(&["tumbling"])),
    ("what an operator is", SIGNATURE, "flows.fil$0ter(|f| f.out_flow > 0)", Says(&["filter", "Keeps the records"])),
    ("what a closure takes", SIGNATURE, "flows.filter(|$0f| f.out_flow > 0)", Says(&["f: &Flow"])),
    ("what a stream is", SIGNATURE, "fl$0ows.filter(|f| f.out_flow > 0)", Says(&["flows: Stream<Flow"])),
    ("what a field is", SIGNATURE, "flows.filter(|f| f.out_$0flow > 0)", Says(&["out_flow: u64"])),
    ("from a port to its parameter", SIGNATURE, "fl$0ows.filter(|f| f.out_flow > 0)", LeadsTo("src/lib.rs", SIGNATURE)),
    ("from an operator to its definition", SIGNATURE, "flows.fil$0ter(|f| f.out_flow > 0)",
        LeadsTo("streams-core/src/stream/straight.rs", "pub fn filter<")),
    ("from a second operator to its definition", SIGNATURE, "flows.filter(|f| f.at > 0).ma$0p(|f| f)",
        LeadsTo("streams-core/src/stream/straight.rs", "pub fn map<")),
    ("from an aggregate to its definition", SIGNATURE,
        "flows.key_by(|f| f.host.clone()).running(forever()).aggregate(su$0m(|f| f.out_flow))",
        LeadsTo("streams-core/src/aggregate/sum.rs", "pub fn sum<")),
    ("from a part to its definition", SIGNATURE, "flows.through(carry$0ing)",
        LeadsTo("src/lib.rs", "pub fn carrying(")),
    // The body ends the job and begins a record, whose types stand in its expansion twice.
    ("the type of a field of a record", SIGNATURE, "flows }\n#[record] pub struct Hit { pub flow: Tot$0, pub n: u8",
        Offers(&["Total"])),
    ("a type inside of another", SIGNATURE, "flows }\n#[record] pub struct Hit { pub n: u8, pub flows: Vec<Tot$0>",
        Offers(&["Total"])),
    ("a path to the type of a field", SIGNATURE, "flows }\n#[record] pub struct Hit { pub n: Flow, pub flow: self::$0",
        Offers(&["Total"])),
    ("from the type of a field to its definition", SIGNATURE, "flows }\n#[record] pub struct Hit { pub flow: Flo$0w",
        LeadsTo("src/lib.rs", "pub struct Flow")),
    ("from a field to its definition", SIGNATURE, "flows.filter(|f| f.out_fl$0ow > 0)",
        LeadsTo("src/lib.rs", "pub struct Flow")),
];

/// The program to ask, where there is one.
fn program() -> Option<String> {
    if let Ok(named) = std::env::var("STREAMS_RUST_ANALYZER") {
        return Some(named);
    }
    let program = "rust-analyzer".to_owned();
    let answer = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
    answer.is_ok_and(|answer| answer.status.success()).then_some(program)
}

/// A crate to write jobs in, and the stand-in for a standard library where the toolchain has no source of one.
fn laboratory() -> (PathBuf, Value) {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let root = scratch.join("language_server");
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let core = project.join("streams-core").display().to_string();
    let manifest = "[package]\nname = \"half_typed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    put("job/Cargo.toml", &format!("{manifest}[dependencies]\nstreams-core = {{ path = {core:?} }}\n"));
    put("job/src/lib.rs", HEAD);
    fs::copy(project.join("Cargo.lock"), root.join("job/Cargo.lock")).unwrap();
    fs::copy(project.join("rust-toolchain.toml"), root.join("job/rust-toolchain.toml")).unwrap();
    for name in ["std", "alloc"] {
        put(&format!("library/{name}/src/lib.rs"), "pub use core::*;\n");
    }
    put("library/core/src/lib.rs", library::CORE);

    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).current_dir(project).output().unwrap();
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout).unwrap().trim());
    let real = sysroot.join("lib/rustlib/src/rust/library");
    let library = if real.exists() { real } else { root.join("library") };
    let options = json!({
        "cargo": {
            "sysrootSrc": library,
            // What the tests were built with is there already.
            "targetDir": scratch.parent().unwrap(),
            "extraEnv": { "CARGO_NET_OFFLINE": "true" },
        },
        "cachePriming": { "enable": false },
        "checkOnSave": false,
    });
    (root.join("job"), options)
}

/// Line and column of a byte.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    (before.matches('\n').count(), before.len() - before.rfind('\n').map_or(0, |newline| newline + 1))
}

/// The names of a list of completions.
fn names(list: &Value) -> Vec<String> {
    let items = list.as_array().or_else(|| list["items"].as_array());
    // A label may show parameters or what is imported behind the name.
    let name = |item: &Value| {
        let label = item["label"].as_str().unwrap_or_default();
        label.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
    };
    items.map(|items| items.iter().map(name).collect()).unwrap_or_default()
}

/// Why an answer is not what is expected.
fn wrong(
    server: &mut Server,
    file: &Path,
    text: &str,
    at: (usize, usize),
    expect: &Expect,
) -> Option<String> {
    match expect {
        Offers(wanted) | OffersBut(wanted, _) => {
            let unwanted: &[&str] = if let OffersBut(_, unwanted) = expect { unwanted } else { &[] };
            let offered = names(&server.at("textDocument/completion", file, at));
            let has = |name: &&&str| offered.iter().any(|offered| offered == **name);
            let missing: Vec<_> = wanted.iter().filter(|name| !has(name)).collect();
            let surplus: Vec<_> = unwanted.iter().filter(has).collect();
            let is_right = missing.is_empty() && surplus.is_empty();
            (!is_right).then(|| format!("{missing:?} not offered, {surplus:?} wrongly, among {offered:?}"))
        }
        Says(wanted) => {
            let answer = server.at("textDocument/hover", file, at);
            let text = answer["contents"]["value"].as_str().unwrap_or_default();
            let missing: Vec<_> = wanted.iter().filter(|part| !text.contains(**part)).collect();
            (!missing.is_empty()).then(|| format!("{missing:?} not said in {text:?}"))
        }
        LeadsTo(end, line) => {
            let answer = server.at("textDocument/definition", file, at);
            let targets = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
            let leads = targets.iter().any(|target| {
                let found = target["uri"].as_str().unwrap_or_default();
                // What is open is not what is on disk.
                let on_disk = || fs::read_to_string(found.trim_start_matches("file://")).unwrap_or_default();
                let text = if found == uri(file) { text.to_owned() } else { on_disk() };
                let row = target["range"]["start"]["line"].as_u64().unwrap_or(u64::MAX);
                let row = usize::try_from(row).unwrap_or(usize::MAX);
                found.ends_with(end) && text.lines().nth(row).is_some_and(|found| found.contains(line))
            });
            (!leads).then(|| format!("leads to {answer} and not to `{line}` in `{end}`"))
        }
    }
}

#[test]
fn half_typed_jobs() {
    let Some(program) = program() else {
        // Around what the tests' harness keeps to itself.
        let mut stderr = std::io::stderr();
        writeln!(stderr, "skipped: there is no rust-analyzer; scripts/claims/language_server installs one")
            .unwrap();
        return;
    };
    let (root, options) = laboratory();
    let file = root.join("src/lib.rs");
    let mut server = Server::start(&program, &root, &options);
    let mut failures = Vec::new();
    for (name, signature, body, expect) in CASES {
        let text = format!("{HEAD}#[stream_job]\n{signature} {{\n    {body}\n}}\n");
        let at = text.find(HERE).unwrap();
        let text = text.replacen(HERE, "", 1);
        server.write(&file, &text);
        let wrong = wrong(&mut server, &file, &text, place(&text, at), expect);
        failures.extend(wrong.map(|why| format!("{name}: {why}")));
    }
    println!("{} of {} half-typed jobs are as expected", CASES.len() - failures.len(), CASES.len());
    assert!(failures.is_empty(), "rust-analyzer fails in {}:\n{}", failures.len(), failures.join("\n"));
}
