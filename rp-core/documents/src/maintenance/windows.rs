//! When each cluster has its turn in the windows of a schedule (`contract/mimo.md` §6).

use std::time::Duration;

use rp_base::{Timestamp, sha256};

use super::schedule::Rules;

/// Windows that are open at once and whose manifests are kept: the latest of them.
const MOST_OPEN: usize = 512;

/// The windows that count at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Ascending: those that are still open (`contract/mimo.md` "Do better" 9), then those to come.
    windows: Vec<Timestamp>,
    across: Duration,
    now: Timestamp,
}

impl Plan {
    /// Of a schedule at that time: windows that began less than `across` ago, and the next ones that it looks ahead to.
    pub fn new(rules: &Rules, now: Timestamp) -> Self {
        let across = rules.across;
        let mut windows = Vec::new();
        let mut at = now - across;
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
        Self { windows, across, now }
    }

    /// Whether nothing is to come and nothing is open.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// The turns of a cluster that are still to come, ascending, in Unix seconds; `true`: its window is to come as well,
    /// so that a manifest may be made. In a window that began before nothing new is made.
    pub fn turns(&self, cluster: &str) -> impl Iterator<Item = (i64, bool)> {
        let offset = offset(cluster, self.across);
        let now = self.now;
        self.windows
            .iter()
            .map(move |window| ((*window + offset).seconds(), *window > now))
            .filter(move |(turn, _)| *turn > now.seconds())
    }
}

/// How long after the beginning of a window a cluster has its turn: the CRC-32 of its lower-cased resource id as a share
/// of the spread, in whole seconds.
pub fn offset(cluster: &str, across: Duration) -> Duration {
    let Some(most) = across.checked_sub(Duration::from_secs(1)).filter(|most| !most.is_zero()) else {
        return Duration::ZERO;
    };
    let share = f64::from(crc32(cluster.as_bytes())) / f64::from(u32::MAX);
    let seconds = (most.as_secs_f64() * share).round();
    Duration::try_from_secs_f64(seconds).unwrap_or(most)
}

/// CRC-32 of IEEE 802.3, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
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
    use proptest::prelude::*;

    use super::super::Task;
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn rules(calendar: &str, ahead: usize, across: Duration) -> Rules {
        Rules { task: Task::FixSsh, calendar: calendar.parse().unwrap(), ahead, across, start_within: HOUR }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn the_checksum_is_ieees() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn offsets_are_spread_evenly_and_stay_within() {
        let across = Duration::from_hours(24);
        let mut counts = [0u32; 24];
        for n in 0..24_000 {
            let offset =
                offset(&format!("/subscriptions/s/resourcegroups/g/providers/p/c/cluster-{n}"), across);
            assert!(offset < across);
            counts[usize::try_from(offset.as_secs() / 3600).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!(offset("x", Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(offset("x", Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn windows_that_are_open_are_kept_and_get_nothing_new() {
        let plan = Plan::new(&rules("*-*-* 0:00", 2, Duration::from_hours(72)), at("2026-11-27T12:00:00Z"));
        let days: Vec<String> = plan.windows.iter().map(ToString::to_string).collect();
        let day = |day: &str| format!("2026-{day}T00:00:00Z");
        assert_eq!(days, ["11-25", "11-26", "11-27", "11-28", "11-29"].map(day));
        let turns: Vec<_> = plan.turns("/c").collect();
        assert!(turns.iter().all(|(turn, _)| *turn > plan.now.seconds()));
        assert_eq!(turns.iter().filter(|(_, new)| *new).count(), 2);
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
            let turns = |plan: &Plan| plan.turns(&name).map(|(turn, _)| turn).collect::<Vec<_>>();
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
