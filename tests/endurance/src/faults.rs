//! What is broken on purpose, by a schedule that a seed repeats.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tests_kit::{Dice, GENEROUS, until};

use crate::part::Role;
use crate::relay::Network;
use crate::report::progress;
use crate::site::Site;
use crate::windows::{Dependency, Disturbance, FaultWindows, GRACE};

/// What a slow network adds to each piece of bytes, each way.
const SLOW: Duration = Duration::from_millis(40);
/// The share of the time, in percent, in which processes are killed. After it each has one life, over which it is measured.
const KILLS_UNTIL: u32 = 40;
/// The share of the time, in percent, in which anything is broken.
const FAULTS_UNTIL: u32 = 88;
/// The longest that a fault lasts, seconds.
const LONGEST: u64 = 20;

/// One way to break something. Numbers are those of processes and replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A process is killed (`SIGKILL`), and started again at the end.
    Kill(usize),
    /// A process is stopped by a signal, and goes on at the end.
    Freeze(usize),
    /// PostgreSQL ends as in a crash, and is started again at the end.
    StopStore,
    /// All processes of PostgreSQL are stopped by a signal.
    FreezeStore,
    /// The network between a replica and the store.
    CutStore(usize),
    SlowStore(usize),
    /// The network between both replicas and the cluster.
    CutCluster,
    SlowCluster,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(part) => write!(f, "kill process {part}"),
            Self::Freeze(part) => write!(f, "freeze process {part}"),
            Self::StopStore => f.write_str("crash the store"),
            Self::FreezeStore => f.write_str("freeze the store"),
            Self::CutStore(replica) => write!(f, "cut replica {replica} off from the store"),
            Self::SlowStore(replica) => write!(f, "slow the store down for replica {replica}"),
            Self::CutCluster => f.write_str("cut the cluster off"),
            Self::SlowCluster => f.write_str("slow the cluster down"),
        }
    }
}

/// A fault of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedFault {
    /// Since the load began.
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
    pub(crate) lasts: Duration,
}

/// The faults of a run: every kind comes before one comes again. The same seed gives the same schedule.
pub(crate) fn schedule(seed: u64, whole: Duration, parts: usize, replicas: usize) -> Vec<PlannedFault> {
    let mut dice = Dice::new(seed);
    let calm = (whole.as_secs() / 90).clamp(6, 40);
    let (mut planned, mut deck, mut at) = (Vec::new(), Vec::new(), calm);
    loop {
        let now = Duration::from_secs(at);
        let kills = now < whole * KILLS_UNTIL / 100;
        if deck.is_empty() {
            deck = every_fault(parts, replicas);
            dice.shuffle(&mut deck);
        }
        let Some(fault) = deck.pop() else { return planned };
        if !kills && matches!(fault, Fault::Kill(_)) {
            continue;
        }
        let lasts = (1 + dice.below(LONGEST)).min(calm);
        if now + Duration::from_secs(lasts) > whole * FAULTS_UNTIL / 100 {
            return planned;
        }
        planned.push(PlannedFault { at: now, fault, lasts: Duration::from_secs(lasts) });
        at += lasts + calm + dice.below(calm);
    }
}

fn every_fault(parts: usize, replicas: usize) -> Vec<Fault> {
    let mut all = vec![Fault::StopStore, Fault::FreezeStore, Fault::CutCluster, Fault::SlowCluster];
    all.extend((0..parts).flat_map(|part| [Fault::Kill(part), Fault::Freeze(part)]));
    all.extend((0..replicas).flat_map(|replica| [Fault::CutStore(replica), Fault::SlowStore(replica)]));
    all
}

/// What came of the schedule.
#[derive(Debug, Default)]
pub(crate) struct FaultSummary {
    pub(crate) faults: usize,
    /// From the end of a fault until every process was ready again.
    pub(crate) slowest_recovery: Duration,
}

/// Breaks things by the schedule, and waits after each until everything has recovered.
///
/// # Errors
/// A process ended by itself, or something does not recover.
pub(crate) async fn run(
    site: &Site,
    planned: &[PlannedFault],
    windows: &FaultWindows,
    began: Instant,
) -> Result<FaultSummary> {
    let mut summary = FaultSummary::default();
    let roles: Vec<Role> = site.parts.iter().map(|part| part.role).collect();
    for each in planned {
        tokio::time::sleep_until((began + each.at).into()).await;
        progress(format_args!(
            "{:>6.0} s: {} for {:?}",
            began.elapsed().as_secs_f64(),
            each.fault,
            each.lasts
        ));
        windows.open(disturbance(each.fault, &roles));
        begin(site, each.fault).await.with_context(|| each.fault.to_string())?;
        tokio::time::sleep(each.lasts).await;
        end(site, each.fault).await.with_context(|| format!("the end of: {}", each.fault))?;
        let ended = Instant::now();
        site.ready().await.with_context(|| format!("after: {}", each.fault))?;
        summary.slowest_recovery = summary.slowest_recovery.max(ended.elapsed());
        windows.close();
        // The next fault begins after the grace of this one.
        tokio::time::sleep(GRACE).await;
        summary.faults += 1;
    }
    Ok(summary)
}

/// What a fault does to others; `roles` are those of the processes, by their numbers.
fn disturbance(fault: Fault, roles: &[Role]) -> Disturbance {
    let (of, breaks) = match fault {
        Fault::Kill(part) | Fault::Freeze(part) => match roles.get(part) {
            Some(Role::Portal) | None => (Dependency::Portals, true),
            Some(Role::Provider) => (Dependency::Providers, true),
            Some(Role::Monitor) => (Dependency::Monitors, true),
        },
        Fault::StopStore | Fault::FreezeStore | Fault::CutStore(_) => (Dependency::Store, true),
        Fault::SlowStore(_) => (Dependency::Store, false),
        Fault::CutCluster => (Dependency::Cluster, true),
        Fault::SlowCluster => (Dependency::Cluster, false),
    };
    Disturbance { of, breaks }
}

async fn begin(site: &Site, fault: Fault) -> Result<()> {
    match fault {
        Fault::Kill(part) => site.parts.get(part).context("a process")?.kill(),
        Fault::Freeze(part) => site.parts.get(part).context("a process")?.freeze(true),
        Fault::StopStore => site.postgres.stop().await,
        Fault::FreezeStore => site.postgres.pause(),
        Fault::CutStore(_) | Fault::SlowStore(_) | Fault::CutCluster | Fault::SlowCluster => {
            set_network(site, fault, true)
        }
    }
}

async fn end(site: &Site, fault: Fault) -> Result<()> {
    match fault {
        Fault::Kill(part) => site.parts.get(part).context("a process")?.start(),
        Fault::Freeze(part) => site.parts.get(part).context("a process")?.freeze(false),
        // The port of the server that crashed may still be held for a moment.
        Fault::StopStore => until("the store starts again", GENEROUS * 2, || site.postgres.go()).await,
        Fault::FreezeStore => {
            site.postgres.resume();
            Ok(())
        }
        Fault::CutStore(_) | Fault::SlowStore(_) | Fault::CutCluster | Fault::SlowCluster => {
            set_network(site, fault, false)
        }
    }
}

fn set_network(site: &Site, fault: Fault, broken: bool) -> Result<()> {
    let (relay, network) = match fault {
        Fault::CutStore(replica) => (site.to_store.get(replica).context("a replica")?, Network::Cut),
        Fault::SlowStore(replica) => (site.to_store.get(replica).context("a replica")?, Network::Slow(SLOW)),
        Fault::CutCluster => (&site.to_cluster, Network::Cut),
        Fault::SlowCluster => (&site.to_cluster, Network::Slow(SLOW)),
        Fault::Kill(_) | Fault::Freeze(_) | Fault::StopStore | Fault::FreezeStore => return Ok(()),
    };
    relay.set(if broken { network } else { Network::Open });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_seed_repeats_its_schedule_and_another_gives_another() {
        assert_eq!(schedule(7, HOUR, 6, 2), schedule(7, HOUR, 6, 2));
        assert_ne!(schedule(7, HOUR, 6, 2), schedule(8, HOUR, 6, 2));
    }

    #[test]
    fn an_hour_has_every_kind_apart_and_ends_calm_with_one_life_of_each_process() {
        let planned = schedule(20_261_123, HOUR, 6, 2);
        for wanted in every_fault(6, 2) {
            let is_there = planned.iter().any(|each| each.fault == wanted);
            assert!(is_there || matches!(wanted, Fault::Kill(_)), "{wanted}");
        }
        assert!(planned.iter().any(|each| matches!(each.fault, Fault::Kill(_))));
        for pair in planned.windows(2) {
            assert!(pair[0].at + pair[0].lasts + GRACE < pair[1].at, "{pair:?}");
        }
        for each in &planned {
            let kills = matches!(each.fault, Fault::Kill(_));
            assert!(!kills || each.at < HOUR * KILLS_UNTIL / 100, "{each:?}");
            assert!(each.at + each.lasts <= HOUR * FAULTS_UNTIL / 100, "{each:?}");
        }
    }

    #[test]
    fn a_fault_disturbs_the_role_of_its_process_and_slowness_breaks_nothing() {
        let roles = [Role::Portal, Role::Provider, Role::Monitor];
        let told = |fault| disturbance(fault, &roles);
        assert_eq!(told(Fault::Kill(0)), Disturbance { of: Dependency::Portals, breaks: true });
        assert_eq!(told(Fault::Freeze(1)), Disturbance { of: Dependency::Providers, breaks: true });
        assert_eq!(told(Fault::Kill(2)), Disturbance { of: Dependency::Monitors, breaks: true });
        assert_eq!(told(Fault::CutStore(0)), Disturbance { of: Dependency::Store, breaks: true });
        assert_eq!(told(Fault::SlowCluster), Disturbance { of: Dependency::Cluster, breaks: false });
    }

    #[test]
    fn a_short_run_has_faults_too() {
        let planned = schedule(1, Duration::from_secs(60), 6, 2);
        assert!(!planned.is_empty());
    }
}
