//! Three `aro rp` on one PostgreSQL whose workers make and remove clusters in the stand-in for Azure, while they are killed
//! with SIGKILL at moments that a seed repeats.
//!
//! Nothing here installs OpenShift on machines: a creation makes everything in Azure, ends at its installer, and is deleted.
//! `ARO_SOAK` does a thousand kills.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::{try_join, try_join_all};
use parking_lot::Mutex;
use reqwest::Method;
use rp_simulator_azure::{ArmControl, LoggedRequest};
use serde_json::{Value, json};
use tests_kit::{Answer, Dice, Postgres, until};
use tests_stand_ins::azure::{Azure, provider_settings, subnet};
use tokio::sync::watch;
use tokio::time::sleep;

use super::site::{Rp, Site, path, wanted};
use record::{LeaseTerm, Tokens, one_at_a_time};

const SEED: u64 = 20_261_122;
const PROCESSES: usize = 3;
/// Clusters at once.
const SLOTS: usize = 4;
/// A cluster's API is at a port where nobody listens.
const PRIVATE_LINK: &str = "[private_link]\nway = \"connect\"\naddress = \"127.0.0.1:1\"\nca_file = \"arm-ca.pem\"\n\
    client_cert_file = \"rp.crt\"\nclient_key_file = \"rp.key\"\n";
/// From a request to the end of its operation, with processes that die meanwhile.
const LONG: Duration = Duration::from_secs(240);

/// The processes, of which some are alive, and what they did.
struct World {
    site: Site,
    store: String,
    azure: Azure,
    running: Mutex<Vec<Arc<Rp>>>,
    killed: Mutex<BTreeSet<u32>>,
    /// Of the processes that are dead.
    turns: Mutex<Vec<LeaseTerm>>,
    /// The stand-in forgets the oldest of very many.
    writes: Mutex<Vec<LoggedRequest>>,
}

/// A cluster that came and went.
#[derive(Debug, Clone)]
struct ClusterLife {
    name: String,
    number: usize,
    /// What there was of it in Azure: how many of each type.
    made: BTreeMap<String, usize>,
}

impl World {
    async fn start(store: String) -> Result<Self> {
        let mut site = Site::new()?;
        let azure = Azure::start(&site.folder, SLOTS).await?;
        site.azure = azure.settings();
        Ok(Self {
            site,
            store,
            azure,
            running: Mutex::default(),
            killed: Mutex::default(),
            turns: Mutex::default(),
            writes: Mutex::default(),
        })
    }

    fn lines() -> String {
        format!("{}{}{PRIVATE_LINK}", Site::named(), provider_settings())
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
        until(&format!("{name} comes to {state:?}"), LONG, || async {
            let seen = self.state(name).await?;
            ensure!(seen == state, "it is {seen:?}");
            Ok(())
        })
        .await
    }

    /// Creates a cluster and deletes it. A request without an answer is repeated, and may find that it was executed.
    async fn life(&self, slot: usize, number: usize) -> Result<ClusterLife> {
        let name = format!("c{slot}-{number}");
        let mut body = wanted(number);
        body["properties"]["masterProfile"]["subnetId"] = json!(subnet("master", slot));
        body["properties"]["workerProfiles"][0]["subnetId"] = json!(subnet("worker", slot));
        let told = self.call(Method::PUT, &path(&name), Some(&body)).await?;
        ensure!(told.status == 201 || told.text.contains("RequestNotAllowed"), "{name}: {told:?}");
        self.comes_to(&name, "Failed").await?;
        let made = self.azure.made(number as u64);
        let told = self.call(Method::DELETE, &path(&name), None).await?;
        let heard = told.status == 202 || told.status == 204 || told.text.contains("RequestNotAllowed");
        ensure!(heard, "{name}: {told:?}");
        self.comes_to(&name, "").await?;
        let left = self.azure.left(number as u64);
        ensure!(left.is_empty(), "left of {name}: {left:?}");
        Ok(ClusterLife { name, number, made })
    }

    fn control(&self) -> ArmControl {
        self.azure.control()
    }

    /// Lives in one slot, one after the other, until there are no more kills.
    async fn lives(&self, slot: usize, more: watch::Receiver<bool>) -> Result<Vec<ClusterLife>> {
        let mut all = Vec::new();
        loop {
            all.push(self.life(slot, 100_000 * (slot + 1) + all.len()).await?);
            if !*more.borrow() {
                return Ok(all);
            }
        }
    }

    /// Kills any process and starts another in its place.
    async fn kills(&self, count: usize, more: watch::Sender<bool>) -> Result<()> {
        let mut dice = Dice::new(SEED);
        for round in 0..count {
            sleep(Duration::from_millis(300 + dice.below(2200))).await;
            let at = usize::try_from(dice.below(PROCESSES as u64))?;
            let victim = self.running.lock().remove(at);
            victim.process.kill()?;
            let pid = victim.process.pid();
            self.killed.lock().insert(pid);
            self.turns.lock().extend(record::turns(pid, &victim.process.log())?);
            self.collect();
            self.run(&format!("again-{round}")).await.with_context(|| format!("round {round}"))?;
        }
        more.send(false).ok();
        Ok(())
    }

    /// Takes over what the stand-in saw since the last time.
    fn collect(&self) {
        let mut writes = self.writes.lock();
        let latest = writes.last().map_or(0, |write| write.number);
        writes.extend(record::writes(self.control().requests()).filter(|write| write.number > latest));
    }

    /// Every turn of every process. Those that live have ended theirs.
    async fn all_turns(&self) -> Result<Vec<LeaseTerm>> {
        let mut all = self.turns.lock().clone();
        let living = self.running.lock().clone();
        for rp in living {
            let (pid, process) = (rp.process.pid(), &rp.process);
            let ended = || async {
                let turns = record::turns(pid, &process.log())?;
                let open = turns.iter().find(|turn| turn.ended.is_none());
                ensure!(open.is_none(), "{open:?}");
                Ok(turns)
            };
            all.extend(until("every turn of a process that lives has ended", LONG, ended).await?);
        }
        Ok(all)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_killed_each_cluster_is_made_once_and_leaves_nothing() -> Result<()> {
    let kills = if std::env::var_os("ARO_SOAK").is_some() { 1000 } else { 20 };
    Box::pin(torn(kills)).await.with_context(|| format!("seed {SEED}, {kills} kills"))
}

async fn torn(kills: usize) -> Result<()> {
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
    drop(first);
    ensure!(quiet.made.len() > 5, "{quiet:?}");
    let (tell, more) = watch::channel(true);
    let lives = try_join_all((0..SLOTS).map(|slot| world.lives(slot, more.clone())));
    let ((), lived) = try_join(world.kills(kills, tell), lives).await?;
    let mut lived: Vec<ClusterLife> = lived.into_iter().flatten().collect();
    for one in &lived {
        ensure!(one.made == quiet.made, "{one:?} and {quiet:?}");
    }
    lived.push(quiet);
    ensure!(world.azure.everything() == before, "Azure is not as it was");
    let turns = world.all_turns().await?;
    alone(&world, &lived, &turns)?;
    tokens.sound().await?;
    all_operations_ended(&url, &lived, &turns).await
}

/// No cluster's work was done by two at once.
fn alone(world: &World, lived: &[ClusterLife], turns: &[LeaseTerm]) -> Result<()> {
    world.collect();
    let (writes, killed) = (world.writes.lock().clone(), world.killed.lock().clone());
    let (mut by_others, mut lost) = (0, 0);
    for one in lived {
        let own: Vec<&LeaseTerm> = turns.iter().filter(|turn| turn.cluster == one.name).collect();
        let distinct: BTreeSet<u64> = own.iter().map(|turn| turn.token).collect();
        ensure!(distinct.len() == own.len(), "{}: two had one token: {own:#?}", one.name);
        let open = own.iter().find(|turn| turn.ended.is_none() && !killed.contains(&turn.pid));
        ensure!(open.is_none(), "{}: {open:?} never ended", one.name);
        let holders = one_at_a_time(&writes, one.number, &own).with_context(|| one.name.clone())?;
        by_others += usize::from(holders > 2);
        lost += own.iter().filter(|turn| turn.was_lost()).count();
    }
    // Creation and deletion have a holder each: kills made others go on.
    ensure!(by_others > 0, "of {} clusters none was taken over", lived.len());
    // A machine that stands still takes a lease; if it takes most of them, something else does.
    ensure!(lost <= lived.len(), "{lost} leases were lost");
    Ok(())
}

/// Every operation that was begun came to its end, and its log says which.
async fn all_operations_ended(url: &str, lived: &[ClusterLife], turns: &[LeaseTerm]) -> Result<()> {
    let store = record::connect(url).await?;
    let all = record::bodies(&store, rp_documents::Collection::AsyncOperations).await?;
    for operation in &all {
        let status = operation["asyncOperation"]["status"].as_str().unwrap_or_default();
        let wanted = match operation["asyncOperation"]["initialStatus"].as_str() {
            Some("Creating") => "Failed",
            Some("Deleting") => "Succeeded",
            _ => bail!("{operation}"),
        };
        ensure!(status == wanted && operation["asyncOperation"]["endTime"].is_string(), "{operation}");
    }
    let logs = record::bodies(&store, rp_documents::Collection::OperationLogs).await?;
    for one in lived {
        for (kind, result, words) in [("Creating", "Failed", "no installer"), ("Deleting", "Succeeded", "")] {
            let fits = |log: &&Value| {
                let key = log["key"].as_str().unwrap_or_default();
                log["kind"] == kind && key.ends_with(&format!("/{}", one.name))
            };
            let found: Vec<&Value> = logs.iter().filter(fits).collect();
            let [log] = found.as_slice() else { bail!("{} has {} logs of {kind}", one.name, found.len()) };
            ensure!(log["result"] == result, "{log}");
            ensure!(log["error"].as_str().unwrap_or_default().contains(words), "{log}");
            let last = turns.iter().filter(|turn| turn.cluster == one.name).map(|turn| turn.token).max();
            ensure!(kind != "Deleting" || log["token"].as_u64() == last, "not of turn {last:?}: {log}");
        }
    }
    let left = record::bodies(&store, rp_documents::Collection::OpenShiftClusters).await?;
    ensure!(left.is_empty(), "{left:?}");
    store.close().await;
    Ok(())
}
