//! The session's side of a recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rp_base::{Id, SharedClock, Timestamp};
use rp_config::RecordingPolicy;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::event_buffer::{Event, EventBuffer, WriteRefusal};
use crate::metrics::RecordingMetrics;
use crate::options::PATIENCE;
use crate::{RecordError, StreamKind};

/// Of one event, bytes.
const PIECE: usize = 16 * 1024;

/// Records one session. A cheap clone; the recording ends with [`Recorder::finish`], or as `cut` with
/// the last clone.
#[derive(Debug, Clone)]
pub struct Recorder(pub(crate) Arc<RecorderInner>);

#[derive(Debug)]
pub(crate) struct RecorderInner {
    pub(crate) id: Id,
    pub(crate) page: Option<String>,
    /// The session has a terminal that can show our text, and the address of the recording was not shown yet.
    pub(crate) page_unannounced: AtomicBool,
    pub(crate) policy: RecordingPolicy,
    pub(crate) input: bool,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: RecordingMetrics,
    pub(crate) tape: Arc<EventBuffer>,
    /// Set by the writer when it gave up.
    pub(crate) broken: watch::Receiver<Option<RecordError>>,
    /// The writer has done all it will do, or is gone.
    pub(crate) ended: watch::Receiver<bool>,
    /// Policy wanted: the writer is too slow, the session goes on without.
    pub(crate) given_up: AtomicBool,
}

impl Drop for RecorderInner {
    fn drop(&mut self) {
        self.tape.finish("cut");
    }
}

impl Recorder {
    /// The recording's id, for audit entries and pages.
    pub fn id(&self) -> &Id {
        &self.0.id
    }

    /// The address of its player, for the recorded person; `None`: the settings do not say where the portal is.
    pub fn page(&self) -> Option<&str> {
        self.0.page.as_deref()
    }

    /// [`Self::page`] for the end of a session with a terminal; once.
    pub fn take_page(&self) -> Option<&str> {
        self.page().filter(|_| self.0.page_unannounced.swap(false, Ordering::Relaxed))
    }

    /// Takes down bytes as they pass; waits while the writer is behind. Input is dropped unless the policy records it.
    ///
    /// # Errors
    /// With policy `required` when the recording broke off: the session must end, with these words.
    pub async fn wrote(&self, what: StreamKind, bytes: &[u8]) -> Result<(), RecordError> {
        if what == StreamKind::Input && !self.0.input {
            return Ok(());
        }
        let at = self.0.clock.now();
        for piece in bytes.chunks(PIECE) {
            self.tell(at, Event::Wrote(what, piece)).await?;
        }
        Ok(())
    }

    /// Takes down the terminal's new size.
    ///
    /// # Errors
    /// As [`Recorder::wrote`].
    pub async fn resized(&self, cols: u16, rows: u16) -> Result<(), RecordError> {
        self.tell(self.0.clock.now(), Event::Other("r", &format!("{cols}x{rows}"))).await
    }

    /// Records a remark: it is shown as a mark in the player.
    ///
    /// # Errors
    /// As [`Recorder::wrote`].
    pub async fn marked(&self, words: &str) -> Result<(), RecordError> {
        let words = rp_base::text::clean(words, 200);
        self.tell(self.0.clock.now(), Event::Other("m", &words)).await
    }

    /// The session's data cannot be decoded for the recording any more: a mark records that.
    ///
    /// # Errors
    /// With policy `required`: the session must end, with these words.
    pub async fn unreadable(&self, why: &'static str) -> Result<(), RecordError> {
        self.0.metrics.failures.inc();
        tracing::error!(recording = %self.0.id, why, "what passes cannot be read for its recording");
        self.marked(&format!("not recorded from here on: {why}")).await?;
        match self.0.policy {
            RecordingPolicy::Required => Err(RecordError::Unreadable(why)),
            RecordingPolicy::Off | RecordingPolicy::Wanted => Ok(()),
        }
    }

    /// Ends when the session must end because it cannot be recorded any more; never with policy `wanted`.
    pub async fn failed(&self) -> RecordError {
        let mut broken = self.0.broken.clone();
        if self.0.policy == RecordingPolicy::Required
            && let Ok(found) = broken.wait_for(Option::is_some).await
        {
            return found.clone().unwrap_or(RecordError::Ended);
        }
        std::future::pending().await
    }

    /// Ends the recording and waits until it stands: `exit 0`, `signal KILL`, `revoked`. The first one counts.
    pub async fn finish(&self, outcome: &str) {
        self.0.tape.finish(&rp_base::text::clean(outcome, 200));
        let _ = self.0.ended.clone().wait_for(|ended| *ended).await;
    }

    async fn tell(&self, at: Timestamp, event: Event<'_>) -> Result<(), RecordError> {
        let taps = &*self.0;
        let lost = match event {
            Event::Wrote(_, bytes) => bytes.len() as u64,
            Event::Other(..) => 0,
        };
        if taps.given_up.load(Ordering::Relaxed) {
            taps.metrics.lost.add(lost);
            return Ok(());
        }
        let written = match taps.tape.try_write(at, event) {
            Err(WriteRefusal::Full) => timeout(PATIENCE, taps.tape.write(at, event)).await,
            settled => Ok(settled),
        };
        let error = match written {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => taps.broken.borrow().clone().unwrap_or(RecordError::Ended),
            Err(_) => RecordError::Late,
        };
        if taps.policy == RecordingPolicy::Required {
            return Err(error);
        }
        if !taps.given_up.swap(true, Ordering::Relaxed) && matches!(error, RecordError::Late) {
            taps.metrics.failures.inc();
            tracing::error!(recording = %taps.id, "the recording is not stored in time; the session goes on without");
        }
        taps.metrics.lost.add(lost);
        Ok(())
    }
}
