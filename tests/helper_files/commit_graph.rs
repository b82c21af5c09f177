//! Commit-graphs: walks over history read no commit that one knows, and come to the same.

use std::fs;
use std::path::{Path, PathBuf};

use gitsip::graph::{Cuts, InRange, Reach, range};
use gitsip::limits::NeverInterrupt;
use gitsip::store::{Objects as _, Refs as _};
use gitsip::{Budget, ObjectId};

use super::counted::Counted;
use super::log::listen;
use super::support::git::{File, Repo, Sandbox};
use super::{open, replace};

/// Two branches and a merge of three, all packed; ten commits.
fn repository(sandbox: &Sandbox, format: &str) -> Repo {
    let repo = sandbox.strict_bare("source.git", &[&format!("--object-format={format}")]);
    for number in 0..7 {
        repo.commit("main", &[File::new("file", format!("{number}\n"))]);
    }
    repo.git().run(["branch", "side", "main~4"]);
    repo.commit("side", &[File::new("file", "side\n")]);
    repo.commit("other", &[File::new("file", "other\n")]);
    let of = |name: &str| repo.git().run(["rev-parse", name]);
    let (tree, parents) = (of("main^{tree}"), ["main", "side", "other"].map(of));
    let [one, two, three] = &parents;
    let args = ["commit-tree", "-m", "all", "-p", one, "-p", two, "-p", three, &tree];
    let merge = repo.git().run(args);
    repo.git().run(["update-ref", "refs/heads/main", &merge]);
    repo.git().run(["repack", "-adq"]);
    repo
}

/// What the refs reach, what `main` has that `side` has not, and whether `side` reaches the
/// first commit of all.
type Found = (Vec<InRange>, Vec<ObjectId>, bool);

/// What walks found, how many objects were read for it, and what was said.
fn walk(path: &Path) -> (Found, u64, Vec<String>) {
    let repository = open(path);
    let refs = repository.list(&["refs/heads/".into()]).unwrap();
    let tips: Vec<ObjectId> = refs.iter().filter_map(|item| item.target).collect();
    let tip = |name: &str| refs.iter().find(|item| item.name == name).unwrap().target.unwrap();
    let (main, side) = (tip("refs/heads/main"), tip("refs/heads/side"));
    let store = Counted::new(repository);
    let (budget, cuts) = (Budget::new(1 << 20), Cuts::new());
    let (found, said) = listen(|| {
        let within = |tips: &[ObjectId], without: &[ObjectId]| {
            range(&store, &cuts, tips, without, None, &budget, &NeverInterrupt).unwrap()
        };
        let all = within(&tips, &[]).commits.to_vec();
        let some = within(&[main], &[side]).commits.iter().map(|one| one.id).collect();
        let mut reach = Reach::new(store.format(), &budget);
        reach.tip(&store, &side).unwrap();
        reach.target(&store, &all.last().unwrap().id).unwrap();
        (all, some, reach.all(&store, &cuts, &NeverInterrupt).unwrap())
    });
    (found, store.reads(), said)
}

#[test]
fn a_walk_reads_no_commit_that_a_graph_knows() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new();
        let repo = repository(&sandbox, format);
        let (found, reads, _) = walk(repo.path());
        assert_eq!((found.0.len(), found.2), (10, true));
        assert!(reads >= 20, "{reads}");
        repo.git().run(["commit-graph", "write", "--reachable"]);
        assert_eq!(walk(repo.path()), (found, 0, vec![]));
    }
}

#[test]
fn a_chain_is_used_for_what_it_has() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "sha1");
    let write = || repo.git().run(["commit-graph", "write", "--reachable", "--split=no-merge"]);
    write();
    for number in 0..3 {
        repo.commit("main", &[File::new("file", format!("later {number}\n"))]);
        repo.git().run(["repack", "-adq"]);
        write();
    }
    let (found, reads, said) = walk(repo.path());
    assert_eq!((found.0.len(), reads, &said[..]), (13, 0, &[][..]));
    // Commits that came later are read.
    repo.commit("main", &[File::new("file", "last\n")]);
    let (found, reads, _) = walk(repo.path());
    assert_eq!((found.0.len(), reads), (14, 2));
    // Without its highest file the chain is the shorter for it, without its lowest of no use.
    let layers = chain(&repo);
    assert_eq!(layers.len(), 4);
    fs::remove_file(&layers[3]).unwrap();
    let (same, reads, said) = walk(repo.path());
    assert_eq!((same, reads, said.len()), (found.clone(), 4, 1));
    fs::remove_file(&layers[0]).unwrap();
    let without = walk(repo.path());
    assert_eq!((&without.0, without.2.len()), (&found, 1));
    fs::remove_dir_all(layers[0].parent().unwrap()).unwrap();
    assert_eq!(walk(repo.path()), (found, without.1, vec![]));
}

/// The files of the chain, the lowest first.
fn chain(repo: &Repo) -> Vec<PathBuf> {
    let folder = repo.path().join("objects/info/commit-graphs");
    let names = fs::read_to_string(folder.join("commit-graph-chain")).unwrap();
    names.lines().map(|name| folder.join(format!("graph-{name}.graph"))).collect()
}

#[test]
fn a_damaged_graph_is_not_used_and_a_pruned_commit_is_not_there() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "sha1");
    repo.git().run(["commit-graph", "write", "--reachable"]);
    let path = repo.path().join("objects/info/commit-graph");
    let sound = fs::read(&path).unwrap();
    let (found, _, _) = walk(repo.path());
    for at in [0, 6, 30, sound.len() / 2, sound.len() - 1] {
        let mut bytes = sound.clone();
        bytes[at] ^= 4;
        replace(&path, &bytes);
        let (same, reads, said) = walk(repo.path());
        assert_eq!((same, reads >= 20, said.len()), (found.clone(), true, 1), "{said:?}");
    }
    replace(&path, &sound);
    let gone: ObjectId = repo.git().run(["rev-parse", "other"]).parse().unwrap();
    let main = repo.git().run(["rev-parse", "main~1"]);
    repo.git().run(["update-ref", "refs/heads/main", &main]);
    repo.git().run(["update-ref", "-d", "refs/heads/other"]);
    repo.git().run(["-c", "gc.writeCommitGraph=false", "repack", "-adq"]);
    let repository = open(repo.path());
    assert_eq!(repository.known_commit(&gone).unwrap(), None);
    assert!(repository.known_commit(&main.parse().unwrap()).unwrap().is_some());
}

/// A server keeps a repository open while graphs are written.
#[test]
fn a_graph_that_comes_later_is_used_from_the_next_request_on() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "sha1");
    let repository = open(repo.path());
    let main: ObjectId = repo.git().run(["rev-parse", "main"]).parse().unwrap();
    let is_known = || repository.known_commit(&main).unwrap().is_some();
    assert!(!is_known());
    repo.git().run(["commit-graph", "write", "--reachable"]);
    assert!(!is_known());
    assert!(!repository.packs().is_empty() && is_known());
}
