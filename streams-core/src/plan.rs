//! Putting a job together: the calls that an expansion makes around its chain of operators.

use std::marker::PhantomData;

use crate::aggregate::{Argument, Limit, Rank};
use crate::chain::{Chain, Fronted};
use crate::context::Context;
use crate::error::BuildError;
use crate::exchange::combined::{Combines, Never};
use crate::join::JoinBound;
use crate::key::{Key, PortKey, Shuffled};
use crate::layout::{Assembly, Layout, Queue};
use crate::machine::{Assembled, Built, Entry, SourceEntry};
use crate::ports::{Input, Output, Ports, Source};
use crate::push::Push;
use crate::record::{NoKey, Rec};
use crate::setting::SettingType;
use crate::stream::{Head, Port, Returned, Stream};
use crate::tail::ToPort;
use crate::topology::{About, Node, SettingSpec, Topology};
use crate::window::WindowSpec;

/// A job: what `#[stream_job]` makes of a function.
#[diagnostic::on_unimplemented(
    message = "this is not a job",
    label = "`{Self}` is not a job",
    note = "add `#[stream_job]` to the function"
)]
pub trait Job: Sized + Send + Sync + 'static {
    /// Builds one machine of the job.
    ///
    /// # Errors
    /// When a setting or a window size that depends on one is wrong.
    fn build<L: Layout, P: Ports>(plan: Plan<L, P>) -> Built;

    /// The job's name and place.
    const ABOUT: About;

    /// The documentation of its function.
    const DOC: &'static str = "";

    /// Its parameters that are not streams.
    const SETTINGS: &'static [SettingSpec] = &[];

    /// Its graph: sources first, then operators, then sinks; a node's inputs stand before it.
    const NODES: &'static [Node];

    /// All of this in one.
    const TOPOLOGY: Topology = Topology {
        job: Self::ABOUT.job,
        doc: Self::DOC,
        file: Self::ABOUT.place.file(),
        line: Self::ABOUT.place.line(),
        settings: Self::SETTINGS,
        nodes: Self::NODES,
        fingerprint: Self::ABOUT.fingerprint,
    };
}

/// Texts of settings, by name; a setting that is not here has its default.
pub type Settings = std::collections::BTreeMap<String, String>;

/// What a job is built for: the layout of its stages, its ports, its settings.
#[derive(Debug)]
pub struct Plan<L, P> {
    layout: L,
    ports: P,
    settings: Settings,
    topology: &'static Topology,
    n_sources: usize,
}

impl<L: Layout, P: Ports> Plan<L, P> {
    /// A plan for the job `J`.
    #[must_use]
    pub fn new<J: Job>(layout: L, ports: P, settings: Settings) -> Self {
        Self { layout, ports, settings, topology: const { &J::TOPOLOGY }, n_sources: 0 }
    }

    /// Opens the next input port.
    pub fn source<S: Port, M>(
        &mut self,
        name: &'static str,
    ) -> <S::Item as Input<M>>::Proven<(Inlet<S::Item>, Head<S::Item>)>
    where
        S::Item: Input<M>,
    {
        let index = self.n_sources;
        self.n_sources += 1;
        S::Item::proven((Inlet { index, name, _type: PhantomData }, Head::head()))
    }

    /// Reads a setting: what was given, else the default.
    ///
    /// # Errors
    /// When there is neither or the text is no `T`.
    #[expect(clippy::needless_pass_by_value, reason = "a type is named where it is needed")]
    pub fn setting<T>(&self, name: &'static str, ty: SettingType<T>) -> Result<T, BuildError> {
        let wrong = |reason: String| BuildError::Setting { name: name.to_owned(), reason };
        if let Some(given) = self.settings.get(name) {
            return (ty.parse)(given).map_err(wrong);
        }
        let spec = self.topology.settings.iter().find(|spec| spec.name == name);
        let default = spec.and_then(|spec| spec.default);
        let default = default.ok_or_else(|| wrong("it has no default and must be given".to_owned()))?;
        (ty.parse)(default).map_err(|why| wrong(self.topology.wrong_default(default, &why)))
    }

    /// Checks a window whose size is known only now.
    ///
    /// # Errors
    /// When it is impossible.
    pub fn window<W: WindowSpec>(&self, spec: W) -> Result<W, BuildError> {
        match spec.problem() {
            None => Ok(spec),
            Some(reason) => {
                Err(BuildError::Window { job: self.topology.job.to_owned(), reason: reason.to_owned() })
            }
        }
    }

    /// Checks the bound of a join whose lengths are known only now.
    ///
    /// # Errors
    /// When it is impossible.
    pub fn join_bound<B: JoinBound>(&self, bound: B) -> Result<B::Proven<B>, BuildError> {
        match bound.problem() {
            None => Ok(B::proven(bound)),
            Some(reason) => {
                Err(BuildError::Window { job: self.topology.job.to_owned(), reason: reason.to_owned() })
            }
        }
    }

    /// Checks how many values an aggregate is to keep, where that is known only now.
    ///
    /// # Errors
    /// When it is none.
    pub fn limit<N: Argument<Limit>>(&self, limit: N) -> Result<N::Proven<N>, BuildError> {
        self.argument(limit.problem(), N::proven(limit))
    }

    /// Checks quantiles that are known only now.
    ///
    /// # Errors
    /// When one is not between 0 and 1.
    pub fn rank<N: Argument<Rank>>(&self, rank: N) -> Result<N::Proven<N>, BuildError> {
        self.argument(rank.problem(), N::proven(rank))
    }

    fn argument<N>(&self, problem: Option<&'static str>, argument: N) -> Result<N, BuildError> {
        match problem {
            None => Ok(argument),
            Some(reason) => {
                Err(BuildError::Argument { job: self.topology.job.to_owned(), reason: reason.to_owned() })
            }
        }
    }

    /// Ends the description and begins the wiring.
    #[must_use]
    pub fn machine<C: Context>(self) -> Wiring<L, P, C> {
        Wiring {
            assembly: Assembly { layout: self.layout, exchanges: Vec::new() },
            ports: self.ports,
            sources: Vec::new(),
        }
    }
}

/// The reading side of an input port, to be connected to its first node.
#[derive(Debug)]
pub struct Inlet<T> {
    index: usize,
    name: &'static str,
    _type: PhantomData<fn() -> T>,
}

/// The writing side of an output port; `S` is its stream type in the job's signature.
#[derive(Debug)]
pub struct Outlet<S> {
    index: usize,
    name: &'static str,
    _port: PhantomData<fn() -> S>,
}

/// The output port with this name and index.
#[must_use]
pub fn outlet<S: Port>(name: &'static str, index: usize) -> Outlet<S> {
    Outlet { index, name, _port: PhantomData }
}

/// A stream whose records can be written.
pub fn written<T: Output<M>, K, Tm, W, O, H, M>(
    stream: Stream<T, K, Tm, W, O, H>,
) -> T::Proven<Stream<T, K, Tm, W, O, H>> {
    T::proven(stream)
}

/// A machine under construction, wired from its ends to its sources.
pub struct Wiring<L, P, C> {
    assembly: Assembly<L, C>,
    ports: P,
    sources: Vec<(usize, Box<dyn Entry<C>>)>,
}

impl<L, P, C> std::fmt::Debug for Wiring<L, P, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wiring").finish_non_exhaustive()
    }
}

impl<L: Layout, P: Ports, C: Context> Wiring<L, P, C> {
    /// Ends a stream at an output port: the node in front of the port's sink.
    #[expect(clippy::needless_pass_by_value, reason = "an outlet has one sink")]
    pub fn sink<S: Port, T, K, Tm, W, O, H>(
        &mut self,
        outlet: Outlet<S>,
        stream: Stream<T, K, Tm, W, O, H>,
    ) -> Chain<O, ToPort<L::End<K, T, P::Sink<T>>>, H>
    where
        K: PortKey,
        T: Output + Returned<S::Item>,
    {
        let Outlet { index, name, .. } = outlet;
        stream.close().connect(ToPort { index, end: L::end(name, self.ports.sink(index, name)) })
    }

    /// The border between two stages; see [`Layout::border`].
    pub fn border<K, T, I, N, E>(
        &mut self,
        queue: Queue<K, T>,
        next: N,
        lift: fn(N) -> E,
    ) -> L::Border<K, T, I, N, Never>
    where
        K: Key,
        T: Shuffled,
        I: Context,
        N: Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        L::border(&mut self.assembly, queue, |_, _| None, next, lift)
    }

    /// A border right in front of an aggregate, which may bring records together before they cross it.
    pub fn combining<K, T, I, N, E>(
        &mut self,
        queue: Queue<K, T>,
        next: N,
        lift: fn(N) -> E,
    ) -> L::Border<K, T, I, N, <N::First as Combines<Rec<K, T>>>::Combiner>
    where
        K: Key,
        T: Shuffled,
        I: Context,
        N: Fronted<Rec<K, T>> + Push<Rec<K, T>, I> + Send + 'static,
        E: Push<Rec<K, T>, C> + Send + 'static,
    {
        L::border(&mut self.assembly, queue, |next, n_machines| next.front().combiner(n_machines), next, lift)
    }

    /// Connects an input port to its first node.
    #[expect(clippy::needless_pass_by_value, reason = "an inlet has one node")]
    pub fn source<T, N>(&mut self, inlet: Inlet<T>, node: N) -> &mut Self
    where
        T: Input,
        P::Source<T>: Source<T>,
        N: Push<Rec<NoKey, T>, C> + Send + 'static,
    {
        let Inlet { index, name, .. } = inlet;
        let source = self.ports.source::<T>(index, name);
        self.sources.push((index, Box::new(SourceEntry { port: name, source, node, _type: PhantomData })));
        self
    }

    /// The finished machine.
    ///
    /// # Errors
    /// None today; the signature leaves room for ports that cannot be opened.
    pub fn finish(&mut self, cx: C) -> Built {
        let mut sources = std::mem::take(&mut self.sources);
        sources.sort_by_key(|(index, _)| *index);
        let n_sources = sources.len();
        let entries = sources.into_iter().map(|(_, entry)| entry);
        let entries = entries.chain(self.assembly.exchanges.drain(..)).collect();
        Ok(Box::new(Assembled { n_sources, focus: None, entries, cx }.relayed()))
    }
}

/// The key of a result: the operator behind gets the original.
///
/// It is the key's own type by a way that rustc cannot go back: behind a `key_by` that is refused it would find the
/// key again in what the job returns, and refuse it again.
#[inline(always)]
pub fn cloned<K: ToOwned>(key: &K) -> K::Owned {
    key.to_owned()
}

/// A node that is an entry as it stands.
pub fn level<N>(node: N) -> N {
    node
}
