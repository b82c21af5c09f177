//! What every command takes, and which commit most of them read.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::cache::CacheArgs;
use super::help::EVERYWHERE;
use super::{Form, Spend};
use crate::cli::network::Network;

/// What every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = EVERYWHERE)]
pub(in crate::cli) struct Common {
    /// Variable with a token for the host (or user:password)
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) token_env: Option<String>,
    /// Give up after this time: 30, 1.5s, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(in crate::cli) timeout: Option<Duration>,
    /// Memory for what hosts send: 64MiB, 512M, 1g [512M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(in crate::cli) max_memory: Option<u64>,
    /// Say what is asked of the host; -vv says more
    #[arg(short, long, action = ArgAction::Count)]
    pub(in crate::cli) verbose: u8,
    /// Show progress; --no-progress: not even on a terminal
    #[arg(long, overrides_with = "no_progress")]
    progress: bool,
    /// Show no progress
    #[arg(long, overrides_with = "progress", hide_short_help = true)]
    no_progress: bool,
    /// Say what it cost: one JSON line on standard error
    #[arg(long)]
    pub(in crate::cli) stats: bool,
    #[command(flatten)]
    pub(in crate::cli) spend: Spend,
    #[command(flatten)]
    pub(in crate::cli) form: Form,
    #[command(flatten)]
    pub(in crate::cli) cache: CacheArgs,
    #[command(flatten)]
    pub(in crate::cli) network: Network,
}

impl Common {
    /// What was said about progress, if something was.
    pub(in crate::cli) fn wants_progress(&self) -> Option<bool> {
        match (self.progress, self.no_progress) {
            (false, false) => None,
            (progress, _) => Some(progress),
        }
    }
}

/// Which commit is read.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct AtRef {
    /// Branch, tag or commit id [HEAD]
    #[arg(long = "ref", value_name = "REF")]
    pub(in crate::cli) name: Option<String>,
}

/// Seconds, or a number with ms, s, m or h.
pub(in crate::cli) fn parse_time(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write seconds, or a number with ms, s, m or h".to_owned()),
    };
    let seconds: f64 = number.parse().map_err(|_| format!("'{number}' is no number"))?;
    match Duration::try_from_secs_f64(seconds * seconds_per_unit) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be more than nothing".to_owned()),
    }
}

/// Bytes, or a number with k, M, G or T, each 1,024 times the one before; `B` and `iB`
/// behind them change nothing, and neither does upper or lower case.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.to_ascii_lowercase();
    let power = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" if !unit.starts_with('i') => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err("write bytes, or a number with k, M or G: 64MiB, 512M, 1g".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| format!("'{text}' is no number of bytes"))?;
    match number.checked_mul(1 << (10 * power)) {
        Some(0) => Err("it must be more than nothing".to_owned()),
        Some(bytes) => Ok(bytes),
        None => Err("that is more than any machine has".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        for (text, bytes) in [
            ("1", 1),
            ("4096b", 4096),
            ("64MiB", 64 << 20),
            ("64mb", 64 << 20),
            ("512M", 512 << 20),
            ("1g", 1 << 30),
            ("3KiB", 3 << 10),
            ("2T", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "0", "0k", "-1", "M", "1.5g", "1 g", "1x", "1mi", "1ib", "99999999999T"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_units() {
        let millis = |text| parse_time(text).map(|time| time.as_millis());
        assert_eq!(millis("30"), Ok(30_000));
        assert_eq!(millis("1.5s"), Ok(1_500));
        assert_eq!(millis("250ms"), Ok(250));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1h"), Ok(3_600_000));
        for bad in ["", "0", "-1", "s", "1d", "1e400", "nan", "inf", "1 s"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
