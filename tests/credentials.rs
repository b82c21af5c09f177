//! Where credentials go and where they never go: redirects, hosts that refuse them, tokens
//! that expire, and what anything shows of them.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

#[path = "credentials/command.rs"]
#[cfg(feature = "cli")]
mod command;
#[path = "credentials/redirects.rs"]
mod redirects;
#[path = "credentials/renewal.rs"]
mod renewal;
#[path = "support/mod.rs"]
mod support;

use gitsip::client::credentials::Auth;
use support::git::{File, Sandbox};
use support::runtime::run;

/// Of no form that anything else has.
const SECRET: &str = "s3cret-t0ken";
/// `me:s3cret-t0ken` as basic authentication has it.
const SECRET_IN_BASE64: &str = "bWU6czNjcmV0LXQwa2Vu";

fn bearer(token: &str) -> Auth {
    Auth::Bearer(token.to_owned())
}

fn basic(user: &str, password: &str) -> Auth {
    Auth::Basic { user: user.to_owned(), password: password.to_owned() }
}

fn sandbox_with_repo() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    sandbox
}

fn has_secret(text: &str) -> bool {
    text.contains(SECRET) || text.contains(SECRET_IN_BASE64)
}
