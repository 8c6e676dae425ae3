//! What is said of a table whose columns are not those that its rows need.

use std::panic::{AssertUnwindSafe, catch_unwind};

use streams_core::lookup::{Filling, Row};

use crate::wording::nearest;

/// Which columns this row of a table lacks, where it lacks some.
pub(super) fn lacking(filling: &dyn Filling, row: &Row) -> Option<String> {
    let Row::Fields(fields) = row else { return None };
    // What a type of the user's own makes of the values that are tried is its own business.
    let missing = catch_unwind(AssertUnwindSafe(|| filling.missing(row))).unwrap_or_default();
    let there: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
    (!missing.is_empty()).then(|| told(&missing, &there))
}

fn told(missing: &[&str], there: &[&str]) -> String {
    let listed = |names: &[&str]| format!("`{}`", names.join("`, `"));
    let near = |name: &&str| {
        let same = there.iter().copied().find(|column| column.eq_ignore_ascii_case(name));
        let near = same.or_else(|| nearest(name, there.iter().copied()))?;
        Some(format!("; is `{near}` meant to be `{name}`?"))
    };
    let (column, lack) = if missing.len() == 1 { ("column", "is") } else { ("columns", "are") };
    format!(
        "the {column} {} {lack} missing, which its rows need; it has {}{}; give them the names of the fields, or make a field that may be missing an `Option`",
        listed(missing),
        listed(there),
        missing.iter().filter_map(near).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(missing: &[&str], there: &[&str], expected: &str) {
        let rest = "; give them the names of the fields, or make a field that may be missing an `Option`";
        assert_eq!(told(missing, there).strip_suffix(rest), Some(expected));
    }

    #[test]
    fn columns_are_told_with_the_nearest() {
        check(
            &["owner"],
            &["host", "rack"],
            "the column `owner` is missing, which its rows need; it has `host`, `rack`",
        );
        check(
            &["owner", "rack", "load"],
            &["ip", "ownr", "RACK"],
            "the columns `owner`, `rack`, `load` are missing, which its rows need; it has `ip`, `ownr`, `RACK`; is `ownr` meant to be `owner`?; is `RACK` meant to be `rack`?",
        );
    }
}
