//! What an audit entry is of: a read, a change, a refusal. Report and search of the audit go by it.

use rp_audit::EntryFilter;
use rp_documents::Entry;

/// Verbs of the Kubernetes API that only read.
const READS: [&str; 5] = ["get", "list", "watch", "head", "options"];
/// The portal's own reads of a cluster: pages that follow it, and questions to its Prometheus.
pub const PORTAL_READS: [&str; 4] = ["look", "promql", "alerts", "statistics"];
/// Last parts of the portal's verbs that change nothing.
const READING: [&str; 8] = ["list", "view", "search", "export", "report", "read", "objects", "login"];
/// Those without a dot.
const SIGNING: [&str; 2] = ["sign-in", "sign-out"];

/// Entries that changed something, ran something or read a secret, in a cluster or in this service.
pub const CHANGES: EntryFilter = EntryFilter { name: "changes", takes: is_change };
/// Entries of what was refused.
pub const REFUSED: EntryFilter = EntryFilter { name: "refused", takes: is_refused };

/// The filter of that name.
pub fn filter(name: &str) -> Option<EntryFilter> {
    [CHANGES, REFUSED].into_iter().find(|each| each.name == name)
}

/// Whether an action in a cluster changed something, ran something or read a secret.
pub fn changes_cluster(verb: &str, group: &str, resource: &str, subresource: &str) -> bool {
    let reads = READS.contains(&verb) || PORTAL_READS.contains(&verb);
    let secret = rp_access::credentials::carried_by(group, resource, subresource)
        || matches!(subresource, "exec" | "attach" | "portforward" | "proxy" | "token");
    !reads || secret
}

fn is_change(entry: &Entry) -> bool {
    match entry.verb.rsplit_once('.') {
        Some((_, last)) => !READING.contains(&last),
        None if SIGNING.contains(&entry.verb.as_str()) => false,
        None => changes_cluster(&entry.verb, &entry.group, &entry.resource, &entry.subresource),
    }
}

fn is_refused(entry: &Entry) -> bool {
    entry.result.word == "refused"
}

#[cfg(test)]
mod tests {
    use rp_base::{Id, Timestamp};
    use rp_documents::{Actor, Phase};

    use super::*;

    fn entry(verb: &str) -> Entry {
        let id = Id::parse("0123456789abcdef0123456789abcdef").unwrap();
        Entry::new(Timestamp::from_seconds(1), Phase::Single, id, Actor::default(), verb)
    }

    #[test]
    fn what_carries_credentials_is_more_than_a_read() {
        for (group, resource) in [
            ("", "secrets"),
            ("oauth.openshift.io", "oauthaccesstokens"),
            ("machineconfiguration.openshift.io", "machineconfigs"),
        ] {
            assert!(changes_cluster("get", group, resource, ""), "{resource}");
        }
        assert!(changes_cluster("get", "", "pods", "exec"));
        assert!(!changes_cluster("get", "", "configmaps", ""));
        for verb in READS.into_iter().chain(PORTAL_READS) {
            assert!(!changes_cluster(verb, "", "pods", ""), "{verb} changes nothing");
        }
        for verb in ["create", "update", "patch", "delete", "terminal", "ssh", "tunnel"] {
            assert!(changes_cluster(verb, "", "", ""), "{verb}");
        }
    }

    #[test]
    fn what_the_portal_itself_did_is_a_change_unless_it_only_showed_something() {
        for verb in ["grant.issue", "elevation.approve", "operator.flags", "cluster.import", "delete"] {
            assert!((CHANGES.takes)(&entry(verb)), "{verb}");
        }
        for verb in
            ["clusters.list", "audit.search", "recording.read", "cluster.view", "sign-in", "look", "get"]
        {
            assert!(!(CHANGES.takes)(&entry(verb)), "{verb}");
        }
    }

    #[test]
    fn a_refusal_is_told_by_its_result() {
        let mut refused = entry("get");
        assert!(!(REFUSED.takes)(&refused));
        refused.result.word = "refused".to_owned();
        assert!((REFUSED.takes)(&refused));
        assert_eq!(filter("refused").map(|each| each.name), Some("refused"));
        assert!(filter("reads").is_none() && filter("").is_none());
    }
}
