//! The ends of a turn. Each checks that the lease is held before it writes anything: it was renewed within a heartbeat,
//! or the document is read. The write is repeated until it succeeds or the lease is lost; then another worker finds the
//! document unchanged.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Backoff, chain};
use rp_database::{StoreError, Typed};
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::{AsyncOperationDocument, ClusterDocument, Leased as _, Reservation};
use tokio::time::sleep;

use super::ClusterWork;
use crate::completion::{self, OperationFailure, state_of};
use crate::dimensions::{self, TerminalOperation};
use crate::leased_document::LeaseError;
use crate::metrics::TurnOutcome;
use crate::operation::{self, OperationResult};
use crate::{qos, reservation};

impl ClusterWork {
    /// The operation, or its phase, came to an end.
    pub(super) async fn finish(
        &self,
        operation: &str,
        end: OperationEnd,
        failure: Option<OperationFailure>,
    ) -> TurnOutcome {
        if let Some(failure) = &failure {
            log(failure);
        }
        let ended = self.retry_until_written(|| self.try_finish(end, failure.as_ref())).await;
        if ended.is_err() {
            return self.lost();
        }
        if end == OperationEnd::NextPhase {
            return TurnOutcome::NextPhase;
        }
        self.report(operation, end, failure.as_ref());
        match &failure {
            None => TurnOutcome::Succeeded,
            Some(failure) if failure.status < 500 => TurnOutcome::UserError,
            Some(_) => TurnOutcome::InternalError,
        }
    }

    async fn try_finish(
        &self,
        end: OperationEnd,
        failure: Option<&OperationFailure>,
    ) -> Result<(), LeaseError> {
        if end != OperationEnd::NextPhase {
            let operations = self.operations();
            let early = self.found.lock().take();
            let (found, body) = match early {
                // A writer since the work began made another version: then it is looked for.
                Some(found) => (found, self.leased.fresh().await?),
                None => {
                    let found = operation::find(&operations, &self.body).await.map_err(store)?;
                    (found, self.leased.read().await?)
                }
            };
            let mut after = ClusterDocument::clone(&body);
            completion::apply(&mut after, Worker::holding(&body.lease()), end, failure);
            let ended = OperationResult {
                body: &body,
                initial: state_of(self.operation),
                end,
                failure,
                cluster: Some(*after.cluster),
                now: self.context.clock.now(),
            };
            self.journal.end(end.state().name(), failure.map_or("", |failure| &failure.text));
            let (written, told) =
                tokio::join!(operation::end(&operations, found, &ended), self.journal.flush_final());
            written.and(told).map_err(store)?;
        } else {
            self.journal.flush_final().await.map_err(store)?;
        }
        self.leased.end(&|body, worker| completion::apply(body, worker, end, failure)).await
    }

    /// Everything of the cluster is gone: its names, the operation's result, and last its document.
    pub(super) async fn deleted(&self) -> TurnOutcome {
        if self.retry_until_written(|| self.try_delete()).await.is_err() {
            return self.lost();
        }
        self.report(state_of(self.operation).name(), OperationEnd::Succeeded, None);
        TurnOutcome::Succeeded
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
        let ended = OperationResult {
            body: &body,
            initial: state_of(self.operation),
            end: OperationEnd::Succeeded,
            failure: None,
            cluster: None,
            now: self.context.clock.now(),
        };
        self.journal.end(OperationEnd::Succeeded.state().name(), "");
        let (written, told) =
            tokio::join!(operation::end(&operations, found, &ended), self.journal.flush_final());
        written.and(told).map_err(store)?;
        self.leased.remove().await
    }

    /// An error of ours: the work waits a while, longer each time, and is not counted against the cluster.
    pub(super) async fn postpone(&self, why: &str) -> TurnOutcome {
        let retries = self.leased.cached().await.retries().saturating_add(1);
        let settings = &self.context.settings;
        let wait = exponential_delay(settings.retry, retries, settings.retry_most);
        let wait = wait.mul_f64(0.5 + self.context.random.unit() / 2.0);
        tracing::error!(error = why, retries, wait = wait.as_secs_f64(), "put off");
        self.journal.record_line("warning", &format!("Put off for {} s: {why}", wait.as_secs().max(1)));
        self.release_lease(wait, false, retries, TurnOutcome::Later).await
    }

    /// The process stops: anybody goes on from the saved step, after `pause`: when a step was cut off in its middle,
    /// what it asked of Azure last may still be under way, and the next owner must not meet it.
    pub(super) async fn hand_over(&self, pause: Duration) -> TurnOutcome {
        let retries = self.leased.cached().await.retries();
        self.journal.record_line("info", "Handed over: this process stops.");
        self.release_lease(pause, false, retries, TurnOutcome::HandedOver).await
    }

    /// An attempt that failed: counted, and soon tried again by anybody.
    pub(super) async fn panicked(&self, said: &str) -> TurnOutcome {
        tracing::error!(panic = said, "the operation panicked");
        self.journal.record_line("error", &format!("This attempt ended in a panic: {said}"));
        let settings = &self.context.settings;
        let wait = exponential_delay(settings.retry / 10, self.dequeues, settings.lease);
        self.release_lease(wait, true, 0, TurnOutcome::Panicked).await
    }

    pub(super) fn lost(&self) -> TurnOutcome {
        tracing::error!("lost lease: another worker goes on");
        TurnOutcome::Lost
    }

    async fn release_lease(
        &self,
        wait: Duration,
        counts: bool,
        retries: u32,
        turn: TurnOutcome,
    ) -> TurnOutcome {
        let release = || async {
            let _ = self.journal.flush().await;
            // A lease is free from the second after its end, so that whole seconds are rounded down.
            let expires =
                if wait.is_zero() { 0 } else { (self.context.time.now() + wait).seconds().saturating_sub(1) };
            let release = |body: &mut ClusterDocument, worker| {
                completion::release(body, expires, counts);
                body.set_retries(worker, retries);
            };
            self.leased.end(&release).await
        };
        if self.retry_until_written(release).await.is_err() { self.lost() } else { turn }
    }

    /// Tries until it is done or the lease is lost.
    async fn retry_until_written<F: Future<Output = Result<(), LeaseError>>>(
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

    fn report(&self, operation: &str, end: OperationEnd, failure: Option<&OperationFailure>) {
        let initial = state_of(self.operation).name();
        qos::log(&self.body, initial, failure);
        dimensions::emit(
            &self.context,
            &TerminalOperation { body: &self.body, operation, initial, end, failure },
        );
    }
}

/// Errors for the customer are logged as information, internal ones as errors.
fn log(failure: &OperationFailure) {
    if failure.for_customer {
        tracing::info!(error = failure.text, "the operation failed");
    } else {
        tracing::error!(error = failure.text, "the operation failed");
    }
}

#[expect(clippy::needless_pass_by_value, reason = "maps what a call gave")]
fn store(error: StoreError) -> LeaseError {
    LeaseError::Store(chain(&error).to_string())
}

/// `least`, doubled for each time after the first, at most `most`.
fn exponential_delay(least: Duration, times: u32, most: Duration) -> Duration {
    let factor = 2u32.saturating_pow(times.saturating_sub(1).min(20));
    least.saturating_mul(factor).min(most)
}
