//! Installations that fail: what the customer reads, what the service logs, and that nothing is left.

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use reqwest::Method;
use rp_simulator_azure::{Fault, FaultResponse};
use serde_json::json;
use tests_kit::until;
use tests_stand_ins::azure::managed_group;

use super::{LONG, World, name};

const NO_ROOM: &str =
    "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone.";
const NOT_PREPARED: &str =
    "The configuration of the cluster could not be prepared. Delete the cluster and create it again.";

/// A cluster that cannot be installed.
struct Failure {
    number: u64,
    /// Of `openshift-install-stand-in`.
    fault: &'static str,
    /// Stand in the customer's error.
    told: &'static [&'static str],
    /// Stands in the worker's log, which only the service's people read.
    logged: &'static str,
}

static FAILURES: [Failure; 5] = [
    Failure {
        number: 11,
        fault: "manifests:garbage",
        told: &["InternalServerError", NOT_PREPARED],
        logged: "ended `create manifests` with exit status: 7; its last lines: ",
    },
    Failure {
        number: 12,
        fault: "ignition-configs:nothing",
        told: &["InternalServerError", NOT_PREPARED],
        logged: "ended `create ignition-configs` well and made no assets/bootstrap.ign",
    },
    Failure {
        number: 13,
        fault: "manifests:half",
        told: &["InternalServerError", NOT_PREPARED],
        logged: "the state of the installer is no JSON object",
    },
    Failure {
        number: 14,
        fault: "manifests:refuses",
        told: &["InternalServerError", NOT_PREPARED],
        logged: "level=error msg=cannot sign in with …",
    },
    Failure {
        number: 15,
        fault: "",
        told: &["DeploymentFailed", "Deployment failed. Please see details for more information.", NO_ROOM],
        logged: "ZonalAllocationFailed",
    },
];

impl Failure {
    async fn happens(&self, world: &World, slot: usize) -> Result<()> {
        let operation = world.put(self.number, slot).await?;
        world.comes_to(self.number, "Failed").await?;
        let told = world.rp()?.call(Method::GET, &operation, None).await?.ok()?.json()?;
        ensure!(told["status"] == "Failed", "{told}");
        let error = told["error"].to_string();
        for words in self.told {
            ensure!(error.contains(words), "without {words:?}: {error}");
        }
        self.is_logged(world).await?;
        let blobs = self.ignition_configs(world);
        ensure!(blobs.is_empty(), "the bootstrap machine's config is still there: {blobs:?}");
        world.delete(self.number).await
    }

    /// The worker's log says why; it writes that after the cluster's state.
    async fn is_logged(&self, world: &World) -> Result<()> {
        let cluster = format!("/{}\"", name(self.number));
        let logged = until("the worker logs why", LONG, || async {
            let log = world.rp()?.process.log();
            let mut lines = log.lines().filter(|line| line.contains("\"the operation failed\""));
            let line = lines.find(|line| line.contains(&cluster)).context("no line of it")?;
            ensure!(line.contains(self.logged), "without {:?}: {line}", self.logged);
            ensure!(!line.contains("\\u001b["), "with the installer's escape sequences: {line}");
            Ok(())
        });
        logged.await
    }

    /// Accounts of the cluster that still have the config of the bootstrap machine.
    fn ignition_configs(&self, world: &World) -> Vec<String> {
        let control = world.control();
        let ids = control.ids(&managed_group(self.number));
        let accounts = ids.iter().filter_map(|id| id.rsplit_once("/storageAccounts/")).map(|(_, name)| name);
        let holds = |name: &&str| control.blob(name, "ignition", "bootstrap.ign").is_some();
        accounts.filter(holds).map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_told_so_that_a_customer_can_act_and_is_deleted_without_a_trace() -> Result<()> {
    let faults: Vec<(u64, &str)> =
        FAILURES.iter().filter(|one| !one.fault.is_empty()).map(|one| (one.number, one.fault)).collect();
    let world = World::start(FAILURES.len(), &faults).await?;
    let before = world.azure.everything();
    world.control().fail(Fault {
        method: Some(Method::PUT),
        path: format!("{}/providers/Microsoft.Compute/virtualMachines/", managed_group(15)),
        times: None,
        answer: FaultResponse::Error(
            409,
            json!({"error": {"code": "ZonalAllocationFailed", "message": NO_ROOM}}),
        ),
    });
    let failures = FAILURES.iter().enumerate().map(|(slot, failure)| {
        let happens = failure.happens(&world, slot);
        async move { happens.await.with_context(|| format!("{} {}", failure.number, failure.fault)) }
    });
    try_join_all(failures).await?;
    for failure in &FAILURES {
        world.keeps_no_secrets(failure.number)?;
    }
    ensure!(world.azure.everything() == before, "Azure is not as it was");
    Ok(())
}
