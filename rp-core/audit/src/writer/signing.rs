//! What the writer signs: checkpoints, at most one in each period.

use rp_base::chain;
use rp_database::{Draft, StoreError};
use rp_documents::Collection;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{COMMIT, Status, Writer};
use crate::AuditError;
use crate::checkpoint::SignedCheckpoint;

impl Writer {
    /// Signs and stores a checkpoint when the head has moved, and logs it: the way out of the store.
    pub(super) async fn checkpoint(&mut self, told: &watch::Sender<Status>) {
        let others = self.heads.unsigned(&self.head.writer);
        if self.checkpoints.behind(&self.head) == 0 && others.is_empty() {
            return;
        }
        let now = self.clock.now();
        let outcome = match self.checkpoints.next(&self.head, others, now, &self.options.key) {
            Ok((signed, draft)) => self.keep(signed, draft).await.map_err(AuditError::from),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(signed) => {
                self.checkpoints.stored(&signed);
                // A try whose answer got lost may have signed earlier heads.
                let others = signed.read().map(|statement| statement.others).unwrap_or_default();
                self.heads.signed(&self.head.writer, &others);
                self.metrics.checkpoints.inc();
                told.send_modify(|status| {
                    status.checkpoint = signed.proof();
                    status.unsigned = 0;
                });
                let (key, signature) = (&signed.key, &signed.signature);
                tracing::info!(target: "audit.checkpoint", statement = %signed.statement, key, signature, "checkpoint");
            }
            // The next one covers what this one would have.
            Err(error) => {
                self.metrics.checkpoint_failures.inc();
                tracing::error!(error = %chain(&error), "audit checkpoint not stored");
            }
        }
    }

    /// Stores a checkpoint. One that stands there already is ours, of a try whose answer got lost.
    async fn keep(&self, signed: SignedCheckpoint, draft: Draft) -> Result<SignedCheckpoint, StoreError> {
        let late = |_| StoreError::Unavailable("the store took too long".into());
        let id = draft.id.clone();
        match timeout(COMMIT, self.store.create(Collection::Checkpoints, draft)).await.map_err(late)? {
            Ok(_) => Ok(signed),
            Err(exists @ StoreError::Exists { .. }) => {
                let stored =
                    timeout(COMMIT, self.store.get(Collection::Checkpoints, &id)).await.map_err(late)??;
                let ours =
                    stored.and_then(|stored| serde_json::from_str::<SignedCheckpoint>(&stored.body).ok());
                let key = &self.options.key;
                let good = |c: &SignedCheckpoint| key.check(&c.key, &c.statement, &c.signature) == Some(true);
                ours.filter(good).ok_or(exists)
            }
            Err(error) => Err(error),
        }
    }
}
