//! One list without a watch, for responses whose form is a contract.

use rp_documents::ResourceId;
use rp_net::Cost;
use serde::de::DeserializeOwned;

use crate::kinds::Kind;
use crate::observer::Observer;
use crate::snapshot::DisplayText;
use crate::watch_error::WatchError;
use crate::wire;

/// Why a list failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// 403 of the API server.
    #[error("{0}")]
    Forbidden(DisplayText),
    /// The cluster does not serve the kind.
    #[error("The cluster does not serve {}.", .0.words())]
    Missing(Kind),
    /// The cluster cannot be reached, or sends an invalid response.
    #[error("{0}")]
    Away(DisplayText),
}

/// Maximum number of pages of one list.
const MOST_PAGES: usize = 200;

impl Observer {
    /// Lists every object of a kind and passes each to `each`; nothing is kept and nothing is shared with watches.
    /// `T` is the object that the API server serves for the kind.
    ///
    /// # Errors
    /// [`FetchError`]; some objects may have been passed already.
    pub async fn list<T: DeserializeOwned>(
        &self,
        id: &ResourceId,
        kind: Kind,
        mut each: impl FnMut(&T) + Send,
    ) -> Result<(), FetchError> {
        let parts = &self.0.parts;
        let cluster = self.0.cluster(id);
        let failed = |error| fetch_error(error, kind);
        let client = cluster.client(parts).await.map_err(failed)?;
        let _turn =
            cluster.lists.acquire().await.map_err(|_| failed(WatchError::away("We are stopping.")))?;
        let (mut more, mut limit) = (None::<String>, parts.limits.page);
        for _ in 0..MOST_PAGES {
            parts.budget.take(id, Cost::LIST).await.map_err(|crowded| failed(crowded.into()))?;
            match wire::page(&client, kind, limit, more.as_deref(), &mut each).await {
                Ok(page) => {
                    more = page.more.filter(|_| page.items > 0);
                    if more.is_none() {
                        return Ok(());
                    }
                }
                Err(WatchError::TooLarge) if limit > 5 => limit = (limit / 4).max(5),
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(WatchError::away("The list has too many pages.")))
    }
}

fn fetch_error(error: WatchError, kind: Kind) -> FetchError {
    match error {
        WatchError::Forbidden(why) => FetchError::Forbidden(why),
        WatchError::Missing => FetchError::Missing(kind),
        WatchError::Away(why) => FetchError::Away(why),
        WatchError::Expired => {
            FetchError::Away(DisplayText::new("The list changed while it was read; ask again."))
        }
        WatchError::TooLarge => {
            FetchError::Away(DisplayText::new("The API server's answer is too large to read."))
        }
    }
}
