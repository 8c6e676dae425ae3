//! Records as text: how a job's ports decode and encode JSON lines, CSV and plain lines.
//!
//! [`TextPorts`] is what a machine is built with. Which format a port has depends on its type as well as on
//! its URL, so it is settled while the machine is built and read from [`Shapes`] afterwards. Splitting bytes
//! into records is not done here but in [`crate::source`].

pub(crate) mod asks;
pub(crate) mod decode;
pub(crate) mod encode;

use std::any::TypeId;
use std::sync::{Arc, OnceLock};

use streams_core::ports::{Input, Output, Ports};

use crate::format::Format;
use crate::url::Url;
use decode::TextSource;
use encode::TextSink;

/// What is settled about the ports of a run, shared by all its machines, readers and writers.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    inputs: Vec<InputShape>,
    outputs: Vec<OutputShape>,
}

/// One input port.
#[derive(Debug, Default)]
pub(crate) struct InputShape {
    asked: Option<Format>,
    by_name: Option<Format>,
    format: OnceLock<Format>,
    /// The header of a CSV input, set by the reader before its first batch.
    pub(crate) columns: OnceLock<csv::StringRecord>,
}

/// One output port.
#[derive(Debug, Default)]
pub(crate) struct OutputShape {
    format: Option<Format>,
    /// The header line of a CSV output, set by the sink before its first row.
    pub(crate) header: OnceLock<Vec<u8>>,
}

impl Shapes {
    /// The shapes of ports with these addresses.
    pub(crate) fn new(from: &[Url], to: &[Url]) -> Arc<Self> {
        let by_name = |url: &Url| url.path().and_then(Format::of_path);
        let inputs = from.iter().map(|url| InputShape {
            asked: url.format(),
            by_name: by_name(url),
            ..InputShape::default()
        });
        let outputs = to.iter().map(|url| OutputShape {
            format: url.format().or_else(|| by_name(url)),
            header: OnceLock::new(),
        });
        Arc::new(Self { inputs: inputs.collect(), outputs: outputs.collect() })
    }

    /// The input port with this index.
    pub(crate) fn input(&self, index: usize) -> &InputShape {
        self.inputs.get(index).expect("every input port of the job was bound before the run")
    }

    /// The output port with this index.
    pub(crate) fn output(&self, index: usize) -> &OutputShape {
        self.outputs.get(index).expect("every output port of the job was bound before the run")
    }
}

impl InputShape {
    /// The format, once a machine has been built.
    pub(crate) fn format(&self) -> Format {
        self.format.get().copied().or(self.asked).or(self.by_name).unwrap_or(Format::Json)
    }
}

impl InputShape {
    /// The columns of a CSV input whose header has been read.
    pub(crate) fn column_names(&self) -> Option<Vec<String>> {
        self.columns.get().map(|columns| columns.iter().map(str::to_owned).collect())
    }
}

impl OutputShape {
    /// The format.
    pub(crate) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Json)
    }
}

/// Sources and sinks of text for the ports of one machine.
#[derive(Debug, Clone)]
pub(crate) struct TextPorts {
    shapes: Arc<Shapes>,
}

impl TextPorts {
    /// For ports of these shapes.
    pub(crate) fn new(shapes: &Arc<Shapes>) -> Self {
        Self { shapes: Arc::clone(shapes) }
    }
}

impl Ports for TextPorts {
    type Source<T: Input> = TextSource<T>;
    type Sink<T: Output> = TextSink<T>;

    fn source<T: Input>(&mut self, index: usize, _name: &'static str) -> TextSource<T> {
        let shape = self.shapes.input(index);
        let text = (TypeId::of::<T>() == TypeId::of::<String>()).then_some(Format::Lines);
        let format = shape.asked.or(text).or(shape.by_name).unwrap_or(Format::Json);
        let format = *shape.format.get_or_init(|| format);
        TextSource::new(format, Arc::clone(&self.shapes), index)
    }

    fn sink<T: Output>(&mut self, index: usize, _name: &'static str) -> TextSink<T> {
        TextSink::new(self.shapes.output(index).format(), Arc::clone(&self.shapes), index)
    }
}
