//! Federated credentials that platform identities already have (`contract/cluster.md` §7.4). Pure.

use rp_api::CloudError;
use serde_json::Value;

/// Whether a credential is ours: exactly the audience `openshift`, and the cluster's issuer.
pub(crate) fn is_ours(credential: &Value, issuer: &str) -> bool {
    let of = &credential["properties"];
    let audiences = of["audiences"].as_array().map(Vec::as_slice).unwrap_or_default();
    matches!(audiences, [one] if one == "openshift") && !issuer.is_empty() && of["issuer"] == issuer
}

/// Nobody else's credentials are on an operator's identity. While a cluster is being made none is expected, but our
/// own, of an earlier run.
///
/// # Errors
/// 400 `PlatformWorkloadIdentityContainsInvalidCredential`.
pub(crate) fn check(
    operator: &str,
    identity: &str,
    credentials: &[Value],
    issuer: &str,
    creating: bool,
) -> Result<(), CloudError> {
    let Some(foreign) = credentials.iter().find(|credential| !is_ours(credential, issuer)) else {
        return Ok(());
    };
    let name = foreign["name"].as_str().unwrap_or_default();
    let please = match creating {
        true => {
            "Please ensure this identity is only used for this cluster and does not have any existing federated identity credentials."
        }
        false => {
            "Please ensure only federated credentials provisioned by the ARO service for this cluster are present."
        }
    };
    let target = format!(
        "properties.platformWorkloadIdentityProfile.platformWorkloadIdentities.{operator}.resourceId"
    );
    let message = format!(
        "Unexpected federated credential '{name}' found on platform workload identity '{identity}' used for role '{operator}'. {please}"
    );
    Err(CloudError::bad("PlatformWorkloadIdentityContainsInvalidCredential", &target, message))
}
