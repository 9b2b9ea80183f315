//! Every plan, disturbed at every step in every way, then gone on with: Azure must hold exactly what it holds after a
//! quiet run, and nothing of the cluster after its deletion.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_metrics::{Registry, Statsd};
use rp_seal::Keyring;
use rp_simulator_azure::{ArmControl, Fault, FaultResponse};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::azure::{
    Cloud, installed, prepare_identities, prepare_security_groups, role_set, with_identities,
};
use super::documents;
use super::{FixedRoleSets, World};
use crate::ClusterManager;
use crate::environment::{OidcStorage, Periods};
use crate::failure::Failure;
use crate::manager::{Manager as _, Operation, Outcome};
use crate::metrics::StepMetrics;

/// How a step is disturbed the first time it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disturbance {
    Quiet,
    /// Whatever it asks first is refused: Azure, the store, the cluster, the installer.
    Fails,
    /// Azure does what it asks first, and the answer is lost.
    AnswerLost,
    /// The process stops while it runs.
    Stops,
    /// It runs to its end, and that is forgotten.
    Twice,
    /// The lease is lost while it runs, sooner or later.
    LeaseLost,
}

/// Which cluster is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClusterVariant {
    /// A public cluster with a service principal.
    Public,
    /// A private one with a domain, routes and security groups of the customer's own, in a region without a gateway.
    Private,
    /// A public one with workload identities.
    Workload,
    /// A public one in a region whose installer makes the machines too.
    Whole,
}

/// Runs of one operation: every step is disturbed a few times.
const MOST_RUNS: usize = 400;
/// Turns of the runtime before the lease is lost, at the first, second and third time that a step begins.
const TURNS: [usize; 3] = [0, 12, 90];

fn periods() -> Periods {
    Periods {
        poll: Duration::from_millis(2),
        authorization_retry: Duration::from_millis(2),
        authorization_limit: Duration::from_millis(100),
        longest: Some(Duration::from_secs(60)),
        diagnostics: Duration::from_secs(5),
    }
}

struct TestRig {
    cloud: Cloud,
    world: World,
    disturbance: Disturbance,
    begun: Arc<Mutex<HashMap<String, usize>>>,
}

fn private(cloud: &Cloud, world: World) -> World {
    prepare_security_groups(&cloud.control);
    world.progress.edit(|document| {
        let properties = &mut document["openShiftCluster"]["properties"];
        properties["clusterProfile"]["domain"] = json!("aro.example.com");
        properties["networkProfile"]["outboundType"] = json!("UserDefinedRouting");
        properties["networkProfile"]["loadBalancerProfile"] = Value::Null;
        properties["networkProfile"]["preconfiguredNSG"] = json!("Enabled");
        properties["apiserverProfile"]["visibility"] = json!("Private");
        properties["ingressProfiles"][0]["visibility"] = json!("Private");
    });
    world.with(|env| env.gateways = None)
}

async fn workload(cloud: &Cloud, world: World) -> World {
    prepare_identities(&cloud.control);
    cloud.make_container("oidc", "$web").await;
    world.progress.edit(|document| with_identities(&mut document["openShiftCluster"]));
    let blob_url = format!("{}/blob/oidc", cloud.url);
    world.with(|env| {
        env.role_sets = Arc::new(FixedRoleSets(vec![role_set()]));
        env.oidc =
            Some(OidcStorage { account: "oidc".to_owned(), blob_url, endpoint: "oidc.example".to_owned() });
    })
}

impl TestRig {
    async fn start(variant: ClusterVariant, disturbance: Disturbance) -> Self {
        let cloud = Cloud::start().await;
        let workloads = variant == ClusterVariant::Workload;
        let world = World::new(Arc::clone(&cloud.clients), workloads, periods());
        let world = match variant {
            ClusterVariant::Public => world,
            ClusterVariant::Whole => world.whole(),
            ClusterVariant::Private => private(&cloud, world),
            ClusterVariant::Workload => workload(&cloud, world).await,
        };
        world.api.is_up();
        let control = cloud.control.clone();
        *world.installer.on_begin.lock() = Some(Box::new(move |document| installed(&control, document)));
        Self { cloud, world, disturbance, begun: Arc::default() }
    }

    /// What happens when a step begins in this run.
    fn disturb(&self, operation: Operation, lost: &CancellationToken, stopping: &CancellationToken) {
        let (disturbance, begun) = (self.disturbance, Arc::clone(&self.begun));
        let (progress, api) = (Arc::clone(&self.world.progress), self.world.api.clone());
        let (control, installer) = (self.cloud.control.clone(), Arc::clone(&self.world.installer));
        let (lost, stopping) = (lost.clone(), stopping.clone());
        let inside = Arc::clone(&self.world.progress);
        let keyring = self.world.env.keyring.clone();
        self.world.progress.on_start(move |name, at| {
            // A creation that failed took the config away: in this test alone it goes on.
            let ended = matches!(disturbance, Disturbance::Fails | Disturbance::AnswerLost);
            if name.ends_with("bootstrapComplete") && !ended {
                keys_are_of_one_installation(&control, &keyring, inside.document());
            }
            let times = {
                let mut begun = begun.lock();
                let times =
                    begun.entry(format!("{operation:?} {} {at} {name}", inside.phase_name())).or_default();
                *times += 1;
                *times
            };
            let fault = |answer, method| Fault { method, path: "/".to_owned(), times: Some(1), answer };
            match disturbance {
                Disturbance::Quiet => {}
                Disturbance::LeaseLost => {
                    if let Some(turns) = TURNS.get(times - 1) {
                        let (lost, turns) = (lost.clone(), *turns);
                        tokio::spawn(async move {
                            for _ in 0..turns {
                                tokio::task::yield_now().await;
                            }
                            lost.cancel();
                        });
                    }
                }
                _ if times > 1 => {}
                Disturbance::Fails => {
                    control.fail(fault(FaultResponse::status(400, "ToldToFail"), None));
                    progress.fail_write(true);
                    api.fail(Some(500));
                    *installer.refuses.lock() = true;
                }
                Disturbance::AnswerLost => {
                    for method in [http::Method::PUT, http::Method::DELETE] {
                        control.fail(fault(FaultResponse::Lost, Some(method)));
                    }
                }
                Disturbance::Stops => stopping.cancel(),
                Disturbance::Twice => progress.refuse_next_save(),
            }
        });
    }

    fn calm(&self) {
        self.cloud.control.heal();
        self.world.progress.fail_write(false);
        self.world.progress.forget_refusal();
        self.world.api.fail(None);
        *self.world.installer.refuses.lock() = false;
    }

    /// Until the operation is done; gives how many runs that took.
    async fn drive(&self, operation: Operation) -> usize {
        let state = match operation {
            Operation::Create => "Creating",
            Operation::Update => "Updating",
            Operation::AdminUpdate => "AdminUpdating",
            Operation::Delete => "Deleting",
        };
        self.world.progress.edit(|document| {
            document["openShiftCluster"]["properties"]["provisioningState"] = json!(state);
        });
        self.world.progress.forget_position();
        let metrics = StepMetrics::new(&Registry::new(), Statsd::none());
        let manager = ClusterManager::new(Arc::clone(&self.world.env), metrics);
        for runs in 1..=MOST_RUNS {
            let (lost, stopping) = (CancellationToken::new(), CancellationToken::new());
            self.disturb(operation, &lost, &stopping);
            let job = self.world.job(operation, &lost, &stopping);
            let limit = Duration::from_secs(120);
            let outcome = tokio::time::timeout(limit, manager.run(job)).await;
            self.calm();
            let events = self.world.progress.take_events();
            match outcome
                .unwrap_or_else(|_| panic!("{operation:?} hangs, {:?}: {events:#?}", self.disturbance))
            {
                Ok(Outcome::Done) => return runs,
                Ok(Outcome::NextPhase) => assert_eq!(operation, Operation::Create),
                Err(failure) => self.is_as_told(operation, &failure, &events),
            }
        }
        panic!("{operation:?} does not end, {:?}: {:#?}", self.disturbance, self.world.progress.saves());
    }

    /// A run may fail only because of what was done to it.
    fn is_as_told(&self, operation: Operation, failure: &Failure, events: &[String]) {
        let fits = match self.disturbance {
            Disturbance::Quiet => false,
            Disturbance::Stops => matches!(failure, Failure::HandedOver),
            Disturbance::Twice | Disturbance::LeaseLost => matches!(failure, Failure::Lost),
            Disturbance::Fails | Disturbance::AnswerLost => {
                !matches!(failure, Failure::Lost | Failure::HandedOver)
            }
        };
        assert!(fits, "{operation:?} {:?}: {failure:?}\n{events:#?}", self.disturbance);
    }

    /// What is in Azure, by names that do not depend on chance; how often.
    fn objects(&self) -> BTreeMap<String, usize> {
        let document = documents::document(self.world.progress.document());
        let mut counted = BTreeMap::new();
        for id in self.cloud.everything() {
            let chance = [
                (&*document.properties.infra_id, "INFRA"),
                (document.storage_suffix(), "SUFFIX"),
                (document.id(), "DOCUMENT"),
            ];
            let chosen = chance.iter().filter(|(text, _)| !text.is_empty());
            let id = chosen.fold(id, |id, (text, name)| id.replace(text, name));
            *counted.entry(uuids(&id)).or_default() += 1;
        }
        counted
    }
}

/// The bootstrap machine's config is of the installation whose graph is kept.
fn keys_are_of_one_installation(control: &ArmControl, keyring: &Keyring, document: Value) {
    let document = documents::document(document);
    let blob =
        |container: &str, name: &str| control.blob(&document.state_account(), container, name).unwrap();
    let (state, _) = rp_install::graph::open(&blob("aro", "graph"), document.id(), keyring).unwrap();
    let password = state.kubeadmin_password().unwrap();
    let config = blob("ignition", "bootstrap.ign");
    assert!(String::from_utf8_lossy(&config).contains(password.expose().as_str()), "{config:?}");
}

/// Every UUID but those of subscriptions is one of chance.
fn uuids(id: &str) -> String {
    let (subscription, rest) = id.split_at(id.len().min(51));
    let mut out = subscription.to_owned();
    let mut rest = rest;
    while let Some(at) = (0..rest.len()).find(|at| rest.is_char_boundary(*at) && is_uuid(&rest[*at..])) {
        out.push_str(&rest[..at]);
        out.push_str("UUID");
        rest = &rest[at + 36..];
    }
    out + rest
}

fn is_uuid(text: &str) -> bool {
    text.get(..36).is_some_and(|text| {
        text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

/// What a whole life left behind after each of its operations.
#[derive(Debug, PartialEq, Eq)]
struct LifecycleObjects {
    created: BTreeMap<String, usize>,
    updated: BTreeMap<String, usize>,
    maintained: BTreeMap<String, usize>,
    deleted: BTreeMap<String, usize>,
}

async fn live(variant: ClusterVariant, disturbance: Disturbance) -> LifecycleObjects {
    let rig = TestRig::start(variant, disturbance).await;
    let before = rig.objects();
    let mut runs = rig.drive(Operation::Create).await;
    let created = rig.objects();
    check_created(&rig, variant);
    runs += rig.drive(Operation::Update).await;
    let updated = rig.objects();
    rig.world.progress.edit(|document| {
        document["openShiftCluster"]["properties"]["maintenanceTask"] = json!("Everything");
    });
    runs += rig.drive(Operation::AdminUpdate).await;
    let maintained = rig.objects();
    runs += rig.drive(Operation::Delete).await;
    let deleted = rig.objects();
    assert_eq!(left(&before, &deleted), Vec::<String>::new(), "{disturbance:?}: left behind");
    assert_eq!(left(&deleted, &before), Vec::<String>::new(), "{disturbance:?}: taken from others");
    assert!(
        rig.world.certificates.0.lock().is_empty() && rig.world.gateways.0.lock().is_empty(),
        "{disturbance:?}"
    );
    assert!(
        rig.world.installer.begun.lock().is_none() && rig.world.progress.billing_record().is_none(),
        "{disturbance:?}"
    );
    assert!(rig.world.runner.keeps_nothing(), "{disturbance:?}");
    let network = "/resourceGroups/customer/providers/Microsoft.Network/virtualNetworks/vnet/subnets/";
    for name in ["master", "worker"] {
        let id = format!("/subscriptions/{}{network}{name}", super::SUBSCRIPTION);
        let subnet = rig.cloud.control.get(&id).unwrap_or_default();
        let group = &subnet["properties"]["networkSecurityGroup"];
        assert_eq!(group.is_null(), variant != ClusterVariant::Private, "{disturbance:?}: {subnet}");
    }
    let steps = rig.begun.lock().len();
    match disturbance {
        Disturbance::Quiet => assert_eq!(runs, 5),
        // Each run ends with the step that was disturbed, the last one of a plan with the plan.
        Disturbance::Stops | Disturbance::Twice => assert_eq!(runs, steps, "{disturbance:?}"),
        // Steps that ask nobody, or that end before it comes to that, are not disturbed.
        Disturbance::LeaseLost => assert!(runs > steps / 2, "{runs} runs of {steps} steps"),
        Disturbance::Fails => assert!(runs > steps / 4, "{runs} runs of {steps} steps"),
        Disturbance::AnswerLost => assert!(runs > 10, "{runs} runs of {steps} steps"),
    }
    LifecycleObjects { created, updated, maintained, deleted }
}

fn left(before: &BTreeMap<String, usize>, after: &BTreeMap<String, usize>) -> Vec<String> {
    after.iter().filter(|(id, count)| before.get(*id) != Some(count)).map(|(id, _)| id.clone()).collect()
}

fn check_created(rig: &TestRig, variant: ClusterVariant) {
    let document = documents::document(rig.world.progress.document());
    assert_eq!(document.at("/properties/install"), Value::Null);
    assert_eq!(document.envelope().unknown["future"], json!({"kept": true}));
    assert!(!document.text_at("/properties/consoleProfile/url").is_empty());
    let ip = document.text_at("/properties/networkProfile/privateEndpointIp");
    assert!(ip.starts_with("10.8."), "{ip}");
    assert_eq!(rig.world.progress.billing_record().unwrap().0, document.infra_id());
    let own_domain = variant == ClusterVariant::Private;
    assert_eq!(rig.world.certificates.0.lock().len(), if own_domain { 0 } else { 2 });
    assert_eq!(rig.world.gateways.0.lock().len(), usize::from(!own_domain));
    assert_eq!(
        document.at("/properties/clusterProfile/oidcIssuer").is_string(),
        variant == ClusterVariant::Workload
    );
}

/// The objects of each cluster after an undisturbed life cycle, computed once.
static QUIET: [OnceCell<LifecycleObjects>; 4] = [const { OnceCell::const_new() }; 4];

async fn as_quiet(variant: ClusterVariant, disturbance: Disturbance) {
    let quiet = QUIET[variant as usize].get_or_init(|| live(variant, Disturbance::Quiet)).await;
    let disturbed = live(variant, disturbance).await;
    for (what, quiet, disturbed) in [
        ("created", &quiet.created, &disturbed.created),
        ("updated", &quiet.updated, &disturbed.updated),
        ("maintained", &quiet.maintained, &disturbed.maintained),
        ("deleted", &quiet.deleted, &disturbed.deleted),
    ] {
        let (more, less) = (left(quiet, disturbed), left(disturbed, quiet));
        assert!(
            more.is_empty() && less.is_empty(),
            "{disturbance:?}, {what}: more {more:#?}, less {less:#?}"
        );
    }
}

#[tokio::test]
async fn plans_that_fail_at_every_step_and_go_on_end_as_quiet_ones() {
    as_quiet(ClusterVariant::Public, Disturbance::Fails).await;
}

#[tokio::test]
async fn plans_whose_answers_are_lost_at_every_step_end_as_quiet_ones() {
    as_quiet(ClusterVariant::Public, Disturbance::AnswerLost).await;
}

#[tokio::test]
async fn plans_that_stop_after_every_step_end_as_quiet_ones() {
    as_quiet(ClusterVariant::Public, Disturbance::Stops).await;
}

#[tokio::test]
async fn plans_whose_every_step_runs_twice_end_as_quiet_ones() {
    as_quiet(ClusterVariant::Public, Disturbance::Twice).await;
}

#[tokio::test]
async fn plans_that_lose_the_lease_at_every_step_end_as_quiet_ones() {
    as_quiet(ClusterVariant::Public, Disturbance::LeaseLost).await;
}

/// One test for each disturbance, for the other clusters.
macro_rules! disturbance_tests {
    ($($variant:ident: $($name:ident = $disturbance:ident),+;)+) => {$($(
        #[tokio::test]
        async fn $name() {
            as_quiet(ClusterVariant::$variant, Disturbance::$disturbance).await;
        }
    )+)+};
}

disturbance_tests! {
    Whole:
        plans_of_a_whole_installer_that_fail_at_every_step = Fails,
        plans_of_a_whole_installer_whose_every_step_runs_twice = Twice,
        plans_of_a_whole_installer_that_lose_the_lease = LeaseLost;
    Private:
        private_plans_that_fail_at_every_step = Fails,
        private_plans_whose_answers_are_lost = AnswerLost,
        private_plans_whose_every_step_runs_twice = Twice,
        private_plans_that_lose_the_lease = LeaseLost;
    Workload:
        plans_with_identities_that_fail_at_every_step = Fails,
        plans_with_identities_whose_answers_are_lost = AnswerLost,
        plans_with_identities_whose_every_step_runs_twice = Twice,
        plans_with_identities_that_lose_the_lease = LeaseLost;
}

#[tokio::test]
async fn a_quiet_life_leaves_nothing_behind() {
    use ClusterVariant::{Private, Public, Whole, Workload};
    for variant in [Public, Private, Workload, Whole] {
        let life = QUIET[variant as usize].get_or_init(|| live(variant, Disturbance::Quiet)).await;
        let created: Vec<&String> =
            life.created.keys().filter(|id| id.contains("/resourcegroups/aro-test")).collect();
        assert!(created.len() > 15, "{variant:?}: {created:#?}");
    }
}

#[tokio::test]
async fn a_group_that_its_customer_deletes_ends_the_creation_and_the_deletion_leaves_nothing() {
    let rig = TestRig::start(ClusterVariant::Public, Disturbance::Quiet).await;
    let before = rig.objects();
    let (lost, stopping) = (CancellationToken::new(), CancellationToken::new());
    let control = rig.cloud.control.clone();
    let group = format!("/subscriptions/{}/resourceGroups/aro-test", super::SUBSCRIPTION);
    rig.world.progress.on_start(move |name, _| {
        if name.ends_with("updateAPIIPEarly") {
            control.remove(&group);
        }
    });
    let metrics = StepMetrics::new(&Registry::new(), Statsd::none());
    let manager = ClusterManager::new(Arc::clone(&rig.world.env), metrics);
    let job = rig.world.job(Operation::Create, &lost, &stopping);
    let ended = tokio::time::timeout(Duration::from_secs(120), manager.run(job)).await.unwrap();
    assert!(matches!(ended, Err(Failure::Customer { .. } | Failure::Internal(_))), "{ended:?}");
    rig.calm();
    rig.drive(Operation::Delete).await;
    assert_eq!(rig.objects(), before);
}
