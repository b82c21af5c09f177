//! A search as it was asked for on the command line, and the sink that prints its hits the
//! way `git grep -n` does.

use std::ffi::OsString;

use bstr::BString;

use super::args::Grep;
use super::output::{Names, Output, push_fmt};
use crate::agent::{Snapshot, Source};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::view::glob::PathFilter;
use crate::view::grep::{
    ContextLine, FileRef, FileSummary, GrepOptions, Hit, MatchOptions, Matcher, Output as Report,
    PatternKind, PatternSpec, SearchOptions, Sink,
};

/// A search whose patterns and globs were found to be sound.
#[derive(Debug)]
pub(super) struct Search {
    matcher: Matcher,
    options: GrepOptions,
    paths: Vec<OsString>,
    globs: Vec<String>,
    names: Names,
    /// Print matches in place of lines.
    only_matching: bool,
}

impl Search {
    /// Judges `args` before any repository is opened.
    pub(super) fn new(args: &Grep, limits: &Limits) -> Result<Self, Error> {
        let (patterns, paths) = args.patterns_and_paths()?;
        let kind = if args.fixed_strings { PatternKind::Fixed } else { PatternKind::Regex };
        // Each line of a pattern is a pattern, as in every grep.
        let specs: Vec<PatternSpec<'_>> = patterns
            .iter()
            .flat_map(|text| text.as_encoded_bytes().split(|&byte| byte == b'\n'))
            .map(|text| PatternSpec { text, kind })
            .collect();
        let match_options = MatchOptions {
            ignore_case: args.ignore_case,
            smart_case: args.smart_case,
            word: args.word_regexp,
            max_regex_bytes: limits.max_regex_bytes,
            ..MatchOptions::default()
        };
        let prefixes: Vec<&[u8]> = paths.iter().map(|path| path.as_encoded_bytes()).collect();
        let (before, after) = args.context_lines();
        let search = SearchOptions {
            invert: args.invert_match,
            before,
            after,
            binary: args.text,
            output: match (args.files_with_matches, args.count) {
                (true, _) => Report::Files,
                (false, true) => Report::Count,
                (false, false) => Report::Lines,
            },
            max_per_file: args.max_count,
            ..SearchOptions::default()
        };
        Ok(Self {
            matcher: Matcher::new(&specs, &match_options)?,
            options: GrepOptions {
                filter: PathFilter::new(&args.globs, &prefixes, limits)?,
                search,
            },
            paths: paths.to_vec(),
            globs: args.globs.clone(),
            names: Names::from_null_flag(args.null),
            // As in git, where -v has no matches to print.
            only_matching: args.only_matching && !args.invert_match,
        })
    }

    /// Searches `snapshot` and prints to `out`; whether anything was found. The search
    /// stays in `path`, that of the address, unless the command line has paths.
    pub(super) async fn run<S: Source>(
        mut self,
        snapshot: &Snapshot<S>,
        path: BString,
        out: &Output,
    ) -> Result<bool, Error> {
        if self.paths.is_empty() && !path.is_empty() {
            check_path(snapshot, &path).await?;
            self.options.filter = PathFilter::new(&self.globs, &[path], &Limits::default())?;
        }
        // A search of everything is one request, unless its folders are asked for first.
        if !self.options.filter.is_unrestricted() {
            for path in &self.paths {
                check_path(snapshot, path.as_encoded_bytes()).await?;
            }
        }
        let mut printer = Printer {
            out: out.clone(),
            names: self.names,
            only_matching: self.only_matching,
            report: self.options.search.output,
            name: Vec::new(),
        };
        let summary = snapshot.grep(self.matcher, self.options, &mut printer).await?;
        Ok(summary.hits > 0)
    }
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

/// Prints what is found.
struct Printer {
    out: Output,
    names: Names,
    only_matching: bool,
    report: Report,
    /// The path of the present file as it is printed.
    name: Vec<u8>,
}

impl Printer {
    /// One line: name, number and text, with `sign` in between.
    fn push_line(&self, bytes: &mut Vec<u8>, sign: u8, line_number: u64, text: &[u8]) {
        let separator = self.names.separator(sign);
        bytes.extend_from_slice(&self.name);
        bytes.push(separator);
        push_fmt(bytes, format_args!("{line_number}"));
        bytes.push(separator);
        bytes.extend_from_slice(text);
        bytes.push(b'\n');
    }
}

impl Sink for Printer {
    fn begin(&mut self, file: &FileRef<'_>) -> Result<bool, Error> {
        self.name.clear();
        self.names.push(&mut self.name, file.path);
        Ok(true)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        let mut out = self.out.lock();
        if self.only_matching {
            for range in hit.distinct_ranges() {
                let text = hit.line.get(range.start..range.end).unwrap_or_default();
                self.push_line(out.bytes(), b':', hit.line_number, text);
            }
        } else {
            self.push_line(out.bytes(), b':', hit.line_number, hit.line);
        }
        out.settle()
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        if self.only_matching {
            return Ok(true);
        }
        let mut out = self.out.lock();
        self.push_line(out.bytes(), b'-', line.line_number, line.line);
        out.settle()
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        let mut out = self.out.lock();
        out.bytes().extend_from_slice(b"--\n");
        out.settle()
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        let mut out = self.out.lock();
        let bytes = out.bytes();
        match self.report {
            Report::Lines => return Ok(true),
            Report::Files => {
                self.names.push(bytes, file.path);
                bytes.push(self.names.end());
            }
            Report::Count => {
                self.names.push(bytes, file.path);
                bytes.push(self.names.separator(b':'));
                push_fmt(bytes, format_args!("{}\n", summary.lines));
            }
        }
        out.settle()
    }
}
