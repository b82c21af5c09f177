//! The one loop of a lazy read: ask the store, fetch what is missing, ask again.

use hashbrown::HashMap;

use crate::client::allowance::Allowance;
use crate::error::{Error, ErrorKind};
use crate::limits::Which;
use crate::oid::ObjectId;
use crate::store::{Kept, Lookup, Missing, MissingSet, Objects};

use super::source::Source;

/// How often one query may ask for the same object.
const MAX_ASKS: u32 = 2;

/// Whether `error` says that memory was too small for what was fetched or read.
pub(super) fn is_out_of_memory(error: &Error) -> bool {
    error.limit().is_some_and(|limit| limit.which == Which::Memory)
}

/// Asks `ask` until it is ready, fetching what it lacks in between.
pub(super) async fn answer<S: Source, T, E: Into<Error>>(
    source: &S,
    allowance: &Allowance,
    mut ask: impl FnMut(&S::Store) -> Result<Lookup<T>, E>,
) -> Result<T, Error> {
    let mut rounds = Rounds::default();
    loop {
        match source.compute(|| ask(source.store())).map_err(Into::into)? {
            Lookup::Ready(value) => return Ok(value),
            Lookup::Missing(missing) => rounds.fetch(source, &missing, allowance).await?,
        }
    }
}

/// What one query has asked for so far; holds it to making progress.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    asked: HashMap<ObjectId, u32>,
    /// What came last is not evicted before the query has read it.
    kept: Kept,
}

impl Rounds {
    /// Fetches `missing`. A round that brings none of it is an error that names an
    /// object, and so is asking for the same object a third time.
    pub(super) async fn fetch<S: Source>(
        &mut self,
        source: &S,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<(), Error> {
        let is_done = |item: &&Missing| self.asked.get(&item.id).is_some_and(|&n| n >= MAX_ASKS);
        if let Some(item) = missing.iter().find(is_done) {
            return Err(never_comes(source, &item.id));
        }
        // Of what came before some may still be unread.
        let before = std::mem::take(&mut self.kept);
        self.kept = source.fetch(missing, allowance).await?;
        drop(before);
        for item in missing.iter() {
            *self.asked.entry(item.id).or_insert(0) += 1;
        }
        let mut first_absent = None;
        for item in missing.iter() {
            if source.store().contains(&item.id)? {
                return Ok(());
            }
            first_absent.get_or_insert(item.id);
        }
        match first_absent {
            Some(id) => Err(never_comes(source, &id)),
            None => Ok(()),
        }
    }
}

fn never_comes<S: Source>(source: &S, id: &ObjectId) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!(
            "object {id} was asked for and {} did not send it; try again, or tell whoever runs it",
            source.name()
        ),
    )
    .with_code("object_missing")
}
