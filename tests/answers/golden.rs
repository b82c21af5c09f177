//! The JSON of every answer, word for word, and the schema that is shipped.
//!
//! `GITSIP_UPDATE=1 cargo test --test answers` writes what is compared here.

use std::path::{Path, PathBuf};

use gitsip::agent::{AnyAnswer, Failure, Query, Stop};
use gitsip::{Error, ErrorKind};
use serde_json::{Value, json};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process;
use super::{Held, host, open};

fn repository(sandbox: &Sandbox) -> Held {
    let origin = sandbox.bare("r.git");
    let long = format!("{}TODO{}\n", "x".repeat(80), "y".repeat(80));
    let lfs = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "4d".repeat(32)
    );
    let files = [
        File::new(".gitmodules", "[submodule \"s\"]\n\tpath = sub\n\turl = ../other.git\n"),
        File::new("README.md", "# Title\n\nTODO: write\nTODO: and TODO\nend\n"),
        File::new("big.bin", lfs),
        File::new(b"caf\xe9.txt", b"TODO \xff\n"),
        File::symlink("link", "src/main.c"),
        File::new("src/long.c", long),
        File::executable("src/main.c", "int main() {\n\treturn 0; /* TODO */\n}\n"),
        File::new("src/deep/er/x.h", "\n"),
        File::submodule("sub", &"1".repeat(40)),
    ];
    origin.commit("main", &files);
    origin.git().run(["tag", "-a", "-m", "first", "v1"]);
    open(&host(sandbox))
}

#[test]
fn answers_are_written_word_for_word() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox);
    for (name, method, params) in [
        ("refs", "refs", json!({})),
        ("refs_tags", "refs", json!({"tags": true, "sort": "version", "reverse": true})),
        ("refs_page", "refs", json!({"patterns": ["v*", "HEAD"], "limit": 1})),
        ("ls", "ls", json!({})),
        ("ls_recursive", "ls", json!({"path": "src", "recursive": true, "ref": "main"})),
        ("tree", "tree", json!({"depth": 2})),
        ("stat", "stat", json!({"paths": ["README.md", "src", "READ.md"]})),
        (
            "read",
            "read",
            json!({"paths": ["README.md", "link", "big.bin", "sub", "src", {"bytes": "Y2Fm6S50eHQ="}]}),
        ),
        ("read_page", "read", json!({"paths": ["README.md"], "lines": "2:", "limit": 2})),
        ("glob", "glob", json!({"patterns": ["*.c", "*.txt"]})),
        ("grep", "grep", json!({"patterns": ["TODO"], "before": 1, "after": 1, "max_columns": 64})),
        ("grep_page", "grep", json!({"patterns": ["TODO"], "limit": 2})),
        ("grep_types", "grep", json!({"patterns": ["TODO"], "types": ["all", "!c"]})),
        (
            "grep_files",
            "grep",
            json!({"patterns": ["todo"], "ignore_case": true, "output_mode": "files"}),
        ),
        (
            "grep_count",
            "grep",
            json!({"patterns": ["TODO"], "output_mode": "count", "max_total": 2}),
        ),
        ("plan", "plan", json!({"globs": ["*.c", "*.h"]})),
        ("prefetch", "prefetch", json!({})),
    ] {
        let question = json!({"method": method, "params": params});
        let query: Query = serde_json::from_value(question.clone()).unwrap();
        let answer = in_process::run(repo.ask(&query, &Stop::default())).unwrap();
        let written = json!({"question": question, "answer": normalised(&answer)});
        compare(&format!("tests/golden/{name}.json"), &written);
    }
}

#[test]
fn failures_are_written_word_for_word() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox);
    let mut failures = Vec::new();
    for (method, params) in [
        ("ls", json!({"path": "scr"})),
        ("ls", json!({"ref": "mian"})),
        ("ls", json!({"cursor": "x"})),
        ("grep", json!({"patterns": ["x"], "types": ["pyhton"]})),
        ("grep", json!({"patterns": ["(?=x)"]})),
    ] {
        let question = json!({"method": method, "params": params});
        let query: Query = serde_json::from_value(question.clone()).unwrap();
        let error = in_process::run(repo.ask(&query, &Stop::default())).unwrap_err();
        failures.push(json!({"question": question, "failure": Failure::from(&error)}));
    }
    let of_kind = |kind| json!({"failure": Failure::from(&Error::new(kind, "what happened"))});
    failures.extend(ErrorKind::ALL.iter().copied().map(of_kind));
    compare("tests/golden/failures.json", &Value::Array(failures));
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_that_is_shipped_is_that_of_the_types() {
    let schema = serde_json::to_value(gitsip::agent::schema()).unwrap();
    compare("schema/gitsip.json", &schema);
}

/// Without what differs from run to run and from one version of git to the next.
fn normalised(answer: &AnyAnswer) -> Value {
    let mut value = serde_json::to_value(answer).unwrap();
    for name in ["bytes_received", "elapsed_ms"] {
        value["stats"][name] = json!(0);
    }
    value
}

#[track_caller]
fn compare(path: &str, value: &Value) {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = serde_json::to_string_pretty(value).unwrap() + "\n";
    if std::env::var_os("GITSIP_UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, want, "{path} is not what is written now; GITSIP_UPDATE=1 writes it");
}
