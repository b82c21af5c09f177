//! What a request is answered with: a canned response, or git's, which may be changed on
//! its way. How it is carried, and where that breaks, is not decided here.

use std::io;
use std::path::Path;

use super::behaviour::canned_for;
use super::cgi::Cgi;
use super::gzip::gzip;
use super::{Behaviour, CannedResponse, Recorded};

/// An answer that has begun.
pub enum Answer {
    /// It is all here.
    Whole(CannedResponse),
    /// git still makes it.
    Git(Cgi),
}

/// Answers `seen` over the repositories in `root` as `behaviour` says.
pub fn answer(root: &Path, seen: &Recorded, behaviour: &Behaviour) -> Answer {
    if let Some(canned) = canned_for(seen, behaviour) {
        return Answer::Whole(canned);
    }
    let mut asked = seen.clone();
    for rewrite in &behaviour.question {
        asked.body = rewrite(seen, std::mem::take(&mut asked.body));
    }
    let repo = ["/info/refs", "/git-upload-pack"].iter().find_map(|end| {
        asked.path.strip_suffix(end).filter(|repo| !repo.ends_with(".git")).map(str::len)
    });
    if let (true, Some(end)) = (behaviour.dot_git_is_optional, repo) {
        asked.path.insert_str(end, ".git");
    }
    let started = Cgi::start(root, &asked, behaviour);
    let answer = started.and_then(|cgi| {
        if behaviour.answer.is_empty() && !behaviour.gzip {
            return Ok(Answer::Git(cgi));
        }
        let mut whole = whole(cgi)?;
        if whole.status == 200 {
            for rewrite in &behaviour.answer {
                whole.body = rewrite(seen, std::mem::take(&mut whole.body));
            }
        }
        if behaviour.gzip {
            whole = CannedResponse { body: gzip(&whole.body), ..whole };
            whole = whole.with("Content-Encoding", "gzip");
        }
        Ok(Answer::Whole(whole))
    });
    answer.unwrap_or_else(|error| {
        Answer::Whole(CannedResponse::new(500, "text/plain", error.to_string()))
    })
}

/// All that git answers.
pub fn whole(mut cgi: Cgi) -> io::Result<CannedResponse> {
    let mut body = Vec::new();
    cgi.read_to_end(&mut body)?;
    Ok(CannedResponse { status: cgi.status, headers: std::mem::take(&mut cgi.headers), body })
}
