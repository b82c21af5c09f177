//! A search as it was asked for on the command line.

mod plan;
mod printer;

use bstr::BString;

use self::printer::{Look, Printer};
use super::args::Grep;
use super::color::Paint;
use super::output::{Names, Output, push_fmt};
use super::{exit, failure, query};
use crate::agent::{GrepQuery, GrepSummary, OutputMode, PlanOptions, Snapshot, Source, Truncated};
use crate::error::Error;
use crate::limits::Limits;
use crate::text::amounts::Count;
use crate::view::file_types;
use crate::view::grep::{GrepOptions, Matcher};

/// A search whose patterns and globs were found to be sound.
#[derive(Debug)]
pub(super) struct Search {
    query: GrepQuery,
    matcher: Matcher,
    look: Look,
    /// Only whether something is found is asked.
    quiet: bool,
    /// Only what it would cost is asked.
    is_plan: bool,
}

impl Search {
    /// Judges `args` before any repository is opened.
    pub(super) fn new(args: &Grep, limits: &Limits) -> Result<Self, Error> {
        let mut query = query::grep(args, &args.common.form)?;
        if args.quiet {
            query.max_total = Some(1);
        }
        query.filter(limits)?;
        Ok(Self {
            matcher: query.matcher(limits)?,
            query,
            look: Look {
                names: Names::from_null_flag(args.null),
                paint: Paint::of_stdout(args.color),
                heading: args.heading,
                // As in git, where -v has no matches to print.
                only_matching: args.only_matching && !args.invert_match,
                max_columns: args.max_columns,
            },
            quiet: args.quiet,
            is_plan: args.plan,
        })
    }

    /// Searches `snapshot` and prints to `out`; the exit status. The search
    /// stays in `path`, that of the address, unless the command line has paths.
    pub(super) async fn run<S: Source>(
        self,
        snapshot: &Snapshot<S>,
        path: BString,
        out: &Output,
    ) -> Result<u8, Error> {
        let Self { mut query, matcher, look, quiet, is_plan } = self;
        if query.paths.is_empty() && !path.is_empty() {
            query.paths.push(path);
        }
        let filter = query.filter(&Limits::default())?;
        query.check_paths(snapshot, &filter).await?;
        if is_plan {
            let plan = snapshot.plan(&filter, PlanOptions::default()).await?;
            out.lock().bytes().extend_from_slice(&plan::in_words(&plan));
            return Ok(exit::of_answer(plan.files > 0, true));
        }
        let options = GrepOptions { filter, search: query.search_options() };
        let mut printer = Printer::new(out, look, options.search.output, quiet);
        let summary = snapshot.grep(matcher, options, &mut printer).await?;
        let found = match query.output_mode {
            OutputMode::Lines => summary.hits,
            OutputMode::Count | OutputMode::Files => summary.files_matched,
        };
        if !quiet && query.max_total.is_some_and(|most| found >= most) {
            failure::say("note: stopped at --max-total; there may be more");
        }
        let is_whole = !summary.stopped_early && summary.truncated.is_none();
        say_what_is_left(&summary);
        Ok(exit::of_answer(summary.hits > 0, is_whole))
    }
}

/// Says what a budget left out, if it did.
fn say_what_is_left(summary: &GrepSummary) {
    let flag = match summary.truncated {
        Some(Truncated::Requests) => "--max-requests",
        Some(Truncated::Transfer) => "--max-bytes",
        _ => return,
    };
    let left = match summary.unsearched.and_then(|left| left.files) {
        Some(files) => format!("{} left out", Count(files, "file")),
        None => "not all files were searched".to_owned(),
    };
    failure::say(&format!("note: stopped at {flag}; {left}"));
}

/// One line for each type of files: its name and globs.
pub(super) fn type_list() -> Vec<u8> {
    let mut lines = Vec::new();
    for kind in file_types::all() {
        push_fmt(&mut lines, format_args!("{}: {}\n", kind.name, kind.globs.join(", ")));
    }
    lines
}
