//! How far a transfer or a search has come, as every face tells it.

use crate::client::progress::{Phase, Progress};
use crate::text::amounts::Time;

/// How far a transfer or a search has come.
///
/// ```
/// use gitsip::agent::ProgressReport;
/// use gitsip::client::progress::{Phase, Progress};
///
/// let progress =
///     Progress { phase: Phase::Receiving, objects: 3, total_objects: Some(9), bytes: 800 };
/// let report = ProgressReport::from(&progress);
/// assert_eq!((report.phase, report.note), ("receiving", None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ProgressReport {
    /// `connecting`, `listing`, `waiting`, `receiving`, `resolving`, `searching`, `over`,
    /// `pausing` or `widening`.
    pub phase: &'static str,
    /// Objects received, or files searched.
    pub objects: u64,
    /// Objects announced, once they were.
    pub total_objects: Option<u64>,
    /// Bytes of body received, or of text searched.
    pub bytes: u64,
    /// What there is to say in words.
    pub note: Option<String>,
}

impl From<&Progress> for ProgressReport {
    fn from(progress: &Progress) -> Self {
        let Progress { phase, objects, total_objects, bytes } = *progress;
        let (phase, note) = match phase {
            Phase::Connecting => ("connecting", None),
            Phase::Listing => ("listing", None),
            Phase::Waiting => ("waiting", None),
            Phase::Receiving => ("receiving", None),
            Phase::Resolving => ("resolving", None),
            Phase::Searching => ("searching", None),
            Phase::Over => ("over", None),
            Phase::Pausing(time) => {
                ("pausing", Some(format!("the host asks for patience: {}", Time(time))))
            }
            Phase::Widening(why) => ("widening", Some(why.to_string())),
        };
        Self { phase, objects, total_objects, bytes, note }
    }
}
