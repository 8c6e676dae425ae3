//! The pictures of the documentation are those that the programs draw.

use std::fs;
use std::path::Path;

use crate::tool::run_well;

#[test]
fn pictures_of_the_documentation_are_current() {
    for job in ["access_log", "dag", "orders"] {
        let drawn = run_well(job, &["topology", "--format", "svg"]).stdout;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/jobs/{job}.svg"));
        if std::env::var_os("STREAMS_BLESS").is_some() {
            fs::write(&path, &drawn).unwrap();
        }
        let there = fs::read(&path).unwrap();
        assert!(there == drawn, "{} is not what `{job}` draws; run with STREAMS_BLESS=1", path.display());
    }
}
