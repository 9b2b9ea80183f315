//! Names and transitions of conditions of `Cluster` (`contract/operator.md` §3).

mod advice;
#[cfg(test)]
mod tests;

pub use advice::{Advice, Health, advice};

use crate::cluster::Condition;

/// A check of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    InternetReachableFromMaster,
    InternetReachableFromWorker,
    ServicePrincipalValid,
    DefaultIngressCertificate,
    DefaultClusterDns,
    MachineValid,
}

impl Check {
    pub const ALL: [Self; 6] = [
        Self::InternetReachableFromMaster,
        Self::InternetReachableFromWorker,
        Self::ServicePrincipalValid,
        Self::DefaultIngressCertificate,
        Self::DefaultClusterDns,
        Self::MachineValid,
    ];

    /// The type of the condition.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InternetReachableFromMaster => "InternetReachableFromMaster",
            Self::InternetReachableFromWorker => "InternetReachableFromWorker",
            Self::ServicePrincipalValid => "ServicePrincipalValid",
            Self::DefaultIngressCertificate => "DefaultIngressCertificate",
            Self::DefaultClusterDns => "DefaultClusterDNS",
            Self::MachineValid => "MachineValid",
        }
    }
}

/// Types that are reserved and kept.
const RESERVED: [&str; 2] = ["ManagedUpgradeOperatorStatus", "GuardRailsStatus"];
/// What the types of the conditions of a controller end in.
const SUFFIXES: [&str; 3] = ["ControllerAvailable", "ControllerProgressing", "ControllerDegraded"];
/// Octets of the longest message.
const MOST_MESSAGE: usize = 8 * 1024;

/// What a controller says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It does what it should.
    Clear,
    /// It does not, because of this.
    Degraded(String),
    /// It does something that takes time.
    Progressing(String),
    /// Only that it is no longer degraded.
    ClearDegraded,
}

/// The conditions of a controller in that state, without times.
pub fn of_controller(controller: &str, state: &State) -> Vec<Condition> {
    let one = |suffix: &str, status: &str, message: &str| Condition {
        kind: format!("{controller}Controller{suffix}"),
        status: status.to_owned(),
        message: bounded(message),
        ..Condition::default()
    };
    match state {
        State::Clear => {
            vec![one("Available", "True", ""), one("Progressing", "False", ""), one("Degraded", "False", "")]
        }
        State::Degraded(message) => vec![one("Degraded", "True", message)],
        State::Progressing(message) => vec![one("Progressing", "True", message)],
        State::ClearDegraded => vec![one("Degraded", "False", "")],
    }
}

/// The condition of a check, without a time.
pub fn of_check(check: Check, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        kind: check.name().to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: bounded(message),
        last_transition_time: None,
    }
}

/// The whole list after these conditions are set at `now` (RFC 3339): types that are not known are gone, and the time of
/// a condition changes only when its status does. `None`: nothing differs.
pub fn with(present: &[Condition], set: &[Condition], now: &str) -> Option<Vec<Condition>> {
    let mut out: Vec<Condition> = present.iter().filter(|one| is_known(&one.kind)).cloned().collect();
    for new in set {
        match out.iter_mut().find(|old| old.kind == new.kind) {
            Some(old) => {
                let same = old.status == new.status && old.last_transition_time.is_some();
                let since = if same { old.last_transition_time.take() } else { Some(now.to_owned()) };
                *old = Condition { last_transition_time: since, ..new.clone() };
            }
            None => out.push(Condition { last_transition_time: Some(now.to_owned()), ..new.clone() }),
        }
    }
    (out != present).then_some(out)
}

fn is_known(kind: &str) -> bool {
    Check::ALL.iter().any(|check| check.name() == kind)
        || RESERVED.contains(&kind)
        || SUFFIXES.iter().any(|suffix| kind.ends_with(suffix))
}

fn bounded(message: &str) -> String {
    message.get(..message.floor_char_boundary(MOST_MESSAGE)).unwrap_or_default().to_owned()
}
