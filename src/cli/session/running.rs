//! Requests under way: each has one last line, whoever says it first, and nothing is said
//! of it afterwards.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::request::Id;
use super::writer::{Word, Writer, json};
use crate::agent::{Failure, Stop};
use crate::error::Error;

/// All requests under way, by their ids. A clone is the same table.
#[derive(Clone)]
pub(super) struct Table {
    running: Arc<Mutex<HashMap<Id, Arc<Running>>>>,
    writer: Writer,
}

/// One of them.
pub(super) struct Running {
    id: Id,
    pub(super) stop: Stop,
    table: Table,
    /// Held while a line is said, so that none comes behind the last.
    is_over: Mutex<bool>,
}

impl Table {
    pub(super) fn new(writer: Writer) -> Self {
        Self { running: Arc::default(), writer }
    }

    /// A new request; `None` while there is another one of that id.
    pub(super) fn begin(&self, id: Id) -> Option<Arc<Running>> {
        match self.lock().entry(id) {
            Entry::Occupied(_) => None,
            Entry::Vacant(free) => {
                let (id, table) = (free.key().clone(), self.clone());
                let running =
                    Running { id, stop: Stop::default(), table, is_over: Mutex::new(false) };
                Some(Arc::clone(free.insert(Arc::new(running))))
            }
        }
    }

    /// The request of that id, if it is under way.
    pub(super) fn find(&self, id: &Id) -> Option<Arc<Running>> {
        self.lock().get(id).cloned()
    }

    /// Stops all of them: nobody is left to be answered.
    pub(super) fn stop_all(&self) {
        self.lock().values().for_each(|running| running.stop.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The JSON of an error.
pub(super) fn failure(error: &Error) -> String {
    json(&Failure::from(error))
}

impl Running {
    /// Says its last line, an answer in JSON or an error, unless one was said.
    pub(super) fn end(&self, result: Result<String, Error>) {
        let mut is_over = self.lock();
        match result {
            Ok(answer) => self.say_last(&mut is_over, Word::Answer, &answer),
            Err(error) => self.say_last(&mut is_over, Word::Error, &failure(&error)),
        }
    }

    /// Ends it without its answer, in a moment, however far it has come. Whether it was
    /// not at its end already.
    pub(super) fn cancel(&self, why: &Error) -> bool {
        // Its own thread says nothing of that before this does.
        let mut is_over = self.lock();
        let is_first = !*is_over;
        if is_first {
            self.stop.cancel();
            self.say_last(&mut is_over, Word::Error, &failure(why));
        }
        is_first
    }

    /// Says one item of its answer, which may wait for the reader; whether to go on.
    pub(super) fn item<T: Serialize>(&self, item: &T) -> bool {
        let is_over = self.lock();
        !*is_over && self.table.writer.say(Some(&self.id), Word::Item, &json(item))
    }

    /// Tells how it comes on, unless that would have to wait.
    pub(super) fn progress(&self, report: &str) {
        if let Ok(is_over) = self.is_over.try_lock()
            && !*is_over
        {
            self.table.writer.mention(&self.id, Word::Progress, report);
        }
    }

    fn say_last(&self, is_over: &mut bool, word: Word, content: &str) {
        if std::mem::replace(is_over, true) {
            return;
        }
        // Its id is free before anybody can know that it has ended.
        self.table.lock().remove(&self.id);
        self.table.writer.say(Some(&self.id), word, content);
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
