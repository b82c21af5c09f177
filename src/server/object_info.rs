//! The command `object-info`: sizes of objects, for who wants to know what they would cost.

use hashbrown::HashSet;

use super::refusal::Refusal;
use super::served::Served;
use crate::error::Error;
use crate::limits::Interrupt;
use crate::oid::ObjectId;
use crate::protocol::{ObjectInfoRequest, encode_object_sizes};
use crate::store::{Objects, Refs};

impl<S: Objects + Refs + Sync> Served<S> {
    /// Appends the sizes of what `request` names. What may not be wanted looks as if it were not
    /// there.
    pub(super) fn object_info(
        &self,
        request: &ObjectInfoRequest,
        out: &mut Vec<u8>,
        interrupt: &dyn Interrupt,
    ) -> Result<(), Refusal> {
        let row = 4 * size_of::<ObjectId>() + LINE_BYTES;
        let _paid = self.budget.reserve((request.ids.len() * row) as u64)?;
        let refused = self.refused(&request.ids, &self.refs(&[])?, interrupt)?;
        let refused: HashSet<ObjectId> = refused.into_iter().collect();
        let mut sizes = Vec::with_capacity(request.ids.len());
        for id in &request.ids {
            interrupt.check().map_err(Error::from)?;
            let header = if refused.contains(id) { None } else { self.store.header(id)? };
            sizes.push((*id, header.map(|header| header.size)));
        }
        encode_object_sizes(&sizes, request.size, out);
        Ok(())
    }
}

/// A line of the answer, of the longest ids and sizes.
const LINE_BYTES: usize = 96;
