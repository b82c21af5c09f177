//! `--json` and `--jsonl`: what a command asks as a question of the library, and its answer
//! in the library's own format, as one document or one item a line as they are found.
//!
//! An envelope without items is the last line of `--jsonl`. All that is said on standard
//! error is JSON as well, one object a line: warnings, then the error that ended it; what is
//! odd about an answer is also among its `stats`.

mod flags;
mod refs;

use bstr::BString;
use serde::Serialize;

use super::args::{Command, Form};
use super::exit::{self, FOUND, NOTHING_FOUND};
use super::failure;
use super::output::Output;
use super::place::Place;
use super::query;
use crate::agent::{AnyAnswer, AnyItem, Query, ReadItem, ReadQuery, Repo, Source, Stop};
use crate::client::pasted::Pasted;
use crate::error::{Error, ErrorKind};

/// A question whose answer is written as JSON.
#[derive(Debug)]
pub(super) struct Question {
    query: Query,
    place: Place,
    form: Form,
    /// Only the exit status is asked for.
    is_quiet: bool,
}

impl Question {
    /// What `command` asks of the repository whose address was `pasted`, if one was.
    pub(super) fn new(command: &Command, pasted: Option<&Pasted>) -> Result<Self, Error> {
        flags::check(command)?;
        let form = command.common().form.clone();
        let place = Place::new(command, pasted);
        let query = query::of(command, &form)?;
        Ok(Self { query, place, form, is_quiet: command.is_quiet() })
    }

    /// Asks `repo`, writes the answer, and gives the exit status.
    pub(super) async fn run<S: Source>(
        mut self,
        repo: &Repo<S>,
        stop: &Stop,
        out: &Output,
    ) -> Result<u8, Error> {
        if !matches!(self.query, Query::Refs(_)) {
            self.settle_place(repo).await?;
        }
        let query = &self.query;
        match query {
            Query::Read(read) => write_of_each_ref(read, repo, stop, &self.form, out).await,
            Query::Grep(_) if self.is_quiet => {
                let answer = repo.ask(query, stop).await?;
                Ok(exit::of_answer(!answer.is_empty(), answer.truncated().is_none()))
            }
            _ => write(query, repo, stop, &self.form, out).await,
        }
    }

    /// Puts ref, path and lines of the command line, or else of the address, into the
    /// question.
    async fn settle_place<S: Source>(&mut self, repo: &Repo<S>) -> Result<(), Error> {
        let (at, path) = match self.place.written() {
            Some(at) => (at.to_owned(), BString::default()),
            None => {
                let (snapshot, path) = self.place.open(repo).await?;
                let name = snapshot.ref_name().and_then(|name| String::from_utf8(name.into()).ok());
                (name.unwrap_or_else(|| snapshot.commit().to_string()), path)
            }
        };
        match &mut self.query {
            Query::Ls(query) => {
                query.at = at;
                if query.path.is_empty() {
                    query.path = path;
                }
            }
            Query::Read(query) => {
                query.at = at;
                if query.paths.is_empty() {
                    if path.is_empty() {
                        return Err(super::commands::no_path());
                    }
                    query.paths.push(path);
                    query.lines = query.lines.or(self.place.lines);
                }
            }
            Query::Tree(query) => {
                query.at = at;
                if query.path.is_empty() {
                    query.path = path;
                }
            }
            Query::Glob(query) => (query.at, query.path) = (at, path),
            Query::Grep(query) => {
                query.at = at;
                if query.paths.is_empty() && !path.is_empty() {
                    query.paths.push(path);
                }
            }
            Query::Plan(query) => {
                query.at = at;
                if query.paths.is_empty() && !path.is_empty() {
                    query.paths.push(path);
                }
            }
            Query::Refs(_) | Query::Stat(_) | Query::Prefetch(_) => {}
        }
        Ok(())
    }
}

/// Writes an answer for each ref that the paths name, in the order in which they do: an
/// answer is about one commit. The status is that of the first error.
async fn write_of_each_ref<S: Source>(
    query: &ReadQuery,
    repo: &Repo<S>,
    stop: &Stop,
    form: &Form,
    out: &Output,
) -> Result<u8, Error> {
    let queries = refs::split(query, repo).await?;
    let is_one = queries.len() == 1;
    let mut first_status = FOUND;
    for query in queries {
        let status = match write(&Query::Read(query), repo, stop, form, out).await {
            Ok(status) => status,
            // What is wrong with one ref does not keep the others from being read.
            Err(error) if error.kind() == ErrorKind::NotFound && !is_one => {
                failure::report_as_json(&error)
            }
            Err(error) => return Err(error),
        };
        if first_status == FOUND {
            first_status = status;
        }
    }
    Ok(first_status)
}

/// What is done with each item as it is found: whether there is anybody for more. All that
/// stream share it, and so the code of the questions.
pub(super) type Take<'a> = dyn FnMut(AnyItem) -> Result<bool, Error> + Send + 'a;

/// Writes the answer to `query`; the exit status.
async fn write<S: Source>(
    query: &Query,
    repo: &Repo<S>,
    stop: &Stop,
    form: &Form,
    out: &Output,
) -> Result<u8, Error> {
    let mut status = NOTHING_FOUND;
    if form.json {
        let answer = repo.ask(query, stop).await?;
        if let AnyAnswer::Read(answer) = &answer {
            status = answer.items.iter().fold(status, after_read);
        } else if !answer.is_empty() {
            status = FOUND;
        }
        write_line(&answer, out)?;
        return Ok(of_answer(status, answer.truncated().is_none()));
    }
    let take: &mut Take<'_> = &mut |item| {
        status = match &item {
            AnyItem::Read(item) => after_read(status, item),
            _ => FOUND,
        };
        write_line(&item, out)
    };
    let envelope = repo.stream(query, stop, take).await?;
    write_line(&envelope, out)?;
    Ok(of_answer(status, envelope.truncated.is_none()))
}

/// That nothing was found is known only once everything was looked at.
fn of_answer(status: u8, looked_at_everything: bool) -> u8 {
    match status {
        NOTHING_FOUND => exit::of_answer(false, looked_at_everything),
        status => status,
    }
}

/// Writes one line. Whether anybody still reads.
fn write_line(value: &impl Serialize, out: &Output) -> Result<bool, Error> {
    let mut out = out.lock();
    serde_json::to_writer(out.bytes(), value).map_err(|error| {
        Error::new(ErrorKind::Io, format!("an answer cannot be written: {error}"))
    })?;
    out.bytes().push(b'\n');
    out.settle()
}

/// The exit status behind `item`, given that of the items before: that of the first error, as
/// without JSON.
fn after_read(before: u8, item: &ReadItem) -> u8 {
    match item {
        ReadItem::Error(error) if matches!(before, FOUND | NOTHING_FOUND) => {
            failure::status_of(&error.error)
        }
        _ if before == NOTHING_FOUND => FOUND,
        _ => before,
    }
}
