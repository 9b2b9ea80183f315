//! The kinds of access to a cluster that people take, each declared once: its lives, what it needs and where it leads; its
//! rights are `rp_access::rights_of`, which holds for everybody who asks. What a person may get of them now is in
//! `access_offer`; `docs/guides/add-an-access.md` says how to add one.

use portal_session::site::Site;
use rp_access::{IssueRequest, Policy, rights_of};
use rp_documents::{GrantKind, ResourceId, Rights};

const HOUR: u64 = 60 * 60;

/// What is the same for every access of a kind.
#[derive(Debug)]
pub struct AccessKind {
    pub kind: GrantKind,
    /// Lengths of life to choose from, in seconds, out of the policy's default and longest; empty: it is not asked.
    lives: fn(u64, u64) -> Vec<u64>,
    /// What it cannot do without.
    pub(crate) needs: Needs,
    /// Last part of its address on the proxy's host; `None`: it has no address there.
    proxy_path: Option<&'static str>,
    /// Whether `POST /api/v1/grants` gives it.
    by_api: bool,
}

/// What an access cannot do without when it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// It may be given before its cluster can be reached.
    Nothing,
    /// Something must reach the cluster's API.
    Cluster,
    /// This service must have a way to the machines of clusters too.
    Machines,
}

/// A kind of which nothing else is said: it needs nothing, nothing is asked, and scripts get it.
const fn plain(kind: GrantKind) -> AccessKind {
    AccessKind { kind, lives: |_, _| Vec::new(), needs: Needs::Nothing, proxy_path: None, by_api: true }
}

/// A file for kubectl and oc.
pub static KUBECONFIG: AccessKind = AccessKind {
    lives: |default, longest| vec![HOUR, default, 8 * HOUR, longest],
    needs: Needs::Cluster,
    proxy_path: Some("kubeconfig/proxy"),
    ..plain(GrantKind::Kubeconfig)
};

/// A token for tools that speak the API of Prometheus. They are set up for long, so it may be given before the cluster is
/// there.
pub static METRICS: AccessKind = AccessKind {
    lives: |default, longest| vec![HOUR, default, 8 * HOUR, longest],
    proxy_path: Some("prometheus"),
    ..plain(GrantKind::Metrics)
};

/// A shell on a machine, by SSH.
pub static SSH: AccessKind = AccessKind {
    lives: |_, longest| vec![HOUR / 2, HOUR, 4 * HOUR, longest],
    needs: Needs::Machines,
    ..plain(GrantKind::Ssh)
};

/// A shell in the browser.
pub static TERMINAL: AccessKind =
    AccessKind { needs: Needs::Cluster, by_api: false, ..plain(GrantKind::Terminal) };

/// TCP streams to the ingress of a cluster.
pub static TUNNEL: AccessKind = AccessKind {
    lives: |_, _| vec![HOUR, 4 * HOUR, 8 * HOUR],
    needs: Needs::Cluster,
    proxy_path: Some("tunnel"),
    ..plain(GrantKind::Tunnel)
};

/// A person's own look at logs and objects; pages ask for it on the way (`look`).
pub static PAGE: AccessKind = plain(GrantKind::Page);

static EVERY: [&AccessKind; 6] = [&KUBECONFIG, &METRICS, &SSH, &TERMINAL, &TUNNEL, &PAGE];

impl AccessKind {
    /// The kind of that name that `POST /api/v1/grants` gives.
    pub fn from_api_name(name: &str) -> Option<&'static Self> {
        EVERY.into_iter().find(|each| each.by_api && each.kind.name() == name)
    }

    /// The rights to choose from, the least first.
    pub fn rights(&self) -> Vec<Rights> {
        let allowed = rights_of(self.kind);
        let all = [Rights::Read, Rights::Write, Rights::Admin];
        all.into_iter().filter(|rights| allowed.contains(rights)).collect()
    }

    /// The least rights that it is given with. Above read they need an elevation.
    pub fn least_rights(&self) -> Rights {
        *rights_of(self.kind).start()
    }

    /// A request for such an access to a cluster, with the least rights and the usual life.
    pub fn request(&self, target: ResourceId, reason: String) -> IssueRequest {
        IssueRequest::new(self.kind, Some(target), self.least_rights(), reason)
    }

    /// Lengths of life to choose from, in seconds, shortest first: those that the policy allows.
    pub fn lives(&self, policy: &Policy) -> Vec<u64> {
        let least = policy.access.min_life.as_secs();
        let longest = policy.longest(self.least_rights()).as_secs();
        let mut lives = (self.lives)(policy.access.default_life.as_secs(), longest);
        if lives.is_empty() {
            return lives;
        }
        lives.retain(|life| (least..=longest).contains(life));
        if lives.is_empty() && least <= longest {
            lives.push(longest);
        }
        lives.sort_unstable();
        lives.dedup();
        lives
    }

    /// Where an access to that cluster leads on the proxy's host.
    pub fn address(&self, site: &Site, id: &ResourceId) -> Option<String> {
        let origin = site.urls.proxy.origin().ascii_serialization();
        self.proxy_path.map(|path| format!("{origin}{}/{path}", id.key()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn hours(kind: &AccessKind, policy: &Policy) -> Vec<u64> {
        kind.lives(policy).into_iter().map(|life| life / HOUR).collect()
    }

    #[test]
    fn lives_follow_the_policy() {
        let mut policy = Policy::default();
        assert_eq!(hours(&KUBECONFIG, &policy), [1, 6, 8, 12]);
        assert_eq!(METRICS.lives(&policy), KUBECONFIG.lives(&policy));
        assert_eq!(SSH.lives(&policy), [HOUR / 2, HOUR, 4 * HOUR, 6 * HOUR]);
        assert_eq!(hours(&TUNNEL, &policy), [1, 4]);
        assert!(TERMINAL.lives(&policy).is_empty(), "it is not asked");
        policy.access.max_power_life = Duration::from_secs(1800);
        assert_eq!(SSH.lives(&policy), [1800]);
        assert_eq!(TUNNEL.lives(&policy), [1800]);
        policy.access.max_life = Duration::from_secs(90);
        assert_eq!(KUBECONFIG.lives(&policy), [90]);
    }

    #[test]
    fn no_life_is_offered_that_is_refused_when_it_is_chosen() {
        let mut policy = Policy::default();
        policy.access.min_life = Duration::from_secs(3600);
        assert_eq!(hours(&SSH, &policy), [1, 4, 6], "half an hour is too short");
        policy.access.min_life = Duration::from_secs(2 * 3600);
        assert_eq!(hours(&KUBECONFIG, &policy), [6, 8, 12]);
        policy.access.max_power_life = Duration::from_secs(3600);
        assert!(SSH.lives(&policy).is_empty(), "the policy allows none");
        assert!(TUNNEL.lives(&policy).is_empty(), "the policy allows none");
    }

    #[test]
    fn kinds_are_found_by_name() {
        let given = ["kubeconfig", "metrics", "page", "ssh", "tunnel"];
        for name in given {
            assert_eq!(AccessKind::from_api_name(name).map(|each| each.kind.name()), Some(name));
        }
        for name in ["terminal", "cli", "robot", ""] {
            assert!(AccessKind::from_api_name(name).is_none(), "{name}");
        }
        assert_eq!(KUBECONFIG.rights(), [Rights::Read, Rights::Write, Rights::Admin]);
        assert_eq!((METRICS.rights(), METRICS.least_rights()), (vec![Rights::Read], Rights::Read));
        assert_eq!((SSH.rights(), SSH.least_rights()), (vec![Rights::Write], Rights::Write));
    }
}
