//! Drives `gitsip session`, as a program in any language would: lines of JSON in, lines of
//! JSON out. Prints where each pattern is found first.
//!
//! `cargo run --example session -- target/debug/gitsip https://host/repo.git PATTERN...`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: session GITSIP REPO PATTERN...";
    let (gitsip, repo) = (words.next().ok_or(usage)?, words.next().ok_or(usage)?);
    let patterns: BTreeMap<u64, String> = (1..).zip(words).collect();

    let mut session = Command::new(gitsip)
        .args(["session", &repo])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = session.stdin.take().ok_or("no standard input")?;
    let output = session.stdout.take().ok_or("no standard output")?;

    // All at once: the repository is fetched for the first, and each answer says whose it is.
    for (id, pattern) in &patterns {
        let params = json!({"patterns": [pattern], "limit": 1});
        writeln!(input, "{}", json!({"id": id, "method": "grep", "params": params}))?;
    }
    // The session ends when its input does and all is answered.
    drop(input);

    let mut found = BTreeMap::new();
    for line in BufReader::new(output).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let id = line["id"].as_u64().ok_or("a line about no request")?;
        found.insert(id, told(&line));
    }
    for (id, pattern) in &patterns {
        println!("{pattern}: {}", found.get(id).ok_or("no answer")?);
    }
    session.wait()?;
    Ok(())
}

/// What the last line of a request comes to, in words.
fn told(line: &Value) -> String {
    match (&line["error"]["message"], line["answer"]["items"].get(0)) {
        (Value::String(message), _) => message.clone(),
        (_, None) => "nowhere".to_owned(),
        (_, Some(hit)) => {
            let text = |name: &str| hit[name]["text"].as_str().unwrap_or("(bytes)").to_owned();
            format!("{}:{}: {}", text("path"), hit["line"], text("text"))
        }
    }
}
