//! A job as the simulator sees it: how its machines are made, which stages it has, what its ports take.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::draw::{self, Draw};
use crate::effects::OutputBatch;
use crate::error::BuildError;
use crate::layout::{Fused, Layout, Sharded};
use crate::lookup::{Row, Tables};
use crate::machine::{Built, Machine};
use crate::plan::{Job, Plan, Settings};
use crate::ports::{Input, Output, Ports, Sink, Source};
use crate::protocol::ids::{Stage, Topic};
use crate::protocol::stages::{self, StagePlan};
use crate::topology::Node;

/// Makes one record of a port's type.
pub(crate) type Make = fn(&mut Draw<'_>) -> Result<String, String>;

/// A job without its type.
#[derive(Clone)]
pub(crate) struct Blueprint {
    fused: fn(Fused, Json, Settings) -> Built,
    sharded: fn(Sharded, Json, Settings) -> Built,
    settings: Settings,
    /// By input port.
    pub(crate) makers: Vec<Make>,
    pub(crate) n_sources: usize,
    pub(crate) stages: Vec<StagePlan>,
    /// Whether results depend on nothing but the set of the records, as long as none is late.
    pub(crate) order_free: bool,
    /// Whether rows are dropped when their time is over, and when that is makes no difference.
    pub(crate) forgets: bool,
    /// By address: the rows of tables that are looked up.
    pub(crate) tables: Vec<(String, RowsOf)>,
    /// Addresses of tables whose rows never change.
    fixed: BTreeSet<String>,
}

/// Makes the rows of a version of a table, as JSON.
pub(crate) type RowsOf = Arc<dyn Fn(u64) -> Vec<String> + Send + Sync>;

impl Blueprint {
    pub(crate) fn of<J: Job>(
        settings: &Settings,
        tables: Vec<(String, RowsOf)>,
        fixed: BTreeSet<String>,
    ) -> Result<Self, BuildError> {
        let mut blueprint = Self {
            fused: build::<J, Fused>,
            sharded: build::<J, Sharded>,
            settings: settings.clone(),
            makers: Vec::new(),
            n_sources: J::TOPOLOGY.sources().count(),
            stages: Vec::new(),
            tables,
            fixed,
            forgets: J::TOPOLOGY.nodes.iter().any(forgets),
            order_free: !J::TOPOLOGY.nodes.iter().any(is_of_order),
        };
        let ports = Json::default();
        (blueprint.sharded)(Sharded { n_queues: Vec::new() }, ports.clone(), settings.clone())?;
        let mut makers = ports.makers.borrow().clone();
        makers.sort_by_key(|(index, _)| *index);
        blueprint.makers = makers.into_iter().map(|(_, make)| make).collect();
        blueprint.stages = stages::stages(|| {
            let sharded = Sharded { n_queues: Vec::new() };
            (blueprint.sharded)(sharded, Json::default(), settings.clone())
        })?;
        blueprint.order_free &= !blueprint.stages.iter().any(|stage| blueprint.looks_up(stage));
        Ok(blueprint)
    }

    /// Puts the rows of a version into all tables.
    pub(crate) fn fill(&self, tables: &Tables, version: u64) {
        for bound in tables.bound() {
            let Some((_, rows)) = self.tables.iter().find(|(address, _)| **address == *bound.address) else {
                continue;
            };
            let mut filling = bound.rows.fill();
            for row in rows(version) {
                let added = filling.add(&Row::Json(row.clone().into_bytes()));
                added.unwrap_or_else(|why| panic!("the row {row} of {}: {why}", bound.address));
            }
            filling.finish();
        }
    }

    /// Whether the results of a stage depend on rows that change.
    pub(crate) fn looks_up(&self, stage: &StagePlan) -> bool {
        stage.tables.iter().any(|address| !self.fixed.contains(&**address))
    }

    /// Whether there are tables that change.
    pub(crate) fn has_changing_tables(&self) -> bool {
        self.tables.iter().any(|(address, _)| !self.fixed.contains(address))
    }

    /// How many shuffles there are.
    pub(crate) fn n_exchanges(&self) -> usize {
        self.stages.len() - self.n_sources
    }

    /// The machine of one stage, for one of its splits.
    pub(crate) fn machine(&self, stage: Stage, n_queues: &[usize]) -> Box<dyn Machine> {
        let sharded = Sharded { n_queues: n_queues.to_vec() };
        let built = (self.sharded)(sharded, Json::default(), self.settings.clone());
        let mut machine = built.expect("it was built before with the same settings");
        machine.focus(usize::from(stage.0));
        machine
    }

    /// The whole job as one machine.
    pub(crate) fn whole(&self) -> Box<dyn Machine> {
        let built = (self.fused)(Fused, Json::default(), self.settings.clone());
        built.expect("it was built before with the same settings")
    }

    /// The output ports that something reaches.
    pub(crate) fn outputs(&self) -> BTreeSet<Topic> {
        stages::outputs(&self.stages)
    }
}

/// Whether the operator drops rows when that makes no difference: it need not have read them for that.
fn forgets(node: &Node) -> bool {
    match node.kind {
        "running" | "join_table" | "left_join_table" => node.text.contains("ttl"),
        // In windows all records are dropped when the window closes, and so have been read.
        "join" | "left_join" | "right_join" => {
            !node.text.contains("tumbling") && !node.text.contains("hopping")
        }
        _ => false,
    }
}

/// Whether the operator gives a result with each record, of what came before it; or a time that depends on when.
fn is_of_order(node: &Node) -> bool {
    matches!(node.kind, "running" | "join_table" | "left_join_table" | "processing_time")
}

fn build<J: Job, L: Layout>(layout: L, ports: Json, settings: Settings) -> Built {
    J::build(Plan::new::<J>(layout, ports, settings))
}

/// Ports that read and write JSON, one record a line.
#[derive(Default, Clone)]
pub(crate) struct Json {
    makers: Rc<RefCell<Vec<(usize, Make)>>>,
}

impl Ports for Json {
    type Source<T: Input> = JsonSource;
    type Sink<T: Output> = Lines;

    fn source<T: Input>(&mut self, index: usize, _name: &'static str) -> JsonSource {
        self.makers.borrow_mut().push((index, draw::json::<T>));
        JsonSource
    }

    fn sink<T: Output>(&mut self, _index: usize, _name: &'static str) -> Lines {
        Lines::default()
    }
}

pub(crate) struct JsonSource;

impl<T: DeserializeOwned> Source<T> for JsonSource {
    fn decode(&mut self, bytes: &[u8]) -> Result<T, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// Results as lines, not yet fetched.
#[derive(Default)]
pub(crate) struct Lines {
    batch: OutputBatch,
}

impl<T: Output> Sink<T> for Lines {
    fn accept(&mut self, _ts: i64, value: T) {
        let start = self.batch.bytes.len();
        if let Err(error) = serde_json::to_writer(&mut self.batch.bytes, &value) {
            self.batch.bytes.truncate(start);
            self.batch.error.get_or_insert(error.to_string());
            return;
        }
        self.batch.bytes.push(b'\n');
        self.batch.records += 1;
    }

    fn drain(&mut self, out: &mut OutputBatch) {
        out.records += std::mem::take(&mut self.batch.records);
        out.bytes.append(&mut self.batch.bytes);
        if out.error.is_none() {
            out.error = self.batch.error.take();
        }
    }
}
