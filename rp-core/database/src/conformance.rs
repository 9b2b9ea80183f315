//! What every backend must do (`contract/database.md` §13.7, items 3, 6 to 9 and 11), and what our callers
//! rely on besides: one of two creators wins, `create_all` is atomic, a cancelled caller leaves nothing half
//! done.

mod feed;
mod reads;
mod writes;

use rp_base::{ManualClock, Timestamp};
use rp_documents::Collection;

use crate::{Draft, SharedStore, StoreError};

/// What a backend did otherwise.
#[derive(Debug, thiserror::Error)]
#[error("{item}: {what}")]
pub struct Failure {
    item: &'static str,
    what: String,
}

/// Fails the item when the condition does not hold.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err(crate::conformance::ItemFailure(format!($($what)+)));
        }
    };
}
use ensure;

/// What an item found.
struct ItemFailure(String);

impl From<StoreError> for ItemFailure {
    fn from(error: StoreError) -> Self {
        Self(format!("unexpected error: {}", rp_base::chain(&error)))
    }
}

impl From<tokio::task::JoinError> for ItemFailure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(format!("a task of the test failed: {error}"))
    }
}

type Checked = Result<(), ItemFailure>;

/// Runs every item, each on an empty store of its own whose clock is the given one. Needs a tokio runtime.
///
/// # Errors
/// The first item that fails, and what it saw.
pub async fn run(make: impl AsyncFn() -> (SharedStore, ManualClock)) -> Result<(), Failure> {
    macro_rules! items {
        ($($item:path),+ $(,)?) => {
            $(
                let (store, clock) = make().await;
                let outcome = Box::pin($item(store.clone(), clock)).await;
                store.close().await;
                outcome.map_err(|ItemFailure(what)| Failure { item: stringify!($item), what })?;
            )+
        };
    }
    items!(
        writes::bodies_are_kept_byte_for_byte,
        writes::one_of_two_creators_wins,
        writes::a_taken_key_is_named,
        writes::create_all_is_all_or_nothing,
        writes::a_stale_version_is_refused,
        writes::versions_are_never_used_twice,
        writes::two_writers_lose_no_update,
        writes::unknown_members_survive,
        writes::a_cancelled_caller_leaves_nothing_half_done,
        writes::bad_calls_are_refused,
        reads::expired_is_gone_at_once,
        reads::lists_are_ordered_and_partitioned,
        reads::paging_misses_and_repeats_nothing,
        reads::continuations_belong_to_one_list,
        reads::scans_are_ordered_and_bounded,
        feed::starts_with_what_lives_then_tells_everything,
        feed::has_no_gaps_under_concurrent_writers,
        feed::wakes_its_followers,
        feed::head_is_after_everything,
        reads::a_closed_store_says_so,
    );
    Ok(())
}

/// The collection that the items use where it does not matter.
const ANY: Collection = Collection::ImportedClusters;

fn draft(id: &str) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: "p".to_owned(),
        unique_key: None,
        body: format!(r#"{{"id":"{id}"}}"#),
        expires_at: None,
    }
}

fn in_partition(id: &str, partition: &str) -> Draft {
    Draft { partition: partition.to_owned(), ..draft(id) }
}

fn with_key(id: &str, key: &str) -> Draft {
    Draft { unique_key: Some(key.to_owned()), ..draft(id) }
}

fn until(draft: Draft, expires_at: Timestamp) -> Draft {
    Draft { expires_at: Some(expires_at), ..draft }
}
