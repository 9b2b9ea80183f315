//! Finds rules that deny what a cluster needs: a pure function.
//!
//! The contract's check considers sources and destinations only. We also compute whether the rule has an effect: a rule
//! that is fully covered by an allowing rule of higher priority denies nothing.

use std::net::IpAddr;

use ipnet::IpNet;
use rp_azure::SecurityRule;

/// Address ranges of a cluster's subnets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges {
    master: Vec<IpNet>,
    worker: Vec<IpNet>,
}

impl Ranges {
    /// Parses addresses and networks; other texts are ignored.
    pub fn new<'a>(
        master: impl Iterator<Item = &'a String>,
        worker: impl Iterator<Item = &'a String>,
    ) -> Self {
        let read = |text: &'a String| network(text);
        Self { master: master.filter_map(read).collect(), worker: worker.filter_map(read).collect() }
    }

    /// Whether no range is known.
    pub fn is_empty(&self) -> bool {
        self.master.is_empty() && self.worker.is_empty()
    }
}

/// A rule that denies what the cluster needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding<'a> {
    pub rule: &'a SecurityRule,
    /// An allowing rule of higher priority covers everything that it would deny.
    pub shadowed: bool,
}

/// The rules that are no `Allow` and whose source and destination are of classes that need each other.
pub fn invalid<'a>(rules: &'a [SecurityRule], ranges: &Ranges) -> Vec<Finding<'a>> {
    let denying = rules.iter().filter(|rule| !rule.access.eq_ignore_ascii_case("Allow"));
    let invalid = denying.filter(|rule| is_invalid(rule, ranges));
    invalid.map(|rule| Finding { rule, shadowed: rules.iter().any(|other| shadows(other, rule)) }).collect()
}

/// The classes that a list of prefixes touches; the letters are the contract's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Classes {
    master: bool,
    worker: bool,
    /// `*`.
    any: bool,
    /// `VirtualNetwork`.
    network: bool,
}

impl Classes {
    fn from_prefixes(prefixes: &[String], ranges: &Ranges) -> Self {
        let mut classes = Self::default();
        for prefix in prefixes {
            classes.any |= prefix == "*";
            classes.network |= prefix.eq_ignore_ascii_case("VirtualNetwork");
            if let Some(network) = network(prefix) {
                classes.master |= ranges.master.iter().any(|range| overlap(range, &network));
                classes.worker |= ranges.worker.iter().any(|range| overlap(range, &network));
            }
        }
        classes
    }

    const fn is_empty(self) -> bool {
        !(self.master || self.worker || self.any || self.network)
    }

    /// Workers and nothing else.
    const fn only_worker(self) -> bool {
        self.worker && !self.master && !self.any && !self.network
    }
}

/// Every pair of classes but worker to worker.
fn is_invalid(rule: &SecurityRule, ranges: &Ranges) -> bool {
    let (from, to) =
        (Classes::from_prefixes(&rule.sources, ranges), Classes::from_prefixes(&rule.destinations, ranges));
    let nothing = from.is_empty() || to.is_empty();
    let inside = from.only_worker() && to.only_worker();
    !(nothing || inside)
}

/// Whether `rule` has no effect: `other` is evaluated before it, allows, and covers it fully.
fn shadows(other: &SecurityRule, rule: &SecurityRule) -> bool {
    other.access.eq_ignore_ascii_case("Allow")
        && other.priority < rule.priority
        && other.direction.eq_ignore_ascii_case(&rule.direction)
        && (other.protocol == "*" || other.protocol.eq_ignore_ascii_case(&rule.protocol))
        && cover(&other.sources, &rule.sources, covers_prefix)
        && cover(&other.destinations, &rule.destinations, covers_prefix)
        && cover(&other.source_ports, &rule.source_ports, covers_ports)
        && cover(&other.destination_ports, &rule.destination_ports, covers_ports)
}

/// Whether each inner prefix is covered by an outer one; an empty outer list covers nothing.
fn cover(outer: &[String], inner: &[String], covers: fn(&str, &str) -> bool) -> bool {
    !inner.is_empty() && inner.iter().all(|inner| outer.iter().any(|outer| covers(outer, inner)))
}

fn covers_prefix(outer: &str, inner: &str) -> bool {
    if outer == "*" || outer.eq_ignore_ascii_case(inner) {
        return true;
    }
    match (network(outer), network(inner)) {
        (Some(outer), Some(inner)) => outer.contains(&inner),
        // The prefixes of a service tag are not known here.
        _ => false,
    }
}

fn covers_ports(outer: &str, inner: &str) -> bool {
    match (ports(outer), ports(inner)) {
        (Some((from, to)), Some((first, last))) => from <= first && last <= to,
        _ => false,
    }
}

/// `*`, `80` or `80-90`.
fn ports(text: &str) -> Option<(u16, u16)> {
    if text == "*" {
        return Some((0, u16::MAX));
    }
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let range = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (range.0 <= range.1).then_some(range)
}

/// A network, or one address as the smallest network of its family.
fn network(text: &str) -> Option<IpNet> {
    let text = text.trim();
    text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)).map(|net| net.trunc())
}

fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(&b.network()) || b.contains(&a.network())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(list: &str) -> Vec<String> {
        list.split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    fn ranges() -> Ranges {
        let (master, worker) = (texts("10.0.0.0/24,fd00:0:0:1::/64"), texts("10.0.1.0/24"));
        Ranges::new(master.iter(), worker.iter())
    }

    fn rule(access: &str, priority: i64, from: &str, to: &str) -> SecurityRule {
        SecurityRule {
            name: format!("{access}-{priority}"),
            access: access.to_owned(),
            direction: "Inbound".to_owned(),
            priority,
            protocol: "*".to_owned(),
            sources: texts(from),
            destinations: texts(to),
            source_ports: texts("*"),
            destination_ports: texts("*"),
        }
    }

    fn is(from: &str, to: &str) -> bool {
        !invalid(&[rule("Deny", 200, from, to)], &ranges()).is_empty()
    }

    /// The contract's table, pair by pair.
    #[test]
    fn every_pair_but_worker_to_worker() {
        let (m, w, a, v) = ("10.0.0.0/28", "10.0.1.9", "*", "VirtualNetwork");
        for (from, to) in [
            (m, m),
            (m, w),
            (w, m),
            (m, a),
            (a, m),
            (w, a),
            (a, w),
            (a, a),
            (m, v),
            (v, m),
            (w, v),
            (v, w),
            (v, a),
            (a, v),
            (v, v),
        ] {
            assert!(is(from, to), "{from} to {to}");
        }
        assert!(!is(w, w));
        for other in ["Internet", "AzureLoadBalancer", "192.168.0.0/16", "not an address", ""] {
            for class in [m, w, a, v] {
                assert!(!is(other, class) && !is(class, other), "{other} and {class}");
            }
        }
        // A wider network touches both; a list has the classes of all it names.
        assert!(
            is("10.0.0.0/8", "10.0.1.0/24")
                && is("0.0.0.0/0", "10.0.1.1")
                && is("10.0.1.1,10.0.0.1", "10.0.1.1")
        );
    }

    #[test]
    fn an_address_of_version_six_is_one_address() {
        assert!(is("fd00:0:0:1::5", "*"));
        // With a prefix length of 32 this would touch the masters' network.
        assert!(!is("fd00:0:0:2::5", "*"));
    }

    #[test]
    fn only_what_denies_is_looked_at() {
        assert!(invalid(&[rule("Allow", 200, "*", "*")], &ranges()).is_empty());
        assert_eq!(invalid(&[rule("deny", 200, "*", "*")], &ranges()).len(), 1);
    }

    #[test]
    fn a_rule_that_is_covered_has_no_effect() {
        let shadowed = |allow: SecurityRule| {
            let rules = [rule("Deny", 200, "10.0.1.0/25", "10.0.0.0/24"), allow];
            invalid(&rules, &ranges())[0].shadowed
        };
        assert!(shadowed(rule("Allow", 100, "10.0.0.0/16", "*")));
        assert!(!shadowed(rule("Allow", 300, "10.0.0.0/16", "*")));
        assert!(!shadowed(rule("Allow", 100, "10.0.1.0/26", "*")));
        assert!(!shadowed(rule("Allow", 100, "VirtualNetwork", "*")));
        assert!(!shadowed(SecurityRule { direction: "Outbound".into(), ..rule("Allow", 100, "*", "*") }));
        assert!(!shadowed(SecurityRule { protocol: "Tcp".into(), ..rule("Allow", 100, "*", "*") }));
        assert!(!shadowed(SecurityRule { destination_ports: texts("443"), ..rule("Allow", 100, "*", "*") }));
        assert!(covers_ports("80-90", "85") && covers_ports("*", "1-2") && !covers_ports("85", "80-90"));
        assert!(!covers_ports("90-80", "85") && !covers_ports("x", "85"));
    }

    fn any_prefix() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("*".to_owned()),
            Just("VirtualNetwork".to_owned()),
            Just("Internet".to_owned()),
            (any::<u32>(), 0_u8..40)
                .prop_map(|(ip, length)| format!("{}/{length}", std::net::Ipv4Addr::from(ip))),
            (any::<u128>(), 0_u8..140)
                .prop_map(|(ip, length)| format!("{}/{length}", std::net::Ipv6Addr::from(ip))),
            any::<u32>().prop_map(|ip| std::net::Ipv4Addr::from(ip).to_string()),
            ".{0,12}",
        ]
    }

    fn any_rule() -> impl Strategy<Value = SecurityRule> {
        let list = || proptest::collection::vec(any_prefix(), 0..4);
        let ports = || proptest::collection::vec("[0-9*-]{0,7}", 0..3);
        ("Allow|Deny|", any::<i64>(), list(), list(), ports(), ports()).prop_map(
            |(access, priority, sources, destinations, source_ports, destination_ports)| SecurityRule {
                access,
                priority,
                sources,
                destinations,
                source_ports,
                destination_ports,
                ..SecurityRule::default()
            },
        )
    }

    proptest! {
        #[test]
        fn any_rules_give_an_answer(rules in proptest::collection::vec(any_rule(), 0..12)) {
            let found = invalid(&rules, &ranges());
            prop_assert!(found.iter().all(|finding| finding.rule.access != "Allow"));
            // An allowing rule before all others covers everything.
            let mut first = rule("Allow", i64::MIN, "*", "*");
            first.direction = String::new();
            let all: Vec<_> = rules.iter().cloned().chain([first]).collect();
            let covered = |finding: &Finding<'_>| {
                finding.shadowed
                    || finding.rule.priority == i64::MIN
                    || !finding.rule.source_ports.iter().all(|text| ports(text).is_some())
                    || !finding.rule.destination_ports.iter().all(|text| ports(text).is_some())
                    || finding.rule.source_ports.is_empty()
                    || finding.rule.destination_ports.is_empty()
            };
            prop_assert!(invalid(&all, &ranges()).iter().all(covered));
        }

        #[test]
        fn networks_overlap_both_ways(a in any::<u32>(), la in 0_u8..=32, b in any::<u32>(), lb in 0_u8..=32) {
            let net = |ip: u32, length: u8| network(&format!("{}/{length}", std::net::Ipv4Addr::from(ip))).unwrap();
            let (x, y) = (net(a, la), net(b, lb));
            prop_assert_eq!(overlap(&x, &y), overlap(&y, &x));
            // Of two networks that overlap one lies in the other.
            let shorter = la.min(lb);
            let same = shorter == 0 || (a ^ b) >> (32 - shorter) == 0;
            prop_assert_eq!(overlap(&x, &y), same);
        }
    }
}
