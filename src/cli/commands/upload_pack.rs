//! `gitsip upload-pack`: one repository for one client.

use std::io;

use crate::cli::args::UploadPack;
use crate::cli::exit::FOUND;
use crate::disk::{Repository, Setting};
use crate::error::Error;
use crate::limits::{Budget, Limits, NeverInterrupt};
use crate::parallel::Pool;
use crate::server::stdio::serve;
use crate::server::{Served, Talk};

/// Serves until the client is done.
pub(in crate::cli) fn upload_pack(args: &UploadPack) -> Result<u8, Error> {
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let repository = Repository::open(&args.repo, &limits, &budget)?;
    let settings = repository.settings()?;
    let options = args.access.options().within(settings.iter().map(Setting::pair))?;
    let shallow = repository.shallow()?;
    let served = Served::new(repository, options, &limits, &budget)
        .with_workers(Pool::shared())
        .with_shallow(shallow);
    let talk = Talk {
        version: asked_version(),
        stateless: args.stateless_rpc && !args.http_backend_info_refs,
        advertise_only: args.http_backend_info_refs,
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    serve(&served, talk, &mut input, &mut output, &NeverInterrupt)?;
    Ok(FOUND)
}

/// What the client names in `GIT_PROTOCOL`.
fn asked_version() -> u8 {
    Talk::version_asked(&std::env::var_os("GIT_PROTOCOL").unwrap_or_default().to_string_lossy())
}
