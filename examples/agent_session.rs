//! What an agent does with a repository it has never seen: a lazy clone, one prefetch, then
//! searches, each once cold and five times warm. One JSON line a step.
//!
//! `cargo run --release --example agent_session -- https://host/repo.git PATTERN...`

use std::time::Instant;

use gitsip::agent::{PrefetchOptions, Remote, RemoteOptions, Repo, Snapshot};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::view::grep::{GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
use gitsip::{Error, Limits};

/// How often each search is repeated once it is warm.
const WARM_RUNS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let url = words.next().ok_or("usage: agent_session URL PATTERN...")?;
    let patterns: Vec<String> = words.collect();
    tokio::runtime::Runtime::new()?.block_on(session(&url, &patterns))?;
    Ok(())
}

async fn session(url: &str, patterns: &[String]) -> Result<(), Error> {
    // A pattern that does not parse should not cost a download.
    let compile =
        |pattern: &String| Matcher::new(&[PatternSpec::regex(pattern)], &MatchOptions::default());
    let matchers = patterns.iter().map(compile).collect::<Result<Vec<_>, _>>()?;

    let transport = HttpTransport::new(HttpOptions::default())?;
    let start = Instant::now();
    let remote = Remote::open(transport, url, RemoteOptions::default()).await?;
    let repo = Repo::new(remote, Limits::default());
    let snapshot = repo.snapshot("HEAD").await?;
    snapshot.prefetch(&PrefetchOptions::default()).await?;
    let bytes_received = repo.stats().bytes_received;
    let ms = ms_since(start);
    println!(r#"{{"step":"prefetch","ms":{ms},"bytes_received":{bytes_received}}}"#);

    for (pattern, matcher) in patterns.iter().zip(&matchers) {
        let (hits, cold) = search(&snapshot, matcher).await?;
        let mut warm = [0.0; WARM_RUNS];
        for ms in &mut warm {
            *ms = search(&snapshot, matcher).await?.1;
        }
        warm.sort_by(f64::total_cmp);
        println!(
            r#"{{"step":"grep","pattern":{},"hits":{hits},"grep_cold_ms":{cold},"grep_median_ms":{}}}"#,
            serde_json::Value::from(pattern.as_str()),
            warm[WARM_RUNS / 2],
        );
    }
    let peak = peak_rss_bytes().map_or("null".to_owned(), |bytes| bytes.to_string());
    println!(r#"{{"step":"memory","peak_rss_bytes":{peak}}}"#);
    Ok(())
}

/// How many lines match, and how many milliseconds it took to find them.
async fn search<S: gitsip::agent::Source>(
    snapshot: &Snapshot<S>,
    matcher: &Matcher,
) -> Result<(u64, f64), Error> {
    let mut count = Count(0);
    let start = Instant::now();
    snapshot.grep(matcher.clone(), GrepOptions::default(), &mut count).await?;
    Ok((count.0, ms_since(start)))
}

/// Sees every hit, as an agent would.
struct Count(u64);

impl Sink for Count {
    fn hit(&mut self, _hit: &Hit<'_>) -> Result<bool, Error> {
        self.0 += 1;
        Ok(true)
    }
}

/// Milliseconds since `start`, to the microsecond.
fn ms_since(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

/// The most memory this process ever occupied, where the system tells it as Linux does.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}
