//! A search as it was asked for on the command line.

mod printer;

use bstr::BString;

use self::printer::{Look, Printer};
use super::args::Grep;
use super::color::Paint;
use super::output::{Names, Output, push_fmt};
use super::{exit, failure};
use crate::agent::{Snapshot, Source};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::view::file_types;
use crate::view::glob::PathFilter;
use crate::view::grep::{
    GrepOptions, MatchOptions, Matcher, Output as Report, PatternKind, PatternSpec, SearchOptions,
};

/// A search whose patterns and globs were found to be sound.
#[derive(Debug)]
pub(super) struct Search {
    matcher: Matcher,
    options: GrepOptions,
    paths: Vec<BString>,
    globs: Vec<String>,
    /// Globs of names that the types of files stand for.
    types: Vec<String>,
    look: Look,
    /// Only whether something is found is asked.
    quiet: bool,
}

impl Search {
    /// Judges `args` before any repository is opened.
    pub(super) fn new(args: &Grep, limits: &Limits) -> Result<Self, Error> {
        let (patterns, paths) = args.patterns_and_paths()?;
        let kind = if args.fixed_strings { PatternKind::Fixed } else { PatternKind::Regex };
        // Each line of a pattern is a pattern, as in every grep, unless it may match one.
        let specs: Vec<PatternSpec<'_>> = patterns
            .iter()
            .flat_map(|text| {
                text.as_encoded_bytes().split(|&byte| byte == b'\n' && !args.multiline)
            })
            .map(|text| PatternSpec { text, kind })
            .collect();
        let match_options = MatchOptions {
            ignore_case: args.ignore_case,
            smart_case: args.smart_case,
            word: args.word_regexp,
            multi_line: args.multiline,
            max_regex_bytes: limits.max_regex_bytes,
        };
        let paths: Vec<BString> = paths.iter().map(|path| path.as_encoded_bytes().into()).collect();
        let types = file_types::globs(&args.types.0)?;
        let (before, after) = args.context_lines();
        let search = SearchOptions {
            invert: args.invert_match,
            before,
            after,
            binary: args.text,
            output: match (args.files_with_matches || args.quiet, args.count) {
                (true, _) => Report::Files,
                (false, true) => Report::Count,
                (false, false) => Report::Lines,
            },
            max_per_file: args.max_count,
            max_total: if args.quiet { Some(1) } else { args.max_total },
        };
        Ok(Self {
            matcher: Matcher::new(&specs, &match_options)?,
            options: GrepOptions {
                filter: PathFilter::new(&args.globs, &paths, limits)?.with_names(&types)?,
                search,
            },
            paths,
            globs: args.globs.clone(),
            types,
            look: Look {
                names: Names::from_null_flag(args.null),
                paint: Paint::of_stdout(args.color),
                heading: args.heading,
                // As in git, where -v has no matches to print.
                only_matching: args.only_matching && !args.invert_match,
                max_columns: args.max_columns,
            },
            quiet: args.quiet,
        })
    }

    /// Searches `snapshot` and prints to `out`; the exit status. The search
    /// stays in `path`, that of the address, unless the command line has paths.
    pub(super) async fn run<S: Source>(
        mut self,
        snapshot: &Snapshot<S>,
        path: BString,
        out: &Output,
    ) -> Result<u8, Error> {
        if self.paths.is_empty() && !path.is_empty() {
            check_path(snapshot, &path).await?;
            self.options.filter = PathFilter::new(&self.globs, &[path], &Limits::default())?
                .with_names(&self.types)?;
        }
        // A search of everything is one request, unless its folders are asked for first.
        if !self.options.filter.is_unrestricted() {
            for path in &self.paths {
                check_path(snapshot, path).await?;
            }
        }
        let (quiet, max_total) = (self.quiet, self.options.search.max_total);
        let mut printer = Printer::new(out, self.look, self.options.search.output, quiet);
        let summary = snapshot.grep(self.matcher, self.options, &mut printer).await?;
        if !quiet && max_total.is_some_and(|max| summary.hits >= max) {
            let text = "note: stopped at --max-total; there may be more";
            failure::say(text);
        }
        Ok(exit::of_answer(summary.hits > 0, !summary.stopped_early))
    }
}

/// One line for each type of files: its name and globs.
pub(super) fn type_list() -> Vec<u8> {
    let mut lines = Vec::new();
    for kind in file_types::all() {
        push_fmt(&mut lines, format_args!("{}: {}\n", kind.name, kind.globs.join(", ")));
    }
    lines
}

/// A path that is not there is a slip of the pen, not a search without a hit.
async fn check_path<S: Source>(snapshot: &Snapshot<S>, bytes: &[u8]) -> Result<(), Error> {
    match snapshot.stat(bytes).await {
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && bytes.iter().any(|byte| b"*?[".contains(byte)) =>
        {
            let context = format!("{}; for a pattern of paths use -g", error.context());
            Err(Error::new(ErrorKind::NotFound, context).with_source(error))
        }
        other => other.map(drop),
    }
}
