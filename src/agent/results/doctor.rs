//! What the examination of a host came to.

use super::Failure;

/// A host, as far as small questions show it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// What this is and in which version of its form: `gitsip.doctor/1`.
    pub schema: &'static str,
    /// The address that was asked about, without credentials.
    pub address: String,
    /// Where the repository is, after redirects.
    pub base: String,
    /// The redirects that led there.
    pub redirects: Vec<Hop>,
    /// What the host says of itself, below git's protocol.
    pub http: Http,
    /// Whether it wants credentials.
    pub auth: AuthDiagnosis,
    /// What it says of itself in git's protocol; `None` when it does not speak it.
    pub git: Option<Offer>,
    /// What it does, in the order of a table.
    pub findings: Vec<DoctorFinding>,
    /// Why there is no more; `None` when it is all there.
    pub failure: Option<Failure>,
    /// What that means for reading from it, in sentences.
    pub meaning: Vec<String>,
    /// HTTP requests sent.
    pub requests: u64,
    /// Bytes of response bodies received.
    pub bytes_received: u64,
    /// Bytes after which each answer was cut off.
    pub max_answer_bytes: u64,
}

/// One redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hop {
    /// The HTTP status.
    pub status: u16,
    /// The repository it leads to.
    pub to: String,
}

/// What a host says of itself below git's protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http {
    /// The status of its first answer that is no redirect.
    pub status: u16,
    /// The version of HTTP, such as `HTTP/2.0`, where the transport tells it.
    pub version: Option<String>,
    /// Its header `Server`.
    pub server: Option<String>,
}

/// Whether a host wants credentials, and what became of those it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuthDiagnosis {
    /// Whether it answers 401 without any; `None` when that was not found out.
    pub wanted: Option<bool>,
    /// The schemes it names then.
    pub schemes: Vec<String>,
    /// Whether it was given any.
    pub given: bool,
    /// Whether it took them; `None` when it was given none, or wants none.
    pub accepted: Option<bool>,
}

/// What a host says of itself in git's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offer {
    /// The newest version of the protocol that it speaks.
    pub version: u8,
    /// Its program and version.
    pub agent: Option<String>,
    /// The hash of its ids.
    pub object_format: String,
}

/// One thing that was looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// What, as `filter blob:none`.
    pub name: String,
    /// Whether the host offers it; `None` where there is no word for offering it.
    pub offered: Option<bool>,
    /// `honoured`, `ignored`, `refused`, `failed` or `unknown`.
    pub verdict: String,
    /// What shows it, or the host's own words, safe to show; may be empty.
    pub note: String,
}
