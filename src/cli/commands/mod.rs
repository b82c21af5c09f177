//! What each command asks of a repository, local or remote alike, and how the answer
//! looks.

mod cat;
mod entries;
mod glob;
mod index_pack;
mod ls;
mod refs;
mod tree;
mod upload_pack;

use bstr::ByteSlice as _;

pub(super) use cat::{no_path, ref_and_path};
use glob::Glob;
pub(in crate::cli) use index_pack::index_pack;
pub(in crate::cli) use upload_pack::upload_pack;

use super::args::{Cat, Command, Ls, Tree};
use super::exit;
use super::failure;
use super::grep::Search;
use super::json::Question;
use super::output::Output;
use super::place::Place;
use crate::agent::{QueryBudget, Repo, Source, Stop};
use crate::client::pasted::Pasted;
use crate::error::Error;
use crate::limits::Limits;

/// A command of which everything was judged that can be without a repository.
#[derive(Debug)]
pub(in crate::cli) enum Job {
    Json(Box<Question>),
    Read { asked: Box<Asked>, place: Place, budget: QueryBudget },
    Refs(refs::Question),
}

/// What is asked about one commit.
#[derive(Debug)]
pub(in crate::cli) enum Asked {
    Cat(Cat),
    Glob(Glob),
    Grep(Box<Search>),
    Ls(Ls),
    Tree(Tree),
}

impl Job {
    /// What `command` asks of the repository whose address was `pasted`, if one was.
    pub(in crate::cli) fn new(
        command: Command,
        pasted: Option<&Pasted>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        if command.common().form.is_json() {
            return Ok(Self::Json(Box::new(Question::new(&command, pasted)?)));
        }
        let place = Place::new(&command, pasted);
        let budget = command.common().spend.budget();
        let asked = match command {
            Command::Cat(cat) if cat.paths.is_empty() && !place.may_have_path() => {
                return Err(cat::no_path());
            }
            Command::Cat(cat) => Asked::Cat(cat),
            Command::Glob(glob) => Asked::Glob(Glob::new(&glob, limits)?),
            Command::Grep(grep) => Asked::Grep(Box::new(Search::new(&grep, limits)?)),
            Command::Ls(ls) => Asked::Ls(ls),
            Command::Tree(tree) => Asked::Tree(tree),
            Command::Refs(refs) => {
                return Ok(Self::Refs(refs::Question::new(&refs, limits)?));
            }
        };
        Ok(Self::Read { asked: Box::new(asked), place, budget })
    }

    /// Asks `repo`, prints the answer, and gives the exit status. `stop` ends what takes long.
    pub(in crate::cli) async fn run<S: Source>(
        self,
        repo: &Repo<S>,
        out: &Output,
        stop: &Stop,
    ) -> Result<u8, Error> {
        let found = match self {
            Self::Json(question) => return question.run(repo, stop, out).await,
            Self::Refs(question) => refs::refs(repo, &question, out).await?,
            Self::Read { asked, place, budget } => {
                let (snapshot, path) = place.open(repo).await?;
                let snapshot = snapshot.stopped_by(stop).within(&budget);
                failure::warn_of(&snapshot);
                match *asked {
                    Asked::Cat(args) => {
                        let path = path.as_bstr();
                        return cat::cat(&snapshot, &args, path, place.lines, out, stop).await;
                    }
                    Asked::Glob(glob) => glob.run(&snapshot, path, out).await?,
                    Asked::Grep(search) => return search.run(&snapshot, path, out).await,
                    Asked::Ls(args) => ls::ls(&snapshot, &args, path.as_bstr(), out).await?,
                    Asked::Tree(args) => tree::tree(&snapshot, &args, path.as_bstr(), out).await?,
                }
            }
        };
        Ok(exit::of_answer(found, true))
    }
}
