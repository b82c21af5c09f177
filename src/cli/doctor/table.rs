//! A diagnosis as a table that fits into a terminal of 80 columns.

use crate::agent::{AuthDiagnosis, Diagnosis, DoctorFinding};
use crate::text::amounts::Count;

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns of the name of a finding, of whether it is offered, and of the verdict.
const NAME: usize = 20;
const OFFERED: usize = 9;
const VERDICT: usize = 10;
/// Columns of the words before what is known at once.
const LABEL: usize = 13;

/// The table, and what it means.
pub(super) fn table(diagnosis: &Diagnosis) -> String {
    let mut lines = vec![diagnosis.address.clone()];
    for hop in &diagnosis.redirects {
        push(&mut lines, LABEL, "leads to", &format!("{} ({})", hop.to, hop.status));
    }
    let http = &diagnosis.http;
    let words = [http.version.clone(), http.server.clone()];
    let answers = words.into_iter().flatten().chain([format!("status {}", http.status)]);
    push(&mut lines, LABEL, "http", &answers.collect::<Vec<_>>().join(", "));
    push(&mut lines, LABEL, "credentials", &credentials(&diagnosis.auth));
    if let Some(git) = &diagnosis.git {
        let agent = git.agent.as_deref().unwrap_or("no name");
        let words = format!("version {}, {agent}, {}", git.version, git.object_format);
        push(&mut lines, LABEL, "git", &words);
    }
    if !diagnosis.findings.is_empty() {
        lines.push(String::new());
        lines.push(format!("{:NAME$}{:OFFERED$}asked for", "", "offered"));
        for finding in &diagnosis.findings {
            push(&mut lines, NAME + OFFERED + VERDICT, &row(finding), &finding.note);
        }
    }
    lines.push(String::new());
    for sentence in &diagnosis.meaning {
        push(&mut lines, 0, "", sentence);
    }
    let cost = format!(
        "This took {} and {}; no answer was read beyond {} KiB.",
        Count(diagnosis.requests, "request"),
        Count(diagnosis.bytes_received, "byte"),
        diagnosis.max_answer_bytes >> 10
    );
    push(&mut lines, 0, "", &cost);
    lines.iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn row(finding: &DoctorFinding) -> String {
    let offered = match finding.offered {
        None => "-",
        Some(false) => "no",
        Some(true) => "yes",
    };
    format!("{:NAME$}{offered:OFFERED$}{:VERDICT$}", finding.name, finding.verdict)
}

fn credentials(auth: &AuthDiagnosis) -> String {
    let wanted = match (auth.wanted, auth.schemes.as_slice()) {
        (Some(true), []) => "wanted".to_owned(),
        (Some(true), schemes) => format!("wanted ({})", schemes.join(", ")),
        (Some(false), _) => "not wanted".to_owned(),
        (None, _) => "perhaps wanted".to_owned(),
    };
    let fared = match (auth.given, auth.accepted) {
        (false, _) => "none given",
        (true, Some(true)) => "those given were accepted",
        (true, Some(false)) => "those given were not accepted",
        (true, None) => "some were given",
    };
    format!("{wanted}, {fared}")
}

/// Appends `label` and `text`, whose lines begin at column `indent`.
fn push(lines: &mut Vec<String>, indent: usize, label: &str, text: &str) {
    let mut line = format!("{label:indent$}");
    let mut is_empty = true;
    for word in text.split(' ') {
        let mut word = word;
        let space = usize::from(!is_empty);
        if !is_empty && columns(&line) + space + columns(word) > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_empty = true;
        }
        while columns(&line) + columns(word) > WIDTH && is_empty {
            let room = WIDTH.saturating_sub(indent).max(1);
            let end = word.char_indices().nth(room).map_or(word.len(), |(at, _)| at);
            lines.push(line + &word[..end]);
            line = " ".repeat(indent);
            word = &word[end..];
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_host_says_no_line_is_wider_than_a_terminal() {
        for text in ["", "a b", &"x".repeat(500), &"word ".repeat(90), &"é".repeat(81)] {
            for (indent, label) in [(0, ""), (LABEL, "http"), (39, "filter blob:none")] {
                let mut lines = Vec::new();
                push(&mut lines, indent, label, text);
                assert!(lines.iter().all(|line| columns(line) <= WIDTH), "{lines:?}");
                let said: String = lines.concat().replace(' ', "");
                assert_eq!(said, format!("{label}{text}").replace(' ', ""));
                let rest = lines.iter().skip(1);
                assert!(rest.clone().all(|line| line.starts_with(&" ".repeat(indent))));
            }
        }
    }
}
