//! `gitsip doctor`: examines a host, and prints what was found out as a table for people or
//! as one JSON document.

mod table;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::block_in_place;

use super::args::Doctor;
use super::exit::{FOUND, INTERRUPTED};
use super::network::{self, Network};
use super::output::Output;
use super::repo_arg::RepoArg;
use super::run::{End, print_stats, run_to_its_end, runtime};
use super::{screen, verbose};
use crate::agent::{Diagnosis, DoctorOptions, Stats, examine};
use crate::client::transport::Transport as _;
use crate::credentials::{Credentials, Scope};
use crate::error::{Error, ErrorKind};

/// Examines the host that `args` name; the exit status is that of the error a read would
/// meet there, if it is one.
///
/// # Errors
/// What kept the host from being examined, and what keeps it from being read.
pub(super) fn run(args: Doctor) -> Result<u8, Error> {
    verbose::listen(args.common.verbose);
    args.common.form.check()?;
    let RepoArg::Address(pasted) = RepoArg::parse(&args.repo)? else {
        let why = "a path has no host to examine; give the address of a remote repository";
        return Err(Error::new(ErrorKind::Usage, why));
    };
    let credentials = Arc::new(Credentials::find(
        &pasted.repo,
        args.common.token_env.as_deref(),
        Scope::Address,
    )?);
    let visit = Visit {
        address: pasted.repo,
        credentials: Arc::clone(&credentials),
        network: args.common.network.clone(),
        timeout: args.common.timeout,
        json: args.common.form.is_json(),
        stats: args.common.stats,
        out: Output::stdout(),
    };
    let out = visit.out.clone();
    let runtime = runtime()?;
    // It ends at its deadline by itself, with what it has found out.
    let end = runtime.block_on(run_to_its_end(None, || tokio::spawn(visit.pay())));
    let status = match end {
        End::Answered(status) => out.lock().flush().and(status),
        End::Deadline(_) | End::Interrupted => Ok(INTERRUPTED),
    };
    credentials.stop_asking();
    runtime.shutdown_background();
    screen::close();
    status.map_err(|error| credentials.with_advice(error)).map_err(network::with_advice)
}

struct Visit {
    address: String,
    credentials: Arc<Credentials>,
    network: Network,
    timeout: Option<Duration>,
    json: bool,
    stats: bool,
    out: Output,
}

impl Visit {
    async fn pay(self) -> Result<u8, Error> {
        let transport = self.network.transport()?;
        let defaults = DoctorOptions::default();
        let options = DoctorOptions {
            auth: self.credentials.auth(),
            auth_source: self.credentials.source(|ask| screen::undisturbed(ask)),
            max_time: self.timeout.unwrap_or(defaults.max_time),
            ..defaults
        };
        let examined = examine(&transport, &self.address, options).await;
        // Helpers are programs to wait for.
        let examined = match examined {
            Ok(examined) => examined,
            Err(error) => {
                let failed: Result<(), Error> = Err(error);
                block_in_place(|| self.credentials.settle(&failed));
                return failed.map(|()| FOUND);
            }
        };
        let read = examined.error.map_or(Ok(FOUND), Err);
        block_in_place(|| self.credentials.settle(&read));
        self.print(&examined.diagnosis)?;
        if self.stats {
            let Diagnosis { requests, bytes_received, .. } = examined.diagnosis;
            let elapsed_ms = u64::try_from(transport.now().as_millis()).unwrap_or(u64::MAX);
            print_stats(&Stats { requests, bytes_received, elapsed_ms, ..Stats::default() });
        }
        read
    }

    fn print(&self, diagnosis: &Diagnosis) -> Result<(), Error> {
        let text = if self.json {
            let json = serde_json::to_string(diagnosis).map_err(|error| {
                let why = format!("the diagnosis could not be written: {error}");
                Error::new(ErrorKind::Io, why).with_source(error)
            })?;
            json + "\n"
        } else {
            table::table(diagnosis)
        };
        self.out.lock().write_through(text.as_bytes()).map(drop)
    }
}
