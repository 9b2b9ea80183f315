//! Changes of resources that customers change too (`contract/operator.md` "Do better" 20): each is decided on what was
//! read, and written only if nobody wrote meanwhile.

use std::time::Duration;

use rp_azure::{AzureError, Client, ErrorKind, Resources as _};
use serde_json::Value;
use tokio::time::sleep;

/// Attempts of a change that meets somebody else's.
pub const ATTEMPTS: u32 = 3;
/// Before the next attempt.
pub const BETWEEN: Duration = Duration::from_secs(1);

/// Why a resource was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Azure(#[from] AzureError),
    /// What was read cannot be decided on.
    #[error("{0}")]
    Refused(String),
}

/// Changes a resource of a type with an etag. `decide` gets it as it is (`None`: it is not there) and gives it as it should
/// be, whole (`None`: nothing is to be done); it is asked again, three times in all, when somebody else wrote meanwhile.
/// Gives whether something was written.
///
/// # Errors
/// What `decide` refuses, or [`AzureError`]: also when others write all the time.
pub async fn edit(
    azure: &Client,
    id: &str,
    api_version: &str,
    mut decide: impl FnMut(Option<&Value>) -> Result<Option<Value>, String> + Send,
) -> Result<bool, EditError> {
    let mut attempt = 1;
    loop {
        let present = azure.get(id, api_version).await?;
        let Some(wanted) = decide(present.as_ref()).map_err(EditError::Refused)? else { return Ok(false) };
        match azure.put_over(id, api_version, &wanted, present.as_ref()).await {
            Ok(_) => return Ok(true),
            Err(error) if error.kind == ErrorKind::Conflict && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error.into()),
        }
        sleep(BETWEEN).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Cloud;

    const API_VERSION: &str = "2024-05-01";

    const TABLE: &str = "/subscriptions/00000000-0000-0000-0000-00000000a001/resourceGroups/managed/providers/Microsoft.Network/routeTables/t";

    /// A table with one more tag.
    fn tagged(present: Option<&Value>, tag: &str) -> Value {
        let mut body = present.cloned().unwrap_or_else(|| json!({ "location": "eastus", "properties": {} }));
        body["tags"][tag] = json!("yes");
        body
    }

    #[tokio::test]
    async fn a_change_of_somebody_else_is_not_lost() {
        let cloud = Cloud::start().await;
        assert!(cloud.control.put(TABLE, tagged(None, "first")));
        let mut asked = 0;
        let changed = edit(&cloud.client, TABLE, API_VERSION, |present| {
            asked += 1;
            if asked == 1 {
                // Between the reading and the writing.
                assert!(cloud.control.put(TABLE, tagged(present, "theirs")));
            }
            Ok(Some(tagged(present, "ours")))
        });
        assert!(changed.await.unwrap());
        assert_eq!(asked, 2);
        let tags = &cloud.control.get(TABLE).unwrap()["tags"];
        assert_eq!(*tags, json!({ "first": "yes", "theirs": "yes", "ours": "yes" }));
        assert_eq!(cloud.answers("PUT"), [412, 200]);
    }

    #[tokio::test]
    async fn one_that_came_meanwhile_is_not_replaced() {
        let cloud = Cloud::start().await;
        let mut asked = 0;
        let changed = edit(&cloud.client, TABLE, API_VERSION, |present| {
            asked += 1;
            if asked == 1 {
                assert!(cloud.control.put(TABLE, tagged(None, "theirs")));
            }
            Ok(Some(tagged(present, "ours")))
        });
        assert!(changed.await.unwrap());
        let tags = &cloud.control.get(TABLE).unwrap()["tags"];
        assert_eq!(*tags, json!({ "theirs": "yes", "ours": "yes" }));
        assert_eq!(cloud.answers("PUT"), [412, 200]);
    }

    #[tokio::test]
    async fn it_is_given_up_when_others_write_all_the_time() {
        let cloud = Cloud::start().await;
        let changed = edit(&cloud.client, TABLE, API_VERSION, |present| {
            assert!(cloud.control.put(TABLE, tagged(present, "theirs")));
            Ok(Some(tagged(present, "ours")))
        });
        let error = changed.await.unwrap_err();
        assert!(matches!(&error, EditError::Azure(error) if error.status == Some(412)), "{error}");
        assert_eq!(cloud.answers("PUT"), [412; 3]);
        let nothing = edit(&cloud.client, TABLE, API_VERSION, |_| Ok(None)).await.unwrap();
        assert!(!nothing);
        let refused = edit(&cloud.client, TABLE, API_VERSION, |_| Err("no".to_owned())).await;
        assert_eq!(refused.unwrap_err().to_string(), "no");
        assert_eq!(cloud.answers("PUT").len(), 3);
    }
}
