//! A process, watched from outside while it runs.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a process took, in seconds and in MB of 10^6 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    /// Of the thread that had most of it.
    pub(crate) busiest: f64,
    pub(crate) anonymous_mb: f64,
}

impl Took {
    /// The median of each figure by itself.
    pub(crate) fn median(all: &[Self]) -> Self {
        let median = |of: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = all.iter().map(of).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Self {
            wall: median(|took| took.wall),
            cpu: median(|took| took.cpu),
            busiest: median(|took| took.busiest),
            anonymous_mb: median(|took| took.anonymous_mb),
        }
    }
}

/// Runs `command` to its end, which must be a good one.
pub(crate) fn run(command: &mut Command) -> Took {
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let folder = format!("/proc/{}", child.id());
    let folder = Path::new(&folder);
    let mut threads = HashMap::new();
    let mut anonymous_kib = 0;
    // Until it has ended; what its first thread took can be read until it is waited for.
    while let Some(kib) = anonymous(folder) {
        anonymous_kib = anonymous_kib.max(kib);
        look_at_threads(folder, &mut threads);
        std::thread::sleep(BETWEEN_LOOKS);
    }
    look_at_threads(folder, &mut threads);
    let status = child.wait().unwrap();
    let wall = start.elapsed().as_secs_f64();
    assert!(status.success(), "{command:?}: {status}");
    let seconds = |nanoseconds: u64| Duration::from_nanos(nanoseconds).as_secs_f64();
    Took {
        wall,
        cpu: seconds(threads.values().sum()),
        busiest: seconds(threads.values().copied().max().unwrap_or(0)),
        anonymous_mb: anonymous_kib as f64 * 1_024.0 / 1e6,
    }
}

/// KiB of anonymous memory in use; nothing once the process has ended.
fn anonymous(folder: &Path) -> Option<u64> {
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Notes the nanoseconds that each thread has been at work.
fn look_at_threads(folder: &Path, threads: &mut HashMap<String, u64>) {
    let Ok(tasks) = std::fs::read_dir(folder.join("task")) else { return };
    for task in tasks.flatten() {
        let Ok(figures) = std::fs::read_to_string(task.path().join("schedstat")) else { continue };
        let at_work = figures.split_whitespace().next().and_then(|first| first.parse().ok());
        if let Some(at_work) = at_work {
            threads.insert(task.file_name().to_string_lossy().into_owned(), at_work);
        }
    }
}

/// Little of a run of seconds, and next to no work.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
