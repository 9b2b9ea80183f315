//! Transient faults: a healthy cluster's state as a function of time, so that nothing is stored for it.

use std::time::Duration;

use rp_base::Timestamp;

use super::{Cluster, ClusterShape, Dice, Fleet};

/// How often healthy clusters have faults, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// The share of the healthy clusters that have a fault at any instant, 0 to 1.
    pub share: f64,
    /// A cluster has at most one fault in such a time, for an eighth to five eighths of it.
    pub period: Duration,
}

/// The kind of a transient fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransientFault {
    /// One to three operators are degraded.
    Operators,
    /// One or two nodes are not ready.
    Nodes,
    /// Only an alert fires.
    Alert,
    /// The API server does not answer.
    Silent,
}

/// One fault of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    pub what: TransientFault,
    /// Another one is another fault.
    pub number: u64,
    pub began: Timestamp,
    /// `None`: it is still active.
    pub healed: Option<Timestamp>,
}

/// Mean length of a fault, as a part of the period.
const MEAN: f64 = 0.375;
/// Of a hundred faults.
const KINDS: [(TransientFault, usize); 4] = [
    (TransientFault::Operators, 45),
    (TransientFault::Nodes, 25),
    (TransientFault::Alert, 22),
    (TransientFault::Silent, 8),
];

impl Faults {
    /// The fault of a cluster at an instant: one that lasts, or the one that healed last in this period.
    fn at(&self, seed: u64, index: usize, now: Timestamp) -> Option<Episode> {
        let period = usize::try_from(self.period.as_millis()).unwrap_or(usize::MAX).max(8);
        let own = seed ^ (index as u64).rotate_left(17);
        // Periods of different clusters begin at different instants.
        let shift = Dice::new(own, 0x5048_4153).below(period);
        let clock = u64::try_from(now.millis()).unwrap_or(0).saturating_add(shift as u64);
        let number = clock / period as u64;
        let mut dice = Dice::new(own, number ^ 0x4641_554c);
        #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
        let roll = dice.below(1_000_000) as f64 / 1_000_000.0;
        if roll >= self.share / MEAN {
            return None;
        }
        let mut kind = dice.below(100);
        let what = KINDS.iter().find(|(_, weight)| {
            let found = kind < *weight;
            kind = kind.saturating_sub(*weight);
            found
        });
        let (offset, length) = (dice.below(period / 4), period / 8 + dice.below(period / 2));
        let start = Timestamp::from_millis(i64::try_from(number * period as u64).unwrap_or(0))
            - Duration::from_millis(shift as u64);
        let began = start + Duration::from_millis(offset as u64);
        let ends = began + Duration::from_millis(length as u64);
        (now >= began).then_some(())?;
        let (what, _) = what?;
        Some(Episode { what: *what, number, began, healed: (now >= ends).then_some(ends) })
    }
}

impl Fleet {
    /// The same fleet with faults that come and go.
    #[must_use]
    pub fn with_faults(mut self, faults: Option<Faults>) -> Self {
        self.faults = faults;
        self
    }

    /// The fault of a cluster now; only healthy ones have any.
    pub fn episode(&self, cluster: &Cluster, now: Timestamp) -> Option<Episode> {
        let faults = self.faults.filter(|_| cluster.base == ClusterShape::Healthy)?;
        faults.at(self.seed, cluster.index, now)
    }

    /// A cluster as it is now; `None`: as it was handed in.
    pub fn changed(&self, cluster: &Cluster, now: Timestamp) -> Option<Cluster> {
        if let Some(current) = cluster.reinstalled(now) {
            let same = current.shape == cluster.shape && current.rolled == cluster.rolled;
            return (!same).then_some(current);
        }
        let episode = self.episode(cluster, now);
        (episode != cluster.episode).then(|| Cluster {
            shape: match episode {
                Some(Episode { what, healed: None, .. }) => what.shape(),
                _ => cluster.base,
            },
            episode,
            ..cluster.clone()
        })
    }
}

impl TransientFault {
    const fn shape(self) -> ClusterShape {
        match self {
            Self::Operators => ClusterShape::Degraded,
            Self::Nodes => ClusterShape::NodeDown,
            Self::Alert => ClusterShape::Healthy,
            Self::Silent => ClusterShape::Silent,
        }
    }
}

impl Cluster {
    /// Since when it is in the trouble it is in.
    pub fn troubled_since(&self) -> Timestamp {
        self.lasting().map_or(self.since, |episode| episode.began)
    }

    /// When trouble of this kind healed, when that is not long ago.
    pub fn healed(&self, what: TransientFault) -> Option<Timestamp> {
        self.episode.filter(|episode| episode.what == what)?.healed
    }

    /// The transient fault that it has.
    pub fn lasting(&self) -> Option<Episode> {
        self.episode.filter(|episode| episode.healed.is_none())
    }

    /// When something about it changed last.
    pub fn touched(&self) -> Timestamp {
        self.episode.map_or(self.since, |episode| episode.healed.unwrap_or(episode.began).max(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000);
    const FAULTS: Faults = Faults { share: 0.05, period: Duration::from_secs(1200) };

    #[test]
    fn faults_come_and_heal_and_are_as_many_as_told() {
        let fleet = Fleet::new(42, 2000, Vec::new(), NOW).with_faults(Some(FAULTS));
        let healthy: Vec<Cluster> =
            fleet.clusters().filter(|cluster| cluster.base == ClusterShape::Healthy).collect();
        let (mut sum, mut seen, mut healed) = (0usize, std::collections::HashSet::new(), 0usize);
        for minute in 0..60u64 {
            let now = NOW + Duration::from_secs(60 * minute);
            for cluster in &healthy {
                let Some(current) = fleet.changed(cluster, now) else { continue };
                let episode = current.episode.unwrap();
                assert!(episode.began <= now);
                healed += usize::from(episode.healed.is_some());
                if let Some(lasting) = current.lasting() {
                    sum += 1;
                    seen.insert(format!("{:?}", lasting.what));
                    assert!(now.since(lasting.began) < FAULTS.period);
                    assert_eq!(current.troubled_since(), lasting.began);
                } else {
                    assert_eq!(current.shape, ClusterShape::Healthy);
                }
                assert!(fleet.changed(&current, now).is_none());
            }
        }
        let share = sum as f64 / (60 * healthy.len()) as f64;
        assert!((0.04..0.06).contains(&share), "{share}");
        assert_eq!(seen.len(), 4);
        assert!(healed > 0);
    }

    #[test]
    fn without_faults_nothing_changes_and_others_never_do() {
        let calm = Fleet::new(42, 60, Vec::new(), NOW);
        assert!(calm.clusters().all(|cluster| calm.changed(&cluster, NOW).is_none()));
        let all = Faults { share: 1.0, ..FAULTS };
        let fleet = calm.with_faults(Some(all));
        let touched = (0..40u64).flat_map(|n| {
            let now = NOW + Duration::from_secs(60 * n);
            fleet
                .clusters()
                .filter(move |cluster| cluster.base != ClusterShape::Healthy)
                .map(move |cluster| (cluster, now))
        });
        for (cluster, now) in touched {
            assert!(fleet.changed(&cluster, now).is_none(), "{:?}", cluster.shape);
        }
    }
}
