//! What people get to read when they mistype a command line.

use super::*;
use streams_core::setting::setting_type;
use streams_core::topology::{Node, SettingSpec};

const SETTINGS: &[SettingSpec] = &[
    SettingSpec::new(
        "slack",
        Some("60s"),
        "How far records may be out of order.",
        setting_type::<Duration>(),
    ),
    SettingSpec::new("max_hits", None, "", setting_type::<u64>()),
];
const NODES: &[Node] = &[
    Node::new("source", "lines", &[], "String", 1),
    Node::new("source", "flows", &[], "Flow", 1),
    Node::new("sink", "totals", &[0], "Total", 1),
    Node::new("sink", "late", &[1], "Flow", 1),
];
const JOB: Topology =
    Topology { job: "traffic", doc: "", file: "", line: 0, settings: SETTINGS, nodes: NODES, fingerprint: 0 };

fn problems(words: &str) -> Vec<String> {
    problems_of(&JOB, words)
}

fn problems_of(job: &Topology, words: &str) -> Vec<String> {
    let words = words.split_whitespace().map(OsString::from).collect();
    let env = |name: &str| (name == "TRAFFIC_MAX_HITS").then(|| OsString::from("7"));
    let around = Surroundings { env: &env, program: "traffic".to_owned() };
    match parse(job, words, &around) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

#[track_caller]
fn check(words: &str, expect: &[&str]) {
    assert_eq!(problems(words), expect);
}

const BOUND: &str = "run --from lines=file:/dev/null --from flows=stdin:";

#[track_caller]
fn check_more(words: &str, expect: &[&str]) {
    check(&format!("{BOUND} {words}"), expect);
}

#[test]
fn commands() {
    check(
        "",
        &[
            "say what to do: `traffic run`, `traffic topology`, `traffic state`, `traffic offsets` or `traffic --help`",
        ],
    );
    check("rnu", &["unknown command `rnu`; did you mean `run`?"]);
    check("start", &["unknown command `start`; did you mean `state`?"]);
    check("begin", &["unknown command `begin`; there are `run`, `topology`, `state` and `offsets`"]);
    check(
        "topology --format pdf",
        &["--format: unknown format `pdf`; there are text, mermaid, dot, svg, json"],
    );
    check("topology --format mermiad", &["--format: unknown format `mermiad`; did you mean `mermaid`?"]);
    check("--help", &[]);
    check("run --nonsense --help", &[]);
    check("-V", &[]);
}

#[test]
fn flags() {
    check_more("", &[]);
    check_more("--slak 5s", &["--slak: unknown flag; did you mean --slack?"]);
    check_more("--max_hits 5", &["--max_hits: unknown flag; did you mean --max-hits?"]);
    check_more("--frobnicate=3", &["--frobnicate: unknown flag; --help lists all flags"]);
    check_more("-x", &["-x: unknown flag; see --help"]);
    check_more("--slack --workers 2", &["--slack: the value is missing; write --slack DURATION"]);
    check_more("--workers", &["--workers: the value is missing; write --workers N"]);
    check_more("--workers 1 --workers 2", &["--workers is given twice (first `1`); give it once"]);
    check_more(
        "file:x",
        &["`file:x`: a URL stands behind --from or --to; write --from file:x or --to file:x"],
    );
}

#[test]
fn a_wrong_default_is_a_mistake_of_the_source() {
    const WRONG: &[SettingSpec] = &[
        SettingSpec::new("limit", Some("ten"), "", setting_type::<u64>()),
        SettingSpec::new("hosts", Some("hosts.csv"), "", setting_type::<streams_core::lookup::Table<u64>>()),
    ];
    let job = Topology { settings: WRONG, file: "src/main.rs", line: 7, ..JOB };
    assert_eq!(
        problems_of(&job, BOUND),
        [
            "--limit: its default in the source of `traffic` is wrong (src/main.rs:7): `ten` is no whole number (u64): invalid digit found in string; correct `#[arg(default = \"ten\")]` there, or give the setting a value",
            "--hosts: its default in the source of `traffic` is wrong (src/main.rs:7): `hosts.csv` is no address of a table; for a file write `file:hosts.csv`; correct `#[arg(default = \"hosts.csv\")]` there, or give the setting a value",
        ]
    );
    assert_eq!(problems_of(&job, &format!("{BOUND} --limit 3 --hosts file:hosts.csv")), [""; 0]);
    assert_eq!(
        problems_of(&job, &format!("{BOUND} --limit 3 --hosts x")),
        ["--hosts: `x` is no address of a table; for a file write `file:x`"]
    );
}

#[test]
fn values() {
    check_more(
        "--slack 5 --max-hits many --workers 0 --on-bad stopp --checkpoint-interval soon",
        &[
            "--slack: `5` is no duration: the unit is missing; write for example `250ms`, `5s`, `10m`, `1h30m`",
            "--max-hits: `many` is no whole number (u64): invalid digit found in string",
            "--checkpoint-interval: `soon` is no duration: a number is expected in front of the unit; write for example `250ms`, `5s`, `10m`, `1h30m`",
            "--on-bad: unknown policy `stopp`; did you mean `stop`?",
            "--workers: `0` is no number from 1 to 256; write for example --workers 2",
        ],
    );
    check_more(
        "--checkpoint-interval 0s",
        &["--checkpoint-interval: no time would be left for records; write for example 10ms"],
    );
    check_more("--report file:", &["--report: `file:` has no path; write `file:PATH`"]);
    check_more("--dead-letter print:", &["--dead-letter: `print:` is no file; write file:PATH"]);
    check_more(
        "--state s",
        &[
            "--state: standard input cannot be read again, so a state could not resume it; read a file, or leave --state out",
        ],
    );
    check_more("--store rocksbd", &["--store: unknown store `rocksbd`; did you mean `rocksdb`?"]);
    #[cfg(all(feature = "redb", not(feature = "rocksdb")))]
    {
        check_more("--store mysql", &["--store: unknown store `mysql`; this program has `redb`"]);
        check_more(
            "--store rocksdb",
            &[
                "--store: this program was built without the store `rocksdb`; build it with the feature `rocksdb`, or use `redb`",
            ],
        );
    }
    #[cfg(all(feature = "redb", feature = "rocksdb"))]
    {
        check_more(
            "--store mysql",
            &["--store: unknown store `mysql`; this program has `redb` and `rocksdb`"],
        );
        check_more(
            "--store rocksdb",
            &["--store: there is nothing to store without --state DIR; add it, or leave --store out"],
        );
    }
}

#[test]
fn ports() {
    check(
        "run",
        &[
            "--from: input ports `lines`, `flows` are not bound; for example: traffic run --from lines=file:lines.log --from flows=file:flows.jsonl",
        ],
    );
    check(
        "run --from lines=file:/dev/null",
        &[
            "--from: input port `flows` is not bound; for example: traffic run --from lines=file:lines.log --from flows=file:flows.jsonl",
        ],
    );
    check(
        "run --from file:/dev/null",
        &["--from file:/dev/null: which port? write --from PORT=file:/dev/null; ports are `lines`, `flows`"],
    );
    check_more(
        "--from flow=file:/dev/null",
        &["--from flow=file:/dev/null: unknown input port `flow`; did you mean `flows`?"],
    );
    check_more(
        "--from flows=file:/dev/null",
        &["--from flows=file:/dev/null: port `flows` is bound already, to stdin:; bind it once"],
    );
    check_more(
        "--to late=print:",
        &["--to: output port `totals` is not bound; add --to totals=file:totals.jsonl or --to totals=print:"],
    );
    check_more(
        "--to late=print: --to totals=kafka:x",
        &[
            "--to: unknown URL scheme `kafka:` in `kafka:x`; outputs are `file:PATH`, `print:`, `topic:NAME` and `mysql://USER@HOST/DATABASE?table=NAME`",
        ],
    );
}

#[test]
fn files() {
    check(
        "run --from lines=file:/nowhere/x --from flows=file:/",
        &[
            "--from: cannot read /nowhere/x (port `lines`): there is no such file",
            "--from: cannot read / (port `flows`): it is a directory; give a file",
        ],
    );
    check_more(
        "--to late=print: --to totals=file:/nowhere/x --report /nowhere/r",
        &[
            "--to: cannot write /nowhere/x: there is no directory /nowhere; create it first",
            "--report: cannot write /nowhere/r: there is no directory /nowhere; create it first",
        ],
    );
    let dir = tempfile::tempdir().unwrap();
    let same = dir.path().join("same").display().to_string();
    check_more(
        &format!("--to late=file:{same} --to totals=file:{same}"),
        &[&format!("--to: {same} already is written by port `totals`; give each its own file")],
    );
    assert!(!std::path::Path::new(&same).exists());
}

#[test]
fn flags_for_brokers_need_brokers_and_the_reverse() {
    check(
        "run --from lines=topic:l --from flows=stdin: --max-hits 1 --group g --local-only",
        &[
            "--group: is for a run on Apache RocketMQ; add --namesrv HOST:9876",
            "--local-only: is for a run on Apache RocketMQ; add --namesrv HOST:9876",
            "--from topic:l: port `lines` needs a broker; add --namesrv HOST:9876",
        ],
    );
    #[cfg(feature = "rocketmq")]
    check(
        "run --namesrv localhost:9876 --from flows=stdin: --max-hits 1 --start later --shuffle-queues 0 --workers 2 --to late=topic:l?format=csv",
        &[
            "--start: unknown position `later`; did you mean `latest`?",
            "--shuffle-queues: `0` is no number from 1 to 1024",
            "--from stdin:: with --namesrv port `flows` takes topics; write --from flows=topic:flows, or leave --namesrv out",
            "--to topic:l?format=csv: a message has no header line; write format=json or lines",
            "--workers: with --namesrv the queues are the unit of work; leave it out",
        ],
    );
}

#[test]
fn upkeep() {
    // Settings that are missing may stand in the state.
    check("state ls --state st", &[]);
    check(
        "state export file --state st --store redb --format json",
        &["--format: `state export` has no such flag; leave it out"],
    );
    check(
        "state get totals k --state st",
        &["state get: unknown operator `totals`; none of the job's operators keeps state"],
    );
    check("offsets show", &["say where the state lies: --state DIR, or --remote mysql://USER@HOST/DATABASE"]);
    check(
        "offsets reset --to soon --input lins --state st --slack x",
        &[
            "--to: unknown place `soon`; write earliest, latest, time:MS (ms since the Unix epoch), or a number: an offset of a queue, a line of a file",
            "--input: unknown input port `lins`; did you mean `lines`?",
            "--slack: `x` is no duration: a number is expected in front of the unit; write for example `250ms`, `5s`, `10m`, `1h30m`",
        ],
    );
    check(
        "offsets reset --to 1 --to 2 --state st",
        &["--to: is given twice; give it once, and name another input with --input in a second call"],
    );
    check("state ls --state st --to earliest", &["--to: unknown flag; --help lists all flags"]);
}

#[test]
fn help_names_everything() {
    let text = help::text(&JOB, "traffic");
    for word in [
        "--from lines=URL",
        "--to late=URL",
        "--max-hits N",
        "[required]",
        "TRAFFIC_MAX_HITS",
        "60s",
        "Exit codes",
    ] {
        assert!(text.contains(word), "`{word}` is missing in\n{text}");
    }
    for (flag, _) in args::RUN_FLAGS.into_iter().chain(args::UPKEEP_FLAGS) {
        assert!(text.contains(&format!("--{flag}")), "`--{flag}` is missing");
    }
    let mut prose = text.lines().filter(|line| !line.contains("traffic run"));
    assert!(prose.all(|line| line.chars().count() <= 100), "{text}");
}

/// A setting that is called like a flag would be given with it, or not at all.
#[test]
fn the_compiler_refuses_settings_called_like_a_flag() {
    let symbols = include_str!("../../../streams-macros/src/symbol.rs");
    let (_, list) = symbols.split_once("RUNTIME_FLAGS: &[&str] = &[").unwrap();
    let (list, _) = list.split_once(']').unwrap();
    let refused: Vec<&str> = list.split(',').map(|word| word.trim().trim_matches('"')).collect();
    let flags = args::RUN_FLAGS.into_iter().chain(args::UPKEEP_FLAGS).map(|(flag, _)| flag);
    for flag in flags.chain(["format", "help", "version"]) {
        assert!(refused.contains(&flag.replace('-', "_").as_str()), "`--{flag}` is missing");
    }
}
