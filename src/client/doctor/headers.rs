//! What headers of answers say: which credentials are wanted, and whether a browser lets a
//! page of another site read.
//!
//! Follows RFC 9110 ("WWW-Authenticate") and the fetch standard ("CORS protocol"), as far
//! as it takes to say what a host allows. Header names are in lower case.

use crate::text::escape_for_people;

use super::{Finding, Verdict};

/// Who asks, as far as a browser would tell. A name that is nobody's (RFC 2606).
pub const ORIGIN: &str = "https://gitsip.example";

/// The headers that a page sends beside those that browsers always let through.
pub const PAGE_HEADERS: [&str; 3] = ["authorization", "content-type", "git-protocol"];

/// Schemes of one answer that are told.
const MAX_SCHEMES: usize = 8;
const MAX_SHOWN_CHARS: usize = 60;

type Headers = [(String, String)];

/// The schemes of credentials that an answer asks for, as `Basic` and `Bearer`, each once.
pub fn schemes(headers: &Headers) -> Vec<String> {
    let mut schemes: Vec<String> = Vec::new();
    for value in all(headers, "www-authenticate") {
        for part in split_unquoted(value) {
            let mut words = part.split_ascii_whitespace();
            // What has an `=` in its first word continues the challenge before it.
            let Some(scheme) = words.next().filter(|word| !word.contains('=')) else { continue };
            let scheme = shown(scheme);
            if schemes.len() < MAX_SCHEMES && !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
    }
    schemes
}

/// The first header called `name`, short and safe to show.
pub fn told(headers: &Headers, name: &str) -> Option<String> {
    all(headers, name).next().map(shown).filter(|value| !value.is_empty())
}

/// Whether an answer may be read by a page of another site.
pub fn answers_finding(headers: &Headers) -> Finding {
    let name = "CORS answers";
    match origin_problem(headers) {
        None => Finding::new(name, Verdict::Honoured, ""),
        Some(why) => Finding::new(name, Verdict::Ignored, why),
    }
}

/// Whether a page of another site may send git's requests, by the answer of `status` to the
/// question that a browser asks first.
pub fn preflight_finding(status: u16, headers: &Headers) -> Finding {
    let name = "CORS preflight";
    if !(200..300).contains(&status) {
        return Finding::new(name, Verdict::Refused, format!("it answers OPTIONS with {status}"));
    }
    if let Some(why) = origin_problem(headers) {
        return Finding::new(name, Verdict::Ignored, why);
    }
    let allowed = list(headers, "access-control-allow-headers");
    let is_allowed = |wanted: &&str| {
        // The star does not stand for credentials.
        allowed.iter().any(|name| name == wanted || name == "*" && *wanted != "authorization")
    };
    let lacking: Vec<_> = PAGE_HEADERS.iter().filter(|name| !is_allowed(name)).copied().collect();
    if lacking.is_empty() {
        return Finding::new(name, Verdict::Honoured, "");
    }
    Finding::new(name, Verdict::Ignored, format!("it does not allow {}", lacking.join(", ")))
}

/// Whether answers come compressed to who asks for that.
pub fn gzip_finding(headers: &Headers) -> Finding {
    match told(headers, "content-encoding") {
        Some(encoding) if encoding != "identity" => {
            Finding::new("gzip", Verdict::Honoured, format!("answers in {encoding}"))
        }
        _ => Finding::new("gzip", Verdict::Ignored, "answers come plain"),
    }
}

fn origin_problem(headers: &Headers) -> Option<String> {
    match all(headers, "access-control-allow-origin").next() {
        None => Some("there is no Access-Control-Allow-Origin".into()),
        Some("*" | ORIGIN) => None,
        Some(other) => Some(format!("it is for pages of '{}' only", shown(other))),
    }
}

fn list(headers: &Headers, name: &str) -> Vec<String> {
    let words = all(headers, name).flat_map(|value| value.split(','));
    words.map(|word| word.trim().to_ascii_lowercase()).collect()
}

fn all<'h>(headers: &'h Headers, name: &str) -> impl Iterator<Item = &'h str> {
    headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.trim())
}

/// The parts of `value` between commas that stand in no quotes.
fn split_unquoted(value: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, char) in value.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                parts.push(&value[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&value[start..]);
    parts
}

fn shown(value: &str) -> String {
    let short: String = value.chars().take(MAX_SHOWN_CHARS).collect();
    escape_for_people(short.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        lines.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn schemes_are_told_apart_from_their_parameters() {
        for (value, expected) in [
            ("Basic realm=\"a, Bearer b\"", &["Basic"][..]),
            (
                "Bearer realm=\"x\\\", Digest y\",scope=\"a b\", Basic realm=\"z\"",
                &["Bearer", "Basic"],
            ),
            ("Negotiate, NTLM, Basic", &["Negotiate", "NTLM", "Basic"]),
            ("", &[]),
            ("\u{1b}[31m x", &["\\x1b[31m"]),
        ] {
            assert_eq!(schemes(&headers(&[("www-authenticate", value)])), expected, "{value}");
        }
        let many: Vec<_> = (0..100).map(|n| format!("S{n}")).collect();
        assert_eq!(schemes(&headers(&[("www-authenticate", &many.join(","))])).len(), 8);
    }

    #[test]
    fn a_page_may_read_where_its_origin_and_all_its_headers_are_allowed() {
        let origin = ("access-control-allow-origin", "*");
        let allow = |names| ("access-control-allow-headers", names);
        let all = "Content-Type, Git-Protocol,authorization";
        for (status, lines, verdict, says) in [
            (204, &[origin, allow(all)][..], Verdict::Honoured, ""),
            (200, &[origin, allow("*"), allow("Authorization")], Verdict::Honoured, ""),
            (200, &[origin, allow("*")], Verdict::Ignored, "not allow authorization"),
            (200, &[origin, allow("content-type")], Verdict::Ignored, "authorization, git-pro"),
            (200, &[allow(all)], Verdict::Ignored, "no Access-Control-Allow-Origin"),
            (405, &[origin, allow(all)], Verdict::Refused, "405"),
            (
                200,
                &[("access-control-allow-origin", "https://a.example"), allow(all)],
                Verdict::Ignored,
                "'https://a.example' only",
            ),
        ] {
            let finding = preflight_finding(status, &headers(lines));
            assert_eq!(finding.verdict, verdict, "{lines:?}");
            assert!(finding.note.contains(says), "{}", finding.note);
        }
        assert_eq!(answers_finding(&headers(&[origin])).verdict, Verdict::Honoured);
        assert_eq!(answers_finding(&headers(&[])).verdict, Verdict::Ignored);
    }
}
