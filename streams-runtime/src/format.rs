//! The formats of records as text, and how one is chosen for a port.

use std::path::Path;

/// How the records of a port are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON value a line.
    Json,
    /// Comma-separated values below a header line that names the fields.
    Csv,
    /// One record a line, as it stands.
    Lines,
}

impl Format {
    /// All of them, as they are named in URLs.
    pub(crate) const NAMES: [&'static str; 3] = ["json", "csv", "lines"];

    /// The format with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "lines" => Some(Self::Lines),
            _ => None,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Lines => "lines",
        }
    }

    /// What the end of a file's name says.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" | "jsonl" | "ndjson" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}
