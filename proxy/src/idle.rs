//! Idle timeout of a shell: first a warning, then the end. Pure, so that tests choose the time.

use std::time::Duration;

use tokio::time::Instant;

/// The person is told so long before the end, or a sixth of the limit if that is less.
const BEFORE: Duration = Duration::from_mins(5);

/// The clock of one shell.
#[derive(Debug)]
pub(crate) struct IdleTimer {
    limit: Duration,
    typed: Instant,
    /// The person was told that it ends then.
    end: Option<Instant>,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdleEvent {
    /// The person is told how much is left.
    Tell { left: Duration },
    /// The shell ends.
    End,
}

impl IdleTimer {
    /// A limit of zero is none.
    pub(crate) const fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, typed: now, end: None }
    }

    /// The person did something; whether they had been told that the end is near.
    pub(crate) fn typed(&mut self, now: Instant) -> bool {
        self.typed = now;
        self.end.take().is_some()
    }

    /// When something will be due; `None`: never.
    pub(crate) fn next(&self) -> Option<Instant> {
        let at = || self.end.unwrap_or_else(|| self.typed + (self.limit - self.before()));
        (!self.limit.is_zero()).then(at)
    }

    /// The event that is due at `now`. The warning always comes before the end, however late this is called.
    pub(crate) fn due(&mut self, now: Instant) -> Option<IdleEvent> {
        if now < self.next()? {
            return None;
        }
        if self.end.is_some() {
            return Some(IdleEvent::End);
        }
        let left = self.limit.saturating_sub(now.duration_since(self.typed)).max(self.before());
        self.end = Some(now + left);
        Some(IdleEvent::Tell { left })
    }

    /// What is left when the person was told; `None`: they were not.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(now))
    }

    /// For the sentence at the end.
    pub(crate) const fn limit(&self) -> Duration {
        self.limit
    }

    fn before(&self) -> Duration {
        BEFORE.min(self.limit / 6)
    }
}

/// `30 min`, or `45 s` below two minutes.
pub(crate) fn words(time: Duration) -> String {
    let seconds = time.as_millis().div_ceil(1000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn it_is_said_before_it_ends_and_typing_begins_anew() {
        let start = Instant::now();
        let mut idle = IdleTimer::new(30 * MINUTE, start);
        assert_eq!(idle.next(), Some(start + 25 * MINUTE));
        assert_eq!(idle.due(start + 24 * MINUTE), None);
        assert_eq!(idle.due(start + 25 * MINUTE), Some(IdleEvent::Tell { left: 5 * MINUTE }));
        assert_eq!(idle.due(start + 27 * MINUTE), None);
        assert_eq!(idle.left(start + 27 * MINUTE), Some(3 * MINUTE));
        assert!(idle.typed(start + 28 * MINUTE));
        assert!(!idle.typed(start + 29 * MINUTE));
        assert_eq!(idle.left(start + 29 * MINUTE), None);
        assert_eq!(idle.next(), Some(start + 54 * MINUTE));
        assert_eq!(idle.due(start + 54 * MINUTE), Some(IdleEvent::Tell { left: 5 * MINUTE }));
        assert_eq!(idle.due(start + 59 * MINUTE), Some(IdleEvent::End));
    }

    #[test]
    fn a_short_limit_is_said_in_time_and_none_never_ends() {
        let start = Instant::now();
        let mut idle = IdleTimer::new(Duration::from_secs(60), start);
        assert_eq!(idle.next(), Some(start + Duration::from_secs(50)));
        // The warning comes first even when the deadline has already passed.
        assert_eq!(idle.due(start + 2 * MINUTE), Some(IdleEvent::Tell { left: Duration::from_secs(10) }));
        assert_eq!(idle.due(start + 2 * MINUTE), None);
        assert_eq!(idle.due(start + 2 * MINUTE + Duration::from_secs(10)), Some(IdleEvent::End));
        let mut none = IdleTimer::new(Duration::ZERO, start);
        assert_eq!((none.next(), none.due(start + 1000 * MINUTE)), (None, None));
    }

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        assert_eq!(words(5 * MINUTE), "5 min");
        assert_eq!(words(MINUTE), "60 s");
        assert_eq!(words(Duration::from_millis(9_200)), "10 s");
        assert_eq!(words(Duration::from_millis(299_950)), "5 min");
    }
}
