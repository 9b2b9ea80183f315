//! Three `aro rp` on one PostgreSQL whose workers make and remove clusters in the stand-in for Azure, while they are killed
//! with SIGKILL at moments that a seed repeats.
//!
//! Nothing here installs OpenShift on machines: a creation makes everything in Azure, ends at its installer, and is deleted.
//! `ARO_SOAK` does a thousand kills.

mod azure;
mod record;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::{join, try_join_all};
use parking_lot::Mutex;
use reqwest::Method;
use rp_simulator::arm::ArmControl;
use serde_json::{Value, json};
use tests_kit::{Answer, Postgres, until};
use tokio::sync::watch;
use tokio::time::sleep;

use super::site::{Rp, Site, path, wanted};
use azure::{Azure, SLOTS};
use record::{Killed, Tokens, one_at_a_time};

const SEED: u64 = 20_261_122;
const PROCESSES: usize = 3;
/// From a request to the end of its operation, with processes that die meanwhile.
const LONG: Duration = Duration::from_secs(400);

/// Numbers that a seed repeats (PCG's multiplier).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The processes, of which some are alive, and what they work on.
struct World {
    site: Site,
    store: String,
    azure: Azure,
    running: Mutex<Vec<Arc<Rp>>>,
    /// With the processes, which have their logs.
    killed: Mutex<Vec<(Killed, Arc<Rp>)>>,
}

/// A cluster that came and went.
#[derive(Debug, Clone)]
struct Lived {
    name: String,
    number: usize,
    /// The number of the stand-in's request between creation and deletion.
    between: u64,
    /// What there was of it in Azure: how many of each type.
    made: BTreeMap<String, usize>,
}

impl World {
    async fn start(store: String) -> Result<Self> {
        let mut site = Site::new()?;
        let azure = Azure::start(&site.folder).await?;
        site.azure = azure.settings();
        Ok(Self { site, store, azure, running: Mutex::default(), killed: Mutex::default() })
    }

    fn lines() -> String {
        format!("{}{}", Site::named(), azure::place())
    }

    async fn run(&self, name: &str) -> Result<()> {
        let rp = self.site.run(name, &self.store, &Self::lines()).await?;
        self.running.lock().push(Arc::new(rp));
        Ok(())
    }

    fn any(&self, turn: usize) -> Option<Arc<Rp>> {
        let running = self.running.lock();
        running.get(turn % running.len().max(1)).cloned()
    }

    /// An answer of any process that is alive; asked again when the one that was asked dies.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let turn = Mutex::new(0);
        until(&format!("somebody answers {method} {path}"), LONG, || async {
            let at = {
                let mut turn = turn.lock();
                *turn += 1;
                *turn
            };
            let rp = self.any(at).context("nobody runs")?;
            let told = rp.call(method.clone(), path, body).await?;
            ensure!(told.status < 500 && told.status != 429, "{told:?}");
            Ok(told)
        })
        .await
    }

    /// The state of a cluster; empty: it is gone.
    async fn state(&self, name: &str) -> Result<String> {
        let told = self.call(Method::GET, &path(name), None).await?;
        if told.status == 404 {
            return Ok(String::new());
        }
        let body = told.ok()?.json()?;
        Ok(body["properties"]["provisioningState"].as_str().unwrap_or_default().to_owned())
    }

    async fn comes_to(&self, name: &str, state: &str) -> Result<()> {
        until(&format!("seed {SEED}: {name} comes to {state:?}"), LONG, || async {
            let seen = self.state(name).await?;
            ensure!(seen == state, "it is {seen:?}");
            Ok(())
        })
        .await
    }

    /// Makes a cluster and removes it. Whoever is not answered asks again, and may find that it was heard.
    async fn life(&self, slot: usize, number: usize) -> Result<Lived> {
        let name = format!("c{slot}-{number}");
        let mut body = wanted(number);
        body["properties"]["masterProfile"]["subnetId"] = json!(azure::subnet("master", slot));
        body["properties"]["workerProfiles"][0]["subnetId"] = json!(azure::subnet("worker", slot));
        let told = self.call(Method::PUT, &path(&name), Some(&body)).await?;
        ensure!(told.status == 201 || told.text.contains("RequestNotAllowed"), "{name}: {told:?}");
        self.comes_to(&name, "Failed").await?;
        let (between, made) = (self.control().latest_request(), self.azure.made(number));
        let told = self.call(Method::DELETE, &path(&name), None).await?;
        let heard = told.status == 202 || told.status == 204 || told.text.contains("RequestNotAllowed");
        ensure!(heard, "{name}: {told:?}");
        self.comes_to(&name, "").await?;
        let left = self.azure.left(number);
        ensure!(left.is_empty(), "seed {SEED}: left of {name}: {left:?}");
        Ok(Lived { name, number, between, made })
    }

    fn control(&self) -> ArmControl {
        self.azure.control()
    }

    /// Lives in one slot, one after the other, until there are no more kills.
    async fn lives(&self, slot: usize, more: watch::Receiver<bool>) -> Result<Vec<Lived>> {
        let mut all = Vec::new();
        loop {
            all.push(self.life(slot, 1000 * (slot + 1) + all.len()).await?);
            if !*more.borrow() {
                return Ok(all);
            }
        }
    }

    /// Kills any process and starts it again.
    async fn kills(&self, count: usize, more: watch::Sender<bool>) -> Result<()> {
        let mut dice = Dice(SEED);
        for round in 0..count {
            sleep(Duration::from_millis(300 + dice.below(2200))).await;
            let at = usize::try_from(dice.below(PROCESSES as u64))?;
            let victim = self.running.lock().remove(at);
            victim.process.kill()?;
            let (pid, number) = (victim.process.pid(), self.control().latest_request());
            self.killed.lock().push((Killed { pid, number }, victim));
            self.run(&format!("again-{round}"))
                .await
                .with_context(|| format!("seed {SEED}, round {round}"))?;
        }
        more.send(false).ok();
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_killed_each_cluster_is_made_once_and_leaves_nothing() -> Result<()> {
    let kills = if std::env::var_os("ARO_SOAK").is_some() { 1000 } else { 12 };
    let server = Postgres::start().await?;
    let url = server.database().await?;
    let world = World::start("kind = \"postgres\"\nurl_file = \"db.url\"".to_owned()).await?;
    world.site.folder.write("db.url", &url)?;
    for number in 0..PROCESSES {
        world.run(&format!("rp-{number}")).await?;
    }
    let first = world.any(0).context("nobody runs")?;
    first.prepare().await?;
    let tokens = Tokens::follow(&url).await?;
    let before = world.azure.everything();

    // What a quiet creation makes is what every other must make.
    let quiet = world.life(0, 900).await.with_context(|| first.process.tail())?;
    ensure!(quiet.made.len() > 5, "{quiet:?}");
    let (tell, more) = watch::channel(true);
    let lives = try_join_all((0..SLOTS).map(|slot| world.lives(slot, more.clone())));
    let (killed, lived) = join(world.kills(kills, tell), lives).await;
    let mut lived: Vec<Lived> = lived?.into_iter().flatten().collect();
    killed?;
    for one in &lived {
        ensure!(one.made == quiet.made, "seed {SEED}: {one:?} and {quiet:?}");
    }
    lived.push(quiet);
    ensure!(world.azure.everything() == before, "seed {SEED}: Azure is not as it was");
    let requests = world.control().requests();
    let all: Vec<Arc<Rp>> = world
        .killed
        .lock()
        .iter()
        .map(|(_, rp)| Arc::clone(rp))
        .chain(world.running.lock().clone())
        .collect();
    let lost =
        |pid: u32| all.iter().any(|rp| rp.process.pid() == pid && rp.process.log().contains("lost lease"));
    let killed: Vec<Killed> = world.killed.lock().iter().map(|(killed, _)| *killed).collect();
    for one in &lived {
        one_at_a_time(&requests, one, &killed, &lost).with_context(|| format!("seed {SEED}"))?;
    }
    tokens.sound(SEED).await?;
    ended(&url, &lived).await
}

/// Every operation that was begun came to its end, and its log says which.
async fn ended(url: &str, lived: &[Lived]) -> Result<()> {
    let store = record::connect(url).await?;
    let all = record::bodies(&store, rp_documents::Collection::AsyncOperations).await?;
    for operation in &all {
        let status = operation["asyncOperation"]["status"].as_str().unwrap_or_default();
        let first = operation["asyncOperation"]["initialStatus"].as_str().unwrap_or_default();
        match first {
            "Creating" => {
                ensure!(status == "Failed", "seed {SEED}: {operation}");
            }
            "Deleting" => ensure!(status == "Succeeded", "seed {SEED}: {operation}"),
            _ => bail!("seed {SEED}: {operation}"),
        }
        ensure!(operation["asyncOperation"]["endTime"].is_string(), "seed {SEED}: {operation}");
    }
    let logs = record::bodies(&store, rp_documents::Collection::OperationLogs).await?;
    for one in lived {
        for (kind, result, words) in [("Creating", "Failed", "no installer"), ("Deleting", "Succeeded", "")] {
            let fits = |log: &&Value| {
                let key = log["key"].as_str().unwrap_or_default();
                log["kind"] == kind && key.ends_with(&format!("/{}", one.name))
            };
            let found: Vec<&Value> = logs.iter().filter(fits).collect();
            let [log] = found.as_slice() else {
                bail!("seed {SEED}: {} has {} logs of {kind}", one.name, found.len())
            };
            ensure!(log["result"] == result, "seed {SEED}: {log}");
            ensure!(log["error"].as_str().unwrap_or_default().contains(words), "seed {SEED}: {log}");
        }
    }
    let left = record::bodies(&store, rp_documents::Collection::OpenShiftClusters).await?;
    ensure!(left.is_empty(), "seed {SEED}: {left:?}");
    Ok(())
}
