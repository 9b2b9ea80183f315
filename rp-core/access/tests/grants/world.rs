//! A store, an audit trail, a clock that is moved by hand, and people.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rp_access::{
    Access, AccessParts, Caller, ElevationRequest, GrantFilter, GrantView, IssueRequest, IssuedGrant, Policy,
    Via,
};
use rp_audit::{Audit, AuditOptions, CheckpointKey, Query};
use rp_base::{Id, ManualClock, SystemRandom, Timestamp};
use rp_database::{SharedStore, in_memory};
use rp_documents::{Collection, Elevation, Entry, Grant, GrantKind, Person, ResourceId, Rights};
use rp_metrics::Registry;
use rp_net::PerMinute;
use rp_seal::Keyring;

use crate::faults::{Faulty, faulty};

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The rule says a second; a busy machine may take longer without being wrong.
pub(crate) const SOON: Duration = Duration::from_secs(60);
pub(crate) const REASON: &str = "look at the ingress";

pub(crate) struct World {
    pub(crate) clock: ManualClock,
    pub(crate) store: Arc<Faulty>,
    pub(crate) audit: Audit,
    pub(crate) audit_store: Arc<Faulty>,
    pub(crate) keyring: Keyring,
    pub(crate) access: Arc<Access>,
    /// What `access` counts.
    pub(crate) registry: Registry,
}

pub(crate) fn policy() -> Policy {
    let group = |name: &str| vec![name.to_owned()];
    Policy {
        roles: rp_config::Roles {
            viewer: group("viewers"),
            sre: group("sres"),
            elevated: group("power"),
            approver: group("approvers"),
            auditor: group("auditors"),
            admin: group("admins"),
        },
        elevation: rp_config::Elevation { self_service: group("on-call"), ..rp_config::Elevation::default() },
        rates: PerMinute { sign_in: 0, issue: 0, renew: 0, misses: 0, streams: 0 },
        ..Policy::default()
    }
}

/// [`policy`] with one thing different.
pub(crate) fn policy_with(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = policy();
    change(&mut policy);
    policy
}

pub(crate) fn person(name: &str, groups: &[&str]) -> Person {
    Person {
        sub: format!("sub-{name}"),
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
    }
}

pub(crate) fn caller(name: &str, groups: &[&str]) -> Caller {
    let person = person(name, groups);
    let roles = policy().roles_of(&person.groups);
    Caller {
        person,
        roles,
        from: "192.0.2.7".to_owned(),
        request_id: Id::random(&SystemRandom),
        via: Via::Session,
    }
}

pub(crate) fn target() -> ResourceId {
    let id = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/harbor";
    ResourceId::parse(id).unwrap()
}

pub(crate) fn ask(rights: Rights) -> IssueRequest {
    IssueRequest::new(GrantKind::Kubeconfig, Some(target()), rights, REASON.to_owned())
}

pub(crate) fn elevation(rights: Rights) -> ElevationRequest {
    ElevationRequest {
        reason: REASON.to_owned(),
        ticket: None,
        target: Some(target()),
        rights,
        life: None,
        break_glass: false,
    }
}

pub(crate) fn eve() -> Caller {
    caller("eve", &["approvers"])
}

pub(crate) fn root() -> Caller {
    caller("root", &["admins"])
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(policy(), Keyring::generate(&SystemRandom)).await
    }

    pub(crate) async fn with(policy: Policy, keyring: Keyring) -> Self {
        let clock = ManualClock::at(Timestamp::from_millis(1_700_000_000_000));
        let store = faulty(in_memory(Arc::new(clock.clone())));
        let audit_store = faulty(in_memory(Arc::new(clock.clone())));
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        let shared: SharedStore = audit_store.clone();
        let audit = Audit::start(shared, Arc::new(clock.clone()), options).await.unwrap();
        let registry = Registry::new();
        let access = start(&store, &audit, &keyring, &clock, policy, &registry).await;
        Self { clock, store, audit, audit_store, keyring, access, registry }
    }

    /// Another replica on the same store.
    pub(crate) async fn replica(&self) -> Arc<Access> {
        start(&self.store, &self.audit, &self.keyring, &self.clock, policy(), &Registry::new()).await
    }

    /// To ada, who is elevated first when the rights need it.
    pub(crate) async fn issue(&self, groups: &[&str], rights: Rights) -> IssuedGrant {
        if rights > Rights::Read {
            self.elevate("ada", rights).await;
        }
        self.access.issue(&caller("ada", groups), ask(rights)).await.unwrap()
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        rp_base::Clock::now(&self.clock)
    }

    /// Asked for and approved.
    pub(crate) async fn elevate(&self, name: &str, rights: Rights) -> Elevation {
        let asked =
            self.access.request_elevation(&caller(name, &["power"]), elevation(rights)).await.unwrap();
        self.access.decide(&eve(), &asked.id, true, None).await.unwrap()
    }

    pub(crate) async fn all(&self, filter: GrantFilter) -> Vec<GrantView> {
        self.access.list(&GrantFilter { limit: 1000, ..filter }).await.unwrap().items
    }

    pub(crate) async fn audited(&self, verb: &str) -> Vec<Entry> {
        let query = Query { verb: Some(verb.to_owned()), limit: 500, ..Query::default() };
        self.audit.search(&query).await.unwrap().entries
    }

    pub(crate) fn grants(&self) -> rp_database::Typed<Grant> {
        let store: SharedStore = self.store.clone();
        rp_database::Typed::new(store)
    }

    /// Changes a grant behind everybody's back, as another process would.
    pub(crate) async fn change(&self, id: &Id, change: impl Fn(&mut Grant)) {
        rp_database::update(&self.grants(), id.as_str(), |grant: &mut Grant| change(grant)).await.unwrap();
    }

    /// Every body of both stores.
    pub(crate) async fn bodies(&self) -> Vec<String> {
        let mut bodies = Vec::new();
        for store in [&self.store, &self.audit_store] {
            for collection in Collection::ALL {
                let page = rp_database::Store::list(&**store, collection, None, None, 1000).await.unwrap();
                assert!(page.continuation.is_none());
                bodies.extend(page.items.into_iter().map(|stored| stored.body));
            }
        }
        bodies
    }
}

async fn start(
    store: &Arc<Faulty>,
    audit: &Audit,
    keyring: &Keyring,
    clock: &ManualClock,
    policy: Policy,
    registry: &Registry,
) -> Arc<Access> {
    let parts = AccessParts {
        store: store.clone(),
        audit: audit.clone(),
        keyring: keyring.clone(),
        clock: Arc::new(clock.clone()),
        random: Arc::new(SystemRandom),
        policy,
        registry: registry.clone(),
    };
    Access::start(parts).await.unwrap()
}

/// Waits until a look finds what it looks for.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, looking).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}

pub(crate) async fn soon<T>(what: &str, awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, awaited).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}
