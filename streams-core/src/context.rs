//! What every node of a machine can reach while a record runs through it.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::effects::{Origin, Reject};
use crate::error::{CodecError, StateError};
use crate::state::{Attached, OperatorId};
use crate::time::UNTIMED;

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
    /// When a broker stored the running record.
    pub(crate) stored_ms: i64,
    /// What time it is, as the driver said last.
    pub(crate) now_ms: i64,
    /// Where rows are read that are not in memory yet.
    pub(crate) attached: Option<Attached>,
    /// The first read that failed since somebody asked; the machine is then not to be used any more.
    pub(crate) failure: Option<StateError>,
    /// By exchange, emptied memory that parcels came in.
    spare: Vec<Vec<Box<dyn Any + Send>>>,
}

impl Cx {
    /// The context of a machine without unions.
    #[expect(clippy::new_without_default, reason = "named in expansions, where `new` reads better")]
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: Origin::None,
            rejects: Vec::new(),
            stored_ms: UNTIMED,
            now_ms: 0,
            attached: None,
            failure: None,
            spare: Vec::new(),
        }
    }

    /// The row `(tag, key)` of an operator, which is not in memory; `None` where there is none, or where it
    /// cannot be read.
    #[cold]
    pub(crate) fn fetch<V: DeserializeOwned>(
        &mut self,
        id: OperatorId,
        tag: &[u8],
        key: &impl Serialize,
    ) -> Option<V> {
        let result = self.attached.as_mut()?.row(id, tag, key);
        result.unwrap_or_else(|error| self.fail(error))
    }

    /// Visits the rows of an operator whose part of the key lies from `from` on and in front of `to`; to the
    /// operator's last row without `to`.
    #[cold]
    pub(crate) fn fetch_range(
        &mut self,
        id: OperatorId,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) {
        let Some(attached) = &self.attached else { return };
        if let Err(error) = attached.rows(id, from, to, visit) {
            self.fail::<()>(error);
        }
    }

    /// Visits the rows of an operator whose part of the key begins with the tag and the key.
    #[cold]
    pub(crate) fn fetch_under(
        &mut self,
        id: OperatorId,
        tag: &[u8],
        key: &impl Serialize,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<(), CodecError>,
    ) {
        let mut from = tag.to_vec();
        if let Err(source) = codec::key_to_vec(key, &mut from) {
            self.fail::<()>(StateError::Encode { operator: id.name().to_owned(), source });
            return;
        }
        // No key is the beginning of another, and at most eight bytes stand behind it.
        let to = [&from[..], &[0xff; 9]].concat();
        self.fetch_range(id, &from, Some(&to), visit);
    }

    /// Reads rows that will be fetched, together.
    #[cold]
    pub(crate) fn read_ahead(&mut self, wanted: impl IntoIterator<Item = Vec<u8>>) {
        let Some(attached) = &mut self.attached else { return };
        if let Err(error) = attached.read_ahead(wanted) {
            self.fail::<()>(error);
        }
    }

    /// Something that is needed cannot be read; the machine is not to be used any more.
    #[cold]
    pub(crate) fn fail<T>(&mut self, error: StateError) -> Option<T> {
        self.failure.get_or_insert(error);
        None
    }

    /// Keeps the emptied memory of a parcel, of at most `most` for each exchange.
    pub(crate) fn put_spare(&mut self, exchange: usize, most: usize, emptied: Box<dyn Any + Send>) {
        self.spare.resize_with(self.spare.len().max(exchange + 1), Vec::new);
        if let Some(spare) = self.spare.get_mut(exchange).filter(|spare| spare.len() < most) {
            spare.push(emptied);
        }
    }

    /// Takes the emptied memory of a parcel of this exchange, if there is any but for `kept` of them.
    pub(crate) fn take_spare<T: 'static>(&mut self, exchange: usize, kept: usize) -> Option<Box<T>> {
        self.spare.get_mut(exchange).filter(|spare| spare.len() > kept)?.pop()?.downcast().ok()
    }

    /// What runs now is no record of the batch.
    pub(crate) fn leave_batch(&mut self) {
        self.origin = Origin::None;
        self.stored_ms = UNTIMED;
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
