//! Who may call, and the audit entries of it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_api::CloudError;
use rp_audit::{Audit, AuditOptions, CheckpointKey, Query};
use rp_base::{ManualClock, SystemRandom, Timestamp};
use rp_database::{Expect, SharedStore, Typed, in_memory};
use rp_documents::{SubscriptionDocument, SubscriptionState};
use rp_seal::Keyring;
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

use super::{Api, SUB, VERSION, id, parts, path, wanted};
use crate::{AdminParts, AuthorizedCaller, Authorizer, Caller, CreateChecks, Edge, FrontendParts};

/// Allows the callers of one side.
#[derive(Debug)]
struct Side {
    admin: bool,
}

#[async_trait]
impl Authorizer for Side {
    async fn authorize(&self, caller: &Caller<'_>) -> Option<AuthorizedCaller> {
        (caller.admin == self.admin).then(AuthorizedCaller::unrestricted)
    }
}

pub(super) fn unguarded() -> FrontendParts {
    let clock = ManualClock::at(Timestamp::from_seconds(1_795_230_720));
    let store = in_memory(Arc::new(clock.clone()));
    parts(store, Keyring::generate(&SystemRandom), clock, AdminParts::default())
}

pub(super) async fn trail() -> Audit {
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_795_230_720)));
    let options = AuditOptions::new(CheckpointKey::generate().unwrap());
    Audit::start(in_memory(clock.clone()), clock, options).await.unwrap()
}

fn taking(admin: bool) -> Api {
    Api::from_parts(FrontendParts { authorizer: Arc::new(Side { admin }), ..unguarded() })
}

#[tokio::test]
async fn the_admin_side_is_known_by_whatever_way_it_is_written() {
    let (arm, admin) = (taking(false), taking(true));
    let cluster = id("c");
    for of_admins in [
        "/admin/versions".to_owned(),
        "/ADMIN/Versions".to_owned(),
        "//admin//versions//".to_owned(),
        "/%61dmin/versions".to_owned(),
        "/%41%44%4d%49%4E/%76ersions".to_owned(),
        "/admin".to_owned(),
        "/administrators".to_owned(),
        format!("/%61dmin{cluster}/kubeconfig/newelevated"),
        format!("{cluster}?api-version=admin"),
        format!("{cluster}?API-Version=%61dmin"),
        format!("{cluster}?api-version=admin&api-version={VERSION}"),
    ] {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let told = arm.call(method, &of_admins, None).await;
            assert_eq!(told.refusal(), (403, "Forbidden".to_owned(), String::new()), "{method} {of_admins}");
        }
        assert_ne!(admin.call("GET", &of_admins, None).await.status, 403, "{of_admins}");
    }
    for of_arm in [
        path("c"),
        format!("/subscriptions/{SUB}"),
        "/nothing".to_owned(),
        "/%2561dmin/versions".to_owned(),
        format!("{cluster}?api-version={VERSION}&api-version=admin"),
        format!("{cluster}?api-version=ADMIN"),
    ] {
        assert_eq!(admin.call("GET", &of_arm, None).await.status, 403, "{of_arm}");
        assert_ne!(arm.call("GET", &of_arm, None).await.status, 403, "{of_arm}");
    }
}

#[tokio::test]
async fn whoever_is_not_taken_learns_nothing_and_is_not_read() {
    let admin = taking(true);
    let large = "x".repeat((1 << 20) + 1);
    for at in [path("c"), "/nothing".to_owned(), format!("/subscriptions/odd?api-version={VERSION}")] {
        let told = admin.send("PUT", &at, &[("content-type", "text/plain")], large.clone()).await;
        assert_eq!(told.json(), json!({"error": {"code": "Forbidden", "message": "Forbidden."}}), "{at}");
    }
    assert_ne!(admin.call("GET", "/healthz/ready", None).await.status, 403);
}

#[tokio::test]
async fn addresses_in_answers_are_those_of_a_referer_without_credentials() {
    let referers = ["arm.example".to_owned(), ".arm.example".to_owned()].to_vec();
    let api = Api::from_parts(FrontendParts { edge: Edge { referers, ..Edge::default() }, ..unguarded() });
    api.subscription("Registered").await;
    api.call("PUT", &path("c"), Some(wanted(1))).await;
    for (referer, host) in [
        ("https://arm.example/x?api-version=2025-07-25", "https://arm.example/"),
        ("https://EastUS.ARM.example:8443/x", "https://eastus.arm.example:8443/"),
        ("https://elsewhere.example/x", "https://localhost:8443/"),
        ("https://notarm.example/x", "https://localhost:8443/"),
        ("https://arm.example.elsewhere.example/x", "https://localhost:8443/"),
        ("https://.arm.example/x", "https://localhost:8443/"),
        ("https://user:word@arm.example/x", "https://localhost:8443/"),
        ("javascript:alert(1)", "https://localhost:8443/"),
        ("::", "https://localhost:8443/"),
    ] {
        api.finish("Succeeded").await;
        let told = api.send("DELETE", &path("c"), &[("referer", referer)], String::new()).await;
        assert_eq!(told.status, 202, "{}", told.text);
        for name in ["location", "azure-asyncoperation"] {
            assert!(told.header(name).starts_with(host), "{referer}: {}", told.header(name));
        }
    }
}

/// Blocks all callers until it is opened.
#[derive(Debug, Default)]
struct Gate {
    asked: Notify,
    open: Notify,
}

#[async_trait]
impl Authorizer for Gate {
    async fn authorize(&self, _: &Caller<'_>) -> Option<AuthorizedCaller> {
        self.asked.notify_one();
        self.open.notified().await;
        Some(AuthorizedCaller::unrestricted())
    }
}

#[tokio::test]
async fn who_leaves_before_being_known_wants_nothing_any_more() {
    let open = unguarded();
    let free = Api::from_parts(open.clone());
    assert_eq!(free.subscription("Registered").await.status, 201);
    assert_eq!(free.call("PUT", &path("c"), Some(wanted(1))).await.status, 201);
    free.finish("Succeeded").await;
    let running = open.edge.metrics.counted.running.clone();
    let gate = Arc::new(Gate::default());
    let api = Api::from_parts(FrontendParts { authorizer: gate.clone(), ..open });
    for (leaves, state) in [(true, "Succeeded"), (false, "Deleting")] {
        let at = path("c");
        let mut asked = Box::pin(api.call("DELETE", &at, None));
        tokio::select! {
            _ = &mut asked => unreachable!("nobody opened"),
            () = gate.asked.notified() => {}
        }
        if leaves {
            drop(asked);
            gate.open.notify_one();
            let ended = async {
                while running.value() > 0.0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
        } else {
            gate.open.notify_one();
            assert_eq!(asked.await.status, 202);
        }
        let stored = api.stored().await;
        assert_eq!(stored["openShiftCluster"]["properties"]["provisioningState"], state);
    }
}

#[tokio::test]
async fn readiness_is_told_to_anybody_and_costs_nothing_more() {
    let audit = trail().await;
    // Bodies have no room: one that was read would wait for it.
    let edge = Edge { audit: Some(audit.clone()), bodies: Arc::new(Semaphore::new(0)), ..Edge::default() };
    let parts = FrontendParts { authorizer: Arc::new(Side { admin: true }), edge, ..unguarded() };
    let api = Api::from_parts(parts);
    for method in ["PUT", "POST", "PATCH", "DELETE"] {
        let told = api.send(method, "/healthz/ready", &[], "x".to_owned()).await;
        let allow = told.header("allow");
        assert_eq!((told.status.as_u16(), told.text.as_str(), allow), (405, "", "GET"), "{method}");
    }
    assert_eq!(api.call("GET", "/Healthz//ready", None).await.status, 200);
    audit.close().await;
    let all = audit.search(&Query::default()).await.unwrap().entries;
    assert!(!all.iter().any(|entry| entry.verb.starts_with("arm.")), "{all:?}");
}

/// Azure allows everything, and takes so long that the subscription has ended.
#[derive(Debug)]
struct Slow(SharedStore);

#[async_trait]
impl CreateChecks for Slow {
    async fn check(
        &self,
        subscription: &str,
        tenant: &str,
        cluster: &rp_documents::OpenShiftCluster,
    ) -> Result<(), CloudError> {
        assert_eq!((subscription, tenant, &*cluster.location), (SUB, "t", "eastus"));
        let subscriptions = Typed::<SubscriptionDocument>::new(self.0.clone());
        let mut found = subscriptions.get(subscription).await.unwrap().unwrap().value;
        found.subscription.state = SubscriptionState::Deleted;
        subscriptions.put(found, Expect::Any).await.unwrap();
        Ok(())
    }
}

#[tokio::test]
async fn nothing_is_made_in_a_subscription_that_ended_while_azure_was_asked() {
    let open = unguarded();
    let checks: Arc<dyn CreateChecks> = Arc::new(Slow(open.store.clone()));
    let api = Api::from_parts(FrontendParts { checks: Some(checks), ..open });
    assert_eq!(api.subscription("Registered").await.status, 201);
    let told = api.call("PUT", &path("c"), Some(wanted(1))).await;
    assert_eq!(told.refusal().1, "InvalidSubscriptionState", "{}", told.text);
    assert_eq!(api.call("GET", &path("c"), None).await.status, 404);
}

#[tokio::test]
async fn the_trail_says_which_objects_were_read() {
    let audit = trail().await;
    let edge = Edge { audit: Some(audit.clone()), ..Edge::default() };
    let api = Api::from_parts(FrontendParts { edge, ..unguarded() });
    let objects = format!("/admin{}/kubernetesobjects", id("c"));
    let asked = "kind=Pod&namespace=customers&unrestricted=true";
    api.send("GET", &format!("{objects}?{asked}"), &[("x-ms-client-principal-name", "kim")], String::new())
        .await;
    api.call("GET", &format!("{}&x=y", path("c")), None).await;
    audit.close().await;
    let all = audit.search(&Query::default()).await.unwrap().entries;
    let of = |verb: &str| all.iter().find(|entry| entry.verb == verb).unwrap();
    let read = of("rp-admin.read");
    assert_eq!((read.query.as_str(), read.actor.name.as_str()), (&*format!("{objects}?{asked}"), "kim"));
    assert_eq!(of("arm.read").query, id("c"), "customers' queries are not kept");
}
