//! How the clusters of a window are spread over time: in one go, or in waves, of which each begins after the one before
//! could show what the task does.

use std::time::Duration;

use super::schedule::Problem;

/// Waves of one schedule.
const MOST_WAVES: usize = 10;
/// From the beginning of a window to the end of its last wave at most.
const LONGEST: Duration = Duration::from_hours(31 * 24);

/// The spread of one schedule, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// Over how long the clusters of one wave are spread.
    across: Duration,
    /// The share of all clusters, in percent, whose turn is over at the end of each wave: ascending, the last is 100.
    ends: Vec<u8>,
    /// From the beginning of one wave to the beginning of the next.
    every: Duration,
}

impl Spread {
    /// All clusters in one go.
    pub fn of_one_wave(across: Duration) -> Self {
        Self { across, ends: vec![100], every: Duration::ZERO }
    }

    /// In waves that end at these shares; none: in one go.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub(super) fn new(across: Duration, waves: &[i64], every: Option<Duration>) -> Result<Self, Problem> {
        let spread = match (waves, every) {
            ([], None) => Self::of_one_wave(across),
            ([], Some(_)) => return Err(Problem::new("waveEvery", "Must not be provided without waves")),
            (waves, every) => Self::in_waves(across, waves, every)?,
        };
        if spread.whole() > LONGEST {
            let target = if spread.ends.len() > 1 { "waves" } else { "scheduleAcross" };
            let message = match target {
                "waves" => "Must end within 744h of the beginning of their window",
                _ => "Must be at most 744h",
            };
            return Err(Problem::new(target, message));
        }
        Ok(spread)
    }

    fn in_waves(across: Duration, waves: &[i64], every: Option<Duration>) -> Result<Self, Problem> {
        let wrong = || {
            let message = format!(
                "Must be at most {MOST_WAVES} percentages of the clusters that ascend from 1 and end with 100"
            );
            Problem::new("waves", message)
        };
        let percent = |wave: &i64| u8::try_from(*wave).ok().filter(|wave| (1..=100).contains(wave));
        let ends: Vec<u8> = waves.iter().map(percent).collect::<Option<_>>().ok_or_else(wrong)?;
        if ends.len() > MOST_WAVES || !ends.is_sorted_by(|a, b| a < b) || ends.last() != Some(&100) {
            return Err(wrong());
        }
        let every = match every {
            Some(every) => every,
            None if ends.len() == 1 => across,
            None => return Err(Problem::new("waveEvery", "Must be provided with waves")),
        };
        if every < across {
            return Err(Problem::new("waveEvery", "Must be at least scheduleAcross"));
        }
        Ok(Self { across, ends, every })
    }

    /// From the beginning of a window to the end of its last wave.
    pub fn whole(&self) -> Duration {
        let before_last = u32::try_from(self.ends.len().saturating_sub(1)).unwrap_or(u32::MAX);
        self.every.saturating_mul(before_last).saturating_add(self.across)
    }

    /// How long after the beginning of a window a cluster has its turn, in whole seconds: by the CRC-32 of its lower-cased
    /// resource id as a share of all, so always at the same place (`contract/mimo.md` §6).
    pub fn offset(&self, cluster: &str) -> Duration {
        let (wave, from) = self.wave_of(cluster);
        let end = self.ends.get(wave).copied().unwrap_or(100);
        let within = (share(cluster) - from) / (f64::from(end) / 100.0 - from);
        let before = self.every.saturating_mul(u32::try_from(wave).unwrap_or(u32::MAX));
        before.saturating_add(placed(within, self.across))
    }

    /// Whether the wave of a cluster has begun so long after the beginning of the window.
    pub fn has_begun(&self, cluster: &str, since: Duration) -> bool {
        let wave = u32::try_from(self.wave_of(cluster).0).unwrap_or(u32::MAX);
        self.every.saturating_mul(wave) <= since
    }

    /// The number of a cluster's wave, from 0, and the share at which that wave begins.
    fn wave_of(&self, cluster: &str) -> (usize, f64) {
        let share = share(cluster);
        let of = |end: &u8| f64::from(*end) / 100.0;
        let wave = self.ends.iter().position(|end| share < of(end));
        // The share of the last cluster is 1.
        let wave = wave.unwrap_or(self.ends.len().saturating_sub(1));
        (wave, wave.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0.0, of))
    }
}

/// The place of a cluster among all, from 0 to 1.
fn share(cluster: &str) -> f64 {
    f64::from(crc32(cluster.as_bytes())) / f64::from(u32::MAX)
}

/// A place from 0 to 1 as whole seconds within that time, its last second left out.
fn placed(place: f64, across: Duration) -> Duration {
    let Some(most) = across.checked_sub(Duration::from_secs(1)).filter(|most| !most.is_zero()) else {
        return Duration::ZERO;
    };
    let seconds = (most.as_secs_f64() * place.clamp(0.0, 1.0)).round();
    Duration::try_from_secs_f64(seconds).unwrap_or(most)
}

/// CRC-32 of IEEE 802.3, reflected.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn id(n: u32) -> String {
        format!("/subscriptions/s/resourcegroups/g/providers/p/c/cluster-{n}")
    }

    #[test]
    fn the_checksum_is_ieees() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn offsets_are_spread_evenly_and_stay_within() {
        let across = 24 * HOUR;
        let mut counts = [0u32; 24];
        for n in 0..24_000 {
            let offset = Spread::of_one_wave(across).offset(&id(n));
            assert!(offset < across);
            counts[usize::try_from(offset.as_secs() / 3600).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        for short in [Duration::from_secs(1), Duration::ZERO] {
            assert_eq!(Spread::of_one_wave(short).offset("x"), Duration::ZERO);
        }
    }

    #[test]
    fn each_wave_has_its_share_and_is_spread_by_itself() {
        let spread = Spread::new(HOUR, &[5, 25, 100], Some(24 * HOUR)).unwrap();
        assert_eq!(spread.whole(), 49 * HOUR);
        let mut waves = [0u32; 3];
        let mut firsts = [HOUR; 3];
        for n in 0..10_000 {
            let offset = spread.offset(&id(n));
            let wave = usize::try_from(offset.as_secs() / (24 * 3600)).unwrap();
            let within = offset - 24 * HOUR * u32::try_from(wave).unwrap();
            assert!(within < HOUR, "{offset:?}");
            firsts[wave] = firsts[wave].min(within);
            waves[wave] += 1;
            for (since, begun) in [(Duration::ZERO, 1), (24 * HOUR, 2), (47 * HOUR, 2), (48 * HOUR, 3)] {
                assert_eq!(spread.has_begun(&id(n), since), wave < begun, "{n} after {since:?}");
            }
        }
        let [first, second, third] = waves;
        assert!((430..570).contains(&first) && (1880..2120).contains(&second), "{waves:?}");
        assert_eq!(first + second + third, 10_000);
        assert!(firsts.iter().all(|first| *first < Duration::from_secs(60)), "{firsts:?}");
    }

    #[test]
    fn waves_ascend_to_all_and_have_their_distance() {
        let wrong = |waves: &[i64], every: Option<Duration>| Spread::new(HOUR, waves, every).unwrap_err();
        let many: Vec<i64> = (1..11).chain([100]).collect();
        for waves in [&[5, 25][..], &[25, 5, 100], &[5, 5, 100], &[0, 100], &[5, 101], &[-1, 100], &many] {
            let problem = wrong(waves, Some(HOUR));
            assert!(problem.target == "waves" && problem.message.contains("end with 100"), "{waves:?}");
        }
        assert_eq!(wrong(&[], Some(HOUR)).message, "Must not be provided without waves");
        assert_eq!(wrong(&[5, 100], None).message, "Must be provided with waves");
        assert_eq!(wrong(&[5, 100], Some(HOUR / 2)).message, "Must be at least scheduleAcross");
        assert_eq!(wrong(&[5, 100], Some(800 * HOUR)).target, "waves");
        assert_eq!(Spread::new(745 * HOUR, &[], None).unwrap_err().target, "scheduleAcross");
        assert_eq!(Spread::new(HOUR, &[100], None).unwrap().whole(), HOUR);
    }
}
