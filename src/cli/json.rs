//! `--json` and `--jsonl`: what a command asks as a question of the library, and its answer
//! in the library's own format, as one document or one item a line as they are found.
//!
//! An envelope without items is the last line of `--jsonl`.

use bstr::BString;
use serde::Serialize;

use super::args::{Cat, Command, Form, Glob, Grep, Ls};
use super::exit::{self, FOUND, NOTHING_FOUND};
use super::failure;
use super::output::Output;
use super::place::Place;
use super::types;
use crate::agent::{
    Ask, GlobQuery, GrepQuery, LsQuery, OutputMode, Query, ReadItem, ReadQuery, RefsQuery, Repo,
    Source, Stop, TreeQuery,
};
use crate::client::pasted::Pasted;
use crate::error::{Error, ErrorKind};

/// A question whose answer is written as JSON.
#[derive(Debug)]
pub(super) struct Question {
    query: Query,
    place: Place,
    form: Form,
}

impl Question {
    /// What `command` asks of the repository whose address was `pasted`, if one was.
    pub(super) fn new(command: &Command, pasted: Option<&Pasted>) -> Result<Self, Error> {
        let form = command.common().form.clone();
        let place = Place::new(command, pasted);
        let query = match command {
            Command::Cat(cat) => Query::Read(read(cat, &form)),
            Command::Glob(args) => Query::Glob(glob(args, &form)),
            Command::Grep(args) => Query::Grep(Box::new(grep(args, &form)?)),
            Command::Ls(args) => Query::Ls(ls(args, &form)),
            Command::Tree(args) => Query::Tree(TreeQuery {
                path: args.path.as_encoded_bytes().into(),
                depth: args.depth,
                folders_only: args.folders,
                cursor: form.cursor.clone(),
                limit: form.limit.or(u64::try_from(args.max_entries).ok()),
                ..TreeQuery::default()
            }),
            Command::Refs(args) => Query::Refs(RefsQuery {
                patterns: args.patterns.iter().map(|p| p.to_string_lossy().into_owned()).collect(),
                cursor: form.cursor.clone(),
                limit: form.limit,
                ..RefsQuery::default()
            }),
        };
        Ok(Self { query, place, form })
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
        let form = &self.form;
        match &self.query {
            Query::Refs(query) => write(query, repo, stop, form, out).await,
            Query::Ls(query) => write(query, repo, stop, form, out).await,
            Query::Tree(query) => write(query, repo, stop, form, out).await,
            Query::Stat(query) => write(query, repo, stop, form, out).await,
            Query::Read(query) => write(query, repo, stop, form, out).await,
            Query::Glob(query) => write(query, repo, stop, form, out).await,
            Query::Grep(query) => write(&**query, repo, stop, form, out).await,
            Query::Prefetch(query) => write(query, repo, stop, form, out).await,
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
            Query::Refs(_) | Query::Stat(_) | Query::Prefetch(_) => {}
        }
        Ok(())
    }
}

fn ls(args: &Ls, form: &Form) -> LsQuery {
    LsQuery {
        path: args.path.as_encoded_bytes().into(),
        recursive: args.recursive,
        cursor: form.cursor.clone(),
        limit: form.limit,
        ..LsQuery::default()
    }
}

fn read(args: &Cat, form: &Form) -> ReadQuery {
    ReadQuery {
        paths: args.paths.iter().map(|path| path.as_encoded_bytes().into()).collect(),
        lines: args.lines,
        cursor: form.cursor.clone(),
        limit: form.limit,
        ..ReadQuery::default()
    }
}

fn glob(args: &Glob, form: &Form) -> GlobQuery {
    GlobQuery {
        patterns: vec![args.pattern.clone()],
        cursor: form.cursor.clone(),
        limit: form.limit,
        ..GlobQuery::default()
    }
}

fn grep(args: &Grep, form: &Form) -> Result<GrepQuery, Error> {
    let (patterns, paths) = args.patterns_and_paths()?;
    let (before, after) = args.context_lines();
    let lines = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(GrepQuery {
        // Each line of a pattern is a pattern, as in every grep.
        patterns: patterns
            .iter()
            .flat_map(|text| text.as_encoded_bytes().split(|&byte| byte == b'\n'))
            .map(BString::from)
            .collect(),
        fixed_strings: args.fixed_strings,
        ignore_case: args.ignore_case,
        smart_case: args.smart_case,
        word: args.word_regexp,
        invert: args.invert_match,
        binary: args.text,
        globs: args.globs.clone(),
        names: types::globs(&args.types, &args.types_not)?,
        paths: paths.iter().map(|path| path.as_encoded_bytes().into()).collect(),
        before: lines(before),
        after: lines(after),
        output_mode: match (args.files_with_matches || args.quiet, args.count) {
            (true, _) => OutputMode::Files,
            (false, true) => OutputMode::Count,
            (false, false) => OutputMode::Lines,
        },
        max_count: args.max_count,
        max_total: if args.quiet { Some(1) } else { args.max_total },
        max_columns: match args.max_columns {
            Some(columns) => Some(columns as u64),
            None => GrepQuery::default().max_columns,
        },
        cursor: form.cursor.clone(),
        limit: form.limit,
        ..GrepQuery::default()
    })
}

/// Writes the answer to `query`; the exit status.
async fn write<S: Source, Q: Ask>(
    query: &Q,
    repo: &Repo<S>,
    stop: &Stop,
    form: &Form,
    out: &Output,
) -> Result<u8, Error>
where
    Q::Item: Serialize + Status,
{
    let mut status = NOTHING_FOUND;
    if form.json {
        let answer = query.ask(repo, stop).await?;
        answer.items.iter().for_each(|item| status = item.after(status));
        write_line(&answer, out)?;
        return Ok(of_answer(status, answer.truncated.is_none()));
    }
    let envelope = query.stream(repo, stop, |item| {
        status = item.after(status);
        write_line(&item, out)
    });
    let envelope = envelope.await?;
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

/// What an item says about the exit status.
trait Status {
    /// The status behind this item, given that of the items before.
    fn after(&self, _before: u8) -> u8 {
        FOUND
    }
}

impl Status for crate::agent::RefItem {}
impl Status for crate::agent::Entry {}
impl Status for crate::agent::TreeNode {}
impl Status for crate::agent::StatItem {}
impl Status for crate::agent::GrepItem {}
impl Status for crate::agent::Prefetched {}

impl Status for ReadItem {
    /// That of the first error, as without JSON.
    fn after(&self, before: u8) -> u8 {
        match self {
            Self::Error(error) if matches!(before, FOUND | NOTHING_FOUND) => {
                failure::status_of(&error.error)
            }
            _ if before == NOTHING_FOUND => FOUND,
            _ => before,
        }
    }
}
