//! How a job's ports meet the world: traits that the embedding program implements once for all types.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::Cx;
use crate::effects::OutputBatch;
use crate::proof::{Fails, Holds, Never};
use crate::record::Rec;

/// What can come in through a port.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a source",
    label = "an input port of `{Self}`",
    note = "add `#[record]` to `{Self}`"
)]
pub trait Input<M = Holds>: DeserializeOwned + Send + 'static {
    crate::proof::told_once!(Input<M>);
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send + 'static> Input<Holds> for T {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<T: Never + DeserializeOwned + Send + 'static> Input<Fails> for T {
    crate::proof::holds!();
}

/// What can go out through a port.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to a sink",
    label = "an output port of `{Self}`",
    note = "add `#[record]` to `{Self}`"
)]
pub trait Output<M = Holds>: Serialize + Send + 'static {
    crate::proof::told_once!(Output<M>);
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + Send + 'static> Output<Holds> for T {
    crate::proof::holds!();
}

#[diagnostic::do_not_recommend]
impl<T: Never + Serialize + Send + 'static> Output<Fails> for T {
    crate::proof::holds!();
}

/// Turns the bytes of one record into a value, or makes values itself.
///
/// All operators behind a port are compiled for each kind of batch that it takes, so a source says which those are.
pub trait Source<T>: Send + 'static {
    /// It makes its records itself, and takes no bytes.
    const MAKES: bool = false;
    /// It takes values beside bytes, as tests have them.
    const TAKES_VALUES: bool = false;

    /// # Errors
    /// Why the bytes are no `T`, for a person to read; the record becomes a reject.
    fn decode(&mut self, bytes: &[u8]) -> Result<T, String>;

    /// Gives up to `most` values of its own making to `take`, one by one and in order, and says how many; fewer
    /// than `most` only when it has no more. A source of bytes has none.
    fn pull(&mut self, most: usize, take: impl FnMut(T)) -> usize
    where
        Self: Sized,
    {
        let _ = (most, take);
        0
    }
}

/// Takes the results of one output port.
pub trait Sink<T>: Send + 'static {
    /// One result with its event time in ms.
    fn accept(&mut self, ts: i64, value: T);

    /// Moves what has gathered behind what is in `out`, a line break behind each result; a sink that delivers
    /// elsewhere leaves it as it is.
    fn drain(&mut self, out: &mut OutputBatch);
}

/// What stands between the last operator and the sink of an output port; see [`crate::layout::Layout::End`].
pub trait End<K, T>: Send + 'static {
    /// One result.
    fn accept(&mut self, result: Rec<K, T>, cx: &mut Cx);

    /// Moves what has gathered into `out`.
    fn drain(&mut self, out: &mut OutputBatch);
}

/// A sink as it is: what a result's key is makes no difference.
#[derive(Debug)]
pub struct Plain<S>(pub(crate) S);

impl<K, T, S: Sink<T>> End<K, T> for Plain<S> {
    #[inline(always)]
    fn accept(&mut self, result: Rec<K, T>, _cx: &mut Cx) {
        self.0.accept(result.ts, result.val);
    }

    #[inline]
    fn drain(&mut self, out: &mut OutputBatch) {
        self.0.drain(out);
    }
}

/// A family of sources and sinks, one for each type of port.
pub trait Ports: 'static {
    /// Decodes a port's records.
    type Source<T: Input>: Source<T>;
    /// Takes a port's results.
    type Sink<T: Output>: Sink<T>;

    /// The decoder of the input port with this index and name.
    fn source<T: Input>(&mut self, index: usize, name: &'static str) -> Self::Source<T>;

    /// The sink of the output port with this index and name.
    fn sink<T: Output>(&mut self, index: usize, name: &'static str) -> Self::Sink<T>;
}
