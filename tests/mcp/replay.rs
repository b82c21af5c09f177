//! What other implementations' clients say, word for word: `recorded/typescript.jsonl` is the
//! official TypeScript SDK 1.32.2 and `recorded/python.jsonl` the official Python SDK 2.3.0,
//! each from its handshake to its end. Names of repositories are put in.

use serde_json::{Value, json};

use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;
use super::talk::Talk;

#[test]
fn clients_of_other_implementations_are_answered_as_they_were() {
    let sandbox = Sandbox::new();
    let files = [
        File::new("README.md", "# Title\n\nTODO: write\n"),
        File::new("bin", b"a\0b\xff"),
        File::new("long.txt", "line\n".repeat(3000)),
        File::new("src/main.c", "int main() { /* TODO */ }\n"),
    ];
    let commit = sandbox.bare("r.git").commit("main", &files);
    let host = HttpServer::start(sandbox.repos());
    let url = host.url("r.git");
    let in_uri = url.replace(':', "%3A").replace('/', "%2F");
    for (recorded, requests) in [
        (include_str!("recorded/typescript.jsonl"), 14),
        (include_str!("recorded/python.jsonl"), 10),
    ] {
        let mut talk = Talk::start(&sandbox);
        let mut answered = 0;
        for line in recorded.lines() {
            let line = line.replace("REPO_IN_URI", &in_uri).replace("REPO", &url);
            let message: Value = serde_json::from_str(&line.replace("COMMIT", &commit)).unwrap();
            talk.say(&message);
            let Some(id) = message.get("id") else { continue };
            let answer = loop {
                let heard = talk.hear();
                if heard["method"] != "notifications/progress" {
                    break heard;
                }
                assert_eq!(
                    heard["params"]["progressToken"],
                    message["params"]["_meta"]["progressToken"]
                );
            };
            assert_eq!(answer["id"], *id);
            check(&message, &answer);
            answered += 1;
        }
        assert_eq!(answered, requests);
    }
}

/// Whether the answer to `message` is what it was when its client was content.
fn check(message: &Value, answer: &Value) {
    let (params, result) = (&message["params"], &answer["result"]);
    match message["method"].as_str().unwrap() {
        "initialize" => assert_eq!(result["protocolVersion"], params["protocolVersion"]),
        "tools/list" => assert_eq!(result["tools"].as_array().unwrap().len(), 6),
        "tools/call" if params["name"] == "nope" => assert_eq!(answer["error"]["code"], -32602),
        "tools/call" => {
            let is_wrong = params["arguments"]["ref"] == "nope";
            assert_eq!(result["isError"], json!(is_wrong), "{message} {answer}");
            assert!(result["structuredContent"].is_object());
        }
        "resources/read" => {
            assert_eq!(result["contents"][0]["text"].as_str().unwrap().len(), 15_000);
        }
        "resources/templates/list" => {
            assert_eq!(result["resourceTemplates"].as_array().unwrap().len(), 1);
        }
        other => panic!("{other}"),
    }
}
