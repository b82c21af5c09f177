//! What the configuration of a served repository takes from what its server allows.
//!
//! Follows `git-config` (`uploadpack.*`, `transfer.*`). A repository can only restrict: what the
//! server does not allow no setting gives back, and what names programs or addresses
//! (`uploadpack.packObjectsHook`, `uploadpack.advertiseBundleURIs`) is not looked at. A setting
//! that forbids holds in every version of the protocol, also where git looks at it in the old
//! ones only.

use std::time::Duration;

use bstr::{BString, ByteSlice as _};

use super::ServeOptions;
use crate::error::{Error, ErrorKind};

impl ServeOptions {
    /// The same, restricted by a repository's `settings`: keys in lower case as in
    /// `transfer.hiderefs`, with `None` for a name alone, in their order.
    ///
    /// # Errors
    /// `Malformed` when one of them makes no sense: nothing is served then, as in git.
    pub fn within<'a>(
        mut self,
        settings: impl IntoIterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    ) -> Result<Self, Error> {
        let (mut tip, mut reachable, mut any) = (None, None, None);
        for (key, value) in settings {
            let yes = || truth(value).ok_or_else(|| senseless(key, value));
            match key {
                b"transfer.hiderefs" | b"uploadpack.hiderefs" => {
                    let hidden = value.ok_or_else(|| senseless(key, value))?;
                    self.own_hidden_refs.push(hidden.into());
                }
                b"transfer.advertiseobjectinfo" => self.allow_object_info &= yes()?,
                b"uploadpack.allowfilter" => self.allow_filter &= yes()?,
                b"uploadpack.allowrefinwant" => self.allow_ref_in_want &= yes()?,
                b"uploadpack.allowtipsha1inwant" => tip = Some(yes()?),
                b"uploadpack.allowreachablesha1inwant" => reachable = Some(yes()?),
                b"uploadpack.allowanysha1inwant" => any = Some(yes()?),
                b"uploadpack.keepalive" => {
                    let seconds = number(value.unwrap_or_default());
                    let seconds = seconds.ok_or_else(|| senseless(key, value))?;
                    let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
                    self.keep_alive = seconds.map(Duration::from_secs);
                }
                _ => {}
            }
        }
        // To allow any is to allow the others too.
        let all = any == Some(true);
        self.allow_any_want &= any != Some(false);
        self.allow_reachable_want &= reachable != Some(false) || all;
        self.allow_hidden_want |= all || reachable == Some(true) || tip == Some(true);
        Ok(self)
    }
}

/// What a value means where yes or no is asked for.
fn truth(value: Option<&[u8]>) -> Option<bool> {
    let Some(value) = value else { return Some(true) };
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" => Some(true),
        b"false" | b"no" | b"off" | b"" => Some(false),
        other => number(other).map(|number| number != 0),
    }
}

/// A whole number, with a unit after it or none.
fn number(value: &[u8]) -> Option<i64> {
    let value = value.trim_ascii_start().to_str().ok()?;
    let (digits, unit) = match value.char_indices().next_back()? {
        (at, 'k' | 'K') => (value.get(..at)?, 1 << 10),
        (at, 'm' | 'M') => (value.get(..at)?, 1 << 20),
        (at, 'g' | 'G') => (value.get(..at)?, 1 << 30),
        _ => (value, 1),
    };
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

fn senseless(key: &[u8], value: Option<&[u8]>) -> Error {
    let shown = |bytes: &[u8]| crate::text::escape_for_people(&BString::from(bytes)).to_string();
    let value = value.map_or("nothing".to_owned(), |value| format!("'{}'", shown(value)));
    let why = format!("the repository's configuration has {value} for {}", shown(key));
    Error::new(ErrorKind::Malformed, why)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn within(options: ServeOptions, text: &str) -> Result<ServeOptions, Error> {
        let settings = text.split_whitespace().map(|pair| match pair.split_once('=') {
            Some((key, value)) => (key.as_bytes(), Some(value.as_bytes())),
            None => (pair.as_bytes(), None),
        });
        options.within(settings)
    }

    #[test]
    fn a_repository_restricts_and_gives_nothing() {
        let least = ServeOptions {
            allow_filter: false,
            allow_object_info: false,
            allow_reachable_want: false,
            allow_ref_in_want: false,
            ..ServeOptions::default()
        };
        let yes = "uploadpack.allowfilter transfer.advertiseobjectinfo=1 \
                   uploadpack.allowrefinwant=Yes uploadpack.allowanysha1inwant=on \
                   uploadpack.packobjectshook=rm uploadpack.x.allowfilter=false";
        // Nothing but what its own hiding took is given back.
        let hidden = ServeOptions { allow_hidden_want: true, ..least.clone() };
        assert_eq!(within(least.clone(), yes).unwrap(), hidden);
        let most = ServeOptions { allow_any_want: true, ..ServeOptions::default() };
        let no = yes.replace("allowfilter ", "allowfilter=0 ").replace("=1", "=off");
        let no = no.replace("=Yes", "=no").replace("sha1inwant=on", "sha1inwant=false");
        let no = no + " uploadpack.allowreachablesha1inwant=";
        assert_eq!(within(most, &no).unwrap(), least);
    }

    #[test]
    fn numbers_have_units_and_nonsense_is_an_error() {
        let alive = |value: &str| {
            let text = format!("uploadpack.keepalive={value}");
            within(ServeOptions::default(), &text).map(|options| options.keep_alive)
        };
        assert_eq!(alive("1k").unwrap(), Some(Duration::from_secs(1024)));
        assert_eq!((alive("0").unwrap(), alive("-1").unwrap()), (None, None));
        for bad in ["", "x", "k", "1kk", "9223372036854775807k", "1.5"] {
            assert!(alive(bad).is_err(), "{bad}");
        }
        for bad in ["uploadpack.allowfilter=maybe", "transfer.hiderefs"] {
            let error = within(ServeOptions::default(), bad).unwrap_err();
            assert!(error.to_string().contains(bad.split('=').next().unwrap()), "{error}");
        }
    }
}
