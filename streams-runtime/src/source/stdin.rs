//! Standard input as a source: read by its own thread, cut where it pauses, not readable a second time.

use std::io;
use std::sync::Arc;

use super::split::Splitter;
use super::{Input, Position, Quiet, reader};
use crate::codec::Shapes;
use crate::format::Format;
use crate::url::Url;

/// Starts to read standard input for the port with this index.
pub(crate) fn open(port: &'static str, index: usize, url: &Url, shapes: &Arc<Shapes>) -> Input {
    let (ours, theirs) = reader();
    let shapes = Arc::clone(shapes);
    // Not joined: a read of a terminal or pipe cannot be called off, and the process may end without it.
    std::thread::spawn(move || {
        let shape = shapes.input(index);
        let input = Box::new(io::stdin());
        let mut splitter = Splitter::new(input, shape.format(), true, Position::START);
        if shape.format() == Format::Csv {
            match splitter.header() {
                Ok(Some(columns)) => drop(shape.columns.set(columns)),
                Ok(None) => {}
                Err(error) => return theirs.fail(error.to_string()),
            }
        }
        theirs.run(splitter);
    });
    Input {
        port,
        url: url.as_str().to_owned(),
        path: None,
        total_bytes: None,
        file: None,
        position: Position::START,
        unread: 0,
        ended: false,
        grown: false,
        live: true,
        quiet: Quiet::new(None),
        reader: ours,
    }
}
