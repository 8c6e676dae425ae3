//! Wires a run together: machines, inputs, outputs, state; and says what a person should know about it.
//!
//! The order matters and is the one below: nothing is written before everything has been checked, and the
//! first snapshot is committed before the first record is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use streams_core::machine::Machine;
use streams_core::store::memory::MemoryStore;
use streams_core::store::{Delta, Store};
use streams_core::topology::Topology;

use crate::cli::RunConfig;
use crate::clock::Clock;
use crate::codec::{Shapes, TextPorts};
use crate::commit::Committer;
use crate::deadletter::{DeadLetters, OnBad};
use crate::driver::End;
use crate::driver::single::Single;
use crate::driver::spill::{self, Spill};
use crate::driver::workers::Workers;
use crate::error::{Error, ErrorKind};
use crate::format::Format;
use crate::job::JobHandle;
use crate::progress::{Progress, Results};
use crate::report::{Counters, Outcome, Report};
use crate::session::{Fed, Session};
use crate::signals::StopFlag;
use crate::sink::{self, Start, Writer};
use crate::snapshot::{OutputMark, Snapshot, machine_prefix};
use crate::source::split::LastLine;
use crate::source::{self, Inputs, Quiet};
use crate::tables::Tables;
use crate::undo::{Commits, Undo};
use crate::url::Place;
use crate::wording::grouped;

/// A run that was ended by a failure has numbers all the same.
pub(crate) type Ended = (Counters, Result<Outcome, Error>);

/// Runs the job.
pub(crate) fn run(job: JobHandle, config: &RunConfig) -> Ended {
    match prepare(job, config) {
        Ok(Prepared::Ready(mut ready)) => {
            let result = ready.run();
            ready.session.progress.clear();
            let failed = result.is_err();
            (if failed { ready.session.standing() } else { ready.session.totals() }, result)
        }
        Ok(Prepared::Finished(counters)) => (counters, Ok(Outcome::AlreadyDone)),
        Err(error) => (Counters::default(), Err(error)),
    }
}

/// Says what a person should know while the job runs.
pub(crate) fn note(text: &str) {
    let _ = std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("note: {text}\n"));
}

struct Ready {
    job: JobHandle,
    session: Session,
    machines: Vec<(Box<dyn Machine>, Option<Undo>)>,
    spill: Option<Spill>,
    state: Option<String>,
    /// Reads them again as long as it is here.
    _tables: Tables,
}

enum Prepared {
    Ready(Box<Ready>),
    Finished(Counters),
}

fn prepare(job: JobHandle, config: &RunConfig) -> Result<Prepared, Error> {
    let topology = job.topology;
    let shapes = Shapes::new(&config.from, &config.to);
    let job = job.bound(&config.settings, config.workers, TextPorts::new(&shapes));
    // Settings and window sizes are checked here, and the formats of ports are known behind it.
    drop(job.machine()?);
    let tables = Tables::open(&job, config)?;

    let memory = config.memory.map(spill::of_store);
    let open = |dir| crate::store::open_within(dir, config.store, memory);
    let store = config.state.as_deref().map(open).transpose().map_err(Error::state)?;
    let found = store.as_deref().map(Snapshot::load).transpose()?.flatten();
    if let Some(snapshot) = &found {
        snapshot.admits(topology, config.workers)?;
        if snapshot.fingerprint != topology.fingerprint {
            note("the job's code has changed since the state was written; it goes on with the new code");
        }
    }
    // In front of the inputs, and also where nothing is left to do: nothing is opened for a mistake.
    let starts = Starts::check(topology, config, &shapes, found.as_ref())?;
    let inputs = open_inputs(topology, config, &shapes, found.as_ref())?;
    if let Some(snapshot) = found.as_ref().filter(|snapshot| snapshot.is_finished()) {
        let grown: Vec<String> =
            inputs.ports.iter().filter(|input| input.grown).map(source::Input::shown).collect();
        if grown.is_empty() {
            note("all input was read by an earlier run; nothing to do");
            inputs.ports.iter().filter_map(source::Input::left).for_each(|text| note(&text));
            return Ok(Prepared::Finished(snapshot.counters));
        }
        note(&format!(
            "{} grown since the end of an earlier run; going on there, with the watermark from before that end",
            if let [only] = grown.as_slice() {
                format!("{only} has")
            } else {
                format!("{} have", grown.join(", "))
            }
        ));
    } else if let Some(snapshot) = found.as_ref().filter(|snapshot| snapshot.id > 0) {
        let places = inputs
            .ports
            .iter()
            .map(|input| format!("{} line {}", input.shown(), grouped(input.position.line)));
        note(&format!(
            "resuming from checkpoint {} at {}",
            grouped(snapshot.id),
            places.collect::<Vec<_>>().join(", ")
        ));
    }
    let (outputs, letters) = starts.open(topology, config, &shapes)?;
    // Opening a pipe waits for its other end; until here a signal ends the process at once, and nothing is lost.
    let stop =
        StopFlag::listen().map_err(|error| Error::state(format!("cannot listen for signals: {error}")))?;

    let empty = MemoryStore::new();
    let rows: &dyn Store = store.as_deref().unwrap_or(&empty);
    let commits = if store.is_some() { Commits::Some } else { Commits::None };
    let ended: Vec<usize> =
        inputs.ports.iter().enumerate().filter(|(_, input)| input.ended).map(|(port, _)| port).collect();
    let reads = store.as_ref().and_then(|store| store.reads());
    let mut spill = config.memory.zip(reads).map(|(budget, reads)| Spill::new(budget, reads));
    let mut machines = Vec::new();
    if let Some(spill) = &mut spill {
        let machine = job.machine_over(spill.again(), &machine_prefix(0), &ended, &[])?;
        machines.push((machine, None));
    }
    for index in machines.len()..config.workers {
        let prefix = machine_prefix(index);
        let undo = config.on_bad == OnBad::Stop && job.rejects_late();
        let undo = undo.then(|| Undo::new(rows, prefix, commits)).transpose()?;
        machines.push((job.machine_with(rows, &prefix, &ended)?, undo));
    }

    let first = found.is_none();
    let snapshot = found.unwrap_or_else(|| Snapshot::first(topology, &config.settings, config.workers));
    let fed = inputs.ports.iter().map(|input| Fed { position: input.position, ended: input.ended });
    let bytes_before = inputs.ports.iter().map(|input| input.position.offset).sum();
    let shown = outputs.iter().any(|writer| writer.results() == Results::OnTerminal);
    let results = if shown { Results::OnTerminal } else { Results::Elsewhere };
    let mut session = Session {
        fed: fed.collect(),
        turn: inputs.turn,
        inputs,
        shapes,
        outputs,
        letters,
        on_bad: config.on_bad,
        counters: snapshot.counters,
        begun: snapshot.counters,
        durable: snapshot.counters,
        progress: Progress::start(snapshot.counters.records_in, bytes_before, results),
        snapshot,
        committer: None,
        interval: config.checkpoint_interval,
        last_checkpoint: Instant::now(),
        changed: false,
        started: Instant::now(),
        stop,
    };
    // What the row says about code and settings is from now on what runs.
    session.snapshot.fingerprint = topology.fingerprint;
    session.snapshot.settings = config.settings.clone();
    if let Some(store) = store {
        session.committer = Some(Committer::start(store));
        if first {
            session.begin()?;
        } else {
            session.declare_outputs()?;
        }
    }
    let state = config.state.as_ref().map(|dir| dir.display().to_string());
    Ok(Prepared::Ready(Box::new(Ready { job, session, machines, spill, state, _tables: tables })))
}

impl Session {
    /// Commits snapshot 0 before the first record, so that a crash at any later moment finds where the job
    /// began.
    fn begin(&mut self) -> Result<(), Error> {
        self.checkpoint_as(0, Delta::new())?;
        self.wait()
    }
}

impl Ready {
    fn run(&mut self) -> Result<Outcome, Error> {
        let machines = std::mem::take(&mut self.machines);
        let end = if machines.len() == 1 {
            let mut machines = machines.into_iter();
            let (machine, undo) = machines.next().expect("its length was just looked at");
            let clock = Clock::of(self.job.topology);
            let (spill, session) = (self.spill.take(), &mut self.session);
            Single { job: &self.job, session, machine, undo, spill, clock, read_ms: None }.run()
        } else {
            Workers::start(&self.job, &mut self.session, machines).run()
        };
        self.session.progress.clear();
        match end? {
            End::Input => Ok(Outcome::Done),
            End::Signal => {
                note(&match &self.state {
                    Some(dir) => format!("stopped by a signal; run it again with --state {dir} to go on"),
                    None => "stopped by a signal; results of open windows were not written, and without --state DIR the next run begins anew".to_owned(),
                });
                Ok(Outcome::Interrupted)
            }
        }
    }
}

fn open_inputs(
    topology: &Topology,
    config: &RunConfig,
    shapes: &Arc<Shapes>,
    found: Option<&Snapshot>,
) -> Result<Inputs, Error> {
    let last_line = if config.state.is_some() { LastLine::LeftUnlessWhole } else { LastLine::Taken };
    let mut ports = Vec::new();
    for (index, (node, url)) in topology.sources().zip(&config.from).enumerate() {
        let mark = found.and_then(|snapshot| snapshot.sources.iter().find(|mark| mark.port == node.name));
        ports.push(match url.place() {
            Place::File(_) => source::file::open(node.name, index, url, shapes, mark, last_line)?,
            _ => source::stdin::open(node.name, index, url, shapes),
        });
    }
    for (input, after) in ports.iter_mut().zip(&config.idle_after) {
        // What is read to its end is not quiet but slow, and its turn in the order of inputs must not be missed.
        input.quiet = Quiet::new(after.filter(|_| input.live));
    }
    Ok(Inputs { turn: found.map_or(0, |snapshot| snapshot.turn), ports, held_back: None })
}

/// How the outputs of a run begin.
struct Starts {
    ports: Vec<Start>,
    letters: Start,
}

impl Starts {
    /// Compares all outputs with the snapshot, and touches none of them.
    fn check(
        topology: &Topology,
        config: &RunConfig,
        shapes: &Shapes,
        found: Option<&Snapshot>,
    ) -> Result<Self, Error> {
        let start = |mark: Option<&OutputMark>| match (mark, &config.state) {
            (Some(mark), _) => Start::Resume(mark.clone()),
            (None, Some(_)) => Start::New,
            (None, None) => Start::Overwrite,
        };
        let mut ports = Vec::new();
        for (index, (node, url)) in topology.sinks().zip(&config.to).enumerate() {
            let mark = found.and_then(|snapshot| snapshot.outputs.iter().find(|mark| mark.port == node.name));
            let (start, format) = (start(mark), shapes.output(index).format());
            match url.place() {
                Place::File(path) => sink::file::check(&label(node.name), path, format, &start)?,
                _ => sink::print::check(&label(node.name), format, &start)?,
            }
            ports.push(start);
        }
        let mark = found.and_then(|snapshot| snapshot.dead_letters.as_ref());
        let letters = start(mark);
        match (&config.dead_letter, mark) {
            (Some(path), _) => sink::file::check(DEAD_LETTER, path, Format::Json, &letters)?,
            (None, Some(mark)) => {
                return Err(Error::usage(format!(
                    "--dead-letter: the state writes dead letters to {url}; add --dead-letter {url}",
                    url = mark.url
                )));
            }
            (None, None) => {}
        }
        Ok(Self { ports, letters })
    }

    fn open(
        &self,
        topology: &Topology,
        config: &RunConfig,
        shapes: &Shapes,
    ) -> Result<(Vec<Writer>, DeadLetters), Error> {
        let remedy = match &config.state {
            Some(dir) => format!("the job can be resumed with --state {}", dir.display()),
            None => "run it again".to_owned(),
        };
        let mut outputs = Vec::new();
        for (index, ((node, url), start)) in topology.sinks().zip(&config.to).zip(&self.ports).enumerate() {
            let (label, format) = (label(node.name), shapes.output(index).format());
            let mut writer = match url.place() {
                Place::File(path) => sink::file::open(label, node.name, path, format, start)?,
                _ => sink::print::open(label, node.name, format, start)?,
            };
            writer.set_remedy(remedy.clone());
            outputs.push(writer);
        }
        if config.state.is_some() && outputs.iter().any(|writer| !writer.is_exact()) {
            note(
                "what is printed is printed at least once: after a crash the lines since the last checkpoint come again",
            );
        }
        let open =
            |path: &PathBuf| sink::file::open(DEAD_LETTER.to_owned(), "", path, Format::Json, &self.letters);
        let mut letters = config.dead_letter.as_ref().map(open).transpose()?;
        if let Some(writer) = &mut letters {
            writer.set_remedy(remedy);
        }
        Ok((outputs, DeadLetters::new(config.on_bad, letters)))
    }
}

/// What the dead letters' file is called in messages.
const DEAD_LETTER: &str = "--dead-letter";

fn label(port: &str) -> String {
    format!("port `{port}`")
}

/// Ends a run for people and programs: summary, report, errors; gives the exit code.
pub(crate) fn conclude(topology: &Topology, config: &RunConfig, ended: Ended) -> u8 {
    let (counters, result) = ended;
    let outcome = match &result {
        Ok(outcome) => *outcome,
        Err(error) if matches!(error.kind(), ErrorKind::ReaderGone) => Outcome::ReaderGone,
        Err(_) => Outcome::Failed,
    };
    let report = Report { counters, outcome };
    let mut code = 0;
    if let Err(error) = &result {
        code = error.exit_code();
        if outcome == Outcome::Failed {
            crate::tell(error);
        }
    }
    if code != 2
        && let Some(path) = &config.report
        && let Err(error) = std::fs::write(path, report.to_json())
    {
        crate::tell(&Error::output(format!("cannot write the report {}: {error}", path.display())));
        code = code.max(1);
    }
    let ran = matches!(outcome, Outcome::Done | Outcome::AlreadyDone | Outcome::Interrupted);
    if ran || (code == 1 && counters.records_in > 0) {
        let text = report.summary(topology.job);
        let _ = std::io::Write::write_fmt(&mut std::io::stderr().lock(), format_args!("{text}\n"));
    }
    code
}
