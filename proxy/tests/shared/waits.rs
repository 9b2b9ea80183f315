//! Waits with a generous limit, which say what they wait for.

use std::time::Duration;

use rp_audit::{Audit, Query};
use rp_documents::Entry;

/// Far more than anything here needs: speed is asserted in benchmarks.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// Waits until a look finds what it looks for.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(what, looking).await
}

pub(crate) async fn soon<T>(what: &str, awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, awaited).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}

/// Waits until the audit trail holds an entry that a look accepts.
pub(crate) async fn audited(audit: &Audit, what: &str, look: impl Fn(&Entry) -> bool) -> Entry {
    until(what, async || {
        let found = audit.search(&Query { limit: 500, ..Query::default() }).await.unwrap();
        found.entries.into_iter().find(|entry| look(entry))
    })
    .await
}
