//! `access_log` with each store: the same bytes, and no store takes another one's directory for its own.

use crate::tool::{file_url, log, run, stderr};

#[cfg(not(feature = "rocksdb"))]
#[test]
fn a_store_that_was_not_built_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let words = ["--to", "print:", "--state", state.to_str().unwrap(), "--store", "rocksdb"];
    let output = run("access_log", &[&["run", "--from", &file_url(&log())], &words[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let expect = "error: --store: this program was built without the store `rocksdb`; build it with the feature `rocksdb`, or use `redb`\n";
    assert_eq!(stderr(&output), expect);
    assert!(!state.exists());
}

#[cfg(feature = "rocksdb")]
#[test]
fn all_stores_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut results = Vec::new();
    for workers in ["1", "2"] {
        for store in ["redb", "rocksdb"] {
            let path = |name: &str| dir.path().join(format!("{store}{workers}.{name}"));
            let (from, to) = (file_url(&log()), file_url(&path("out")));
            let (state, report_path) = (path("state"), path("report"));
            let words = ["run", "--from", &from, "--to", &to, "--slack", "30s", "--workers", workers];
            let state =
                ["--checkpoint-interval", "5ms", "--state", state.to_str().unwrap(), "--store", store];
            let report = ["--report", report_path.to_str().unwrap()];
            crate::tool::run_well("access_log", &[&words[..], &state, &report].concat());
            let mut report = crate::tool::report(&report_path);
            // How often there is time for a checkpoint depends on the disk.
            report
                .as_object_mut()
                .unwrap()
                .retain(|field, _| field.starts_with("records") || field == "late");
            results.push((std::fs::read(path("out")).unwrap(), report));
        }
    }
    assert!(results[0] == results[1], "one worker: rocksdb gives other bytes than redb");
    assert!(results[2] == results[3], "two workers: rocksdb gives other bytes than redb");
    assert!(results[0].0.len() > 100_000);
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_directory_of_another_store_is_refused() {
    for (store, other) in [("redb", "rocksdb"), ("rocksdb", "redb")] {
        let dir = tempfile::tempdir().unwrap();
        let (state, out) = (dir.path().join("state"), dir.path().join("out"));
        let (from, to) = (file_url(&log()), file_url(&out));
        let words = ["run", "--from", &from, "--to", &to, "--state", state.to_str().unwrap(), "--store"];
        crate::tool::run_well("access_log", &[&words[..], &[store]].concat());
        let written = std::fs::read(&out).unwrap();
        let output = run("access_log", &[&words[..], &[other]].concat());
        assert_eq!(output.status.code(), Some(1));
        let text = stderr(&output);
        let expect = format!(
            "is kept by the store {store}, not by {other}; add --store {store}, or give the job another"
        );
        assert!(text.contains(&expect), "{text}");
        assert_eq!(std::fs::read(&out).unwrap(), written, "the output was touched");
    }
}
