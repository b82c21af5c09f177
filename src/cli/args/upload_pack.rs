//! `gitsip upload-pack`.

use std::path::PathBuf;

use clap::Args;

use super::serve::Access;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = UPLOAD_PACK_HELP)]
pub(in crate::cli) struct UploadPack {
    /// The repository
    #[arg(value_name = "DIR")]
    pub(in crate::cli) repo: PathBuf,
    /// Answer one request, as behind an HTTP server
    #[arg(long)]
    pub(in crate::cli) stateless_rpc: bool,
    /// Print what comes before any request, and no more
    #[arg(long, alias = "advertise-refs")]
    pub(in crate::cli) http_backend_info_refs: bool,
    #[command(flatten)]
    pub(in crate::cli) access: Access,
}

const UPLOAD_PACK_HELP: &str = "\
Takes the place of git's own on the side that is cloned from.

Examples:
  git clone --no-local --upload-pack='gitsip upload-pack' . ../copy
  gitsip upload-pack --http-backend-info-refs .";
