//! Which network addresses may be connected to.
//!
//! A server names addresses too: by a redirect, and by the answers of its own name server.
//! A program that opens what strangers hand it would otherwise read its own network for
//! them. This file only judges addresses; whoever connects asks about each one that a name
//! resolved to, so that no later answer of a name server goes unjudged.
//!
//! Public is what the IANA registries of special-purpose addresses (RFC 6890) leave over.
//! An IPv6 address that carries an IPv4 one to the other side is judged by that one.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses a client may connect to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressPolicy {
    /// The address that was asked for may be anywhere, but no redirect of a public host
    /// leads to one that is not public. For people who type addresses.
    #[default]
    NoWayInside,
    /// Public addresses only, from the first request on. For services that open addresses
    /// which others give them.
    PublicOnly,
}

/// Why `address` is not public, in a word or two; `None` for a public one.
///
/// ```
/// use gitsip::client::policy::why_not_public;
///
/// assert_eq!(why_not_public("169.254.169.254".parse().unwrap()), Some("link-local"));
/// assert_eq!(why_not_public("::ffff:10.0.0.1".parse().unwrap()), Some("private"));
/// assert_eq!(why_not_public("140.82.121.3".parse().unwrap()), None);
/// ```
pub fn why_not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => why_not_public_v4(address),
        IpAddr::V6(address) => why_not_public_v6(address),
    }
}

fn why_not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let inside =
        |&&(base, length, _): &&(Ipv4Addr, u32, _)| (bits ^ base.to_bits()) >> (32 - length) == 0;
    SPECIAL_V4.iter().find(inside).map(|&(_, _, why)| why)
}

fn why_not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(carried) = carried(address) {
        return why_not_public_v4(carried);
    }
    let bits = address.to_bits();
    let inside =
        |&&(base, length, _): &&(Ipv6Addr, u32, _)| (bits ^ base.to_bits()) >> (128 - length) == 0;
    match SPECIAL_V6.iter().find(inside) {
        Some(&(_, _, why)) => Some(why),
        // Nothing outside of 2000::/3 is routed.
        None if bits >> 125 != 1 => Some("reserved"),
        None => None,
    }
}

/// The IPv4 address that packets to `address` end at: mapped, NAT64 and 6to4.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let (high, low) = match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => (g, h),
        (0x2002, high, low, ..) => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, "unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "carrier-grade NAT"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "local NAT64"),
    // Among them Teredo, whose addresses lead behind somebody's NAT.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique-local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_range_is_called_by_its_name_up_to_its_edges() {
        let ranges = [
            ("0.0.0.0", "0.255.255.255", "unspecified"),
            ("10.0.0.0", "10.255.255.255", "private"),
            ("100.64.0.0", "100.127.255.255", "carrier-grade NAT"),
            ("127.0.0.0", "127.255.255.255", "loopback"),
            ("169.254.0.0", "169.254.255.255", "link-local"),
            ("172.16.0.0", "172.31.255.255", "private"),
            ("192.0.0.0", "192.0.0.255", "reserved"),
            ("192.0.2.0", "192.0.2.255", "documentation"),
            ("192.88.99.0", "192.88.99.255", "reserved"),
            ("192.168.0.0", "192.168.255.255", "private"),
            ("198.18.0.0", "198.19.255.255", "benchmarking"),
            ("198.51.100.0", "198.51.100.255", "documentation"),
            ("203.0.113.0", "203.0.113.255", "documentation"),
            ("224.0.0.0", "239.255.255.255", "multicast"),
            ("240.0.0.0", "255.255.255.255", "reserved"),
            ("::", "::", "unspecified"),
            ("::1", "::1", "loopback"),
            // The deprecated IPv4-compatible form is routed nowhere.
            ("::2", "::feff:ffff", "reserved"),
            ("::ffff:10.0.0.0", "::ffff:10.255.255.255", "private"),
            ("::ffff:127.0.0.0", "::ffff:127.255.255.255", "loopback"),
            ("64:ff9b::a00:0", "64:ff9b::aff:ffff", "private"),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local NAT64"),
            ("100::", "100::ffff:ffff:ffff:ffff", "reserved"),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
            ("2002:7f00::", "2002:7fff:ffff:ffff:ffff:ffff:ffff:ffff", "loopback"),
            ("2002:c0a8::", "2002:c0a8:ffff:ffff:ffff:ffff:ffff:ffff", "private"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"),
            ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "unique-local"),
            ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local"),
            ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local"),
            ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"),
        ];
        for (first, last, why) in ranges {
            for edge in [first, last] {
                assert_eq!(why_not_public(edge.parse().unwrap()), Some(why), "{edge}");
            }
        }
    }

    #[test]
    fn what_lies_beside_the_ranges_is_public() {
        let public = [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:200::",
            "2001:4860:4860::8888",
            "2002:808:808::1",
            "2606:50c0:8000::153",
            "3fff:1000::",
        ];
        for address in public {
            assert_eq!(why_not_public(address.parse().unwrap()), None, "{address}");
        }
    }
}
