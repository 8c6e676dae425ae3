//! The generated jobs as source, and the test that the source is what the generator gives.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::drive::Run;
use crate::generate::{self, FILES, JOBS_PER_FILE};

mod from_00;
mod from_05;
mod from_10;
mod from_100;
mod from_105;
mod from_110;
mod from_115;
mod from_120;
mod from_125;
mod from_130;
mod from_135;
mod from_140;
mod from_145;
mod from_15;
mod from_150;
mod from_155;
mod from_160;
mod from_165;
mod from_170;
mod from_175;
mod from_180;
mod from_185;
mod from_190;
mod from_195;
mod from_20;
mod from_200;
mod from_205;
mod from_210;
mod from_215;
mod from_220;
mod from_225;
mod from_230;
mod from_235;
mod from_240;
mod from_245;
mod from_25;
mod from_250;
mod from_255;
mod from_260;
mod from_265;
mod from_270;
mod from_275;
mod from_280;
mod from_285;
mod from_290;
mod from_295;
mod from_30;
mod from_35;
mod from_40;
mod from_45;
mod from_50;
mod from_55;
mod from_60;
mod from_65;
mod from_70;
mod from_75;
mod from_80;
mod from_85;
mod from_90;
mod from_95;

/// What runs job number `number`.
pub(crate) fn run(number: usize) -> Run {
    let files = [
        &from_00::RUNS,
        &from_05::RUNS,
        &from_10::RUNS,
        &from_15::RUNS,
        &from_20::RUNS,
        &from_25::RUNS,
        &from_30::RUNS,
        &from_35::RUNS,
        &from_40::RUNS,
        &from_45::RUNS,
        &from_50::RUNS,
        &from_55::RUNS,
        &from_60::RUNS,
        &from_65::RUNS,
        &from_70::RUNS,
        &from_75::RUNS,
        &from_80::RUNS,
        &from_85::RUNS,
        &from_90::RUNS,
        &from_95::RUNS,
        &from_100::RUNS,
        &from_105::RUNS,
        &from_110::RUNS,
        &from_115::RUNS,
        &from_120::RUNS,
        &from_125::RUNS,
        &from_130::RUNS,
        &from_135::RUNS,
        &from_140::RUNS,
        &from_145::RUNS,
        &from_150::RUNS,
        &from_155::RUNS,
        &from_160::RUNS,
        &from_165::RUNS,
        &from_170::RUNS,
        &from_175::RUNS,
        &from_180::RUNS,
        &from_185::RUNS,
        &from_190::RUNS,
        &from_195::RUNS,
        &from_200::RUNS,
        &from_205::RUNS,
        &from_210::RUNS,
        &from_215::RUNS,
        &from_220::RUNS,
        &from_225::RUNS,
        &from_230::RUNS,
        &from_235::RUNS,
        &from_240::RUNS,
        &from_245::RUNS,
        &from_250::RUNS,
        &from_255::RUNS,
        &from_260::RUNS,
        &from_265::RUNS,
        &from_270::RUNS,
        &from_275::RUNS,
        &from_280::RUNS,
        &from_285::RUNS,
        &from_290::RUNS,
        &from_295::RUNS,
    ];
    files[number / JOBS_PER_FILE][number % JOBS_PER_FILE]
}

/// With `STREAMS_BLESS=1` the files are written anew.
#[test]
fn the_source_is_what_the_generator_gives() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/jobs");
    for (number, name) in FILES.iter().enumerate() {
        let path = folder.join(format!("{name}.rs"));
        let fresh = generate::source(number);
        if std::env::var_os("STREAMS_BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
            let edition = ["--edition", "2024"];
            let format = Command::new("rustfmt").args(edition).arg(&path).stdin(Stdio::null()).status();
            assert!(format.is_ok_and(|status| status.success()), "rustfmt formats {}", path.display());
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(bare(&found) == bare(&fresh), "`{name}.rs` is old; run this test with `STREAMS_BLESS=1`");
    }
}

/// The text without what a formatter changes.
fn bare(source: &str) -> String {
    source.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}
