//! The kinds of access to a cluster that people take, each declared once: its rights, its lives, what it needs and where it
//! leads. What a person may get of them now is in `access_offer`; `docs/guides/add-an-access.md` says how to add one.

use rp_access::Policy;
use rp_documents::{GrantKind, ResourceId, Rights};

use crate::state::PortalState;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// What is the same for every access of a kind.
#[derive(Debug)]
pub struct AccessKind {
    pub kind: GrantKind,
    /// The least and the most rights to choose from. Above read they need an elevation.
    rights: (Rights, Rights),
    /// Lengths of life to choose from, in seconds, out of the policy's default and longest; empty: it is not asked.
    lives: fn(u64, u64) -> Vec<u64>,
    /// What it cannot do without.
    pub(crate) needs: Needs,
    /// Last part of its address on the proxy's host; `None`: it has no address there.
    door: Option<&'static str>,
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

/// A file for kubectl and oc.
pub static KUBECONFIG: AccessKind = AccessKind {
    kind: GrantKind::Kubeconfig,
    rights: (Rights::Read, Rights::Admin),
    lives: |default, longest| vec![HOUR, default, 8 * HOUR, longest],
    needs: Needs::Cluster,
    door: Some("kubeconfig/proxy"),
    by_api: true,
};

/// A token for tools that speak the API of Prometheus. They are set up for long, so it may be given before the cluster is
/// there.
pub static METRICS: AccessKind = AccessKind {
    kind: GrantKind::Metrics,
    rights: (Rights::Read, Rights::Read),
    lives: |default, longest| vec![HOUR, default, 8 * HOUR, longest],
    needs: Needs::Nothing,
    door: Some("prometheus"),
    by_api: true,
};

/// A shell on a machine, by SSH.
pub static SSH: AccessKind = AccessKind {
    kind: GrantKind::Ssh,
    rights: (Rights::Write, Rights::Write),
    lives: |_, longest| vec![HOUR / 2, HOUR, 4 * HOUR, longest],
    needs: Needs::Machines,
    door: None,
    by_api: true,
};

/// A shell in the browser.
pub static TERMINAL: AccessKind = AccessKind {
    kind: GrantKind::Terminal,
    rights: (Rights::Write, Rights::Write),
    lives: |_, _| Vec::new(),
    needs: Needs::Cluster,
    door: None,
    by_api: false,
};

/// TCP streams to the ingress of a cluster.
pub static TUNNEL: AccessKind = AccessKind {
    kind: GrantKind::Tunnel,
    rights: (Rights::Write, Rights::Write),
    lives: |_, _| vec![HOUR, 4 * HOUR, 8 * HOUR],
    needs: Needs::Cluster,
    door: Some("tunnel"),
    by_api: true,
};

/// A person's own look at logs and objects; pages ask for it on the way (`look`).
pub static PAGE: AccessKind = AccessKind {
    kind: GrantKind::Page,
    rights: (Rights::Read, Rights::Read),
    lives: |_, _| Vec::new(),
    needs: Needs::Nothing,
    door: None,
    by_api: true,
};

static EVERY: [&AccessKind; 6] = [&KUBECONFIG, &METRICS, &SSH, &TERMINAL, &TUNNEL, &PAGE];

impl AccessKind {
    /// The kind of that name that `POST /api/v1/grants` gives.
    pub fn by_api(name: &str) -> Option<&'static Self> {
        EVERY.into_iter().find(|each| each.by_api && each.kind.name() == name)
    }

    /// The rights to choose from, the least first.
    pub fn rights(&self) -> Vec<Rights> {
        let (least, most) = self.rights;
        [Rights::Read, Rights::Write, Rights::Admin]
            .into_iter()
            .filter(|rights| (least..=most).contains(rights))
            .collect()
    }

    /// The only rights that it has; `None`: they are asked for.
    pub fn fixed_rights(&self) -> Option<Rights> {
        let (least, _) = self.rights;
        (least > Rights::Read).then_some(least)
    }

    /// Lengths of life to choose from, in seconds, shortest first, up to what the policy allows.
    pub fn lives(&self, policy: &Policy) -> Vec<u64> {
        let longest = policy.longest(self.rights.0).as_secs();
        let mut lives = (self.lives)(policy.access.default_life.as_secs(), longest);
        if lives.is_empty() {
            return lives;
        }
        lives.retain(|life| (MINUTE..=longest).contains(life));
        if lives.is_empty() {
            lives.push(longest);
        }
        lives.sort_unstable();
        lives.dedup();
        lives
    }

    /// Where an access to that cluster leads on the proxy's host.
    pub fn address(&self, state: &PortalState, id: &ResourceId) -> Option<String> {
        let origin = state.session.site.urls.proxy.origin().ascii_serialization();
        self.door.map(|door| format!("{origin}{}/{door}", id.key()))
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
        policy.access.max_life = Duration::from_secs(10);
        assert_eq!(KUBECONFIG.lives(&policy), [10]);
    }

    #[test]
    fn kinds_are_found_by_name() {
        let given = ["kubeconfig", "metrics", "page", "ssh", "tunnel"];
        for name in given {
            assert_eq!(AccessKind::by_api(name).map(|each| each.kind.name()), Some(name));
        }
        for name in ["terminal", "cli", "robot", ""] {
            assert!(AccessKind::by_api(name).is_none(), "{name}");
        }
        assert_eq!(KUBECONFIG.rights(), [Rights::Read, Rights::Write, Rights::Admin]);
        assert_eq!((METRICS.rights(), METRICS.fixed_rights()), (vec![Rights::Read], None));
        assert_eq!((SSH.rights(), SSH.fixed_rights()), (vec![Rights::Write], Some(Rights::Write)));
    }
}
