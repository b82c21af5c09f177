//! Whether a request means this server: the check of `Host`.
//!
//! A page may have a name server of its own, which says that the page's name lives at
//! 127.0.0.1: to a browser what is served there is then the page's own, and no rule about
//! origins keeps it from reading (DNS rebinding). Its requests bear that name, though. An
//! address can be no such name: browsers ask nobody where it lives.

use std::net::{IpAddr, Ipv6Addr};

use http::request::Parts;
use http::{StatusCode, header};

use super::problem::Problem;

/// Refuses a request that bears a name which is neither `localhost`, an address, nor one of
/// `names`.
pub(super) fn check(head: &Parts, names: &[String]) -> Result<(), Problem> {
    let headers = head.headers.get_all(header::HOST).iter();
    let headers = headers.map(|value| value.to_str().unwrap_or_default());
    let mut said = headers.chain(head.uri.authority().map(|authority| authority.as_str()));
    // A browser always says one.
    let is_meant = match said.next() {
        Some(first) => means_us(first, names) && said.all(|other| means_us(other, names)),
        None => false,
    };
    if is_meant {
        return Ok(());
    }
    let words = "this server is not known by that name here: its owner may add --served-as HOST";
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, words))
}

/// Whether `host`, with or without a port, is a name of this server or an address.
fn means_us(host: &str, names: &[String]) -> bool {
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok() && is_port(port);
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    let mut own = std::iter::once("localhost").chain(names.iter().map(String::as_str));
    is_port(port)
        && (name.parse::<IpAddr>().is_ok() || own.any(|own| own.eq_ignore_ascii_case(name)))
}

fn is_port(rest: &str) -> bool {
    rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::Request;

    fn is_answered(uri: &str, hosts: &[&str]) -> bool {
        let request = hosts.iter().fold(Request::get(uri), |it, host| it.header("host", *host));
        let (head, ()) = request.body(()).unwrap().into_parts();
        check(&head, &["git.corp.example".to_owned()]).is_ok()
    }

    #[test]
    fn names_of_others_are_refused_wherever_they_stand() {
        for host in [
            "localhost",
            "LocalHost:8418",
            "127.0.0.1:1",
            "192.0.2.7",
            "[::1]:8418",
            "[::1]",
            "git.corp.example",
            "GIT.corp.example:80",
        ] {
            assert!(is_answered("/", &[host]), "{host}");
            assert!(!is_answered("/", &[host, "evil.example"]), "{host}");
            assert!(!is_answered("http://evil.example/", &[host]), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8418",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "corp.example",
            "localhost:x",
            "localhost:1@evil.example",
            "[::1",
            "[::1]evil.example",
            "[evil.example]",
            "::1",
        ] {
            assert!(!is_answered("/", &[host]), "{host}");
        }
        assert!(is_answered("http://localhost:8418/", &[]) && !is_answered("/", &[]));
    }
}
