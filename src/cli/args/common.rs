//! What every command takes, and which commit most of them read.

use std::time::Duration;

use clap::Args;

use super::help::EVERYWHERE;
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
    /// Say what it cost: one JSON line on standard error
    #[arg(long)]
    pub(in crate::cli) stats: bool,
    #[command(flatten)]
    pub(in crate::cli) network: Network,
}

/// Which commit is read.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct AtRef {
    /// Branch, tag or commit id [HEAD]
    #[arg(long = "ref", value_name = "REF")]
    pub(in crate::cli) name: Option<String>,
}

fn parse_time(text: &str) -> Result<Duration, String> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
