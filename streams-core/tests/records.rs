//! Records of all shapes: what one is made of is asked about, and nothing that can be stored is refused.

#![allow(clippy::use_self, reason = "both ways of writing it are tested")]

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::marker::PhantomData;

use streams_core::prelude::*;
use streams_core::testing::Harness;

#[record]
#[derive(Debug, PartialEq)]
struct Tree {
    name: String,
    kids: Vec<Tree>,
    side: Option<Box<Self>>,
}

type Branches = Vec<Bush>;

/// Through an alias it holds itself, which nobody sees who reads its fields alone.
#[record]
#[derive(Debug, PartialEq)]
struct Bush(u8, Branches);

#[record]
#[derive(Debug, PartialEq)]
enum Leaf {
    Green,
    Red(Tree, [Shade; 2]),
    Brown { next: Option<Box<Leaf>>, shades: BTreeMap<String, (Shade, u8)> },
}

/// Stored by the user's own code.
#[derive(Debug, Clone, PartialEq)]
struct Shade(u8);

impl serde::Serialize for Shade {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}

impl<'de> serde::Deserialize<'de> for Shade {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <u8 as serde::Deserialize>::deserialize(deserializer).map(Self)
    }
}

/// No record, and never stored.
#[derive(Debug, Clone, Default, PartialEq)]
struct Plain;

#[record]
#[derive(Debug, PartialEq)]
struct Mixed {
    #[serde(skip)]
    plain: Plain,
    #[cfg_attr(all(), serde(skip))]
    also_plain: Plain,
    mark: PhantomData<Plain>,
    mine: PhantomData<Self>,
    kin: LinkedList<Self>,
    counts: HashMap<u8, u8, BuildHasherDefault<DefaultHasher>>,
    text: Cow<'static, str>,
    row: VecDeque<Leaf>,
    #[cfg(any())]
    absent: NoSuchType,
    bush: Bush,
}

#[stream_job]
fn shuffled(records: Stream<Mixed>) -> Stream<Mixed> {
    records.key_by(|r| r.row.len() as u64).filter(|_| true)
}

#[test]
fn what_can_be_stored_is_not_refused() {
    let tree = |name: &str| Tree { name: name.to_owned(), kids: Vec::new(), side: None };
    let top = Tree { kids: vec![tree("a")], side: Some(Box::new(tree("b"))), ..tree("top") };
    let leaf = Leaf::Brown {
        next: Some(Box::new(Leaf::Green)),
        shades: BTreeMap::from([("x".to_owned(), (Shade(3), 4))]),
    };
    let mixed = Mixed {
        plain: Plain,
        also_plain: Plain,
        mark: PhantomData,
        mine: PhantomData,
        kin: LinkedList::new(),
        counts: HashMap::from_iter([(1, 2)]),
        text: "t".into(),
        row: [Leaf::Red(top, [Shade(1), Shade(2)]), leaf].into(),
        bush: Bush(1, vec![Bush(2, Vec::new())]),
    };
    let mut job = Harness::new(shuffled);
    job.push("records", mixed.clone());
    assert_eq!(job.take::<Mixed>("shuffled"), [mixed]);
}
