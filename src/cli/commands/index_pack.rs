//! `gitsip index-pack`: the index of a pack.

use crate::cli::args::IndexPack;
use crate::cli::exit::FOUND;
use crate::cli::output::{Output, push_fmt};
use crate::disk::{self, IndexOptions, Indexed, Repository};
use crate::error::Error;
use crate::limits::NeverInterrupt;
use crate::parallel::Pool;

/// Indexes or verifies, and prints what git prints.
pub(in crate::cli) fn index_pack(args: &IndexPack) -> Result<u8, Error> {
    let defaults = IndexOptions::default();
    let options = IndexOptions {
        format: args.object_format,
        index: args.index.clone(),
        large_offsets_above: args.index_version.unwrap_or(defaults.large_offsets_above),
        workers: args.threads.map_or_else(Pool::shared, |threads| Pool::of(threads.into())),
        ..defaults
    };
    let indexed = if args.verify {
        disk::verify_pack(&args.file, &options, &NeverInterrupt)?
    } else if args.stdin {
        let base = match &args.fix_thin {
            Some(base) => Some(Repository::open(base, &options.limits, &options.budget)?),
            None => None,
        };
        let mut input = std::io::stdin().lock();
        disk::index_stream(&mut input, &args.file, base.as_ref(), &options, &NeverInterrupt)?
    } else {
        disk::index_pack(&args.file, &options, &NeverInterrupt)?
    };
    let mut text = Vec::new();
    match (args.verify, args.stdin) {
        (true, _) => push_depths(&mut text, &indexed),
        (false, true) => push_fmt(&mut text, format_args!("pack\t{}\n", indexed.checksum)),
        (false, false) => push_fmt(&mut text, format_args!("{}\n", indexed.checksum)),
    }
    Output::stdout().lock().write_through(&text)?;
    Ok(FOUND)
}

/// As `git verify-pack -s` prints them.
fn push_depths(text: &mut Vec<u8>, indexed: &Indexed) {
    let counts = (0..).zip(&indexed.depths).filter(|(_, count)| **count > 0);
    for (depth, &count) in counts {
        let objects = if count == 1 { "object" } else { "objects" };
        match depth {
            0 => push_fmt(text, format_args!("non delta: {count} {objects}\n")),
            depth => push_fmt(text, format_args!("chain length = {depth}: {count} {objects}\n")),
        }
    }
}
