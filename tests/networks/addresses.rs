//! Who may lead where: the address policy over real connections.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gitsip::agent::RemoteOptions;
use gitsip::client::policy::AddressPolicy;
use gitsip::client::retry::RetryOptions;
use gitsip::transport::{HttpOptions, HttpTransport, Resolver};
use gitsip::{Error, ErrorKind};

use super::net::{Net, run, sandbox};
use super::support::http_server::{Behaviour, HttpServer};

/// An address of GitHub's.
const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(140, 82, 121, 3));

/// A server that sends what is asked for below `/moved/` to `target`, where it is itself.
fn moved_to(root: &std::path::Path, target: impl Fn(u16) -> String) -> HttpServer {
    let server = HttpServer::start(root);
    let redirect = Some(("/moved/".to_owned(), target(server.address().port())));
    server.set_behaviour(Behaviour { redirect, ..Behaviour::default() });
    server
}

fn by_name(server: &HttpServer, path: &str) -> String {
    format!("http://front.test:{}/{path}", server.address().port())
}

#[track_caller]
fn assert_forbidden(error: &Error, words: &[&str]) {
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "forbidden_address"));
    for words in words {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn case_29_a_redirect_of_a_public_host_leads_to_no_inner_address() {
    let sandbox = sandbox();
    let targets: [fn(u16) -> String; 5] = [
        |port| format!("http://inner.test:{port}/"),
        |port| format!("http://127.0.0.1:{port}/"),
        |port| format!("http://2130706433:{port}/"),
        |port| format!("http://[::ffff:127.0.0.1]:{port}/"),
        |_| "/".to_owned(),
    ];
    for target in targets {
        let server = moved_to(&sandbox.repos(), target);
        let net = Net { peer: Some(PUBLIC), ..Net::new() };
        let error = net.open(&by_name(&server, "moved/r.git"), RetryOptions::default());
        assert_forbidden(&error.unwrap_err(), &["a public host redirects", "(loopback)"]);
        // It was not asked, not even once.
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_redirect_from_inside_may_stay_inside_and_an_allowed_host_may_be_anywhere() {
    let sandbox = sandbox();
    let server = moved_to(&sandbox.repos(), |port| format!("http://inner.test:{port}/"));
    let open = |net: Net| net.open(&by_name(&server, "moved/r.git"), RetryOptions::default());
    open(Net::new()).unwrap();

    let allowing = |hosts: &[&str]| {
        let allowed_hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        Net {
            peer: Some(PUBLIC),
            ..Net::with(HttpOptions { allowed_hosts, ..HttpOptions::default() })
        }
    };
    let repo = open(allowing(&["other.test", "INNER.test"])).unwrap();
    // Later requests go there, too.
    run(repo.snapshot("HEAD")).unwrap();
    open(allowing(&["front.test", "ner.test", "127.0.0.1"])).unwrap_err();

    let server = moved_to(&sandbox.repos(), |port| format!("http://127.0.0.1:{port}/"));
    let open = |net: Net| net.open(&by_name(&server, "moved/r.git"), RetryOptions::default());
    open(allowing(&["127.0.0.1"])).unwrap();
    open(allowing(&["127.0.0.2", "inner.test"])).unwrap_err();
}

#[test]
fn case_29_public_only_holds_from_the_first_request_on() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let options =
        HttpOptions { address_policy: AddressPolicy::PublicOnly, ..HttpOptions::default() };
    for address in [by_name(&server, "r.git"), server.url("r.git")] {
        let opened = Net::with(options.clone()).open(&address, RetryOptions::default());
        assert_forbidden(&opened.unwrap_err(), &["127.0.0.1 (loopback)", "only public"]);
    }
    assert!(server.requests().is_empty());
    let allowed_hosts = vec!["front.test".to_owned()];
    let net = Net::with(HttpOptions { allowed_hosts, ..options });
    net.open(&by_name(&server, "r.git"), RetryOptions::default()).unwrap();
}

#[test]
fn a_name_with_one_inner_address_among_its_public_ones_is_refused() {
    let resolver = Resolver::new(|_| Ok(vec![PUBLIC, IpAddr::from([10, 0, 0, 7])]));
    let address_policy = AddressPolicy::PublicOnly;
    let options = HttpOptions { resolver, address_policy, ..HttpOptions::default() };
    let error = run(gitsip::agent::Remote::open(
        HttpTransport::new(options).unwrap(),
        "http://mixed.test/r.git",
        RemoteOptions::default(),
    ));
    assert_forbidden(&error.unwrap_err(), &["'mixed.test' is at 10.0.0.7 (private)"]);
}

#[test]
fn case_29_a_name_is_judged_again_for_each_connection() {
    // Bound to a public address at first (one that nobody answers at), to an inner one then.
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let resolver = Resolver::new(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Err(std::io::ErrorKind::TimedOut.into()),
        _ => Ok(vec![IpAddr::from([127, 0, 0, 1])]),
    });
    let address_policy = AddressPolicy::PublicOnly;
    let options = HttpOptions { resolver, address_policy, ..HttpOptions::default() };
    let transport = HttpTransport::new(options).unwrap();
    let open = || {
        let remote = gitsip::agent::Remote::open(
            transport.clone(),
            "http://rebound.test/r.git",
            RemoteOptions::default(),
        );
        run(remote).unwrap_err()
    };
    assert_eq!(open().code(), "dns");
    assert_forbidden(&open(), &["(loopback)"]);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_host_that_cannot_be_allowed_is_a_usage_error() {
    for bad in ["", "a b", "http://h/"] {
        let allowed_hosts = vec![bad.to_owned()];
        let options = HttpOptions { allowed_hosts, ..HttpOptions::default() };
        let error = HttpTransport::new(options).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{bad}");
    }
    for good in ["::1", "[::1]", "h", "10.0.0.1", "bücher.test"] {
        let allowed_hosts = vec![good.to_owned()];
        HttpTransport::new(HttpOptions { allowed_hosts, ..HttpOptions::default() }).unwrap();
    }
}
