//! Refs that a served repository hides, over HTTP.

use super::history::{Storage, repository};
use super::server::{Server, packets};
use super::support::git::{File, Sandbox};

#[test]
fn what_is_hidden_is_neither_listed_nor_given_in_any_way() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let id = repo.commit("secret", &[File::new("secret", "hidden\n")]);
    repo.git().run(["config", "--remove-section", "uploadpack"]);
    let server = Server::start(&sandbox, &["--hide-refs", "refs/heads/side"]);
    let listed = || {
        let refs = "/source/info/refs?service=git-upload-pack";
        let old = server.get(refs, &[]).text();
        let asked = packets(&["command=ls-refs", "0001", "0000"]);
        let new = server.post("source", &asked, &[]).text();
        ["secret", "side", "old"].map(|name| {
            let name = format!("refs/heads/{name}\n");
            assert_eq!(old.contains(&name), new.contains(&name), "{name}");
            new.contains(&name)
        })
    };
    let given = || {
        let want = packets(&["command=fetch", "0001", &format!("want {id}"), "done", "0000"]);
        let raw = ["secret", &id].map(|at| server.get(&format!("/source/-/raw/{at}/secret"), &[]));
        let page = server.get("/", &[]).text().contains("<td>3<td>");
        let pack = server.post("source", &want, &[]).text().starts_with("000dpackfile\n");
        [raw[0].status == 200, raw[1].status == 200, pack, page]
    };
    assert_eq!((listed(), given()), ([true, false, true], [true, true, true, true]));
    // The change counts at once.
    repo.git().run(["config", "transfer.hideRefs", "refs/heads/secret"]);
    repo.git().run(["config", "--add", "transfer.hideRefs", "!refs/heads/side"]);
    assert_eq!((listed(), given()), ([false, false, true], [false; 4]));
    repo.git().run(["config", "uploadpack.allowTipSHA1InWant", "true"]);
    assert_eq!((listed(), given()), ([false, false, true], [false, true, true, false]));
}
