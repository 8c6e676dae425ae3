//! The ports of a run inside a program: an iterator is the source, a [`Gather`] the sink.
//!
//! A family of ports has a source for every type, and the iterator has records of one; which that is, is asked
//! where the machine is compiled, so that nothing of it is left in the loop.

use std::any::{TypeId, type_name};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use streams_core::effects::OutputBatch;
use streams_core::error::BuildError;
use streams_core::ports::{Input, Output, Ports, Sink, Source};

use super::Gather;

/// Where a sink leaves what it gathered.
pub(super) type Slot<G> = Arc<Mutex<G>>;

/// What is in the slot, once the machine is gone.
pub(super) fn taken<G: Default>(slot: &Slot<G>) -> G {
    std::mem::take(&mut slot.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What is wrong with the ports.
pub(super) type Problems = Arc<Mutex<Vec<BuildError>>>;

/// The first of them.
pub(super) fn first(problems: &Problems) -> Option<BuildError> {
    problems.lock().unwrap_or_else(PoisonError::into_inner).drain(..).next()
}

/// The ports of one machine.
pub(super) struct Inside<I, R, G> {
    records: Option<I>,
    slot: Slot<G>,
    problems: Problems,
    _results: PhantomData<fn(R)>,
}

impl<I, R, G> Inside<I, R, G> {
    pub(super) fn new(records: I, slot: &Slot<G>) -> Self {
        Self {
            records: Some(records),
            slot: Arc::clone(slot),
            problems: Arc::default(),
            _results: PhantomData,
        }
    }

    pub(super) fn problems(&self) -> Problems {
        Arc::clone(&self.problems)
    }

    fn wrong(&self, port: &str, reason: String) {
        let problem = BuildError::Port { port: port.to_owned(), reason };
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
    }
}

impl<I, R, G> Ports for Inside<I, R, G>
where
    I: Iterator<Item: Input> + Send + 'static,
    R: Output,
    G: Gather<R>,
{
    type Source<T: Input> = Made<I>;
    type Sink<T: Output> = Gathered<R, G>;

    fn source<T: Input>(&mut self, _index: usize, name: &'static str) -> Made<I> {
        if TypeId::of::<T>() != TypeId::of::<I::Item>() {
            let (port, given) = (type_name::<T>(), type_name::<I::Item>());
            self.wrong(name, format!("it takes `{port}`, and the iterator gives `{given}`"));
        }
        Made { records: self.records.take() }
    }

    fn sink<T: Output>(&mut self, _index: usize, name: &'static str) -> Gathered<R, G> {
        if TypeId::of::<T>() != TypeId::of::<R>() {
            let (port, taken) = (type_name::<T>(), type_name::<R>());
            self.wrong(name, format!("it gives `{port}`, and the program gathers `{taken}`"));
        }
        Gathered { gathered: G::default(), slot: Arc::clone(&self.slot), _results: PhantomData }
    }
}

/// The value as a `T`, which it is: [`Inside`] compared the types.
#[inline(always)]
fn same<A: 'static, T: 'static>(value: A) -> T {
    castaway::cast!(value, T)
        .unwrap_or_else(|_| unreachable!("a port of another type is refused before the run"))
}

/// A source whose records an iterator makes.
pub(super) struct Made<I> {
    /// Gone with the first source: there is one input.
    records: Option<I>,
}

impl<T: Input, I: Iterator<Item: Input> + Send + 'static> Source<T> for Made<I> {
    const MAKES: bool = true;

    fn decode(&mut self, _bytes: &[u8]) -> Result<T, String> {
        Err("this port takes records that the program makes, and no bytes".to_owned())
    }

    #[inline(always)]
    fn pull(&mut self, most: usize, mut take: impl FnMut(T)) -> usize {
        let Some(records) = &mut self.records else { return 0 };
        if most == 0 {
            return 0;
        }
        // The iterator runs its own loop, which leaves nothing between what it makes and what takes it; how many are
        // left to make goes from round to round in a register.
        let left = records.try_fold(most, |left, record| {
            take(same(record));
            match left - 1 {
                0 => ControlFlow::Break(()),
                left => ControlFlow::Continue(left),
            }
        });
        match left {
            ControlFlow::Continue(left) => most - left,
            ControlFlow::Break(()) => most,
        }
    }
}

/// A sink that gives its results to a value of the program's.
pub(super) struct Gathered<R, G: Default> {
    gathered: G,
    slot: Slot<G>,
    _results: PhantomData<fn(R)>,
}

impl<T: Output, R: Output, G: Gather<R>> Sink<T> for Gathered<R, G> {
    #[inline(always)]
    fn accept(&mut self, ts: i64, value: T) {
        self.gathered.gather(ts, same(value));
    }

    /// Nothing leaves before the machine does.
    fn drain(&mut self, _out: &mut OutputBatch) {}
}

impl<R, G: Default> Drop for Gathered<R, G> {
    fn drop(&mut self) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.gathered);
    }
}
