//! The fleet in numbers.

use std::collections::BTreeMap;

use rp_base::Timestamp;
use web::{Broken, ListView, State, Summary, VersionCount};

use super::search::{certificate_soon, in_view, numbers};
use super::{Entry, Snapshot};

/// Bars of the histogram.
const BARS: usize = 6;

/// Clusters of each saved view.
pub(crate) fn views(snapshot: &Snapshot) -> Vec<(ListView, Option<u64>)> {
    let count = |view| snapshot.entries.iter().filter(|entry| in_view(entry, view)).count();
    ListView::EVERY.into_iter().map(|view| (view, u64::try_from(count(view)).ok())).collect()
}

/// The strip above the list.
pub(crate) fn summarize(snapshot: &Snapshot, now: Timestamp) -> Summary {
    let looked_at = snapshot.entries.iter().any(|entry| entry.health.is_some());
    let mut summary = Summary { versions: versions(snapshot), ..Summary::default() };
    let (mut no_answer, mut degraded, mut certificates) = (0, 0, 0);
    for entry in &snapshot.entries {
        match entry.shown_state() {
            State::Failed(_) => summary.failed += 1,
            State::NoAnswer => no_answer += 1,
            State::Degraded => degraded += 1,
            State::Creating => summary.creating += 1,
            State::Updating(_) => summary.updating += 1,
            State::AdminUpdate => summary.admin_updating += 1,
            State::Deleting => summary.deleting += 1,
            _ => {}
        }
        certificates += u64::from(certificate_soon(entry, now));
        if in_view(entry, ListView::InProgress) {
            let since = entry.modified.map(Timestamp::seconds);
            summary.oldest = [summary.oldest, since].into_iter().flatten().min();
        }
    }
    if looked_at {
        summary.no_answer = Some(no_answer);
        summary.degraded = Some(degraded);
        summary.certificates = Some(certificates);
    }
    broken(snapshot, now, &mut summary);
    summary
}

fn broken(snapshot: &Snapshot, now: Timestamp, summary: &mut Summary) {
    let day = 24 * 3600;
    let mut broken: Vec<(i64, &Entry)> = snapshot
        .entries
        .iter()
        .filter(|entry| matches!(entry.shown_state(), State::Failed(_)))
        .filter_map(|entry| Some((entry.modified?.seconds(), &**entry)))
        .filter(|(since, _)| *since + day < now.seconds())
        .collect();
    broken.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
    summary.longest_more = u64::try_from(broken.len().saturating_sub(3)).unwrap_or(0);
    summary.longest = broken
        .into_iter()
        .take(3)
        .map(|(since, entry)| Broken {
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
