//! Routes over Hive (`contract/frontend.md` §10). There is no Hive here: the routes return the error that the contract
//! defines.

use rp_api::CloudError;

use super::failed;
use crate::call::Call;
use crate::fault::Fault;
use crate::response::HttpResponse;

pub(super) fn not_available() -> CloudError {
    failed("hive is not enabled")
}

/// What `clustersync` says without Hive (`contract/frontend.md` §11.9).
pub(super) fn no_syncs() -> CloudError {
    CloudError::invalid("", not_available().body.message)
}

/// SyncSets of a namespace, or SelectorSyncSets: all, or one.
pub(super) fn sync_sets(call: &Call, name: Option<&str>) -> Result<HttpResponse, Fault> {
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
        "true" | "false" => Err(not_available().into()),
        // The contract's spelling.
        _ => wrong("invalid paremeter value: issyncset"),
    }
}
