//! Who a connection comes from, where proxies stand in front of the server.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// The proxies whose `X-Forwarded-For` is believed.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies(Vec<Network>);

/// Addresses with the same leading bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Proxies {
    /// Reads the list; an entry that is neither an address nor a network is handed back.
    pub(super) fn new(entries: &[String]) -> Result<Proxies, String> {
        let networks = entries.iter().map(|entry| Network::parse(entry).ok_or_else(|| entry.clone()));
        networks.collect::<Result<_, _>>().map(Proxies)
    }

    /// Whether `address` is one of them.
    pub(super) fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The address that counts for a request which `peer` made: behind proxies the last hop that is none of them,
    /// for whatever stands before that may be invented.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let lists: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
        let mut hops = lists.iter().rev().flat_map(|list| list.as_bytes().rsplit(|byte| *byte == b','));
        while self.trusts(client) {
            let Some(hop) = hops.next().and_then(hop) else { break };
            client = hop;
        }
        client
    }
}

/// An entry of the header, with or without a port.
fn hop(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<IpAddr>().ok();
    let socket = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(bare).or_else(socket).map(|address: IpAddr| address.to_canonical())
}

impl Network {
    fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().ok()?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Network { address, bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        let same = |left: u128, right: u128, most: u32| {
            let rest = most - u32::from(self.bits);
            left.checked_shr(rest).unwrap_or(0) == right.checked_shr(rest).unwrap_or(0)
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(address)) => {
                same(u32::from(net).into(), u32::from(address).into(), 32)
            }
            (IpAddr::V6(net), IpAddr::V6(address)) => same(net.into(), address.into(), 128),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, headers: &[&str]) -> String {
        let entries: Vec<_> = trusted.iter().map(|entry| (*entry).to_owned()).collect();
        let mut map = HeaderMap::new();
        for header in headers {
            map.append("x-forwarded-for", header.parse().expect("a header"));
        }
        Proxies::new(&entries).expect("a list").client(peer.parse().expect("an address"), &map).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        assert_eq!(client(&[], "10.0.0.1", &["1.2.3.4"]), "10.0.0.1");
        assert_eq!(client(&["10.0.0.0/8"], "11.0.0.1", &["1.2.3.4"]), "11.0.0.1");
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(client(&["::1", "10.0.0.1"], "::ffff:10.0.0.1", &["2001:db8::1"]), "2001:db8::1");
    }

    #[test]
    fn the_last_hop_that_is_no_proxy_counts() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6, 1.2.3.4, 10.0.0.2"]), "1.2.3.4");
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6", "1.2.3.4,10.0.0.2"]), "1.2.3.4");
        assert_eq!(client(&trusted, "10.0.0.1", &["10.0.0.3", "10.0.0.2"]), "10.0.0.3");
        assert_eq!(client(&trusted, "10.0.0.1", &["1.2.3.4:5678"]), "1.2.3.4");
        assert_eq!(client(&trusted, "10.0.0.1", &["[2001:db8::1]:80"]), "2001:db8::1");
        assert_eq!(client(&trusted, "10.0.0.1", &["[2001:db8::1]"]), "2001:db8::1");
    }

    #[test]
    fn what_is_no_address_ends_the_search() {
        let trusted = ["10.0.0.0/8"];
        for header in ["unknown", "", "1.2.3.4, nonsense", "1.2.3.4, "] {
            assert_eq!(client(&trusted, "10.0.0.1", &[header]), "10.0.0.1", "{header}");
        }
        assert_eq!(client(&trusted, "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn a_network_has_leading_bits_in_common() {
        let contains = |network: &str, address: &str| {
            Network::parse(network).expect("a network").contains(address.parse().expect("an address"))
        };
        assert!(contains("0.0.0.0/0", "200.1.2.3") && contains("::/0", "2001::1"));
        assert!(!contains("0.0.0.0/0", "2001::1"));
        assert!(contains("192.168.4.0/22", "192.168.7.255") && !contains("192.168.4.0/22", "192.168.8.0"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe80::1"));
        for bad in ["10.0.0.0/33", "::1/129", "10.0.0", "name", "", "10.0.0.1/", "10.0.0.1/-1"] {
            assert_eq!(Network::parse(bad), None, "{bad}");
        }
    }
}
