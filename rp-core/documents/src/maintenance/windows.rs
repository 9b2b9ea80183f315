//! When each cluster has its turn in the windows of a schedule (`contract/mimo.md` §6).

use rp_base::{Timestamp, sha256};

use super::schedule::Rules;
use super::waves::Spread;

/// Windows that are open at once and whose manifests are kept: the latest of them.
const MOST_OPEN: usize = 512;

/// The windows that count at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Ascending: those that are still open (`contract/mimo.md` "Do better" 9), then those to come.
    windows: Vec<Timestamp>,
    spread: Spread,
    now: Timestamp,
}

/// The turn of a cluster in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Unix seconds.
    pub at: i64,
    /// When the window began or begins, Unix seconds.
    pub window: i64,
    /// The window is to come, so that a manifest may be made; in one that began before nothing new is made.
    pub is_new: bool,
}

impl Plan {
    /// Of a schedule at that time: windows of which a wave is not over, and the next ones that it looks ahead to.
    pub fn new(rules: &Rules, now: Timestamp) -> Self {
        let mut windows = Vec::new();
        let mut at = now - rules.spread.whole();
        while let Some(next) = rules.calendar.next(at).filter(|next| *next <= now) {
            windows.push(next);
            if windows.len() > MOST_OPEN {
                windows.remove(0);
            }
            at = next;
        }
        let mut at = now;
        for _ in 0..rules.ahead {
            let Some(next) = rules.calendar.next(at) else { break };
            windows.push(next);
            at = next;
        }
        Self { windows, spread: rules.spread.clone(), now }
    }

    /// Whether nothing is to come and nothing is open.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// The turns of a cluster that are still to come, ascending.
    pub fn turns(&self, cluster: &str) -> impl Iterator<Item = Turn> {
        let offset = self.spread.offset(cluster);
        let now = self.now;
        let turn = move |window: &Timestamp| Turn {
            at: (*window + offset).seconds(),
            window: window.seconds(),
            is_new: *window > now,
        };
        self.windows.iter().map(turn).filter(move |turn| turn.at > now.seconds())
    }
}

/// The id of the manifest of a schedule for a cluster's turn: the same for every scheduler and every run, so that what
/// was decided about a turn stays decided (`contract/mimo.md` "Do better" 7). `attempt` counts manifests that the
/// scheduler itself took back.
pub fn scheduled_id(schedule: &str, cluster: &str, turn: i64, attempt: u32) -> String {
    let text = format!("{schedule}\n{cluster}\n{turn}\n{attempt}");
    let digest = sha256(text.as_bytes()).0;
    let mut uuid = [0u8; 16];
    uuid.copy_from_slice(&digest[..16]);
    // A UUID of version 8 (RFC 9562): its bits are the application's.
    uuid[6] = uuid[6] & 0x0F | 0x80;
    uuid[8] = uuid[8] & 0x3F | 0x80;
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::Task;
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn rules(calendar: &str, ahead: usize, across: Duration) -> Rules {
        Rules {
            task: Task::FixSsh,
            calendar: calendar.parse().unwrap(),
            ahead,
            spread: Spread::of_one_wave(across),
            start_within: HOUR,
            stop_at: None,
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn windows_that_are_open_are_kept_and_get_nothing_new() {
        let plan = Plan::new(&rules("*-*-* 0:00", 2, Duration::from_hours(72)), at("2026-11-27T12:00:00Z"));
        let days: Vec<String> = plan.windows.iter().map(ToString::to_string).collect();
        let day = |day: &str| format!("2026-{day}T00:00:00Z");
        assert_eq!(days, ["11-25", "11-26", "11-27", "11-28", "11-29"].map(day));
        let turns: Vec<_> = plan.turns("/c").collect();
        assert!(turns.iter().all(|turn| turn.at > plan.now.seconds() && turn.window <= turn.at));
        assert_eq!(turns.iter().filter(|turn| turn.is_new).count(), 2);
    }

    #[test]
    fn a_calendar_that_ends_leaves_what_is_open() {
        let one = rules("2026-11-27 0:00", 3, Duration::from_hours(48));
        assert_eq!(Plan::new(&one, at("2026-11-27T12:00:00Z")).windows.len(), 1);
        assert!(Plan::new(&one, at("2026-12-27T12:00:00Z")).is_empty());
    }

    #[test]
    fn ids_are_uuids_and_differ_by_every_part() {
        let id = scheduled_id("s", "c", 1, 0);
        assert_eq!(id, scheduled_id("s", "c", 1, 0));
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'8'));
        for other in [("t", "c", 1, 0), ("s", "d", 1, 0), ("s", "c", 2, 0), ("s", "c", 1, 1)] {
            assert_ne!(id, scheduled_id(other.0, other.1, other.2, other.3));
        }
    }

    proptest! {
        /// A clock that jumps changes which turns are to come, never when they are.
        #[test]
        fn turns_do_not_depend_on_when_they_are_planned(
            from in 1_767_225_600i64..1_830_297_600,
            jump in -40_000i64..40_000,
            hours in 1u64..60,
            name in "[a-z]{1,12}",
        ) {
            let rules = rules("*-*-* 3:15", 3, Duration::from_hours(hours));
            let before = Plan::new(&rules, Timestamp::from_seconds(from));
            let after = Plan::new(&rules, Timestamp::from_seconds(from + jump));
            let turns = |plan: &Plan| plan.turns(&name).map(|turn| turn.at).collect::<Vec<_>>();
            let (first, second) = (turns(&before), turns(&after));
            let last = *first.last().unwrap().min(second.last().unwrap());
            let later = from.max(from + jump);
            let common = |turns: &[i64]| {
                turns.iter().copied().filter(|turn| *turn > later && *turn <= last).collect::<Vec<_>>()
            };
            prop_assert_eq!(common(&first), common(&second));
        }
    }
}
