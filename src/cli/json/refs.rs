//! Paths of several refs, `REF:PATH`, as one question for each ref.

use crate::agent::{ReadQuery, Repo, Source};
use crate::cli::commands::ref_and_path;
use crate::error::{Error, ErrorKind};

/// `query` with the paths of each ref that they name on their own.
///
/// # Errors
/// Those of finding out whether a path with a colon is a path, and `Usage` for a cursor,
/// which is one of one answer, with paths of several refs.
pub(super) async fn split<S: Source>(
    query: &ReadQuery,
    repo: &Repo<S>,
) -> Result<Vec<ReadQuery>, Error> {
    if !query.paths.iter().any(|path| path.contains(&b':')) {
        return Ok(vec![query.clone()]);
    }
    let snapshot = repo.snapshot(&query.at).await?;
    let without_paths = ReadQuery { paths: Vec::new(), ..query.clone() };
    let mut queries: Vec<ReadQuery> = Vec::new();
    for word in &query.paths {
        let (at, path) = match ref_and_path(&snapshot, word).await? {
            Some((name, path)) => (text(name)?, path),
            None => (&*query.at, word.as_slice()),
        };
        match queries.iter_mut().find(|query| query.at == at) {
            Some(query) => query.paths.push(path.into()),
            None => queries.push(ReadQuery {
                at: at.to_owned(),
                paths: vec![path.into()],
                ..without_paths.clone()
            }),
        }
    }
    if queries.len() > 1 && query.cursor.is_some() {
        let why = "--cursor goes on in one answer, and each ref has one: ask for one ref at once";
        return Err(Error::new(ErrorKind::Usage, why));
    }
    Ok(queries)
}

fn text(name: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(name).map_err(|_| {
        let why = "JSON cannot name a ref that is not UTF-8; read it without --json";
        Error::new(ErrorKind::Usage, why)
    })
}
