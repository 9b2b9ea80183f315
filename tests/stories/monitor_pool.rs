//! Several `aro monitor` share a fleet over PostgreSQL: killed, stopped, joined, and without their store for a while.

mod dev;
mod fleet;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_base::Timestamp;
use tests_kit::{GENEROUS, until};

use fleet::{Fleet, INTERVAL, Inspection};

/// A long way above what the contract allows in these periods, for the machine may be busy: what is forgotten is
/// found by it, what is late is not.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// A worker may believe that its buckets are its own until its document must have expired; the look that it began last
/// ends an interval later at most. One more interval is for a machine that is busy.
const LONG: Duration = fleet::TTL.saturating_add(INTERVAL.saturating_mul(2));

/// Numbers that a seed repeats (PCG's multiplier).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_killed_at_random_forget_no_cluster_and_never_look_twice_for_long() -> Result<()> {
    let mut fleet = Fleet::start(120).await?;
    for number in 0..4 {
        fleet.run(number).await?;
    }
    let mut dice = Dice(0x5eed);
    fleet.looked_at_since_now("all run").await?;
    for round in 0..6 {
        let number = dice.below(4);
        let kill = dice.below(3) > 0;
        if kill {
            fleet.kill(number)?;
        } else {
            fleet.stop(number).await?;
        }
        // Half of them come back before another worker notices that they were gone.
        if dice.below(2) == 0 {
            fleet.looked_at_since_now(&format!("round {round}: without worker {number}")).await?;
        }
        fleet.run(number).await?;
        fleet.looked_at_since_now(&format!("round {round}: worker {number} is back")).await?;
    }
    fleet.shared_by(4).await?;
    steady(&fleet).await?;
    let seen = fleet.seen();
    forgotten(&seen, fleet.clusters())?;
    twice(&seen)
}

/// Between two looks at a cluster never lies more than the bound.
fn forgotten(seen: &[Inspection], clusters: usize) -> Result<()> {
    for number in 0..clusters {
        let name = fleet::name(number);
        let at: Vec<i64> = seen.iter().filter(|one| one.cluster == name).map(|one| one.at.millis()).collect();
        let longest = at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        ensure!(at.len() > 2, "{name} was looked at {} times", at.len());
        let longest = Duration::from_millis(u64::try_from(longest).unwrap_or(0));
        ensure!(longest < FORGOTTEN, "{name} was not looked at for {longest:?}");
    }
    Ok(())
}

/// Two workers look at a cluster in turn only around a handover, and no longer than a worker may believe that its
/// buckets are its own.
fn twice(seen: &[Inspection]) -> Result<()> {
    // By cluster: the first and the last of a row of looks by two workers, from each of which to the next hardly
    // more than an interval passes.
    let mut rows = std::collections::BTreeMap::<&str, (Timestamp, Timestamp)>::new();
    for (before, after) in seen.iter().zip(seen.iter().skip(1)) {
        let double = before.cluster == after.cluster && before.by != after.by;
        if !double || after.at.since(before.at) >= INTERVAL / 2 {
            continue;
        }
        let row = rows.entry(&before.cluster).or_insert((before.at, after.at));
        if before.at.since(row.1) > INTERVAL * 3 / 2 {
            row.0 = before.at;
        }
        row.1 = after.at;
        let took = row.1.since(row.0);
        let (name, both) = (&before.cluster, [&before.by, &after.by]);
        ensure!(took <= LONG, "{name} was looked at by two workers for {took:?}, at last by {both:?}");
    }
    Ok(())
}

/// While no worker starts or stops, each cluster has one worker and is not looked at more often than it should be.
async fn steady(fleet: &Fleet) -> Result<()> {
    until("a while in which each cluster has one worker", GENEROUS * 2, || async {
        fleet.shared_by(4).await?;
        let from = fleet.now().await?;
        fleet.looked_at_times_since(3, from).await?;
        let to = fleet.now().await?;
        let most = usize::try_from(to.since(from).as_millis() / INTERVAL.as_millis())? + 2;
        for number in 0..fleet.clusters() {
            let name = fleet::name(number);
            let looks: Vec<Inspection> =
                fleet.seen().into_iter().filter(|one| one.cluster == name && one.at > from).collect();
            let workers: std::collections::BTreeSet<&str> = looks.iter().map(|one| one.by.as_str()).collect();
            ensure!(workers.len() == 1, "{name} was looked at by {workers:?}");
            ensure!(
                looks.len() <= most,
                "{name} was looked at {} times, at most {most} are due",
                looks.len()
            );
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_ends_nobody_and_everything_is_looked_at_again() -> Result<()> {
    let mut fleet = Fleet::start(40).await?;
    fleet.run(0).await?;
    fleet.run(1).await?;
    fleet.shared_by(2).await?;
    fleet.looked_at_since_now("before").await?;
    fleet.postgres.pause()?;
    for number in 0..2 {
        // Longer than a worker may believe that its buckets are its own: it looks at nothing any more.
        until("it is not ready, and has no cluster", FORGOTTEN * 2, || async {
            let ready = fleet.admin(number, "/healthz/ready").await?;
            ensure!(ready.contains("[-] monitor: buckets were not read"), "{ready}");
            let metrics = fleet.admin(number, "/metrics").await?;
            ensure!(
                metrics.contains("\naro_monitor_clusters 0\n"),
                "{}",
                fleet::lines(&metrics, "aro_monitor_clusters")
            );
            Ok(())
        })
        .await?;
    }
    fleet.postgres.resume();
    fleet.looked_at_since_now("after it was frozen").await?;
    fleet.postgres.stop().await?;
    until("it is told that the store is away", FORGOTTEN, || async {
        let ready = fleet.admin(0, "/healthz/ready").await?;
        ensure!(ready.contains("[-] store"), "{ready}");
        Ok(())
    })
    .await?;
    fleet.postgres.go().await?;
    fleet.looked_at_since_now("after it was stopped").await?;
    fleet.shared_by(2).await?;
    for number in 0..2 {
        until("it is ready", GENEROUS, || async {
            let ready = fleet.admin(number, "/healthz/ready").await?;
            ensure!(ready.ends_with("\nready\n"), "{ready}");
            Ok(())
        })
        .await?;
        ensure!(fleet.exited(number)?.is_none(), "worker {number} ended");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_to_stop_gives_everything_up_and_ends_well() -> Result<()> {
    let mut fleet = Fleet::start(20).await?;
    fleet.run(0).await?;
    fleet.run(1).await?;
    fleet.shared_by(2).await?;
    let status = fleet.stop(0).await?;
    ensure!(status.success(), "{status}");
    fleet.shared_by(1).await?;
    let documents = fleet.workers().await?;
    ensure!(documents.len() == 1, "{documents:?}");
    fleet.looked_at_since_now("one is left").await
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_that_come_and_go_while_nobody_restarts() -> Result<()> {
    let mut fleet = Fleet::start(5).await?;
    fleet.run(0).await?;
    fleet.looked_at_since_now("before").await?;
    fleet.add(5).await?;
    fleet.looked_at_since_now("with a new one").await?;
    fleet.remove(2).await?;
    let name = fleet::name(2);
    until("nothing of it is left", GENEROUS, || async {
        let health = fleet.health(&name).await?;
        let looks = fleet.recorded().await?;
        ensure!(health.is_none() && !looks.contains(&name), "health {health:?}, looks {looks:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_it_says_so_and_ends() -> Result<()> {
    let fleet = Fleet::start(1).await?;
    fleet.postgres.stop().await?;
    let process = fleet.spawn(0)?;
    let status = process.wait(FORGOTTEN * 2).await?;
    ensure!(!status.success());
    let log = process.log();
    ensure!(log.contains("failed to start: "), "{log}");
    fleet.postgres.go().await.context("for the end of the test")
}
