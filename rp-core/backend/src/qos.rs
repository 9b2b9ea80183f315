//! One line per terminal operation, for those who measure the service (`contract/backend.md` §8).

use rp_api::CloudError;
use rp_base::text::{clean, contains_ignore_case};
use rp_documents::ClusterDocument;

use crate::completion::OperationFailure;
use crate::dimensions::{identity, result};

/// Azure AD says so when our service principal is not in the customer's tenant any more.
const CLAIMS: &str = "one of the claims 'puid' or 'altsecid' or 'oid' should be present";
const REMOVED: &str = "The Azure Red Hat Openshift resource provider service principal has been removed from your \
                       tenant. To restore, please unregister and then re-register the Azure Red Hat OpenShift resource \
                       provider.";
const LONGEST: usize = 16 * 1024;

/// Logs how the operation ended.
pub(crate) fn log(document: &ClusterDocument, initial: &str, failure: Option<&OperationFailure>) {
    let who = identity(&document.cluster.properties);
    let shown = failure.map(shown);
    let of = result(shown.as_ref());
    match shown.filter(|_| of != "Success") {
        None => tracing::info!(
            LOGKIND = "asyncqos",
            operationType = initial,
            clusterIdentity = who,
            resultType = of,
            "long running operation succeeded"
        ),
        Some(failure) => tracing::info!(
            LOGKIND = "asyncqos",
            operationType = initial,
            clusterIdentity = who,
            resultType = of,
            errorDetails = clean(&failure.text, LONGEST),
            "long running operation failed"
        ),
    }
}

fn shown(failure: &OperationFailure) -> OperationFailure {
    if !contains_ignore_case(&failure.text, CLAIMS) {
        return failure.clone();
    }
    let code = "InvalidServicePrincipalClaims";
    OperationFailure::for_customer(&CloudError::bad(code, "properties.servicePrincipalProfile", REMOVED), "")
}
