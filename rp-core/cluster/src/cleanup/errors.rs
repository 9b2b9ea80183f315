//! Errors of resources that cannot be deleted (`contract/cluster.md` §5.1).

use rp_api::CloudError;
use rp_azure::AzureError;

use crate::errors::StepError;

const TARGET: &str = "features.ResourcesClient#DeleteByID";

/// Converts refusals that the customer can resolve into errors for the customer.
pub(crate) fn deletion_error(error: AzureError) -> StepError {
    let known = [
        (
            "CannotDeleteLoadBalancerWithPrivateLinkService",
            400,
            "CannotDeleteLoadBalancerWithPrivateLinkService",
        ),
        ("AuthorizationFailed", 403, "Forbidden"),
        ("InUseSubnetCannotBeDeleted", 400, "InUseSubnetCannotBeDeleted"),
        ("ScopeLocked", 409, "ScopeLocked"),
    ];
    match known.into_iter().find(|(text, _, _)| error.has_text(text)) {
        Some((_, status, code)) => CloudError::new(status, code, TARGET, error.message.clone()).into(),
        None => error.into(),
    }
}
