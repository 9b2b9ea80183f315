//! Renews a lease while its holder works (`contract/backend.md` §3.4).

use std::sync::Arc;
use std::time::Duration;

use rp_documents::Leased;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::DropGuard;

use crate::context::Context;
use crate::leased_document::{LeaseError, LeasedDocument};
use crate::settings::margin;

/// Renews until dropped or the lease is lost, which cancels `leased.lost`. The claim was the first
/// renewal. A failed renewal is retried soon, and given up a margin before others may claim the document. A panic also
/// cancels.
pub(crate) async fn renew_until_lost<D: Leased>(context: Arc<Context>, leased: Arc<LeasedDocument<D>>) {
    let lost: DropGuard = leased.lost.clone().drop_guard();
    let settings = &context.settings;
    let quick = (settings.heartbeat / 10).max(Duration::from_millis(5));
    loop {
        let renewed = leased.renewed();
        let deadline = renewed + settings.lease.saturating_sub(margin(settings));
        sleep_until((renewed + settings.heartbeat).min(deadline)).await;
        // A write of the work itself may have renewed it meanwhile.
        if leased.renewed() != renewed {
            continue;
        }
        if Instant::now() >= deadline {
            tracing::error!("the lease could not be renewed in time");
            break;
        }
        match timeout_at(deadline, leased.renew()).await {
            Ok(Ok(()) | Err(LeaseError::Ended)) => {
                // Written, but not for long: the store's clock differs from what we took it for.
                if leased.renewed() == renewed {
                    sleep(quick).await;
                }
            }
            Ok(Err(LeaseError::Lost)) => break,
            Ok(Err(LeaseError::Store(error))) => {
                tracing::warn!(error, "a lease was not renewed: again soon");
                context.metrics.heartbeat_failed();
                sleep(quick.mul_f64(0.5 + context.random.unit())).await;
            }
            Err(_) => {
                tracing::error!("the lease could not be renewed in time");
                break;
            }
        }
    }
    context.metrics.lease_lost();
    drop(lost);
}
