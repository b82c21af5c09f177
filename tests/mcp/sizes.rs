//! A reply has the size that was asked for, whatever is in it, and pages join to the whole.

use rmcp::model::{ReadResourceRequestParams, ResourceContents};
use serde_json::{Value, json};

use super::client::{Client, call, code, connect, structured, text};
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;
use super::support::runtime::run;

/// Text of all kinds: short lines, long ones, what JSON escapes, no UTF-8, long names.
fn repository(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    let files = vec![
        ("empty-lines".to_owned(), b"\n".repeat(20_000)),
        ("one-line".to_owned(), b"a needle b ".repeat(20_000)),
        ("escapes".to_owned(), b"\"\\\x01\x02\tneedle\r\n".repeat(5_000)),
        ("latin".to_owned(), b"caf\xe9 needle\n".repeat(5_000)),
        ("plain".to_owned(), b"the quick brown fox and a needle\n".repeat(3_000)),
        (format!("{}/needle", ["n".repeat(200).as_str(); 15].join("/")), b"needle\n".to_vec()),
    ];
    let commit: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
    sandbox.bare("r.git").commit("main", &commit);
    files
}

#[test]
fn no_reply_is_larger_than_it_may_be() {
    let sandbox = Sandbox::new();
    let files = repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        let mut asked: Vec<(&str, Value)> = vec![
            ("git_grep", json!({"patterns": ["needle"]})),
            ("git_grep", json!({"patterns": ["needle"], "output_mode": "content"})),
            ("git_grep", json!({"patterns": ["q"], "output_mode": "content", "after": 900})),
            (
                "git_grep",
                json!({"patterns": [""], "output_mode": "content", "max_columns": 100_000}),
            ),
            ("git_ls", json!({"recursive": true})),
            ("git_tree", json!({"depth": 100})),
            ("git_glob", json!({"patterns": ["*"]})),
        ];
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        asked.push(("git_read", json!({"paths": paths})));
        asked.extend(paths.iter().map(|path| ("git_read", json!({"paths": [path]}))));
        for (tool, arguments) in asked {
            for max_bytes in [None, Some(4_000), Some(200_000)] {
                let mut arguments = arguments.clone();
                arguments["repo"] = server.url("r.git").into();
                if let Some(max_bytes) = max_bytes {
                    arguments["max_bytes"] = max_bytes.into();
                }
                let result = call(&client, tool, arguments.clone()).await;
                let bytes = serde_json::to_vec(&result).unwrap().len();
                assert!(bytes <= max_bytes.unwrap_or(40_000), "{bytes}: {tool} {arguments}");
                if result.is_error == Some(true) {
                    assert_eq!(code(&result), "reply_too_large", "{tool} {arguments}");
                } else if !structured(&result)["next"].is_null() {
                    assert!(text(&result).contains("\"cursor\": "), "{}", text(&result));
                }
            }
        }
    });
}

#[test]
fn pages_of_a_file_join_to_the_file_and_fill_their_replies() {
    let sandbox = Sandbox::new();
    let files = repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        for name in ["plain", "escapes", "empty-lines"] {
            let (mut whole, mut cursor, mut pages) = (String::new(), Value::Null, 0);
            loop {
                let arguments =
                    json!({"repo": server.url("r.git"), "paths": [name], "cursor": cursor});
                let result = call(&client, "git_read", arguments).await;
                whole += structured(&result)["items"][0]["text"]["text"].as_str().unwrap();
                cursor = structured(&result)["next"].clone();
                pages += 1;
                if cursor.is_null() {
                    break;
                }
                let bytes = serde_json::to_vec(&result).unwrap().len();
                let is_full = bytes > 30_000 || text(&result).lines().count() > 2_000;
                assert!(is_full, "{name}: {bytes}");
            }
            let (_, text) = files.iter().find(|(path, _)| path == name).unwrap();
            assert_eq!(whole.as_bytes(), text, "{name}");
            assert!(pages > 1);
        }
    });
}

#[test]
fn what_does_not_fit_is_linked_and_can_be_had_whole_at_the_same_commit() {
    let sandbox = Sandbox::new();
    let files = repository(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        for name in ["plain", "latin"] {
            let arguments = json!({"repo": server.url("r.git"), "paths": [name]});
            let result = call(&client, "git_read", arguments).await;
            let link = result.content[1].as_resource_link().unwrap().clone();
            sandbox.git().run([
                "-C",
                sandbox.repos().join("r.git").to_str().unwrap(),
                "gc",
                "--quiet",
            ]);
            let (_, whole) = files.iter().find(|(path, _)| path == name).unwrap();
            assert_eq!(link.size, Some(whole.len() as u64));
            let read = read(&client, &link.uri).await;
            match &read {
                ResourceContents::TextResourceContents { text, .. } => {
                    assert_eq!(text.as_bytes(), whole);
                }
                ResourceContents::BlobResourceContents { blob, .. } => {
                    assert_eq!(blob.len(), whole.len().div_ceil(3) * 4);
                }
                other => panic!("{other:?}"),
            }
        }
        for uri in ["file:///etc/passwd", "gitsip://file?repo=%2Fetc&commit=1&path=passwd"] {
            let error = client
                .read_resource(ReadResourceRequestParams::new(uri.to_owned()))
                .await
                .unwrap_err();
            assert!(error.to_string().contains("bad_uri") || error.to_string().contains("-32602"));
        }
    });
}

async fn read(client: &Client, uri: &str) -> ResourceContents {
    let asked = ReadResourceRequestParams::new(uri.to_owned());
    client.read_resource(asked).await.unwrap().contents.remove(0)
}
