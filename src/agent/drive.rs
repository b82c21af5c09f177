//! The one loop of a lazy read: ask the store, fetch what is missing, ask again.

use hashbrown::HashMap;

use crate::client::allowance::Allowance;
use crate::error::{Error, ErrorKind};
use crate::limits::Which;
use crate::oid::ObjectId;
use crate::store::{Kept, Lookup, Missing, MissingSet, Objects};

use super::source::Source;

/// How often one query may ask in vain for the same object.
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

/// What one query has fetched so far; holds it to making progress.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    in_vain: InVain,
    /// What is not evicted before the query has read it.
    kept: Vec<Kept>,
}

impl Rounds {
    /// What came may make room for what comes next: it was read, or can come again. Whether
    /// there was any. A query that begins anew after each round needs all of it.
    pub(super) fn let_go(&mut self) -> bool {
        !std::mem::take(&mut self.kept).is_empty()
    }

    /// Fetches `missing`. A round that brings none of it is an error that names an object,
    /// and so is asking a third time for one that did not come.
    pub(super) async fn fetch<S: Source>(
        &mut self,
        source: &S,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<(), Error> {
        self.in_vain.check(missing).map_err(|id| never_comes(source, &id))?;
        self.kept.push(source.fetch(missing, allowance).await?);
        let mut absent = Vec::new();
        for item in missing.iter() {
            if !source.store().contains(&item.id)? {
                absent.push(item.id);
            }
        }
        self.in_vain.note(&absent, missing.len()).map_err(|id| never_comes(source, &id))
    }
}

/// How often each object was asked for and did not come. One that came, was displaced and is
/// asked for again is no fault of the host's.
#[derive(Debug, Default)]
struct InVain(HashMap<ObjectId, u32>);

impl InVain {
    /// The first of `missing` that was asked for too often.
    fn check(&self, missing: &MissingSet) -> Result<(), ObjectId> {
        let never_came =
            |item: &&Missing| self.0.get(&item.id).is_some_and(|&asks| asks >= MAX_ASKS);
        missing.iter().find(never_came).map_or(Ok(()), |item| Err(item.id))
    }

    /// Of `asked` objects `absent` did not come; the first of them when none came.
    fn note(&mut self, absent: &[ObjectId], asked: usize) -> Result<(), ObjectId> {
        for id in absent {
            *self.0.entry(*id).or_insert(0) += 1;
        }
        match absent.first() {
            Some(id) if absent.len() == asked => Err(*id),
            _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_raw(&[byte; 20]).unwrap()
    }

    fn missing(ids: &[ObjectId]) -> MissingSet {
        let mut set = MissingSet::default();
        for id in ids {
            set.insert(*id, None);
        }
        set
    }

    #[test]
    fn what_comes_and_is_displaced_may_be_asked_for_again_without_end() {
        let mut in_vain = InVain::default();
        for _ in 0..100 {
            in_vain.check(&missing(&[id(1)])).unwrap();
            in_vain.note(&[], 1).unwrap();
        }
    }

    #[test]
    fn what_does_not_come_is_asked_for_twice() {
        let mut in_vain = InVain::default();
        for _ in 0..MAX_ASKS {
            in_vain.check(&missing(&[id(1), id(2)])).unwrap();
            in_vain.note(&[id(2)], 2).unwrap();
        }
        assert_eq!(in_vain.check(&missing(&[id(1), id(2)])), Err(id(2)));
        assert_eq!(in_vain.check(&missing(&[id(1)])), Ok(()));
    }

    #[test]
    fn a_round_that_brings_nothing_is_the_last() {
        assert_eq!(InVain::default().note(&[id(1), id(2)], 2), Err(id(1)));
    }
}
