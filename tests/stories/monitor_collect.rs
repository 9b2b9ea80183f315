//! The collectors on a real Kubernetes with OpenShift's kinds, a real Prometheus and a real Alertmanager: what is told
//! is compared as a set of (name, value, dimensions).

mod budget;
mod cluster;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use rp_base::{ManualClock, SharedClock, SystemRandom};
use rp_database::{Typed, in_memory};
use rp_documents::{ClusterDocument, ClusterHealth, ClusterMirror, ResourceId};
use rp_monitor::check::{Check, CheckOptions, CheckParts, Records, SubnetSource};
use rp_monitor::cluster_objects::Prefixes;
use rp_monitor::emit::{Emitters, Recorder};
use rp_monitor::once::OneTarget;
use rp_monitor::sample::Value;
use rp_monitor::{ClusterView, Round, WorkerProfile};
use rp_net::{Budget, Credential, Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Source, Target};
use rp_seal::Keyring;
use tests_kit::{GENEROUS, until};
use tokio_util::sync::CancellationToken;

use cluster::OpenShift;
use objects::NOW;

const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.RedHatOpenShift/openShiftClusters/real";

/// Azure, as it would answer.
struct Subnets;

#[async_trait]
impl SubnetSource for Subnets {
    async fn prefixes(&self, _: &ClusterView, ids: &[String]) -> BTreeMap<String, Prefixes> {
        let answer = |id: &String| match id.as_str() {
            "/subnets/master" => Ok(vec!["10.0.0.0/24".to_owned()]),
            "/subnets/worker" => Ok(vec!["10.0.1.0/24".to_owned(), "fd00::/64".to_owned()]),
            other => Err(format!("no subnet {other}")),
        };
        ids.iter().map(|id| (id.clone(), answer(id))).collect()
    }
}

fn view() -> Result<ClusterView> {
    let mut view = ClusterView::bare("real".to_owned(), ResourceId::parse(ID)?, Source::Aro);
    let text = |text: &str| text.to_owned();
    view.provisioning_state = text("Succeeded");
    view.provisioned_by = text("older");
    view.maintenance_state = text("Planned");
    view.created_at = Some(rp_base::Timestamp::parse("2026-01-02T03:04:05.600Z")?);
    view.api_url = text("https://api.real.eastus.aroapp.io:6443/");
    view.master_subnet = text("/subnets/master");
    let worker =
        |name: &str, subnet: &str| WorkerProfile { name: text(name), subnet_id: text(subnet), count: 3 };
    view.workers = vec![worker("w", "/subnets/worker")];
    view.service_principal = true;
    Ok(view)
}

/// One monitor that looks at the real cluster.
struct Collection {
    check: Check,
    recorder: Recorder,
    health: Typed<ClusterHealth>,
    mirrors: Typed<ClusterMirror>,
    keyring: Keyring,
}

impl Collection {
    async fn new(openshift: &OpenShift, page: usize) -> Result<Self> {
        let clock: SharedClock = Arc::new(ManualClock::at(NOW));
        let token = Credential::Token(openshift.admin_token()?.into());
        let target = Target {
            id: ResourceId::parse(ID)?,
            source: Source::Aro,
            endpoint: Endpoint::Direct { url: openshift.url().parse()? },
            server_name: "127.0.0.1".to_owned(),
            ca_pem: openshift.ca().to_owned(),
            read: token.clone(),
            admin: token,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        let (emitters, recorder) = Emitters::recording(Arc::clone(&clock));
        let store = in_memory(Arc::clone(&clock));
        // Health and mirror are kept of clusters that are there.
        let document: ClusterDocument = serde_json::from_value(objects::document(ID))?;
        Typed::new(Arc::clone(&store)).create(document).await?;
        let keyring = Keyring::generate(&SystemRandom);
        let mut options = CheckOptions { commit: "commit", mirror_every: 1, ..CheckOptions::default() };
        options.fetch.page = page;
        let check = Check::new(CheckParts {
            directory: Arc::new(OneTarget(Arc::new(target.fingerprinted()))),
            dialer: Dialer::new(DialerOptions {
                private: PrivateWay::Direct,
                networks: Networks::new(vec!["127.0.0.0/8".parse()?], Vec::new()),
                keepalive: GENEROUS,
            }),
            clock,
            budget: Budget::unlimited(),
            emitters,
            records: Some(Records::new(&store, keyring.clone())),
            beside: Vec::new(),
            subnets: Some(Arc::new(Subnets)),
            options,
        });
        Ok(Self {
            check,
            recorder,
            health: Typed::new(Arc::clone(&store)),
            mirrors: Typed::new(store),
            keyring,
        })
    }

    /// Looks, and gives what was told: `NAME VALUE KEY=TEXT …`, without durations and the cluster's dimensions.
    async fn look(&self, hourly: bool) -> Result<(BTreeSet<String>, Vec<&'static str>)> {
        self.recorder.take();
        let round = Round { hourly, nsg_due: false, number: 1 };
        let observed = self.check.observe(Arc::new(view()?), round, CancellationToken::new()).await;
        let cluster = ["resourceId", "subscriptionId", "resourceGroup", "resourceName"];
        let mut told = BTreeSet::new();
        for line in self.recorder.take() {
            let Value::Int(value) = line.value else { continue };
            ensure!(line.dims.get("resourceId").is_some_and(|id| id == ID), "{line:?}");
            let dims = line.dims.iter().filter(|(name, _)| !cluster.contains(&name.as_str()));
            let dims: String = dims.map(|(name, text)| format!(" {name}={text}")).collect();
            told.insert(format!("{} {value}{dims}", line.metric));
        }
        Ok((told, observed.done.failed))
    }
}

/// Metrics that are emitted but not expected, and those that are expected but not emitted.
fn same(told: &BTreeSet<String>, expected: &BTreeSet<String>) -> Result<()> {
    let more: Vec<_> = told.difference(expected).collect();
    let less: Vec<_> = expected.difference(told).collect();
    ensure!(more.is_empty() && less.is_empty(), "told beside: {more:#?}\nnot told: {less:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_monitor_tells_what_a_real_cluster_has() -> Result<()> {
    let openshift = OpenShift::start().await?;
    // One object a page: every list is read to its end.
    let looking = Collection::new(&openshift, 1).await?;
    let expected = objects::expected(&openshift.certificates, &openshift.kubelet().await?)?;
    until("all alerts fire and everything is told", GENEROUS, || async {
        let (told, failed) = looking.look(false).await?;
        ensure!(failed.is_empty(), "{failed:?}");
        same(&told, &expected)
    })
    .await?;

    let (hourly, _) = looking.look(true).await?;
    let mut expected = expected;
    expected.extend(objects::hourly());
    same(&hourly, &expected).context("an hourly round")?;

    // Pages of any size tell the same.
    let (told, _) = Collection::new(&openshift, 500).await?.look(true).await?;
    same(&told, &expected).context("whole lists")?;

    let health = looking.health.get("real").await?.context("health")?.value;
    ensure!((health.version.as_str(), health.updating_to.as_str()) == ("4.16.3", "4.16.9"), "{health:?}");
    ensure!(health.operators_degraded == ["etcd", "insights"], "{health:?}");
    ensure!((health.nodes, health.nodes_not_ready, health.healthz) == (3, 0, Some(200)), "{health:?}");
    ensure!(health.alerts == ["StoryFires"], "{health:?}");
    ensure!(health.certificate_expiry == Some(openshift.certificates.ends()), "{health:?}");
    let mirror = looking.mirrors.get("real").await?.context("mirror")?.value;
    objects::check_mirror(&mirror, &looking.keyring)?;

    // A kind that is refused fails its collectors and no others.
    openshift.without_pools().await?;
    let (told, mut failed) = looking.look(false).await?;
    failed.sort_unstable();
    ensure!(
        failed == ["emitMachineConfigPoolConditions", "emitMachineConfigPoolUnmanagedNodeCounts"],
        "{failed:?}"
    );
    for name in &failed {
        let error = format!("monitor.cluster.collector.error 1 collector={name}");
        ensure!(told.contains(&error), "{told:#?}");
    }
    ensure!(
        told.contains("clusteroperator.count 3")
            && !told.iter().any(|line| line.starts_with("machineconfigpool"))
    );
    // The last known values are still shown, because no newer ones exist.
    let shown = looking.recorder.exposition();
    let pools = shown.lines().find(|line| line.starts_with("aro_cluster_machine_config_pools{"));
    ensure!(pools.is_some_and(|line| line.ends_with(" 2")), "{pools:?}");
    Ok(())
}
