//! `--help`, written for a person who has never seen the job.

use std::fmt::Write as _;

use streams_core::lookup::TABLE;
use streams_core::topology::{Node, Topology};

use super::{flag, variable};

/// Columns of text before a line is broken.
const WIDTH: usize = 100;

/// The help of a job.
pub(crate) fn text(topology: &Topology, program: &str) -> String {
    let mut out = String::new();
    let doc = topology.doc.trim();
    if doc.is_empty() {
        line(&mut out, topology.job);
    } else {
        for paragraph in doc.split("\n\n") {
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            wrapped(&mut out, 0, &words.join(" "));
            line(&mut out, "");
        }
    }
    if doc.is_empty() {
        line(&mut out, "");
    }
    section(&mut out, "Usage");
    line(&mut out, &format!("  {program} run --from [PORT=]URL [--to [PORT=]URL] [settings] [options]"));
    line(&mut out, &format!("  {program} topology [--format text|mermaid|dot|svg|json]"));
    line(&mut out, &format!("  {program} state ls|get|export|import --state DIR | --remote URL"));
    line(&mut out, &format!("  {program} offsets show|reset --state DIR | --remote URL"));
    line(&mut out, "");
    ports(&mut out, topology);
    settings(&mut out, topology);
    options(&mut out);
    upkeep(&mut out);
    examples(&mut out, topology, program);
    section(&mut out, "Exit codes");
    entry(&mut out, "0", "all input was read, or SIGINT/SIGTERM asked for an orderly end");
    entry(
        &mut out,
        "1",
        "the job failed; with --state the last checkpoint stands and the job can be resumed",
    );
    entry(&mut out, "2", "the command line or a file that it names is wrong; nothing has run");
    out
}

fn ports(out: &mut String, topology: &Topology) {
    let shown = |port: &Node, prefix: &str, only: bool| {
        if only { format!("{prefix} [{}=]URL", port.name) } else { format!("{prefix} {}=URL", port.name) }
    };
    section(out, "Inputs");
    let inputs: Vec<&Node> = topology.sources().collect();
    for port in &inputs {
        entry(out, &shown(port, "--from", inputs.len() == 1), &format!("records of type {}", port.text));
    }
    entry(
        out,
        "  file:PATH",
        "a file, read to its end; with --state, a last line without a line end is left for a later run unless it is a whole JSON value",
    );
    entry(out, "  stdin:", "standard input");
    entry(
        out,
        "  topic:NAME",
        "a topic of Apache RocketMQ, with --namesrv; ?tags=A||B for messages with these tags",
    );
    line(out, "");
    section(out, "Outputs");
    let outputs: Vec<&Node> = topology.sinks().collect();
    for port in &outputs {
        entry(out, &shown(port, "--to", outputs.len() == 1), &format!("records of type {}", port.text));
    }
    entry(out, "  file:PATH", "a file; overwritten without --state, exactly once with it");
    entry(out, "  print:", "standard output, one JSON object a line (where no --to is given)");
    entry(
        out,
        "  topic:NAME",
        "a topic, with --namesrv, and ?tag=TAG for a tag: exactly once for readers that keep the highest streams-number of each streams-job and streams-split in a queue",
    );
    line(out, "");
    wrapped(
        out,
        2,
        "Append ?format=json, ?format=csv or ?format=lines to a URL to choose the format. Otherwise PATH.csv is CSV with a header line, an input port of String records reads plain lines, and everything else is one JSON value a line.",
    );
    line(out, "");
}

fn settings(out: &mut String, topology: &Topology) {
    if topology.settings.is_empty() {
        return;
    }
    section(out, "Settings");
    for spec in topology.settings {
        let mut text = spec.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            text.push(' ');
        }
        match spec.default {
            Some("") => text.push_str("[optional] "),
            Some(default) => {
                let _ = write!(text, "[default:\u{a0}{default}] ");
            }
            None => text.push_str("[required] "),
        }
        let _ = write!(text, "[environment:\u{a0}{}]", variable(topology.job, spec.name));
        entry(out, &format!("--{} {}", flag(spec.name), spec.placeholder), &text);
    }
    if topology.settings.iter().any(|spec| spec.placeholder == TABLE) {
        entry(
            out,
            "  TABLE",
            "rows that are looked up by key: file:PATH (CSV with a header line, JSON), http://HOST/PATH, mysql://USER@HOST/DATABASE?table=NAME; ?refresh=30s (#refresh=30s behind HTTP) to read them again; one by one with {key} in the address of HTTP, &by=COLUMN in that of MySQL",
        );
    }
    line(out, "");
}

fn options(out: &mut String) {
    section(out, "Options");
    entry(
        out,
        "--state DIR",
        "keep the job's state in DIR and resume from it; without it every run begins anew",
    );
    entry(out, "--checkpoint-interval DURATION", "time between two checkpoints [default: 1s]");
    entry(out, "--workers N", "share the job among N threads by key; N is part of the state [default: 1]");
    entry(
        out,
        "--on-bad POLICY",
        "what happens to a bad record: dead-letter (it becomes a dead letter), skip (it is only counted), stop (the job ends in front of it and can be resumed) [default: dead-letter]",
    );
    entry(
        out,
        "--dead-letter file:PATH",
        "write bad records there, one JSON object a line, with place and reason",
    );
    entry(
        out,
        "--idle-after [PORT=]DURATION",
        "an input that has had nothing for so long holds back event time for no other; standard input, pipes and queues of topics, of which results then leave with the next commit",
    );
    entry(out, "--report FILE", "write the counters of the run there as JSON");
    entry(
        out,
        "--store redb|rocksdb",
        "the store behind --state: one file, or a database for state larger than memory; which of them a program has is chosen when it is built [default: redb]",
    );
    entry(
        out,
        "--memory SIZE",
        "with --store rocksdb and one worker: about so much memory is taken in all, 64MB for example; state beyond it is read from the store when it is needed [default: all state is in memory]",
    );
    entry(out, "-h, --help", "this text");
    entry(out, "-V, --version", "the version");
    line(out, "");
    brokers(out);
}

fn brokers(out: &mut String) {
    section(out, "On Apache RocketMQ");
    if !cfg!(feature = "rocketmq") {
        wrapped(out, 2, "(This program was built without it; the feature is called `rocketmq`.)");
    }
    entry(
        out,
        "--namesrv HOST:PORT[,..]",
        "read and write topics, named like the ports where no URL is given, until a signal asks for the end; keys in ROCKETMQ_ACCESS_KEY and ROCKETMQ_SECRET_KEY, ROCKETMQ_TLS=yes to encrypt, ROCKETMQ_TLS_CA=FILE where an authority of your own vouches for the servers",
    );
    entry(
        out,
        "--local-only",
        "keep state on this machine alone: with --state DIR on its disk, else in memory",
    );
    entry(
        out,
        "--remote mysql://USER@HOST/DATABASE",
        "keep state in MySQL or MariaDB, so that instances can share the job and take each other's queues over; with --state DIR --store rocksdb each keeps a copy; the password is in STREAMS_MYSQL_PASSWORD, or in the file that STREAMS_MYSQL_PASSWORD_FILE names",
    );
    entry(out, "--group NAME", "the group, which names the shuffle topics too [default: the job's name]");
    entry(
        out,
        "--start earliest|latest|MS",
        "where the queues are read from that are there when the job begins for the first time; MS is a time in ms since the Unix epoch [default: earliest]",
    );
    entry(out, "--shuffle-queues N", "how many queues a topic has that the job creates [default: 8]");
    line(out, "");
}

fn upkeep(out: &mut String) {
    section(out, "Looking at state");
    entry(
        out,
        "state ls [--format json]",
        "operators with their rows and bytes, and how far each input was read",
    );
    entry(
        out,
        "state get OPERATOR KEY",
        "what an operator keeps of a key, as JSON; a KEY is a text, or JSON",
    );
    entry(out, "state export FILE", "write all of it into a savepoint, which any store can take");
    entry(
        out,
        "state import FILE [--not-run-since]",
        "make a savepoint the state of a directory or a database that has none; a job on topics then goes on with the same program, or with another one where it has --not-run-since the savepoint was written",
    );
    entry(
        out,
        "offsets show [--format json]",
        "how far inputs were read; with --namesrv also how much more there is in queues",
    );
    entry(
        out,
        "offsets reset --to earliest|latest|time:MS|N [--input PORT] --yes",
        "read inputs on from somewhere else, while no instance runs; N is an offset, or a line of a file; queues need --namesrv; results stay and state is kept, so what is read again is counted again",
    );
    line(out, "");
}

fn examples(out: &mut String, topology: &Topology, program: &str) {
    section(out, "Examples");
    let inputs: Vec<&Node> = topology.sources().collect();
    let outputs: Vec<&Node> = topology.sinks().collect();
    let bound = |flag: &str, ports: &[&Node], ending: &dyn Fn(&Node) -> &'static str| {
        let each = ports.iter().map(|port| {
            let name = if ports.len() == 1 { String::new() } else { format!("{}=", port.name) };
            format!("{flag} {name}file:{}.{}", port.name, ending(port))
        });
        each.collect::<Vec<_>>().join(" ")
    };
    let from = bound("--from", &inputs, &|port| if port.text == "String" { "log" } else { "jsonl" });
    let to = bound("--to", &outputs, &|_| "out.jsonl");
    line(out, &format!("  {program} run {from}"));
    line(out, &format!("  {program} run {from} {to} --state ./state"));
    if let [only] = inputs.as_slice() {
        let ending = if only.text == "String" { "log" } else { "jsonl" };
        line(out, &format!("  tail -f {}.{ending} | {program} run --from stdin:", only.name));
    }
    line(out, "");
}

fn section(out: &mut String, title: &str) {
    line(out, &format!("{title}:"));
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// A term in the first column, its meaning in the second.
fn entry(out: &mut String, term: &str, meaning: &str) {
    const COLUMN: usize = 34;
    if term.len() + 4 > COLUMN {
        line(out, &format!("  {term}"));
        wrapped(out, COLUMN, meaning);
        return;
    }
    let mut text = String::new();
    wrapped(&mut text, COLUMN, meaning);
    let term = format!("  {term}");
    let _ = writeln!(out, "{term:COLUMN$}{}", text.trim());
    // `trim` above keeps the line breaks and indents inside.
}

fn wrapped(out: &mut String, indent: usize, text: &str) {
    let mut current = " ".repeat(indent);
    let mut empty = true;
    // What a no-break space joins stays on one line.
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if !empty && current.chars().count() + 1 + word.chars().count() > WIDTH {
            line(out, &current);
            current = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            current.push(' ');
        }
        current.push_str(&word.replace('\u{a0}', " "));
        empty = false;
    }
    if !empty {
        line(out, &current);
    }
}
