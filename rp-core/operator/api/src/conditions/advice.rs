//! What a condition of `Cluster` means for people, and what to do when it is not as it should be
//! (`contract/operator.md` §3, §8).

use schemars::JsonSchema;
use serde::Serialize;

use super::Check;
use crate::Flag;

/// How a condition is; the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Health {
    Wrong,
    /// The check is off, or could not be made.
    Unknown,
    Progressing,
    /// A type of which no status is known to be good.
    Unrated,
    Healthy,
}

/// What the type of a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject<'a> {
    Check(Check),
    /// A controller, and which of its three states.
    Controller(&'a str, Aspect),
    /// Reserved, or written by a newer operator.
    Other,
}

/// What a condition says of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Available,
    Progressing,
    Degraded,
}

impl Aspect {
    const ALL: [(&'static str, Self); 3] = [
        ("ControllerAvailable", Self::Available),
        ("ControllerProgressing", Self::Progressing),
        ("ControllerDegraded", Self::Degraded),
    ];
}

/// A condition in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    pub health: Health,
    /// What the status `True` of a check means; what the condition says of a controller.
    pub meaning: String,
    /// What to do; empty where there is nothing to do.
    pub action: String,
}

impl<'a> Subject<'a> {
    /// What the condition of that type is about.
    fn of(kind: &'a str) -> Self {
        if let Some(check) = Check::ALL.into_iter().find(|check| check.name() == kind) {
            return Self::Check(check);
        }
        let mut aspects = Aspect::ALL.into_iter();
        let found = aspects.find_map(|(suffix, aspect)| Some((kind.strip_suffix(suffix)?, aspect)));
        match found {
            Some((controller, aspect)) if !controller.is_empty() => Self::Controller(controller, aspect),
            _ => Self::Other,
        }
    }

    /// How a condition with that status is.
    fn health(self, status: &str) -> Health {
        let good = match self {
            Self::Check(_) | Self::Controller(_, Aspect::Available) => "True",
            Self::Controller(..) => "False",
            Self::Other => return Health::Unrated,
        };
        match (self, status) {
            (_, status) if status == good => Health::Healthy,
            (Self::Controller(_, Aspect::Progressing), "True") => Health::Progressing,
            (_, "True" | "False") => Health::Wrong,
            _ => Health::Unknown,
        }
    }
}

/// The words for a condition of that type and status; `reason` is the condition's.
pub fn advice(kind: &str, status: &str, reason: &str) -> Advice {
    let subject = Subject::of(kind);
    let health = subject.health(status);
    let (meaning, action) = match subject {
        Subject::Check(check) => (check.meaning().to_owned(), check_action(check, health, reason)),
        Subject::Controller(name, aspect) => controller(name, aspect, health),
        Subject::Other => {
            ("This version of the service has no description of the type.".to_owned(), String::new())
        }
    };
    Advice { health, meaning, action }
}

fn check_action(check: Check, health: Health, reason: &str) -> String {
    match health {
        Health::Wrong => check.action().to_owned(),
        // The operator gives a reason when it tried (`contract/operator.md` §3).
        Health::Unknown if reason.is_empty() => {
            format!("The check is off, or did not run yet. The flag {} turns it on.", check.flag().name())
        }
        Health::Unknown => {
            "The check could not be made. Read the message; the operator repeats the check by itself."
                .to_owned()
        }
        Health::Progressing | Health::Unrated | Health::Healthy => String::new(),
    }
}

fn controller(name: &str, aspect: Aspect, health: Health) -> (String, String) {
    let log = format!("The log of deployment aro-operator-master has its lines under controller={name}.");
    match (aspect, health) {
        (_, Health::Healthy) => (format!("Controller {name} works."), String::new()),
        (_, Health::Progressing) => {
            (format!("Controller {name} makes a change that takes time."), String::new())
        }
        (Aspect::Degraded, Health::Wrong) => (
            format!("Controller {name} fails again and again. The message is its last error."),
            format!("Correct what the message names; the controller tries again by itself. {log}"),
        ),
        (_, Health::Wrong) => (
            format!("Controller {name} cannot do its work."),
            format!("See its condition {name}ControllerDegraded. {log}"),
        ),
        (_, Health::Unknown | Health::Unrated) => {
            (format!("The state of controller {name} is not known."), log)
        }
    }
}

impl Check {
    /// What `True` means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::InternetReachableFromMaster => "Control plane nodes reach the URLs that the service needs.",
            Self::InternetReachableFromWorker => "Worker nodes reach the URLs that the service needs.",
            Self::ServicePrincipalValid => {
                "The identity of the cluster can sign in to Azure, and cannot change applications."
            }
            Self::DefaultIngressCertificate => {
                "The default ingress has the certificate that its domain needs."
            }
            Self::DefaultClusterDns => "No DNS server is configured for the zone \".\", which is all names.",
            Self::MachineValid => {
                "Number, disks and images of the machines are as the service supports them."
            }
        }
    }

    /// What to do when it is `False`.
    pub const fn action(self) -> &'static str {
        match self {
            Self::InternetReachableFromMaster | Self::InternetReachableFromWorker => {
                "Take the URL from the message. Check the customer's firewall, route tables, network security groups \
                 and the cluster-wide proxy for it, from the subnet of these nodes."
            }
            Self::ServicePrincipalValid => {
                "AADSTS7000215, AADSTS7000222 or AADSTS700016: the customer sets valid credentials with az aro update. \
                 Application.ReadWrite.OwnedBy: the customer removes this permission from the identity."
            }
            Self::DefaultIngressCertificate => {
                "Managed domain: set spec.defaultCertificate of IngressController default to the service's certificate, \
                 then run the maintenance task TLS certificate rotation. Custom domain: the customer sets a certificate."
            }
            Self::DefaultClusterDns => {
                "The customer removes the zone \".\" from spec.servers of dnses.operator.openshift.io/default."
            }
            Self::MachineValid => {
                "The message has one error for each machine. Compare with the cluster's machines and machine sets; a \
                 machine with a wrong disk or image is replaced by its machine set."
            }
        }
    }

    /// The flag that turns the check on and off.
    pub const fn flag(self) -> Flag {
        match self {
            Self::MachineValid => Flag::Machine,
            Self::InternetReachableFromMaster
            | Self::InternetReachableFromWorker
            | Self::ServicePrincipalValid
            | Self::DefaultIngressCertificate
            | Self::DefaultClusterDns => Flag::Checker,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_good_or_bad_by_the_type() {
        for (kind, status, health) in [
            ("ServicePrincipalValid", "True", Health::Healthy),
            ("ServicePrincipalValid", "False", Health::Wrong),
            ("MachineValid", "Unknown", Health::Unknown),
            ("MachineSetControllerAvailable", "True", Health::Healthy),
            ("MachineSetControllerAvailable", "False", Health::Wrong),
            ("MachineSetControllerDegraded", "True", Health::Wrong),
            ("MachineSetControllerDegraded", "False", Health::Healthy),
            ("NodeControllerProgressing", "True", Health::Progressing),
            ("NodeControllerProgressing", "False", Health::Healthy),
            ("NodeControllerDegraded", "Unknown", Health::Unknown),
            ("GuardRailsStatus", "False", Health::Unrated),
            ("ControllerDegraded", "True", Health::Unrated),
            ("", "True", Health::Unrated),
        ] {
            assert_eq!(advice(kind, status, "").health, health, "{kind} {status}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_to_do_and_what_is_healthy_does_not() {
        for check in Check::ALL {
            let wrong = advice(check.name(), "False", "CheckFailed");
            assert_eq!((wrong.meaning.as_str(), wrong.action.as_str()), (check.meaning(), check.action()));
            assert!(advice(check.name(), "True", "CheckDone").action.is_empty());
            assert!(advice(check.name(), "Unknown", "").action.contains(check.flag().name()));
            assert!(advice(check.name(), "Unknown", "Validation Unavailable").action.contains("by itself"));
        }
        let degraded = advice("PullSecretControllerDegraded", "True", "");
        assert!(degraded.meaning.contains("PullSecret") && degraded.action.contains("controller=PullSecret"));
        assert!(advice("PullSecretControllerDegraded", "False", "").action.is_empty());
    }

    #[test]
    fn the_worst_comes_first() {
        let mut all = [Health::Healthy, Health::Unrated, Health::Unknown, Health::Wrong, Health::Progressing];
        all.sort();
        assert_eq!(all.first(), Some(&Health::Wrong));
        assert_eq!(all.last(), Some(&Health::Healthy));
    }
}
