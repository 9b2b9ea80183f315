//! Where a list goes on. Opaque to callers; code that sends it to a client seals it first
//! (`contract/database.md` §13.5).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_documents::Collection;

use crate::StoreError;

/// The last document of the page before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Continuation {
    pub(crate) partition: String,
    pub(crate) id: String,
}

/// Ids and partitions are bounded, so this is too.
const MOST: usize = 32 * 1024;

impl Continuation {
    /// Binds it to the list it belongs to: the collection, and the partition asked for, if any.
    pub(crate) fn encode(&self, collection: Collection, filter: Option<&str>) -> String {
        let parts = (collection.name(), filter, &self.partition, &self.id);
        // Strings always serialise.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&parts).unwrap_or_default())
    }

    /// # Errors
    /// [`StoreError::BadCall`]: not made by us, or for another list.
    pub(crate) fn decode(
        text: &str,
        collection: Collection,
        filter: Option<&str>,
    ) -> Result<Self, StoreError> {
        const FOREIGN: StoreError = StoreError::BadCall("the continuation belongs to no such list");
        if text.len() > MOST {
            return Err(FOREIGN);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| FOREIGN)?;
        let (name, of, partition, id): (String, Option<String>, String, String) =
            serde_json::from_slice(&bytes).map_err(|_| FOREIGN)?;
        if name != collection.name() || of.as_deref() != filter {
            return Err(FOREIGN);
        }
        Ok(Self { partition, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn belongs_to_one_list() {
        let at = || Continuation { partition: "p\"1".to_owned(), id: "a".to_owned() };
        let text = at().encode(Collection::Grants, None);
        assert_eq!(Continuation::decode(&text, Collection::Grants, None).unwrap(), at());
        for (collection, filter) in [(Collection::Sessions, None), (Collection::Grants, Some("p\"1"))] {
            assert!(matches!(Continuation::decode(&text, collection, filter), Err(StoreError::BadCall(_))));
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,60}") {
            let _ = Continuation::decode(&text, Collection::Grants, None);
            let text = URL_SAFE_NO_PAD.encode(text);
            let _ = Continuation::decode(&text, Collection::Grants, None);
        }
    }
}
