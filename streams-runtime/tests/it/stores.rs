//! The store behind `--state`: chosen by a flag, named where it is missing.

use crate::program::{Place, flows};

#[test]
fn the_store_is_chosen() {
    let place = Place::new("traffic");
    place.write("in.jsonl", flows(2_000, 20));
    let run = "run --from file:in.jsonl";
    place.ok(&format!("{run} --to file:without"));
    place.ok(&format!("{run} --to file:redb --state r --store redb"));
    assert!(place.path("r/state.redb").is_file());
    assert_eq!(place.read("redb"), place.read("without"));

    let rocksdb = format!("{run} --to file:rocksdb --state s --store rocksdb");
    if cfg!(feature = "rocksdb") {
        place.ok(&rocksdb);
        assert!(place.path("s/state.rocksdb/CURRENT").is_file());
        assert_eq!(place.read("rocksdb"), place.read("without"));
        let again = place.ok(&rocksdb);
        assert!(again.stderr.contains("all input was read by an earlier run"), "{again:?}");
        let other = place.run(&format!("{run} --to file:rocksdb --state s"));
        assert_eq!(other.code, Some(1));
        assert!(other.stderr.contains("is kept by the store rocksdb, not by redb"), "{other:?}");
    } else {
        let shown = place.run(&rocksdb);
        assert_eq!(shown.code, Some(2));
        assert_eq!(
            shown.stderr,
            "error: --store: this program was built without the store `rocksdb`; build it with the feature `rocksdb`, or use `redb`\n"
        );
        assert!(!place.path("s").exists());
    }
}
