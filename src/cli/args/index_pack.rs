//! `gitsip index-pack`.

use std::path::PathBuf;

use clap::Args;

use crate::oid::ObjectFormat;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = INDEX_PACK_HELP)]
pub(in crate::cli) struct IndexPack {
    /// The pack; with --stdin, where it is written
    pub(in crate::cli) file: PathBuf,
    /// Write the index here [default: FILE with .idx for .pack]
    #[arg(short = 'o', long = "output", value_name = "IDX", conflicts_with = "verify")]
    pub(in crate::cli) index: Option<PathBuf>,
    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::cli) threads: Option<u16>,
    /// Read the pack from standard input
    #[arg(long, conflicts_with = "verify")]
    pub(in crate::cli) stdin: bool,
    /// Add what the pack lacks from the local repository BASE
    #[arg(long, value_name = "BASE", requires = "stdin")]
    pub(in crate::cli) fix_thin: Option<PathBuf>,
    /// Check the pack and the index it has, and count its chains of deltas
    #[arg(long)]
    pub(in crate::cli) verify: bool,
    /// The hash of the pack's ids: sha1 or sha256
    #[arg(long, value_name = "HASH", default_value = "sha1", value_parser = parse_format)]
    pub(in crate::cli) object_format: ObjectFormat,
    /// 2, or 2,OFFSET: offsets above it take 64 bits
    #[arg(long, value_name = "VERSION", hide = true, value_parser = parse_version)]
    pub(in crate::cli) index_version: Option<u64>,
}

fn parse_format(name: &str) -> Result<ObjectFormat, String> {
    let known = [ObjectFormat::Sha1, ObjectFormat::Sha256];
    let found = known.into_iter().find(|format| format.name() == name);
    found.ok_or_else(|| "write sha1 or sha256".to_owned())
}

/// As git's option of this name, which is there for tests.
fn parse_version(text: &str) -> Result<u64, String> {
    let (version, offset) = text.split_once(',').unwrap_or((text, "0x7fffffff"));
    let offset = match offset.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => offset.parse(),
    };
    match offset {
        Ok(offset) if version == "2" => Ok(offset),
        _ => Err("write 2 or 2,OFFSET: no other version is written".to_owned()),
    }
}

const INDEX_PACK_HELP: &str = "\
Writes .idx and .rev as git index-pack does, and prints the pack's checksum.

Example:
  gitsip index-pack some.pack";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_gits_form() {
        assert_eq!(parse_version("2"), Ok((1 << 31) - 1));
        assert_eq!(parse_version("2,0x40"), Ok(0x40));
        assert_eq!(parse_version("2,64"), Ok(64));
        for bad in ["1", "2,", "3,1", "2,x", ""] {
            assert!(parse_version(bad).is_err(), "{bad}");
        }
    }
}
