//! The fleet in numbers.

use std::collections::{BTreeMap, HashMap};

use rp_base::Timestamp;
use web::{BrokenCluster, Facets, ListView, State, Summary, VersionCount};

use super::filter::numbers;
use super::part::{Part, in_view};
use super::{Entry, Snapshot};

/// Bars of the histogram.
const BARS: usize = 6;
/// Broken for so long, in seconds, is listed: a day.
const LONG: i64 = 24 * 3600;
/// Values that a filter offers.
const OFFERED: usize = 50;

/// What occurs in the fleet, for the filters.
pub fn facets(snapshot: &Snapshot) -> Facets {
    let mut counts: [HashMap<&str, u64>; 4] = Default::default();
    for entry in &snapshot.entries {
        if !entry.location.is_empty() {
            *counts[3].entry(&entry.location).or_default() += 1;
        }
        let Some(health) = &entry.health else { continue };
        for name in &health.operators {
            *counts[0].entry(name).or_default() += 1;
        }
        for name in &health.alert_names {
            *counts[1].entry(name).or_default() += 1;
        }
        for (name, _) in &health.failed {
            *counts[2].entry(name).or_default() += 1;
        }
    }
    let [operators, alerts, collectors, regions] = counts.map(|names| {
        let mut names: Vec<(String, u64)> = names.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        names.truncate(OFFERED);
        names
    });
    Facets { operators, alerts, collectors, regions }
}

/// Clusters of each tab.
pub fn views(snapshot: &Snapshot, now: Timestamp) -> Vec<(ListView, Option<u64>)> {
    let count = |view| snapshot.entries.iter().filter(|entry| in_view(entry, view, now)).count();
    ListView::TABS.into_iter().map(|view| (view, u64::try_from(count(view)).ok())).collect()
}

/// The strip above the list. Each cluster is counted in one line, so that the lines add up to the clusters.
pub fn summarize(snapshot: &Snapshot, now: Timestamp) -> Summary {
    let mut summary = Summary { versions: versions(snapshot), ..Summary::default() };
    let mut phases: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &snapshot.entries {
        let count = match Part::find(entry, now) {
            Part::Failed => &mut summary.failed,
            Part::NoAnswer => &mut summary.no_answer,
            Part::Degraded => &mut summary.degraded,
            Part::Canceled => &mut summary.canceled,
            Part::Certificate => &mut summary.certificates,
            Part::Unchecked => &mut summary.unchecked,
            Part::Healthy => &mut summary.healthy,
            Part::Other => &mut summary.other,
            Part::InProgress => {
                let since = entry.modified.map(Timestamp::seconds);
                summary.oldest = [summary.oldest, since].into_iter().flatten().min();
                match entry.state_shown() {
                    State::Creating => {
                        if let Some(phase) = entry.install.as_deref() {
                            *phases.entry(phase).or_default() += 1;
                        }
                        &mut summary.creating
                    }
                    State::AdminUpdate => &mut summary.admin_updating,
                    State::Deleting => &mut summary.deleting,
                    _ => &mut summary.updating,
                }
            }
        };
        *count += 1;
    }
    summary.phases = phases.into_iter().map(|(phase, count)| (phase.to_owned(), count)).collect();
    broken(snapshot, now, &mut summary);
    summary
}

/// Those that `/?state=failed,noanswer,degraded&age=24h` lists ([`Summary::LONG_BROKEN`]), longest first.
fn broken(snapshot: &Snapshot, now: Timestamp, summary: &mut Summary) {
    let mut broken: Vec<(i64, &Entry)> = snapshot
        .entries
        .iter()
        .filter(|entry| matches!(entry.state_shown(), State::Failed(_) | State::NoAnswer | State::Degraded))
        .filter_map(|entry| Some((entry.since?.seconds(), &**entry)))
        .filter(|(since, _)| *since + LONG <= now.seconds())
        .collect();
    broken.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
    summary.long_broken = u64::try_from(broken.len()).unwrap_or(0);
    summary.longest = broken
        .into_iter()
        .take(3)
        .map(|(since, entry)| BrokenCluster {
            name: entry.id.name().to_owned(),
            href: entry.path(),
            state: entry.shown_state(),
            since,
        })
        .collect();
}

/// Minor versions of our clusters, oldest first; the oldest are put together.
fn versions(snapshot: &Snapshot) -> Vec<VersionCount> {
    let mut minors: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for entry in snapshot.entries.iter().filter(|entry| entry.imported.is_none() && !entry.version.is_empty())
    {
        let numbers = numbers(&entry.version);
        let minor = (numbers.first().copied().unwrap_or(0), numbers.get(1).copied().unwrap_or(0));
        *minors.entry(minor).or_default() += 1;
    }
    let split = minors.len().saturating_sub(BARS - 1);
    let mut bars = Vec::new();
    if minors.len() > BARS {
        let old: Vec<_> = minors.iter().take(split).collect();
        let count = old.iter().map(|(_, count)| **count).sum();
        if let (Some((newest_old, _)), Some((next, _))) = (old.last(), minors.iter().nth(split)) {
            bars.push(VersionCount {
                label: format!("≤ {}.{}", newest_old.0, newest_old.1),
                filter: format!("<{}.{}", next.0, next.1),
                count,
                old: false,
            });
        }
    }
    let skip = if minors.len() > BARS { split } else { 0 };
    bars.extend(minors.into_iter().skip(skip).map(|((major, minor), count)| VersionCount {
        label: format!("{major}.{minor}"),
        filter: format!("{major}.{minor}"),
        count,
        old: false,
    }));
    bars
}
