//! Commands that may cost no more than so much, and what a search would cost.

use crate::support::git::File;
use crate::support::world::{World, one_line, text};

#[test]
fn no_more_is_sent_than_may_be_and_the_command_says_so() {
    let world = World::new();
    for (most, status) in [(1, 6), (2, 6), (3, 6), (4, 0), (9, 0)] {
        world.server.forget_requests();
        let most_said = most.to_string();
        let words = ["grep", &world.url, "hello", "-t", "c", "--max-requests", &most_said];
        let output = world.gitsip(words);
        assert_eq!(output.status.code(), Some(status), "{most}: {output:?}");
        assert_eq!(world.server.requests().len(), most.min(4));
        match most {
            1 => assert!(one_line(&output).ends_with("; allow more with --max-requests N")),
            2 | 3 => {
                assert!(one_line(&output).starts_with("gitsip: note: stopped at --max-requests"));
            }
            _ => assert_eq!(text(&output.stderr), ""),
        }
    }
    let words = ["cat", &world.url, "README.md", "--max-requests", "3"];
    let output = world.gitsip(words);
    assert_eq!(output.status.code(), Some(6));
    assert!(one_line(&output).contains("3 requests"), "{output:?}");

    let words = ["grep", &world.url, "hello", "src", "--max-bytes", "1k"];
    let output = world.gitsip(words);
    assert_eq!(output.status.code(), Some(6));
    assert!(one_line(&output).contains("--max-bytes"), "{output:?}");

    let json = ["grep", &world.url, "hello", "src", "--json", "--max-requests", "3"];
    let output = world.gitsip(json);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["truncated"], "requests");
    assert_eq!(answer["stats"]["search"]["unsearched"]["files"], 2);
}

#[test]
fn a_plan_says_what_a_search_would_cost_and_fetches_no_file() {
    let world = World::new();
    let kind = |id: &String| world.bare.git().run(["cat-file", "-t", id]);
    let plan = world.out(["grep", &world.url, "hello", "src", "--plan"]);
    let want = "2 files to search, 2 of them to be fetched\n\
                1 request beside those of this plan\n\
                about 6.1 kB to receive, by what files take elsewhere; 0 B of content known, \
                2 files of unknown size\n";
    assert_eq!(plan, want);
    let json = world.out(["grep", &world.url, "hello", "src", "--plan", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["schema"], "gitsip.plan/1");
    assert_eq!(answer["items"][0]["blobs_missing"], 2);
    // The one that looks up the ref, and the one for both files.
    assert_eq!(answer["items"][0]["requests"], 2);
    assert!(world.server.objects_sent().iter().all(|id| kind(id) != "blob"));

    let local = world.bare.path().to_str().unwrap();
    let plan = world.out(["grep", local, "hello", "--plan"]);
    assert!(plan.starts_with("10 files to search, 0 of them to be fetched\n0 requests"), "{plan}");
    assert_eq!(world.status(["grep", local, "hello", "--plan", "-g", "*.none"]), 1);
    world.bare.commit("main", &[File::new("README.md", "x\n")]);
    let one = world.out(["grep", &world.url, "hello", "README.md", "--plan"]);
    assert!(one.starts_with("1 file to search, 1 of them"), "{one}");
}
