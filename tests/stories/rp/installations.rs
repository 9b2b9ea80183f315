//! A customer's PUT becomes a cluster: the workers of `aro rp` run an installer, keep its graph, and make machines in the
//! stand-in for Azure; the bootstrap machine starts a real API server with the installer's keys ([`machines`]).

mod failures;
mod machines;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use rp_install::graph;
use rp_install::state::InstallerState;
use rp_seal::Keyring;
use rp_simulator_azure::{ArmControl, LoggedRequest};
use serde_json::{Value, json};
use tests_kit::{Answer, Kubectl, binary, until};
use tests_stand_ins::azure::{Azure, managed_group, provider_settings, subnet};
use tokio::time::MissedTickBehavior;
use tokio_util::task::AbortOnDropHandle;

use super::site::{Rp, SQLITE, Site, path, wanted};
use machines::{Machines, endpoints};

/// From a request to the end of its operation.
const LONG: Duration = Duration::from_secs(240);
/// From a request to the end of its operation when the worker is killed in each step.
const TORN: Duration = Duration::from_secs(1800);
/// Of OpenShift.
const VERSION: &str = "4.17.27";
const NUMBER: u64 = 7;

/// One `aro rp` with an installer, and its Azure.
struct World {
    site: Site,
    azure: Azure,
    rp: Option<Rp>,
}

impl World {
    /// With room for so many clusters. Of `faults` each is a cluster's number and the fault of
    /// `openshift-install-stand-in` that its installer has.
    async fn start(slots: usize, faults: &[(u64, &str)]) -> Result<Self> {
        let mut site = Site::new()?;
        let azure = Azure::start_with_endpoints(&site.folder, slots, &endpoints()).await?;
        site.azure = azure.settings();
        let install = format!(
            "install_binary = \"{}\"\ninstall_folder = \"install\"\ninstall_deadline = \"100s\"\n",
            installer(&site, faults)?.display()
        );
        // Of a cluster that is not there any more.
        site.folder.write("install/eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee/1-inputs/http-secret", "secret")?;
        let settings = provider_settings();
        let lines = format!("{}{install}{settings}condition_poll = \"500ms\"\n", Site::named());
        let rp = site.run("one", SQLITE, &lines).await?;
        rp.prepare().await?;
        Ok(Self { site, azure, rp: Some(rp) })
    }

    fn rp(&self) -> Result<&Rp> {
        self.rp.as_ref().context("no process")
    }

    fn control(&self) -> ArmControl {
        self.azure.control()
    }

    /// Asks for a cluster in a slot, and gives the path at which its operation tells its state.
    async fn put(&self, number: u64, slot: usize) -> Result<String> {
        let mut body = wanted(usize::try_from(number)?);
        let properties = &mut body["properties"];
        properties["masterProfile"]["subnetId"] = json!(subnet("master", slot));
        properties["workerProfiles"][0]["subnetId"] = json!(subnet("worker", slot));
        properties["servicePrincipalProfile"]["clientSecret"] = json!(secret(number));
        let told = self.rp()?.call(Method::PUT, &path(&name(number)), Some(&body)).await?;
        ensure!(told.status == 201, "{told:?}");
        let url = reqwest::Url::parse(told.header("azure-asyncoperation"))?;
        Ok(format!("{}?{}", url.path(), url.query().unwrap_or_default()))
    }

    async fn get(&self, number: u64) -> Result<Answer> {
        self.rp()?.call(Method::GET, &path(&name(number)), None).await
    }

    /// The state of a cluster; empty: it is gone.
    async fn state(&self, number: u64) -> Result<String> {
        let told = self.get(number).await?;
        if told.status == 404 {
            return Ok(String::new());
        }
        let body = told.ok()?.json()?;
        Ok(body["properties"]["provisioningState"].as_str().unwrap_or_default().to_owned())
    }

    async fn comes_to(&self, number: u64, state: &str) -> Result<()> {
        let what = format!("cluster {number} comes to {state:?}");
        let came = until(&what, LONG, || async {
            let seen = self.state(number).await?;
            ensure!(seen == state, "it is {seen:?}");
            Ok(())
        });
        came.await.with_context(|| self.tail())
    }

    fn tail(&self) -> String {
        self.rp.as_ref().map(|rp| rp.process.tail()).unwrap_or_default()
    }

    async fn begin_delete(&self, number: u64) -> Result<()> {
        let told = self.rp()?.call(Method::DELETE, &path(&name(number)), None).await?;
        ensure!(told.status == 202, "{told:?}");
        Ok(())
    }

    /// Deletes a cluster and looks for what is left of it.
    async fn delete(&self, number: u64) -> Result<()> {
        self.begin_delete(number).await?;
        self.comes_to(number, "").await?;
        let left = self.azure.left(number);
        ensure!(left.is_empty(), "left: {left:?}");
        Ok(())
    }

    /// Kills the worker with SIGKILL, and starts it again.
    async fn kill_and_again(&mut self) -> Result<()> {
        let rp = self.rp.take().context("no process")?;
        self.rp = Some(self.site.again("one", rp).await?);
        Ok(())
    }

    /// The step that began last, by the worker's log.
    fn latest_step(&self) -> Result<String> {
        let log = self.rp()?.process.log();
        // Of a killed process the last line may not be whole.
        let mut lines = log.lines().rev().filter(|line| line.contains("\"running step\""));
        let line: Option<Value> = lines.find_map(|line| serde_json::from_str(line).ok());
        Ok(line.unwrap_or_default()["step"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the worker is in a step, by its name in the plan.
    async fn runs_step(&self, step: &str) -> Result<()> {
        let what = format!("the step {step} runs");
        let ran = until(&what, LONG, || async {
            let latest = self.latest_step()?;
            ensure!(latest.contains(step), "it is {latest:?}");
            Ok(())
        });
        ran.await.with_context(|| self.tail())
    }

    /// Kills the worker once in each step until the cluster comes to a state, and gives the number of steps.
    async fn killed_in_each_step(&mut self, number: u64, state: &str) -> Result<usize> {
        let mut killed = BTreeSet::from([self.latest_step()?]);
        let mut look = tokio::time::interval(Duration::from_millis(10));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let all = async {
            while self.state(number).await? != state {
                if killed.insert(self.latest_step()?) {
                    self.kill_and_again().await?;
                }
                look.tick().await;
            }
            Ok(killed.len() - 1)
        };
        tokio::time::timeout(TORN, all).await.with_context(|| format!("cluster {number} is not {state:?}"))?
    }

    /// What the installer was given and made is nowhere on the worker's disk, and the log has no secret of a cluster.
    fn keeps_no_secrets(&self, number: u64) -> Result<()> {
        let folder = self.site.folder.path().join("install");
        let left: Vec<PathBuf> = match std::fs::read_dir(&folder) {
            Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?,
            Err(_) => Vec::new(),
        };
        ensure!(left.is_empty(), "left: {left:?}");
        ensure!(!self.rp()?.process.log().contains(&secret(number)), "the log has the secret of {number}");
        Ok(())
    }

    /// How often the installer was run with this argument after `create`.
    fn runs(&self, target: &str) -> usize {
        let text = std::fs::read_to_string(self.site.folder.path().join("installer-runs"));
        text.unwrap_or_default().lines().filter(|line| *line == target).count()
    }
}

fn name(number: u64) -> String {
    format!("shop-{number}")
}

/// Of the cluster's service principal.
fn secret(number: u64) -> String {
    format!("secret-of-client-{number}-end")
}

/// A program that counts its runs and chooses the faults of `openshift-install-stand-in` by the cluster's domain, which is
/// in the installer's folder: `aro rp` gives it no environment.
fn installer(site: &Site, faults: &[(u64, &str)]) -> Result<PathBuf> {
    let folder = site.folder.path();
    let mut script = format!("#!/bin/sh\necho \"$2\" >>{}\n", folder.join("installer-runs").display());
    for (number, fault) in faults {
        script.push_str(&format!("grep -rqsw abc{number} \"$6\" && export STAND_IN_FAULT={fault}\n"));
    }
    let wait = folder.join("installer-waits");
    let program = binary("openshift-install-stand-in")?;
    let (wait, program) = (wait.display(), program.display());
    script.push_str(&format!("export STAND_IN_WAIT={wait}\nexec {program} \"$@\"\n"));
    let file = site.folder.write("openshift-install", script)?;
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(file)
}

/// The world with the one cluster of the first story.
struct Installation {
    world: World,
    machines: Arc<Machines>,
}

impl Installation {
    /// With what starts its machines; that ends when one does not start, and gives why.
    async fn start() -> Result<(Self, AbortOnDropHandle<anyhow::Error>)> {
        let world = World::start(1, &[(NUMBER, "ignition-configs:waits")]).await?;
        let machines = Machines::new(NUMBER, world.control()).await?;
        let boots = AbortOnDropHandle::new(tokio::spawn(Arc::clone(&machines).run()));
        Ok((Self { world, machines }, boots))
    }

    fn blob(&self, container: &str, name: &str) -> Option<bytes::Bytes> {
        self.world.control().blob(&self.machines.state_account()?, container, name)
    }

    /// The deployment of machines, as far as it is.
    fn deployment(&self) -> Value {
        let id = format!("{}/providers/Microsoft.Resources/deployments/resources", managed_group(NUMBER));
        self.world.control().get(&id).unwrap_or_default()
    }

    /// Kills the worker while the installer runs its second command. The installer outlives it.
    async fn killed_with_the_installer(&mut self) -> Result<()> {
        let waits = self.world.site.folder.write("installer-waits", "")?;
        self.world.put(NUMBER, 0).await?;
        let begun = until("the installer makes Ignition configs", LONG, || async {
            ensure!(waits.with_extension("begun").exists(), "it did not begin");
            Ok(())
        });
        begun.await.with_context(|| self.world.tail())?;
        self.world.kill_and_again().await?;
        let again = until("the next worker goes on with the same command", LONG, || async {
            let runs = self.world.runs("ignition-configs");
            ensure!(runs == 2, "{runs} runs");
            Ok(())
        });
        again.await.with_context(|| self.world.tail())?;
        // Deployments last from now on.
        self.world.control().slow(Duration::from_secs(8));
        Ok(std::fs::remove_file(&waits)?)
    }

    /// Kills the worker while Azure makes the machines; they are ready before the next worker comes.
    async fn killed_with_the_deployment(&mut self) -> Result<()> {
        let deployed = until("the machines are made", LONG, || async {
            let state = self.deployment()["properties"]["provisioningState"].clone();
            ensure!(!state.is_null(), "there is no deployment");
            Ok(())
        });
        deployed.await.with_context(|| self.world.tail())?;
        self.world.kill_and_again().await?;
        self.world.control().slow(Duration::ZERO);
        Ok(())
    }

    /// Kills the worker while it waits for the operator.
    async fn killed_with_the_operator(&mut self) -> Result<()> {
        self.world.runs_step("aroDeploymentReady").await?;
        self.world.kill_and_again().await?;
        self.machines.operator_runs.send_replace(true);
        Ok(())
    }

    /// The installer's state, as the service keeps it for the cluster's life.
    fn graph(&self) -> Result<InstallerState> {
        let blob = self.blob(graph::CONTAINER, graph::BLOB).context("no graph")?;
        ensure!(!String::from_utf8_lossy(&blob).contains("abcde-fghij"), "the graph is not sealed");
        let keyring = Keyring::open_file(&self.world.site.folder.path().join("keyring.json"))?;
        Ok(graph::open(&blob, &self.machines.document()?, &keyring)?.0)
    }

    /// Every part was done once, and nothing is left that was needed for the installation only.
    fn was_done_once(&self) -> Result<()> {
        let runs = ["manifests", "ignition-configs"].map(|target| self.world.runs(target));
        ensure!(runs == [1, 2], "runs of the installer: {runs:?}");
        ensure!(self.machines.boots() == 1, "{} bootstrap machines started", self.machines.boots());
        let deploys = |request: &LoggedRequest| {
            request.method == Method::PUT && request.path.to_lowercase().ends_with("/deployments/resources")
        };
        let deployments = self.world.control().requests().iter().filter(|request| deploys(request)).count();
        ensure!(deployments == 1, "{deployments} deployments of machines");
        ensure!(self.machines.bootstrap().is_none(), "the bootstrap machine is still there");
        ensure!(self.blob("ignition", "bootstrap.ign").is_none(), "its config is still there");
        let made = self.world.azure.made(NUMBER);
        ensure!(made.get("virtualmachines") == Some(&3), "{made:?}");
        self.machines.masters_are_pointed_at_the_balancer()?;
        self.world.keeps_no_secrets(NUMBER)
    }

    /// kubectl works with the administrator's kubeconfig out of the graph, and with that which the customer is given.
    async fn kubectl_works(&self) -> Result<()> {
        let state = self.graph()?;
        let folder = &self.world.site.folder;
        let admin = self.machines.kubectl(folder, state.admin_kubeconfig()?.expose())?;
        ensure!(nodes(&admin).await? == 5, "other nodes");
        let (rp, parts) = (self.world.rp()?, path(&name(NUMBER)));
        let (cluster, query) = parts.split_once('?').context("no query")?;
        let ask = |action: &str| {
            let path = format!("{cluster}/{action}?{query}");
            async move { rp.call(Method::POST, &path, None).await?.ok()?.json() }
        };
        let told = ask("listCredentials").await?;
        ensure!(told["kubeadminPassword"] == *state.kubeadmin_password()?.expose(), "another password");
        let told = ask("listAdminCredentials").await?;
        let kubeconfig = STANDARD.decode(told["kubeconfig"].as_str().context("no kubeconfig")?)?;
        let customer = self.machines.kubectl(folder, &String::from_utf8(kubeconfig)?)?;
        ensure!(nodes(&customer).await? == 5, "other nodes");
        self.is_set_up(&admin).await
    }

    /// What the service changed in the cluster.
    async fn is_set_up(&self, kubectl: &Kubectl) -> Result<()> {
        let deployment = ["get", "deployment", "aro-operator-master", "-n", "openshift-azure-operator"];
        kubectl.ok(&deployment).await?;
        let console = ["get", "consoles.operator.openshift.io", "cluster", "-o"];
        let brand = kubectl.ok(&[&console[..], &["jsonpath={.spec.customization.brand}"]].concat()).await?;
        ensure!(brand == "azure", "the console's brand is {brand}");
        let told = self.world.get(NUMBER).await?.ok()?.json()?;
        let properties = &told["properties"];
        let router = ["get", "service", "router-default", "-n", "openshift-ingress", "-o", "json"];
        let router: Value = serde_json::from_str(&kubectl.ok(&router).await?)?;
        let address =
            &router["metadata"]["annotations"]["service.beta.kubernetes.io/azure-load-balancer-ipv4"];
        ensure!(*address == properties["ingressProfiles"][0]["ip"] && address.is_string(), "{router}");
        let url = properties["apiserverProfile"]["url"].as_str().unwrap_or_default();
        ensure!(url == format!("https://api.abc{NUMBER}.eastus.aroapp.io:6443/"), "{properties}");
        ensure!(properties["clusterProfile"]["version"] == VERSION, "{properties}");
        Ok(())
    }
}

async fn nodes(kubectl: &Kubectl) -> Result<usize> {
    Ok(kubectl.ok(&["get", "nodes", "-o", "name"]).await?.lines().count())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_is_installed_by_workers_that_are_killed_and_delete_leaves_nothing() -> Result<()> {
    let (mut installation, boots) = Installation::start().await?;
    tokio::select! {
        done = circle(&mut installation) => done,
        failed = boots => Err(failed?),
    }
}

/// From nothing to nothing.
async fn circle(installation: &mut Installation) -> Result<()> {
    let before = installation.world.azure.everything();
    installation.killed_with_the_installer().await?;
    installation.killed_with_the_deployment().await?;
    let graph = installation.blob(graph::CONTAINER, graph::BLOB).context("no graph")?;
    installation.killed_with_the_operator().await?;
    installation.world.comes_to(NUMBER, "Succeeded").await?;
    let kept = installation.blob(graph::CONTAINER, graph::BLOB);
    ensure!(kept.as_ref() == Some(&graph), "the graph changed");
    installation.was_done_once()?;
    installation.kubectl_works().await?;
    let account = installation.machines.state_account().context("no account")?;
    installation.world.delete(NUMBER).await?;
    ensure!(installation.world.azure.everything() == before, "Azure is not as it was");
    let graph = installation.world.control().blob(&account, graph::CONTAINER, graph::BLOB);
    ensure!(graph.is_none(), "the graph is still there");
    if std::env::var_os("ARO_SOAK").is_some() {
        torn(&mut installation.world).await?;
        ensure!(installation.world.azure.everything() == before, "Azure is not as it was");
    }
    Ok(())
}

/// Creates and deletes the cluster once more, and the worker is killed in each step of both.
async fn torn(world: &mut World) -> Result<()> {
    world.put(NUMBER, 0).await?;
    let steps = world.killed_in_each_step(NUMBER, "Succeeded").await?;
    ensure!(steps > 30, "killed in {steps} steps of the creation");
    world.begin_delete(NUMBER).await?;
    let steps = world.killed_in_each_step(NUMBER, "").await?;
    ensure!(steps > 3, "killed in {steps} steps of the deletion");
    world.keeps_no_secrets(NUMBER)
}
