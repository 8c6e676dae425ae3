//! Windows with offsets, updates and sessions, and windows of records, as data: what they look like in a job's
//! source, and every combination of their words.

use super::length;

/// How time is cut, and when there are results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) span: Span,
    pub(crate) lateness_ms: u64,
    pub(crate) early_ms: Option<u64>,
    pub(crate) discarding: bool,
}

/// The windows of a [`Cut`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Span {
    /// Below zero is `offset_back`.
    Fixed {
        size_ms: u64,
        slide_ms: Option<u64>,
        offset_ms: i64,
    },
    Session {
        gap_ms: u64,
    },
}

/// Windows of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Records {
    /// The size of count windows; none is a global one.
    pub(crate) full: Option<u64>,
    pub(crate) every: Option<u64>,
    pub(crate) early_ms: Option<u64>,
    pub(crate) discarding: bool,
    pub(crate) ttl_ms: Option<u64>,
}

impl Cut {
    pub(crate) fn source(self) -> String {
        let mut text = match self.span {
            Span::Session { gap_ms } => format!("session({})", length(gap_ms)),
            Span::Fixed { size_ms, slide_ms: None, .. } => format!("tumbling({})", length(size_ms)),
            Span::Fixed { size_ms, slide_ms: Some(slide_ms), .. } => {
                format!("hopping({}, {})", length(size_ms), length(slide_ms))
            }
        };
        match self.span {
            Span::Fixed { offset_ms, .. } if offset_ms > 0 => {
                text.push_str(&format!(".offset({})", length(offset_ms.unsigned_abs())));
            }
            Span::Fixed { offset_ms, .. } if offset_ms < 0 => {
                text.push_str(&format!(".offset_back({})", length(offset_ms.unsigned_abs())));
            }
            _ => {}
        }
        if self.lateness_ms > 0 {
            text.push_str(&format!(".lateness({})", length(self.lateness_ms)));
        }
        if let Some(early_ms) = self.early_ms {
            text.push_str(&format!(".early({})", length(early_ms)));
        }
        if self.discarding {
            text.push_str(".discarding()");
        }
        text
    }

    pub(crate) fn feature(self) -> &'static str {
        let span = match self.span {
            Span::Fixed { slide_ms: None, offset_ms: 0, .. } => "tumbling",
            Span::Fixed { slide_ms: None, .. } => "tumbling offset",
            Span::Fixed { offset_ms: 0, .. } => "hopping",
            Span::Fixed { .. } => "hopping offset",
            Span::Session { .. } => "session",
        };
        let found = CUTS.iter().find(|(name, words)| {
            *name == span && *words == (self.lateness_ms > 0, self.early_ms.is_some(), self.discarding)
        });
        let at = found.map(|found| CUTS.iter().position(|other| other == found).expect("it was found there"));
        CUT_NAMES[at.expect("only these are generated")]
    }
}

impl Records {
    pub(crate) fn source(self) -> String {
        let keep = self.ttl_ms.map_or("forever()".to_owned(), |ms| format!("ttl({})", length(ms)));
        let mut text = match self.full {
            Some(n) => format!("count_window({n}, {keep})"),
            None => format!("global({keep})"),
        };
        if let Some(every) = self.every {
            text.push_str(&format!(".every({every})"));
        }
        if let Some(early_ms) = self.early_ms {
            text.push_str(&format!(".early({})", length(early_ms)));
        }
        if self.discarding {
            text.push_str(".discarding()");
        }
        text
    }

    pub(crate) fn feature(self) -> &'static str {
        let words = (self.full.is_some(), self.every.is_some(), self.early_ms.is_some(), self.discarding);
        let at = RECORDS.iter().position(|other| *other == words).expect("only these are generated");
        RECORD_NAMES[at]
    }
}

/// Name of the windows; lateness, early, discarding.
type Words = (&'static str, (bool, bool, bool));

macro_rules! combinations {
    ($list:ident: $type:ty, $names:ident; $($words:expr => $name:literal;)*) => {
        pub(crate) const $list: &[$type] = &[$($words),*];
        pub(crate) const $names: &[&str] = &[$($name),*];
    };
}

const NO: bool = false;
const YES: bool = true;

// Every combination that the language allows, each with its name.
combinations! {
    CUTS: Words, CUT_NAMES;
    ("tumbling", (YES, NO, NO)) => "tumbling, lateness";
    ("tumbling", (NO, YES, NO)) => "tumbling, early";
    ("tumbling", (YES, YES, NO)) => "tumbling, lateness, early";
    ("tumbling", (YES, NO, YES)) => "tumbling, lateness, discarding";
    ("tumbling", (NO, YES, YES)) => "tumbling, early, discarding";
    ("tumbling", (YES, YES, YES)) => "tumbling, lateness, early, discarding";
    ("tumbling offset", (NO, NO, NO)) => "tumbling, offset";
    ("tumbling offset", (YES, NO, NO)) => "tumbling, offset, lateness";
    ("tumbling offset", (NO, YES, NO)) => "tumbling, offset, early";
    ("tumbling offset", (YES, YES, YES)) => "tumbling, offset, lateness, early, discarding";
    ("hopping", (YES, NO, NO)) => "hopping, lateness";
    ("hopping", (NO, YES, NO)) => "hopping, early";
    ("hopping", (YES, YES, NO)) => "hopping, lateness, early";
    ("hopping offset", (NO, NO, NO)) => "hopping, offset";
    ("hopping offset", (YES, NO, NO)) => "hopping, offset, lateness";
    ("hopping offset", (NO, YES, NO)) => "hopping, offset, early";
    ("hopping offset", (YES, YES, NO)) => "hopping, offset, lateness, early";
    ("session", (NO, NO, NO)) => "session";
    ("session", (YES, NO, NO)) => "session, lateness";
    ("session", (NO, YES, NO)) => "session, early";
    ("session", (YES, YES, NO)) => "session, lateness, early";
    ("session", (YES, NO, YES)) => "session, lateness, discarding";
    ("session", (NO, YES, YES)) => "session, early, discarding";
    ("session", (YES, YES, YES)) => "session, lateness, early, discarding";
}

// Count window, every, early, discarding; each with and without a ttl.
combinations! {
    RECORDS: (bool, bool, bool, bool), RECORD_NAMES;
    (YES, NO, NO, NO) => "count_window";
    (YES, NO, YES, NO) => "count_window, early";
    (YES, NO, YES, YES) => "count_window, early, discarding";
    (NO, NO, NO, NO) => "global";
    (NO, YES, NO, NO) => "global, every";
    (NO, NO, YES, NO) => "global, early";
    (NO, YES, YES, NO) => "global, every, early";
    (NO, YES, NO, YES) => "global, every, discarding";
    (NO, NO, YES, YES) => "global, early, discarding";
    (NO, YES, YES, YES) => "global, every, early, discarding";
}
