//! When something was broken on purpose, and what it could break.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::excuses::FaultEffect;

/// After every process is ready again: for what was under way, and for caches that follow the store.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// What an attempt depends on. Everything depends on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependency {
    /// The portals, with the API proxy and SSH.
    Portals,
    /// The resource providers.
    Providers,
    /// The monitors, which no client asks.
    Monitors,
    /// The real cluster.
    Cluster,
    Store,
}

/// What a fault does to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disturbance {
    pub(crate) of: Dependency,
    /// It breaks connections. Else it only makes answers late, of which 502, 503 and 504 may come.
    pub(crate) breaks: bool,
}

impl Disturbance {
    /// Whether it can have this effect on what depends on all of these.
    fn causes(self, effect: FaultEffect, dependencies: &[Dependency]) -> bool {
        let reached = self.of == Dependency::Store || dependencies.contains(&self.of);
        reached && (self.breaks || effect == FaultEffect::Unavailable)
    }
}

/// The faults so far, each from its begin until all parts had recovered from it.
#[derive(Debug, Default)]
pub(crate) struct FaultWindows(Mutex<Vec<Window>>);

#[derive(Debug, Clone, Copy)]
struct Window {
    begin: Instant,
    /// `None`: it lasts.
    end: Option<Instant>,
    disturbance: Disturbance,
}

impl Window {
    /// Whether it, or its grace, lasted at any instant between these two.
    fn touches(&self, from: Instant, to: Instant) -> bool {
        self.begin <= to && self.end.is_none_or(|end| end + GRACE >= from)
    }
}

impl FaultWindows {
    /// A fault begins now.
    pub(crate) fn open(&self, disturbance: Disturbance) {
        self.0.lock().push(Window { begin: Instant::now(), end: None, disturbance });
    }

    /// All parts have recovered from the last one.
    pub(crate) fn close(&self) {
        if let Some(window) = self.0.lock().last_mut() {
            window.end = Some(Instant::now());
        }
    }

    /// Whether any fault, or its grace, lasted at any instant between these two.
    pub(crate) fn touches(&self, from: Instant, to: Instant) -> bool {
        self.0.lock().iter().any(|window| window.touches(from, to))
    }

    /// When the last fault was, for people.
    pub(crate) fn last(&self, now: Instant) -> String {
        match self.0.lock().last() {
            None => "before any fault".to_owned(),
            Some(Window { end: None, disturbance, .. }) => format!("during {disturbance:?}"),
            Some(Window { end: Some(end), disturbance, .. }) => {
                format!("{:.1} s after {disturbance:?}", now.saturating_duration_since(*end).as_secs_f64())
            }
        }
    }

    /// Whether a failure with this effect at this instant comes of a fault.
    pub(crate) fn excuse(&self, effect: FaultEffect, dependencies: &[Dependency], at: Instant) -> bool {
        let windows = self.0.lock();
        windows.iter().any(|window| window.touches(at, at) && window.disturbance.causes(effect, dependencies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: Disturbance = Disturbance { of: Dependency::Store, breaks: true };
    const CLUSTER: Disturbance = Disturbance { of: Dependency::Cluster, breaks: true };
    const SLOW: Disturbance = Disturbance { of: Dependency::Cluster, breaks: false };

    fn windows(zero: Instant, all: &[(u64, Option<u64>, Disturbance)]) -> FaultWindows {
        let at = |second| zero + Duration::from_secs(second);
        let window = |&(begin, end, disturbance): &(u64, Option<u64>, Disturbance)| Window {
            begin: at(begin),
            end: end.map(at),
            disturbance,
        };
        FaultWindows(Mutex::new(all.iter().map(window).collect()))
    }

    #[test]
    fn what_overlaps_a_fault_or_its_grace_touches_it_and_nothing_else_does() {
        let zero = Instant::now();
        let at = |second| zero + Duration::from_secs(second);
        let faults = windows(zero, &[(10, Some(20), STORE), (50, None, STORE)]);
        for (from, to, touches) in
            [(0, 9, false), (0, 10, true), (15, 16, true), (25, 30, true), (26, 49, false), (60, 61, true)]
        {
            assert_eq!(faults.touches(at(from), at(to)), touches, "{from} to {to}");
        }
        let faults = FaultWindows::default();
        assert!(!faults.touches(zero, at(99)));
        faults.open(STORE);
        assert!(faults.touches(at(98), at(99)));
        faults.close();
        assert!(!faults.touches(at(98), at(99)) && faults.touches(zero, at(99)));
    }

    #[test]
    fn a_fault_excuses_what_it_can_cause_where_and_when_it_can() {
        let zero = Instant::now();
        let at = |second| zero + Duration::from_secs(second);
        let exec = [Dependency::Portals, Dependency::Cluster];
        let ssh = [Dependency::Portals];
        let faults =
            windows(zero, &[(10, Some(20), CLUSTER), (100, Some(110), SLOW), (200, Some(210), STORE)]);
        let excuse = |effect, of: &[Dependency], second| faults.excuse(effect, of, at(second));
        assert!(excuse(FaultEffect::Broken, &exec, 15) && excuse(FaultEffect::Unavailable, &exec, 25));
        assert!(!excuse(FaultEffect::Broken, &exec, 9), "before it");
        assert!(!excuse(FaultEffect::Broken, &exec, 26), "after its grace");
        assert!(!excuse(FaultEffect::Broken, &ssh, 15), "SSH does not go to the API of the cluster");
        assert!(excuse(FaultEffect::Unavailable, &exec, 105), "late");
        assert!(!excuse(FaultEffect::Broken, &exec, 105), "a slow network breaks nothing");
        assert!(excuse(FaultEffect::Broken, &ssh, 205), "all depend on the store");
    }
}
