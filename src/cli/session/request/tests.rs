//! What lines mean, and what is said of those that mean nothing.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::agent::OutputMode;

fn parsed(line: &str) -> Request {
    Request::parse(line.as_bytes()).unwrap()
}

/// The id, the code and the message of what is refused.
fn refused(line: &str) -> (Option<String>, &'static str, String) {
    let Refusal { id, error } = Request::parse(line.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    (id.map(|id| id.json().to_owned()), error.code(), error.context().to_owned())
}

#[test]
fn a_question_is_told_from_how_it_is_to_be_answered() {
    let line = r#"{"id": "a", "method": "grep", "params": {"patterns": ["x"], "output_mode":
        "count", "repo": "o/r", "stream": true, "progress": false, "timeout_ms": 1500}}"#;
    let Request { id, call, wishes } = parsed(&line.replace('\n', ""));
    assert_eq!(id.json(), r#""a""#);
    let timeout = Some(Duration::from_millis(1_500));
    assert_eq!(wishes, Wishes { timeout, progress: false, stream: true });
    let Call::Ask(Some(repo), query) = call else { panic!("{call:?}") };
    let Query::Grep(grep) = *query else { panic!("{query:?}") };
    assert_eq!((repo.as_str(), grep.output_mode), ("o/r", OutputMode::Count));
}

#[test]
fn every_method_needs_no_more_than_its_name() {
    for method in METHODS {
        let line = format!(r#"{{"id": 1, "method": "{method}"}}"#);
        match (method, Request::parse(line.as_bytes())) {
            ("cancel", Err(refusal)) => {
                assert!(refusal.error.to_string().contains("'id' of what to cancel is missing"));
            }
            (_, request) => assert_eq!(request.unwrap().wishes, Wishes::default(), "{method}"),
        }
        let null = format!(r#"{{"id": 1, "method": "{method}", "params": null}}"#);
        let params = Request::parse(null.as_bytes());
        assert_eq!(params.is_ok(), method != "cancel", "{method}: no params are none");
    }
    assert!(Query::METHODS.iter().all(|method| METHODS.contains(method)));
}

#[test]
fn an_id_is_a_text_or_a_whole_number_and_is_given_back_as_it_was() {
    let longest = format!("{:?}", "a".repeat(MAX_ID_BYTES));
    let whole = ["0", "-7", "18446744073709551615", r#""""#, r#""é\"\\\n""#, longest.as_str()];
    for id in whole {
        let line = format!(r#"{{"id": {id}, "method": "repos"}}"#);
        assert_eq!(parsed(&line).id.json(), id);
    }
    let too_long = format!("{:?}", "a".repeat(MAX_ID_BYTES + 1));
    for (id, said) in [
        ("1.5", "no whole number"),
        ("1e3", "no whole number"),
        ("18446744073709551616", "no whole number"),
        ("null", "null, not a text"),
        ("true", "a boolean"),
        ("[1]", "a list"),
        ("{}", "an object"),
        (too_long.as_str(), "longer than 256 bytes"),
    ] {
        let (own, code, why) = refused(&format!(r#"{{"id": {id}, "method": "repos"}}"#));
        assert_eq!((own, code), (None, "bad_request"), "{id}");
        assert!(why.contains(said), "{id}: {why}");
    }
}

#[test]
fn what_is_wrong_is_said_by_name_and_belongs_to_its_id() {
    for (line, code, said) in [
        (r#"{"id": 3}"#, "bad_request", "'method' is missing; there are refs, ls"),
        (r#"{"id": 3, "method": 5}"#, "bad_request", "'method' is a number"),
        (r#"{"id": 3, "method": "ls", "params": []}"#, "bad_request", "'params' is a list"),
        (r#"{"id": 3, "method": "ls", "repo": "."}"#, "bad_request", "'repo' belongs into"),
        (r#"{"id": 3, "method": "ls", "stream": true}"#, "bad_request", "'stream' belongs into"),
        (r#"{"id": 3, "method": "ls", "param": {}}"#, "bad_request", "did you mean 'params'?"),
        (r#"{"id": 3, "method": "grpe"}"#, "unknown_method", "did you mean 'grep'?"),
        (r#"{"id": 3, "method": "commit"}"#, "unknown_method", "there are refs, ls"),
        (r#"{"id": 3, "method": "ls", "params": {"pth": "a"}}"#, "bad_params", "mean 'path'?"),
        (r#"{"id": 3, "method": "ls", "params": {"steam": 1}}"#, "bad_params", "mean 'stream'?"),
        (r#"{"id": 3, "method": "ls", "params": {"limit": "9"}}"#, "bad_params", "'limit': "),
        (r#"{"id": 3, "method": "ls", "params": {"path": 9}}"#, "bad_params", "where a text is"),
        (r#"{"id": 3, "method": "ls", "params": {"repo": 9}}"#, "bad_params", "'repo' is a number"),
        (
            r#"{"id": 3, "method": "ls", "params": {"progress": "yes"}}"#,
            "bad_params",
            "'progress' is a text, not true or false",
        ),
        (r#"{"id": 3, "method": "ls", "params": {"timeout_ms": 0}}"#, "bad_params", "above 0"),
        (r#"{"id": 3, "method": "ls", "params": {"timeout_ms": -1}}"#, "bad_params", "above 0"),
        (
            r#"{"id": 3, "method": "repos", "params": {"repo": "."}}"#,
            "bad_params",
            "takes no params",
        ),
        (
            r#"{"id": 3, "method": "open", "params": {"stream": true}}"#,
            "bad_params",
            "progress, repo",
        ),
        (r#"{"id": 3, "method": "cancel", "params": {"id": null}}"#, "bad_request", "'id' is null"),
    ] {
        let (id, own_code, why) = refused(line);
        assert_eq!((id.as_deref(), own_code), (Some("3"), code), "{line}");
        assert!(why.contains(said), "{line}: {why}");
    }
    for line in ["", "{", "x", "\u{feff}{}", r#"{"id": 1, "method": "repos"} x"#] {
        assert_eq!(refused(line).1, "bad_json", "{line}");
    }
    for (line, said) in [("[]", "a list"), ("7", "a number"), ("null", "null"), ("{}", "'id' is")] {
        let (id, code, why) = refused(line);
        assert_eq!((id, code), (None, "bad_request"));
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn a_message_that_repeats_a_line_stays_one_short_line() {
    let long = "\u{1b}é\n".repeat(10_000);
    let line = json!({"id": 1, "method": long}).to_string();
    let (_, _, why) = refused(&line);
    assert!(why.chars().count() <= MAX_WHY_CHARS + 3 && why.ends_with("..."), "{why}");
    assert!(!why.contains(['\n', '\u{1b}']), "{why}");
}

#[test]
fn the_longest_time_is_a_time_that_a_clock_can_add() {
    let line = format!(r#"{{"id": 1, "method": "ls", "params": {{"timeout_ms": {}}}}}"#, u64::MAX);
    assert_eq!(parsed(&line).wishes.timeout, Some(Duration::from_millis(MAX_TIMEOUT_MS)));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        drop(Request::parse(&bytes));
    }

    #[test]
    fn no_parameter_panics(
        method in prop::sample::select(&METHODS[..]),
        name in "[a-z_]{1,10}",
        value in ".{0,12}",
    ) {
        for value in [json!(value), json!([value]), json!({ &value: 1 }), json!(value.len())] {
            let line = json!({"id": 1, "method": method, "params": {name.as_str(): value}});
            drop(Request::parse(line.to_string().as_bytes()));
        }
    }
}
