//! Routes over Hive (`contract/frontend.md` §10). There is no Hive here: callers are told so, as the contract
//! says it.

use rp_api::CloudError;

use super::failed;
use crate::answer::Answer;
use crate::call::Call;
use crate::fault::Fault;

pub(super) fn off() -> CloudError {
    failed("hive is not enabled")
}

/// SyncSets of a namespace, or SelectorSyncSets: all, or one.
pub(super) fn sync_sets(call: &Call, name: Option<&str>) -> Result<Answer, Fault> {
    let wrong = |message: &str| Err(CloudError::bad("InvalidRequestContent", "", message).into());
    let namespace = call.parameter("cdnamespace").unwrap_or_default();
    let one = name.is_some();
    match call.parameter("issyncset").unwrap_or_default() {
        "true" if namespace.is_empty() && one => wrong("namespace cannot be null for getting a syncset"),
        "true" if namespace.is_empty() => wrong("namespace cannot be null for listing syncsets"),
        "false" if !namespace.is_empty() && one => {
            wrong("namespace should be null for getting a selectorsyncset")
        }
        "false" if !namespace.is_empty() => wrong("namespace should be null for listing selectorsyncsets"),
        "true" | "false" => Err(off().into()),
        // The contract's spelling.
        _ => wrong("invalid paremeter value: issyncset"),
    }
}
