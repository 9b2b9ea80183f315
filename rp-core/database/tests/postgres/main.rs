//! The store on a real PostgreSQL.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod copying;
mod faults;
mod kill;
#[path = "../kill/killing.rs"]
mod killing;
mod plans;
mod replicas;
mod rules;
mod server;
mod together;

use std::time::Duration;

use rp_database::Draft;
use rp_documents::Collection;

const ANY: Collection = Collection::ImportedClusters;
/// Long enough for any machine; the tests wait on conditions, not on time.
const DEADLINE: Duration = Duration::from_secs(60);

fn draft(id: &str) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: None,
        body: format!(r#"{{"id":"{id}"}}"#),
        expires_at: None,
    }
}

/// Waits for a condition.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let patience = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, patience).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}
