//! Which repositories stay and which go. That one is opened once is for the tests of the
//! faces, which have hosts to count what is asked.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::transport::HttpOptions;

fn live(max_repos: usize) -> Live {
    let transport = HttpTransport::new(HttpOptions::default()).unwrap();
    let (token_env, token_origins) = (None, Vec::new());
    let limits = Limits { max_memory: 1 << 20, ..Limits::default() };
    Live::new(
        transport,
        LiveOptions { limits, max_repos, token_env, token_origins, cache: Cache::default() },
    )
}

fn place(name: &str) -> Place {
    Place::Address(format!("https://host.example/{name}"))
}

fn kept(live: &Live) -> Vec<Place> {
    live.0.seats().iter().map(|seat| seat.place().clone()).collect()
}

#[test]
fn the_one_asked_least_recently_goes_first() {
    let live = live(2);
    for name in ["a", "b", "a", "c"] {
        drop(live.seat(&place(name)));
    }
    assert_eq!(kept(&live), [place("a"), place("c")]);
}

#[test]
fn what_is_asked_now_stays() {
    let live = live(1);
    let busy = live.seat(&place("a"));
    drop(live.seat(&place("b")));
    drop(live.seat(&place("c")));
    assert_eq!(kept(&live), [place("a"), place("c")]);
    assert!(Arc::ptr_eq(&busy, &live.seat(&place("a"))));
}

#[test]
fn credentials_in_an_address_make_it_another_place() {
    let live = live(2);
    let (public, private) = ("https://host.example/a", "https://me:secret@host.example/a");
    let seats = [public, private].map(|text| live.seat(&Place::Address(text.into())));
    assert!(!Arc::ptr_eq(&seats[0], &seats[1]));
    assert!(!format!("{seats:?}").contains("secret"));
}

#[test]
fn a_shortage_of_memory_ends_those_that_nobody_asks() {
    let live = live(8);
    let budget = live.0.budget.clone();
    let busy = live.seat(&place("busy"));
    let reservation = budget.reserve(900 << 10).unwrap();
    drop(live.seat(&place("idle")));
    assert!(budget.reserve(900 << 10).is_err(), "nothing that is held went");
    assert_eq!(kept(&live), [place("busy")]);
    drop((reservation, busy));
}
