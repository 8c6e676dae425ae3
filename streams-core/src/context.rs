//! What every node of a machine can reach while a record runs through it.

use crate::effects::{Origin, Reject};

/// The context of a machine: the base [`Cx`], under the unions that the machine's parts share.
pub trait Context: Send + 'static {
    /// The base.
    fn base(&mut self) -> &mut Cx;
}

/// The base context: where the running record came from, and what became of records that failed.
#[derive(Debug)]
pub struct Cx {
    /// The record of the current batch that is running, when it has a position.
    pub(crate) origin: Origin,
    pub(crate) rejects: Vec<Reject>,
}

impl Cx {
    /// The context of a machine without unions.
    #[expect(clippy::new_without_default, reason = "named in expansions, where `new` reads better")]
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Origin::None, rejects: Vec::new() }
    }

    /// A record failed in `operator`; `value` is how it looked there, as JSON, where it can be shown.
    #[cold]
    pub(crate) fn reject(&mut self, operator: &'static str, error: String, value: Option<String>) {
        self.rejects.push(Reject { origin: self.origin, operator, error, value, key: None });
    }

    /// The result of a key failed in `operator`; it belongs to no single record.
    #[cold]
    pub(crate) fn reject_result(&mut self, operator: &'static str, error: String, key: Option<String>) {
        self.rejects.push(Reject { origin: self.origin, operator, error, value: None, key });
    }
}

impl Context for Cx {
    #[inline(always)]
    fn base(&mut self) -> &mut Cx {
        self
    }
}

impl<M: Send + 'static, C: Context> Context for (M, C) {
    #[inline(always)]
    fn base(&mut self) -> &mut Cx {
        self.1.base()
    }
}
