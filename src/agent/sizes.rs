//! Sizes of objects that are not held, from hosts that tell them without the objects.
//!
//! A host that offers this and fails at it is not asked again: a size is no reason for a
//! question to fail.

use hashbrown::HashMap;

use crate::client::allowance::Allowance;
use crate::client::conversation::{Conversation, Outcome};
use crate::client::journal::{Purpose, RequestKind};
use crate::client::requests;
use crate::client::transport::Transport;
use crate::error::{Error, ErrorKind};
use crate::limits::Reservation;
use crate::oid::ObjectId;
use crate::protocol::encode_object_info;
use crate::store::Objects as _;

use super::results::Truncated;
use super::shared::{CancelOnDrop, Shared};

/// Ids in one request: 50 bytes each, as for objects.
const MAX_IDS: usize = 16_384;

/// What one size that is remembered takes, about.
const BYTES_PER_SIZE: u64 = 2 * (size_of::<ObjectId>() + size_of::<u64>()) as u64;

/// Sizes that the host has told.
#[derive(Debug)]
pub(super) struct Told {
    sizes: HashMap<ObjectId, u64>,
    paid: Reservation,
    /// It cannot.
    is_refused: bool,
}

impl Told {
    pub(super) fn new(paid: Reservation) -> Self {
        Self { sizes: HashMap::new(), paid, is_refused: false }
    }

    pub(super) fn size(&self, id: &ObjectId) -> Option<u64> {
        self.sizes.get(id).copied()
    }

    /// Remembers `sizes` while memory allows.
    fn extend(&mut self, sizes: Vec<(ObjectId, u64)>) {
        for (id, size) in sizes {
            if self.paid.grow_free(BYTES_PER_SIZE).is_err() {
                return;
            }
            self.sizes.insert(id, size);
        }
    }
}

impl<T: Transport> Shared<T> {
    /// Asks the host for the sizes of `ids`, as far as it tells them and they are not known.
    pub(super) async fn ask_sizes(
        &self,
        ids: &[ObjectId],
        allowance: &Allowance,
    ) -> Result<(), Error> {
        if !self.tells_sizes() || self.state().told.is_refused {
            return Ok(());
        }
        let unknown: Vec<ObjectId> = {
            let state = self.state();
            ids.iter().filter(|id| state.told.size(id).is_none()).copied().collect()
        };
        for ids in unknown.chunks(MAX_IDS) {
            match self.ask_some_sizes(ids, allowance).await {
                Ok(mut sizes) => {
                    // What was not asked for is not remembered.
                    let asked: HashMap<&ObjectId, ()> = ids.iter().map(|id| (id, ())).collect();
                    sizes.retain(|(id, _)| asked.contains_key(id));
                    self.state().told.extend(sizes);
                }
                Err(error)
                    if error.kind() == ErrorKind::Cancelled
                        || Truncated::of_spent(&error).is_some() =>
                {
                    return Err(error);
                }
                Err(_) => {
                    self.state().told.is_refused = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn ask_some_sizes(
        &self,
        ids: &[ObjectId],
        allowance: &Allowance,
    ) -> Result<Vec<(ObjectId, u64)>, Error> {
        let context = self.context(Purpose::objects(RequestKind::Sizes, ids), allowance);
        let _stop = CancelOnDrop(&context.cancel);
        let format = self.store.format();
        let mut body = Vec::new();
        encode_object_info(ids, requests::AGENT, format, &mut body)?;
        let conversation = Conversation::sizes(ids.len(), format, &self.budget, &context);
        match self.line().command(body, conversation, &context).await? {
            Outcome::Sizes(sizes) => Ok(sizes),
            _ => Ok(Vec::new()),
        }
    }
}
