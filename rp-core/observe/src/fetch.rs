//! One list as it is now, for answers whose form is a contract.

use serde_json::Value;

use rp_net::Cost;

use crate::kinds::Kind;
use crate::observer::Observer;
use crate::snapshot::Shown;
use crate::trouble::Trouble;
use crate::wire;
use rp_documents::ResourceId;

/// Why a list was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// 403 of the API server.
    #[error("{0}")]
    Forbidden(Shown),
    /// The cluster does not serve the kind.
    #[error("The cluster does not serve {}.", .0.words())]
    Missing(Kind),
    /// It is away, or answers nonsense.
    #[error("{0}")]
    Away(Shown),
}

/// Pages of one list.
const MOST_PAGES: usize = 200;

impl Observer {
    /// Asks the cluster for every object of a kind and gives each, as the API server wrote it, to `each`; nothing is
    /// kept and nothing is shared with watches.
    ///
    /// # Errors
    /// [`FetchError`]; some objects may have been given.
    pub async fn list(
        &self,
        id: &ResourceId,
        kind: Kind,
        mut each: impl FnMut(&Value) + Send,
    ) -> Result<(), FetchError> {
        let parts = &self.0.parts;
        let cluster = self.0.cluster(id);
        let failed = |trouble| of_trouble(trouble, kind);
        let client = cluster.client(parts).await.map_err(failed)?;
        let _turn = cluster.lists.acquire().await.map_err(|_| failed(Trouble::away("We are stopping.")))?;
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
                Err(Trouble::TooLarge) if limit > 5 => limit = (limit / 4).max(5),
                Err(trouble) => return Err(failed(trouble)),
            }
        }
        Err(failed(Trouble::away("The list has too many pages.")))
    }
}

fn of_trouble(trouble: Trouble, kind: Kind) -> FetchError {
    match trouble {
        Trouble::Forbidden(why) => FetchError::Forbidden(why),
        Trouble::Missing => FetchError::Missing(kind),
        Trouble::Away(why) => FetchError::Away(why),
        Trouble::Expired => FetchError::Away(Shown::new("The list changed while it was read; ask again.")),
        Trouble::TooLarge => FetchError::Away(Shown::new("The API server's answer is too large to read.")),
    }
}
