//! What each tool is and replies, word for word.
//!
//! `GITSIP_UPDATE=1 cargo test --test mcp` writes what is compared here.

use std::path::{Path, PathBuf};

use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use super::client::{call, connect};
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;
use super::support::runtime::run;

fn repository(sandbox: &Sandbox) {
    let origin = sandbox.bare("r.git");
    let files = [
        File::new("README.md", "# Title\n\nTODO: write\nTODO: and TODO\nend\n"),
        File::new("bin", b"a\0b\xff"),
        File::new(b"caf\xe9.txt", b"TODO \xff\n"),
        File::symlink("link", "src/main.c"),
        File::new("long.txt", "line\n".repeat(3000)),
        File::new("new\nline", "TODO\n"),
        File::executable("src/main.c", "int main() {\n\treturn 0; /* TODO */\n}\n"),
        File::new("src/deep/er/x.h", "\n"),
        File::submodule("sub", &"1".repeat(40)),
    ];
    origin.commit("main", &files);
    origin.git().run(["tag", "-a", "-m", "first", "v1"]);
}

#[test]
fn replies_are_written_word_for_word() {
    let sandbox = Sandbox::new();
    repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        for (name, tool, arguments) in [
            ("refs", "git_refs", json!({})),
            ("ls", "git_ls", json!({"ref": "v1"})),
            ("tree", "git_tree", json!({"depth": 2})),
            ("glob", "git_glob", json!({"patterns": ["*.c", "*.h"]})),
            ("read", "git_read", json!({"paths": ["README.md", "bin", "sub", "link"]})),
            ("read_part", "git_read", json!({"paths": "long.txt", "max_bytes": 4000})),
            ("read_nothing", "git_read", json!({"paths": ["READ.md"]})),
            ("grep", "git_grep", json!({"patterns": ["TODO"]})),
            (
                "grep_content",
                "git_grep",
                json!({"pattern": "TODO", "output_mode": "content", "before": 1, "after": 1}),
            ),
            ("grep_count", "git_grep", json!({"patterns": ["TODO"], "output_mode": "count"})),
            ("grep_page", "git_grep", json!({"patterns": ["TODO"], "head_limit": 1})),
            ("no_ref", "git_ls", json!({"ref": "mian"})),
        ] {
            let mut asked = arguments.clone();
            asked["repo"] = server.url("r.git").into();
            let result = call(&client, tool, asked).await;
            let question = json!({"tool": tool, "arguments": arguments});
            let written = json!({"question": question, "reply": normalised(&result, &server)});
            compare(&format!("tests/golden/mcp/{name}.json"), &written);
        }
        client.cancel().await.unwrap();
    });
}

#[test]
fn tools_are_described_word_for_word_and_only_read() {
    let sandbox = Sandbox::new();
    run(async {
        let client = connect(&sandbox, &[]).await;
        let tools = client.list_all_tools().await.unwrap();
        assert!(tools.len() <= 8);
        for tool in &tools {
            let annotations = tool.annotations.as_ref().unwrap();
            assert_eq!(annotations.read_only_hint, Some(true));
            assert!(tool.name.starts_with("git_"));
        }
        let written = json!({
            "instructions": client.peer_info().unwrap().instructions,
            "tools": tools,
            "templates": client.list_all_resource_templates().await.unwrap(),
        });
        compare("tests/golden/mcp/tools.json", &written);
    });
}

/// Without what differs from run to run.
fn normalised(result: &CallToolResult, server: &HttpServer) -> Value {
    let mut value = serde_json::to_value(result).unwrap();
    let text = value["content"][0]["text"].as_str().unwrap().to_owned();
    let nonce = text.split("<<<repository ").nth(1).unwrap().split('\n').next().unwrap();
    assert_eq!(text.matches(nonce).count(), 2, "{text}");
    value["content"][0]["text"] = text.replace(nonce, "NONCE").into();
    if let Some(stats) = value["structuredContent"].get_mut("stats") {
        for name in ["bytes_received", "elapsed_ms"] {
            stats[name] = json!(0);
        }
    }
    let port = server.address().port().to_string();
    let text = serde_json::to_string(&value).unwrap();
    let text = text.replace(&format!(":{port}/"), ":PORT/");
    serde_json::from_str(&text.replace(&format!("%3A{port}%2F"), "%3APORT%2F")).unwrap()
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
