//! The exposition in chunks, family by family, each rendered after the previous one was sent.

use std::collections::VecDeque;
use std::sync::Arc;

use rp_config::MetricsDetail;
use rp_metrics::text;

use super::cluster_series::ClusterSeries;
use super::families::{ExpositionFamily, FLEET, Unhealthy};
use super::{Exposition, Instrument};
use crate::names::Kind;

/// Size of a chunk in bytes; it may exceed this by one cluster's lines of one family.
const PIECE: usize = 64 * 1024;

pub(super) struct ExpositionChunks {
    of: Exposition,
    /// The series as of the start of the scrape.
    clusters: Vec<Arc<ClusterSeries>>,
    family: u16,
    /// The next cluster of the family; `None`: its header is not written yet.
    cluster: Option<usize>,
    /// Rendered text that is not yet returned.
    fleet: Option<VecDeque<String>>,
}

impl ExpositionChunks {
    pub(super) fn new(of: Exposition) -> Self {
        let mut clusters: Vec<_> = of.0.clusters.read().values().cloned().collect();
        clusters.sort_by(|a, b| a.labels.cmp(&b.labels));
        Self { of, clusters, family: 0, cluster: None, fleet: None }
    }

    /// Writes families until the chunk is full; false when there are no more.
    fn fill(&mut self, out: &mut String) -> bool {
        let inner = Arc::clone(&self.of.0);
        while let Some(family) = inner.families.get(self.family) {
            if self.cluster.is_none() {
                self.cluster = Some(0);
                self.begin(family, out);
            }
            let rule = match inner.detail {
                MetricsDetail::All => Unhealthy::Every,
                MetricsDetail::Unhealthy => family.unhealthy,
                MetricsDetail::Fleet => Unhealthy::None,
            };
            if family.held && rule != Unhealthy::None {
                while let Some(held) = self.cluster.and_then(|at| self.clusters.get(at)) {
                    lines(family.name, self.family, held, rule, out);
                    self.cluster = self.cluster.map(|at| at + 1);
                    if out.len() >= PIECE {
                        return true;
                    }
                }
            }
            self.family += 1;
            self.cluster = None;
        }
        false
    }

    /// The family's header and its series that are not of clusters.
    fn begin(&self, family: &ExpositionFamily, out: &mut String) {
        text::header(out, family.name, family.help, family.kind.prometheus());
        let mut rows: Vec<(Box<str>, Instrument)> = {
            let all = self.of.0.instruments.read();
            let own = all.iter().filter(|((of, _), _)| *of == self.family);
            own.map(|((_, labels), instrument)| (labels.clone(), instrument.clone())).collect()
        };
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        for (labels, instrument) in rows {
            instrument.write(family.name, &labels, out);
        }
    }

    /// Sums over the fleet: one pass over all segments.
    fn fleet(&self) -> VecDeque<String> {
        let families = &self.of.0.families;
        let mut sums = vec![[0.0; 3]; families.len()];
        for held in &self.clusters {
            let mut last = None;
            for (family, segment) in held.segments() {
                let sum = &mut sums[usize::from(family)];
                // Groups have no family in common, so a cluster is counted once.
                sum[0] += if last == Some(family) { 0.0 } else { 1.0 };
                sum[1] += f64::from(segment.count);
                sum[2] += segment.sum;
                last = Some(family);
            }
        }
        let mut out = String::with_capacity(8 * 1024);
        for (at, (name, help)) in FLEET.iter().enumerate() {
            text::header(&mut out, name, help, Kind::Gauge.prometheus());
            for (family, sum) in (0..).zip(&sums) {
                if let Some(family) = families.get(family).filter(|family| family.held) {
                    let value = text::number(sum[at]);
                    out.push_str(&format!("{name}{{metric=\"{}\"}} {value}\n", family.name));
                }
            }
        }
        VecDeque::from([out])
    }
}

impl Iterator for ExpositionChunks {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if let Some(rest) = &mut self.fleet {
            return rest.pop_front();
        }
        let mut out = String::with_capacity(PIECE + PIECE / 8);
        if !self.fill(&mut out) {
            self.fleet = Some(self.fleet());
            self.clusters.clear();
        }
        Some(out)
    }
}

fn lines(name: &str, family: u16, held: &ClusterSeries, rule: Unhealthy, out: &mut String) {
    for (_, ends) in held.lines(family) {
        for end in ends.split_inclusive('\n') {
            if rule.shows(end) {
                out.push_str(name);
                out.push('{');
                out.push_str(&held.labels);
                out.push_str(end);
            }
        }
    }
}
