//! `gitsip refs`: the branches and tags, as `git ls-remote` prints them.

use std::cmp::Ordering;

use bstr::BString;

use crate::agent::{Repo, Source};
use crate::cli::args::{Order, Refs};
use crate::cli::output::{Output, push_fmt};
use crate::error::Error;
use crate::limits::Limits;
use crate::oid::ObjectId;
use crate::store::Ref;
use crate::text::escape_for_people;
use crate::view::ref_patterns::{PEELED, RefChoice, RefPatterns};
use crate::view::version_order;

/// Which refs are asked for, found to be sound.
#[derive(Debug)]
pub(in crate::cli) struct Question {
    choice: RefChoice,
    symref: bool,
    order: Option<Order>,
}

impl Question {
    pub(super) fn new(args: &Refs, limits: &Limits) -> Result<Self, Error> {
        let patterns: Vec<&[u8]> = args.patterns.iter().map(|p| p.as_encoded_bytes()).collect();
        let choice = RefChoice {
            patterns: RefPatterns::new(&patterns, limits)?,
            branches: args.branches,
            tags: args.tags,
            only_refs: args.refs,
        };
        Ok(Self { choice, symref: args.symref, order: args.sort })
    }
}

/// One line.
struct Line<'r> {
    id: ObjectId,
    name: BString,
    symref_target: Option<&'r BString>,
}

pub(super) async fn refs<S: Source>(
    repo: &Repo<S>,
    question: &Question,
    out: &Output,
) -> Result<bool, Error> {
    let refs = repo.refs(&question.choice.prefixes()).await?;
    let mut lines: Vec<Line<'_>> =
        refs.iter().flat_map(lines_of).filter(|line| question.choice.wants(&line.name)).collect();
    if let Some(order) = question.order {
        lines.sort_by(|a, b| compare(order, &a.name, &b.name));
    }
    let mut out = out.lock();
    for line in &lines {
        let bytes = out.bytes();
        if let Some(target) = line.symref_target.filter(|_| question.symref) {
            bytes.extend_from_slice(b"ref: ");
            push_name(bytes, target);
            bytes.push(b'\t');
            push_name(bytes, &line.name);
            bytes.push(b'\n');
        }
        push_fmt(bytes, format_args!("{}\t", line.id));
        push_name(bytes, &line.name);
        bytes.push(b'\n');
        if !out.settle()? {
            break;
        }
    }
    Ok(!lines.is_empty())
}

fn lines_of(named: &Ref) -> impl Iterator<Item = Line<'_>> {
    let symref_target = named.symref_target.as_ref();
    let own = named.target.map(|id| Line { id, name: named.name.clone(), symref_target });
    let peeled = named.peeled.filter(|_| own.is_some()).map(|id| Line {
        id,
        name: [named.name.as_slice(), PEELED].concat().into(),
        symref_target: None,
    });
    own.into_iter().chain(peeled)
}

fn compare(order: Order, a: &[u8], b: &[u8]) -> Ordering {
    let ascending = if order.by_version { version_order::compare(a, b) } else { a.cmp(b) };
    if order.reversed { ascending.reverse() } else { ascending }
}

fn push_name(bytes: &mut Vec<u8>, name: &[u8]) {
    // A name that git would not make, from a host that is not to be believed.
    if name.iter().any(u8::is_ascii_control) {
        bytes.extend_from_slice(escape_for_people(name).as_bytes());
    } else {
        bytes.extend_from_slice(name);
    }
}
