//! The topology of a job as a constant: what the compiler knows of it, for people and for start-up checks.

mod dot;
mod drawing;
mod json;
mod mermaid;
mod svg;
mod text;

use crate::setting::SettingType;

pub use drawing::Rendering;

/// A job's graph, settings and origin.
#[derive(Debug, Clone, Copy)]
pub struct Topology {
    /// The function's name.
    pub job: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// File of the function.
    pub file: &'static str,
    /// Its line there.
    pub line: u32,
    /// Parameters that are not streams.
    pub settings: &'static [SettingSpec],
    /// Operators, sources first; a node's inputs have smaller indices.
    pub nodes: &'static [Node],
    /// A hash over the job's tokens.
    pub fingerprint: u64,
}

/// A job's name and origin; the part of a [`Topology`] that is neither its graph nor its settings.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub(crate) job: &'static str,
    pub(crate) fingerprint: u64,
    pub(crate) place: &'static std::panic::Location<'static>,
}

/// The job of this name, at the place of the call.
#[must_use]
#[track_caller]
pub const fn about(job: &'static str, fingerprint: u64) -> About {
    About { job, fingerprint, place: std::panic::Location::caller() }
}

/// One operator, source or sink.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// Its kind: `source`, `sink` or the operator's name in the language.
    pub kind: &'static str,
    /// The port's name, or the operator's id where it has one, else empty.
    pub name: &'static str,
    /// Indices of the nodes it reads.
    pub inputs: &'static [usize],
    /// Its arguments as the user wrote them; the type of a port.
    pub text: &'static str,
    /// Line in the source file.
    pub line: u32,
    /// Why it may do what breaks replay, where the job says so.
    pub impure: Option<&'static str>,
}

impl Node {
    /// A node; expansions use it to stay short.
    #[must_use]
    pub const fn new(
        kind: &'static str,
        name: &'static str,
        inputs: &'static [usize],
        text: &'static str,
        line: u32,
    ) -> Self {
        Self { kind, name, inputs, text, line, impure: None }
    }

    /// The node, which may break replay for this reason.
    #[must_use]
    pub const fn impure(mut self, reason: &'static str) -> Self {
        self.impure = Some(reason);
        self
    }

    /// Whether it joins two streams, which meet in front of a shuffle.
    fn is_join(&self) -> bool {
        matches!(
            self.kind,
            "join" | "left_join" | "right_join" | "full_join" | "join_table" | "left_join_table"
        )
    }
}

/// One setting: a parameter of the job that is not a stream.
#[derive(Debug, Clone, Copy)]
pub struct SettingSpec {
    /// The parameter's name.
    pub name: &'static str,
    /// Text of the default; without one the setting must be given.
    pub default: Option<&'static str>,
    /// The parameter's documentation.
    pub doc: &'static str,
    /// What a value looks like, e.g. `DURATION`.
    pub placeholder: &'static str,
    /// Checks a text without building the job.
    pub check: fn(&str) -> Result<(), String>,
}

impl SettingSpec {
    /// The setting `name` of this type.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a type is named where it is needed")]
    pub const fn new<T>(
        name: &'static str,
        default: Option<&'static str>,
        doc: &'static str,
        ty: SettingType<T>,
    ) -> Self {
        let default = match default {
            Some(default) => Some(default),
            None => ty.absent,
        };
        Self { name, default, doc, placeholder: ty.placeholder, check: ty.check }
    }
}

impl Topology {
    /// The sources, in the order of the job's parameters.
    pub fn sources(&self) -> impl Iterator<Item = &'static Node> {
        self.nodes.iter().filter(|node| node.kind == "source")
    }

    /// The sinks, in the order of the job's outputs.
    pub fn sinks(&self) -> impl Iterator<Item = &'static Node> {
        self.nodes.iter().filter(|node| node.kind == "sink")
    }

    /// Tells whoever runs the job that not they are wrong but its source, and why.
    #[must_use]
    pub fn wrong_default(&self, default: &str, why: &str) -> String {
        let Self { job, file, line, .. } = self;
        format!(
            "its default in the source of `{job}` is wrong ({file}:{line}): {why}; correct `#[arg(default = {default:?})]` there, or give the setting a value"
        )
    }

    /// Whether an operator may give something else when a record is read again: what it gives may then leave only
    /// with the commit that has it.
    #[must_use]
    pub fn may_break_replay(&self) -> bool {
        self.nodes.iter().any(|node| node.impure.is_some())
    }

    /// Whether the results of a stage leave only with the commit that has them: they depend on more than its input,
    /// which is the rows of a table (unless the run is told that they never change), what time it is, or an operator
    /// that [may break replay](Self::may_break_replay). A run may hold a source besides, where inputs may be idle.
    #[must_use]
    pub fn is_held(&self, stage: usize) -> bool {
        let asks = |node: &Node| matches!(node.kind, "lookup" | "left_lookup" | "processing_time");
        let mut nodes = self.nodes.iter().zip(self.stages());
        self.may_break_replay() || nodes.any(|(node, at)| at == stage && asks(node))
    }

    /// The stage of each node: how many shuffles lie between it and a source.
    #[must_use]
    pub fn stages(&self) -> Vec<usize> {
        let mut stages: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let deferred = self.deferred();
        for node in self.nodes {
            let upstream = node.inputs.iter().filter_map(|&input| {
                let keyed = self.nodes.get(input).is_some_and(|n| n.kind == "key_by");
                let crossed = usize::from(keyed && !deferred.contains(&input)) + usize::from(node.is_join());
                stages.get(input).map(|stage| stage + crossed)
            });
            stages.push(upstream.max().unwrap_or(0));
        }
        stages
    }

    /// The `key_by`s whose shuffle is that of the join behind them, as the compiler decides it: nobody but the
    /// join reads what they key, and nothing in between looks at more than one record.
    fn deferred(&self) -> Vec<usize> {
        let reads = |node: usize| self.nodes.iter().flat_map(|n| n.inputs).filter(|&&i| i == node).count();
        let sides = self.nodes.iter().filter(|node| node.is_join()).flat_map(|node| node.inputs);
        let key_by = |&side: &usize| {
            let mut at = side;
            loop {
                let node = self.nodes.get(at).filter(|_| reads(at) == 1)?;
                match node.kind {
                    "key_by" => return Some(at),
                    "filter" | "map" | "filter_map" | "flat_map" | "try_map" | "inspect" | "through" => {
                        at = *node.inputs.first()?;
                    }
                    _ => return None,
                }
            }
        };
        sides.filter_map(key_by).collect()
    }
}

#[cfg(test)]
mod tests;
