//! What a search would cost: one item.

use super::super::cursor::Meaning;
use super::super::plan::PlanOptions;
use super::super::query::PlanQuery;
use super::super::results::{Envelope, Plan};
use super::super::source::Source;
use super::chosen::{check_paths, filter_of};
use super::{Ask, Call, Ended, check_sizes};
use crate::error::Error;
use crate::oid::ObjectId;
use crate::store::Objects as _;

impl Ask for PlanQuery {
    type Item = Plan;
    const METHOD: &str = "plan";

    async fn run<S: Source, F: FnMut(Plan) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        let globs = [&self.globs, &self.names, &self.types].map(Vec::len);
        check_sizes(globs.into_iter().max().unwrap_or(0), self.paths.len())?;
        let limits = &*call.repo.limits;
        let filter = filter_of(&self.globs, &self.names, &self.types, &self.paths, limits)?;
        let hex_len = call.repo.source.store().format().hex_len();
        let is_id = self.at.len() == hex_len && ObjectId::from_hex(self.at.as_bytes()).is_ok();
        let question = Meaning::of(Self::METHOD).text(&self.at).question();
        let mut asking = call.begin(&self.at, None, question, &self.budget).await?;
        let options = PlanOptions { held_only: self.held_only };
        let checked = match self.held_only {
            true => Ok(()),
            false => check_paths(&asking.snapshot, &self.paths, &filter).await,
        };
        let planned = match checked {
            Ok(()) => asking.snapshot.plan(&filter, options).await,
            Err(error) => Err(error),
        };
        let ended = match planned {
            Ok(mut plan) => {
                plan.requests += u64::from(!is_id);
                asking.page.offer(plan)?;
                Ok(Ended { truncated: None, next: None, search: None })
            }
            Err(error) => Err(error),
        };
        asking.answer("gitsip.plan/1", ended)
    }
}
