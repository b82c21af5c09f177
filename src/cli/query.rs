//! What each command asks, as a question of the library. Ref and path of an address are put
//! in later.

use bstr::BString;

use crate::agent::{
    GlobQuery, GrepQuery, LsQuery, OutputMode, PlanQuery, Query, ReadQuery, RefOrder, RefsQuery,
    TreeQuery,
};
use crate::cli::args::{Cat, Command, Form, Glob, Grep, Ls, Refs, Tree};
use crate::error::Error;

/// # Errors
/// `Usage` for a search without a pattern.
pub(super) fn of(command: &Command, form: &Form) -> Result<Query, Error> {
    Ok(match command {
        Command::Cat(args) => Query::Read(read(args, form)),
        Command::Glob(args) => Query::Glob(glob(args, form)),
        Command::Grep(args) if args.plan => Query::Plan(PlanQuery::from(&grep(args, form)?)),
        Command::Grep(args) => Query::Grep(Box::new(grep(args, form)?)),
        Command::Ls(args) => Query::Ls(ls(args, form)),
        Command::Refs(args) => Query::Refs(refs(args, form)),
        Command::Tree(args) => Query::Tree(tree(args, form)),
    })
}

fn refs(args: &Refs, form: &Form) -> RefsQuery {
    let text = |pattern: &std::ffi::OsString| pattern.to_string_lossy().into_owned();
    let by_version = args.sort.is_some_and(|order| order.by_version);
    RefsQuery {
        patterns: args.patterns.iter().map(text).collect(),
        branches: args.branches,
        tags: args.tags,
        only_refs: args.refs,
        sort: if by_version { RefOrder::Version } else { RefOrder::Name },
        reverse: args.sort.is_some_and(|order| order.reversed),
        cursor: form.cursor.clone(),
        limit: form.limit,
        ..RefsQuery::default()
    }
}

fn tree(args: &Tree, form: &Form) -> TreeQuery {
    let default = TreeQuery::default();
    let max_entries = args.max_entries.and_then(|most| u64::try_from(most).ok());
    TreeQuery {
        path: args.path.as_encoded_bytes().into(),
        depth: args.depth,
        folders_only: args.folders,
        cursor: form.cursor.clone(),
        limit: form.limit.into_iter().chain(max_entries).min().or(default.limit),
        budget: args.common.spend.budget(),
        ..default
    }
}

fn ls(args: &Ls, form: &Form) -> LsQuery {
    LsQuery {
        path: args.path.as_encoded_bytes().into(),
        recursive: args.recursive,
        cursor: form.cursor.clone(),
        limit: form.limit,
        budget: args.common.spend.budget(),
        ..LsQuery::default()
    }
}

fn read(args: &Cat, form: &Form) -> ReadQuery {
    ReadQuery {
        paths: args.paths.iter().map(|path| path.as_encoded_bytes().into()).collect(),
        lines: args.lines,
        cursor: form.cursor.clone(),
        limit: form.limit,
        budget: args.common.spend.budget(),
        ..ReadQuery::default()
    }
}

pub(super) fn glob(args: &Glob, form: &Form) -> GlobQuery {
    GlobQuery {
        patterns: args.pattern.iter().cloned().collect(),
        types: args.types.0.clone(),
        cursor: form.cursor.clone(),
        limit: form.limit,
        budget: args.common.spend.budget(),
        ..GlobQuery::default()
    }
}

pub(super) fn grep(args: &Grep, form: &Form) -> Result<GrepQuery, Error> {
    let (patterns, paths) = args.patterns_and_paths()?;
    let (before, after) = args.context_lines();
    let lines = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(GrepQuery {
        // Each line of a pattern is a pattern, as in every grep, unless it may match one.
        patterns: patterns
            .iter()
            .flat_map(|text| {
                text.as_encoded_bytes().split(|&byte| byte == b'\n' && !args.multiline)
            })
            .map(BString::from)
            .collect(),
        fixed_strings: args.fixed_strings,
        ignore_case: args.ignore_case,
        smart_case: args.smart_case,
        word: args.word_regexp,
        invert: args.invert_match,
        multiline: args.multiline,
        binary: args.text,
        globs: args.globs.clone(),
        types: args.types.0.clone(),
        paths: paths.iter().map(|path| path.as_encoded_bytes().into()).collect(),
        before: lines(before),
        after: lines(after),
        output_mode: match (args.files_with_matches || args.quiet, args.count) {
            (true, _) => OutputMode::Files,
            (false, true) => OutputMode::Count,
            (false, false) => OutputMode::Lines,
        },
        max_count: args.max_count,
        max_total: args.max_total,
        max_columns: match args.max_columns {
            Some(columns) => Some(columns as u64),
            None => GrepQuery::default().max_columns,
        },
        cursor: form.cursor.clone(),
        limit: if args.quiet { Some(1) } else { form.limit },
        budget: args.common.spend.budget(),
        ..GrepQuery::default()
    })
}
