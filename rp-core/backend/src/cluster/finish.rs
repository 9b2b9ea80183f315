//! The ends of a turn. Each makes sure that the lease is ours before it writes anything: it was renewed within a heartbeat,
//! or the document is read. Then it is tried until it is written or the lease is lost: then somebody else finds the
//! document as it was.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, chain};
use rp_database::{StoreError, Typed};
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::End;
use rp_documents::{AsyncOperationDocument, ClusterDocument, Leased as _, Reservation};
use tokio::time::sleep;

use super::Work;
use crate::dimensions::{self, Told};
use crate::end::{self, Wrong, state_of};
use crate::leased_document::LeaseError;
use crate::metrics::Turn;
use crate::operation::{self, Ended};
use crate::{qos, reservation};

impl Work {
    /// The operation, or its phase, came to an end.
    pub(super) async fn finish(&self, told: &str, end: End, wrong: Option<Wrong>) -> Turn {
        if let Some(wrong) = &wrong {
            log(wrong);
        }
        let ended = self.insist(|| self.try_finish(end, wrong.as_ref())).await;
        if ended.is_err() {
            return self.lost();
        }
        if end == End::NextPhase {
            return Turn::NextPhase;
        }
        self.tell(told, end, wrong.as_ref());
        match &wrong {
            None => Turn::Succeeded,
            Some(wrong) if wrong.status < 500 => Turn::UserError,
            Some(_) => Turn::InternalError,
        }
    }

    async fn try_finish(&self, end: End, wrong: Option<&Wrong>) -> Result<(), LeaseError> {
        if end != End::NextPhase {
            let operations = self.operations();
            let early = self.found.lock().take();
            let (found, body) = match early {
                // Whoever wrote it since the work began has another version: then it is looked for.
                Some(found) => (found, self.leased.fresh().await?),
                None => {
                    let found = operation::find(&operations, &self.body).await.map_err(store)?;
                    (found, self.leased.read().await?)
                }
            };
            let mut after = ClusterDocument::clone(&body);
            end::apply(&mut after, Worker::holding(&body.lease()), end, wrong);
            let ended = Ended {
                body: &body,
                initial: state_of(self.operation),
                end,
                wrong,
                cluster: Some(*after.cluster),
                now: self.context.clock.now(),
            };
            self.journal.end(end.state().name(), wrong.map_or("", |wrong| &wrong.text));
            let (written, told) =
                tokio::join!(operation::end(&operations, found, &ended), self.journal.last_words());
            written.and(told).map_err(store)?;
        } else {
            self.journal.last_words().await.map_err(store)?;
        }
        self.leased.end(&|body, worker| end::apply(body, worker, end, wrong)).await
    }

    /// Everything of the cluster is gone: its names, the operation's result, and last its document.
    pub(super) async fn deleted(&self) -> Turn {
        if self.insist(|| self.try_delete()).await.is_err() {
            return self.lost();
        }
        self.tell(state_of(self.operation).name(), End::Succeeded, None);
        Turn::Succeeded
    }

    async fn try_delete(&self) -> Result<(), LeaseError> {
        let operations = self.operations();
        let early = self.found.lock().take();
        let found = match early {
            Some(found) => found,
            None => operation::find(&operations, &self.body).await.map_err(store)?,
        };
        // Read in any case: names that are given back may be another's at once.
        let body = self.leased.read().await?;
        let reservations = Typed::<Reservation>::new(Arc::clone(&self.context.store));
        reservation::release(&reservations, &body).await.map_err(store)?;
        let ended = Ended {
            body: &body,
            initial: state_of(self.operation),
            end: End::Succeeded,
            wrong: None,
            cluster: None,
            now: self.context.clock.now(),
        };
        self.journal.end(End::Succeeded.state().name(), "");
        let (written, told) =
            tokio::join!(operation::end(&operations, found, &ended), self.journal.last_words());
        written.and(told).map_err(store)?;
        self.leased.remove().await
    }

    /// An error of ours: the work waits a while, longer each time, and is not counted against the cluster.
    pub(super) async fn put_off(&self, why: &str) -> Turn {
        let retries = self.leased.known().await.retries().saturating_add(1);
        let settings = &self.context.settings;
        let wait = grown(settings.retry, retries, settings.retry_most);
        let wait = wait.mul_f64(0.5 + self.context.random.unit() / 2.0);
        tracing::error!(error = why, retries, wait = wait.as_secs_f64(), "put off");
        self.journal.say("warning", &format!("Put off for {} s: {why}", wait.as_secs().max(1)));
        self.give_up(wait, false, retries, Turn::Later).await
    }

    /// The process stops: anybody goes on from the saved step, after `pause`: when a step was cut off in its middle, what
    /// it asked of Azure last may still be under way, and the next owner must not meet it.
    pub(super) async fn hand_over(&self, pause: Duration) -> Turn {
        let retries = self.leased.known().await.retries();
        self.journal.say("info", "Handed over: this process stops.");
        self.give_up(pause, false, retries, Turn::HandedOver).await
    }

    /// An attempt that failed: counted, and soon tried again by anybody.
    pub(super) async fn panicked(&self, said: &str) -> Turn {
        tracing::error!(panic = said, "the operation panicked");
        self.journal.say("error", &format!("This attempt ended in a panic: {said}"));
        let settings = &self.context.settings;
        let wait = grown(settings.retry / 10, self.dequeues, settings.lease);
        self.give_up(wait, true, 0, Turn::Panicked).await
    }

    pub(super) fn lost(&self) -> Turn {
        tracing::error!("lost lease: another worker goes on");
        Turn::Lost
    }

    async fn give_up(&self, wait: Duration, counts: bool, retries: u32, turn: Turn) -> Turn {
        let release = || async {
            let _ = self.journal.flush().await;
            // A lease is free from the second after its end, so that whole seconds are rounded down.
            let expires =
                if wait.is_zero() { 0 } else { (self.context.time.now() + wait).seconds().saturating_sub(1) };
            let release = |body: &mut ClusterDocument, worker| {
                end::release(body, expires, counts);
                body.set_retries(worker, retries);
            };
            self.leased.end(&release).await
        };
        if self.insist(release).await.is_err() { self.lost() } else { turn }
    }

    /// Tries until it is done or the lease is lost.
    async fn insist<F: Future<Output = Result<(), LeaseError>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<(), LeaseError> {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
        loop {
            let tried = tokio::select! {
                tried = attempt() => tried,
                () = self.leased.lost.cancelled() => Err(LeaseError::Lost),
            };
            match tried {
                Err(LeaseError::Store(error)) => {
                    tracing::warn!(error, "the end of an operation was not written: again");
                    sleep(backoff.step(self.context.random.as_ref())).await;
                }
                Err(LeaseError::Ended) => return Ok(()),
                settled => return settled,
            }
        }
    }

    pub(super) fn operations(&self) -> Typed<AsyncOperationDocument> {
        Typed::new(Arc::clone(&self.context.store))
    }

    fn tell(&self, told: &str, end: End, wrong: Option<&Wrong>) {
        let initial = state_of(self.operation).name();
        qos::log(&self.body, initial, wrong);
        dimensions::emit(&self.context, &Told { body: &self.body, operation: told, initial, end, wrong });
    }
}

/// What was made for the customer is news; the rest is ours.
fn log(wrong: &Wrong) {
    if wrong.told {
        tracing::info!(error = wrong.text, "the operation failed");
    } else {
        tracing::error!(error = wrong.text, "the operation failed");
    }
}

#[expect(clippy::needless_pass_by_value, reason = "maps what a call gave")]
fn store(error: StoreError) -> LeaseError {
    LeaseError::Store(chain(&error).to_string())
}

/// `least`, doubled for each time after the first, at most `most`.
fn grown(least: Duration, times: u32, most: Duration) -> Duration {
    let factor = 2u32.saturating_pow(times.saturating_sub(1).min(20));
    least.saturating_mul(factor).min(most)
}
