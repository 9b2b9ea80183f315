//! How the end of a run is written into its manifest (`contract/mimo.md` §4 table 5).

use std::time::Duration;

use rp_base::Timestamp;
use rp_base::text::clean;
use rp_database::Versioned;
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{ManifestState, ManifestStep};

use crate::task::TaskError;

/// Characters of a text that people are shown.
const SHOWN: usize = 2000;

/// What is written at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) state: ManifestState,
    pub(super) text: String,
    /// How long it waits before it may start again.
    pub(super) wait: Duration,
    /// The run does not count as a try: nothing failed.
    pub(super) uncounted: bool,
}

/// How failures are repeated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retries {
    /// Starts before it has failed.
    pub(super) attempts: u32,
    pub(super) first: Duration,
    pub(super) most: Duration,
}

impl Retries {
    /// The wait after that many starts: it doubles (`contract/mimo.md` "Do better" 4).
    fn wait(self, dequeues: u32) -> Duration {
        let doublings = dequeues.saturating_sub(1).min(20);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

impl Outcome {
    /// Of a run that was the `dequeues`th start; `None`: the lease was lost, and nothing may be written.
    pub(super) fn of(
        ended: Result<(), TaskError>,
        result: &str,
        dequeues: u32,
        retries: Retries,
    ) -> Option<Self> {
        let of = |state, text: String| Self { state, text, wait: Duration::ZERO, uncounted: false };
        let outcome = match ended {
            Ok(()) => of(ManifestState::Completed, result.to_owned()),
            Err(TaskError::Lost) => return None,
            Err(TaskError::HandedOver) => {
                let text = "waits: it was put off after a step, and goes on from there".to_owned();
                Self { uncounted: true, ..of(ManifestState::Pending, text) }
            }
            Err(error) if dequeues >= retries.attempts => {
                of(ManifestState::RetriesExceeded, exceeded(dequeues, &error.to_string()))
            }
            Err(error @ TaskError::Transient(_)) => {
                Self { wait: retries.wait(dequeues), ..of(ManifestState::Pending, error.to_string()) }
            }
            Err(error @ TaskError::Terminal(_)) => of(ManifestState::Failed, error.to_string()),
        };
        Some(Self { text: clean(&outcome.text, SHOWN), ..outcome })
    }

    /// That of a manifest that was started too often, by processes that ended each time.
    pub(super) fn worn_out(dequeues: u32) -> Self {
        let text = exceeded(dequeues, "the process that ran it ended each time");
        Self { state: ManifestState::RetriesExceeded, text, wait: Duration::ZERO, uncounted: false }
    }

    /// That of a manifest that cannot be run at all.
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self { state: ManifestState::Failed, text: text.into(), wait: Duration::ZERO, uncounted: false }
    }

    /// The document as it is stored, with the steps that ended since the last save; `None`: it is in another state already.
    pub(super) fn write(
        &self,
        found: Versioned<ManifestDocument>,
        steps: &[ManifestStep],
        now: Timestamp,
    ) -> Option<Versioned<ManifestDocument>> {
        let mut ended = found.try_map(|one| one.with_state(self.state, self.text.clone(), now))?;
        let value = &mut ended.value;
        value.maintenance_manifest.add_steps(steps);
        if !self.wait.is_zero() {
            value.maintenance_manifest.retry_after = (now + self.wait).seconds();
        }
        if self.uncounted {
            value.dequeues = value.dequeues.saturating_sub(1);
        }
        Some(ended)
    }
}

fn exceeded(dequeues: u32, error: &str) -> String {
    format!("did not succeed after {dequeues} times, failing -- {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRIES: Retries =
        Retries { attempts: 5, first: Duration::from_secs(90), most: Duration::from_secs(1800) };

    fn outcome(ended: Result<(), TaskError>, dequeues: u32) -> (ManifestState, String, u64) {
        let outcome = Outcome::of(ended, "done", dequeues, RETRIES).unwrap();
        (outcome.state, outcome.text, outcome.wait.as_secs())
    }

    #[test]
    fn each_end_has_its_state_and_text() {
        let transient = || Err(TaskError::Transient("no answer".into()));
        let terminal = || Err(TaskError::Terminal("no such object".into()));
        assert_eq!(outcome(Ok(()), 9), (ManifestState::Completed, "done".into(), 0));
        assert_eq!(outcome(transient(), 1), (ManifestState::Pending, "TransientError: no answer".into(), 90));
        assert_eq!(outcome(transient(), 3).2, 360);
        assert_eq!(
            outcome(terminal(), 1),
            (ManifestState::Failed, "TerminalError: no such object".into(), 0)
        );
        for error in [transient(), terminal()] {
            let text = format!("did not succeed after 5 times, failing -- {}", error.clone().unwrap_err());
            assert_eq!(outcome(error, 5), (ManifestState::RetriesExceeded, text, 0));
        }
        assert_eq!(Outcome::of(Err(TaskError::Lost), "", 1, RETRIES), None);
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<u64> = (1..8).map(|dequeues| RETRIES.wait(dequeues).as_secs()).collect();
        assert_eq!(waits, [90, 180, 360, 720, 1440, 1800, 1800]);
        assert_eq!(RETRIES.wait(u32::MAX), RETRIES.most);
    }

    #[test]
    fn what_was_handed_over_is_not_a_try() {
        let outcome = Outcome::of(Err(TaskError::HandedOver), "", 5, RETRIES).unwrap();
        assert_eq!((outcome.state, outcome.uncounted), (ManifestState::Pending, true));
    }
}
