//! Memory, descriptors, tasks and rows, measured while the load runs, and the bounds that they must keep.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rp_documents::{BUCKETS, Collection};
use tokio::sync::watch;

use crate::environment::Environment;
use crate::part::{Part, Role, gauge};
use crate::report::{Report, number};
use crate::slope::{LEAST_TIME, Point, fitted, last_process};

/// Between two measurements.
const EVERY: Duration = Duration::from_secs(10);
/// For counting a collection while the store may be frozen.
const COUNTING: Duration = Duration::from_secs(8);
/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Bounds of growth in an hour, at the slope of the second half.
const MEMORY_AN_HOUR: f64 = 16.0;
/// Memory may also grow by this share of itself: a larger process has larger pools.
const MEMORY_SHARE: f64 = 0.1;
const DESCRIPTORS_AN_HOUR: f64 = 16.0;
const TASKS_AN_HOUR: f64 = 32.0;
const ROWS_AN_HOUR: f64 = 60.0;

/// After the load: descriptors and tasks beyond those before it. Pools of connections were not full then.
const MORE_DESCRIPTORS: f64 = 48.0;
const MORE_TASKS: f64 = 96.0;

/// Gauges of what is open, which are 0 when nobody is there.
const OPEN: [&str; 5] = [
    "aro_proxy_streams_open",
    "aro_ssh_connections_open",
    "aro_ssh_channels_open",
    "aro_terminal_sessions_open",
    "aro_tunnel_open",
];

/// Collections that grow on purpose: what happened is kept for as long as the settings say.
const KEPT: [Collection; 12] = [
    Collection::AuditBatches,
    Collection::AuditIndex,
    Collection::AuditTombstones,
    Collection::Checkpoints,
    Collection::AsyncOperations,
    Collection::OperationLogs,
    Collection::Billing,
    Collection::Grants,
    Collection::GrantUse,
    Collection::Elevations,
    Collection::Recordings,
    Collection::SignIns,
];

/// Collections that fill up to a number of rows and stay there: one for each bucket of clusters.
const FILLING: [(Collection, usize); 1] = [(Collection::Looks, BUCKETS)];

/// What is measured of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    /// Resident, MiB.
    Memory,
    Descriptors,
    Tasks,
}

/// How many these are.
const MEASURES: usize = 3;

/// All measurements of a run.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// By the name of the process.
    processes: BTreeMap<(String, Measure), Vec<Point>>,
    /// By the name of the collection.
    rows: BTreeMap<&'static str, Vec<Point>>,
}

impl Samples {
    /// Measures until told to stop.
    ///
    /// # Errors
    /// A process ended by itself.
    pub(crate) async fn gathered(
        environment: &Environment,
        began: Instant,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<Self> {
        let mut samples = Self::default();
        while !*stopped.borrow() {
            samples.take(environment, began).await?;
            let _ = tokio::time::timeout(EVERY, stopped.wait_for(|stop| *stop)).await;
        }
        Ok(samples)
    }

    async fn take(&mut self, environment: &Environment, began: Instant) -> Result<()> {
        let at = began.elapsed().as_secs_f64();
        for part in &environment.site.parts {
            part.lives()?;
            let pid = part.pid();
            // A frozen process answers nothing, and one that was killed has no figures.
            for (measure, value) in measured(part).await {
                let series = self.processes.entry((part.name.clone(), measure)).or_default();
                series.push(Point { at, value, pid });
            }
        }
        for collection in Collection::ALL {
            let counting = environment.store.count(collection);
            if let Ok(Ok(count)) = tokio::time::timeout(COUNTING, counting).await {
                let value = float(count);
                self.rows.entry(collection.name()).or_default().push(Point { at, value, pid: 0 });
            } else {
                // The store is away: the others are not there either.
                break;
            }
        }
        Ok(())
    }

    /// Judges the slopes of the second half of a run of so many seconds.
    pub(crate) fn judge(&self, whole: Duration, report: &mut Report) {
        let half = whole.as_secs_f64() / 2.0;
        // The half of such a run has enough points of everything, or it was not measured as it should be.
        let must_have_slope = half >= 2.0 * LEAST_TIME;
        for ((name, measure), points) in &self.processes {
            let points = last_process(points, half);
            let (what, unit, bound) = match measure {
                Measure::Memory => ("memory", "MiB an hour", MEMORY_AN_HOUR),
                Measure::Descriptors => ("descriptors", "an hour", DESCRIPTORS_AN_HOUR),
                Measure::Tasks => ("tasks", "an hour", TASKS_AN_HOUR),
            };
            let Some(line) = fitted(&points) else {
                if must_have_slope {
                    report.none(format_args!("{name}: {what}, measured too seldom"), 1, &[]);
                    continue;
                }
                let last = points.last().map_or_else(|| "nothing".to_owned(), |point| number(point.value));
                report.stated(format_args!("{name}: {what}, for too short a time for a slope"), last);
                continue;
            };
            let share = if *measure == Measure::Memory { (line.mean * MEMORY_SHARE).round() } else { 0.0 };
            let what = format!("{name}: growth of {what} (mean {})", number(line.mean));
            report.most(what, line.an_hour, bound.max(share), unit);
        }
        for collection in Collection::ALL {
            let (name, kept) = (collection.name(), KEPT.contains(&collection));
            let points = self.rows.get(name).map(Vec::as_slice).unwrap_or_default();
            if let Some((_, most)) = FILLING.iter().find(|(filling, _)| *filling == collection) {
                let found = points.iter().map(|point| point.value).fold(0.0, f64::max);
                report.most(format_args!("{name}: rows"), found, float(*most as u64), "");
                continue;
            }
            let Some(line) = fitted(&last_process(points, half)) else {
                if must_have_slope {
                    report.none(format_args!("{name}: rows, counted too seldom"), 1, &[]);
                }
                continue;
            };
            let what = format!("{name}: growth of rows (mean {})", number(line.mean));
            if kept {
                report.stated(
                    format_args!("{what}, kept on purpose"),
                    format!("{} an hour", number(line.an_hour)),
                );
            } else {
                report.most(what, line.an_hour, ROWS_AN_HOUR, "an hour");
            }
        }
    }
}

/// The figures of a process, as far as they are to be had.
pub(crate) async fn measured(part: &Part) -> Vec<(Measure, f64)> {
    let pid = part.pid();
    let mut found = Vec::new();
    found.extend(resident(pid).ok().map(|mib| (Measure::Memory, mib)));
    found.extend(descriptors(pid).ok().map(|count| (Measure::Descriptors, count)));
    if let Ok(metrics) = part.admin("/metrics").await {
        found.extend(gauge(&metrics, "aro_runtime_tasks").map(|tasks| (Measure::Tasks, tasks)));
    }
    found
}

/// Resident memory, MiB.
pub(crate) fn resident(pid: u32) -> Result<f64> {
    Ok(float(tests_kit::resident(pid)?) / MIB)
}

/// Open descriptors.
pub(crate) fn descriptors(pid: u32) -> Result<f64> {
    Ok(float(u64::try_from(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())?))
}

#[expect(clippy::cast_precision_loss, reason = "counts of one run")]
fn float(count: u64) -> f64 {
    count as f64
}

/// What a process had before the load, to be compared with what it has after it.
#[derive(Debug)]
pub(crate) struct Baseline(BTreeMap<(String, Measure), f64>);

impl Baseline {
    /// Measures every process, while nothing is broken.
    ///
    /// # Errors
    /// A process ended by itself, or cannot be measured in full.
    pub(crate) async fn taken(environment: &Environment) -> Result<Self> {
        let mut all = BTreeMap::new();
        for part in &environment.site.parts {
            part.lives()?;
            let found = measured(part).await;
            ensure!(found.len() == MEASURES, "{}: of all measures there are only {found:?}", part.name);
            all.extend(found.into_iter().map(|(measure, value)| ((part.name.clone(), measure), value)));
        }
        Ok(Self(all))
    }

    /// Judges what there is after the load, when everybody has left.
    pub(crate) fn judge(&self, after: &Self, report: &mut Report) {
        for ((name, measure), now) in &after.0 {
            let Some(before) = self.0.get(&(name.clone(), *measure)) else { continue };
            match measure {
                Measure::Descriptors => {
                    report.most(
                        format_args!("{name}: descriptors more than before the load"),
                        now - before,
                        MORE_DESCRIPTORS,
                        "",
                    );
                }
                Measure::Tasks => {
                    report.most(
                        format_args!("{name}: tasks more than before the load"),
                        now - before,
                        MORE_TASKS,
                        "",
                    );
                }
                // Judged by its slope: the first minutes fill caches.
                Measure::Memory => report.stated(
                    format_args!("{name}: memory before and after the load"),
                    format!("{} and {} MiB", number(*before), number(*now)),
                ),
            }
        }
    }
}

/// What the portals still have open, in words; nothing when everybody has left.
///
/// # Errors
/// A portal does not answer, or has no such gauge.
pub(crate) async fn open(environment: &Environment) -> Result<Vec<String>> {
    let mut open = Vec::new();
    for portal in environment.site.with_role(Role::Portal) {
        let metrics = portal.admin("/metrics").await?;
        for name in OPEN {
            let count = gauge(&metrics, name).with_context(|| format!("{}: no {name}", portal.name))?;
            if count > 0.0 {
                open.push(format!("{}: {name} is {}", portal.name, number(count)));
            }
        }
    }
    Ok(open)
}
