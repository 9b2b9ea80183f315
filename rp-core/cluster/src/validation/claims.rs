//! What tokens say of whom they were issued to (`contract/cluster.md` §7.4). Pure; signatures are the
//! issuer's business.

use rp_api::CloudError;
use rp_azure::{AzureError, ErrorKind};
use serde_json::Value;

use crate::errors::StepError;

const TARGET: &str = "properties.servicePrincipalProfile";

/// A token was issued to something that exists in the directory: it has `altsecid`, `oid` or `puid`. `first_party`:
/// it is the service's own, else the customer's principal.
///
/// # Errors
/// 400 `InvalidServicePrincipalToken` or `InvalidServicePrincipalClaims`; Azure's when there is no token.
pub(crate) fn check_object(claims: Result<Value, AzureError>, first_party: bool) -> Result<Value, StepError> {
    let claims = match claims {
        Err(error) if error.kind == ErrorKind::Malformed => {
            let message = "The provided service principal generated an invalid token.";
            return Err(CloudError::bad("InvalidServicePrincipalToken", TARGET, message).into());
        }
        claims => claims?,
    };
    let has = |claim: &str| claims[claim].as_str().is_some_and(|text| !text.is_empty());
    if ["altsecid", "oid", "puid"].into_iter().any(has) {
        return Ok(claims);
    }
    let message = match first_party {
        true => {
            "The Azure Red Hat Openshift resource provider service principal has been removed from your tenant. To restore, please unregister and then re-register the Azure Red Hat OpenShift resource provider."
        }
        // The same code with other words: nothing is wrong with the service's own principal.
        false => {
            "The provided service principal has been removed from your tenant. Please restore it, or update the cluster with another service principal."
        }
    };
    Err(CloudError::bad("InvalidServicePrincipalClaims", TARGET, message).into())
}

/// A token of the directory's API does not carry more rights than a cluster should have.
///
/// # Errors
/// 400 `InvalidServicePrincipalCredentials`; Azure's when there is no token.
pub(crate) fn check_roles(claims: Result<Value, AzureError>) -> Result<(), StepError> {
    let bad = |message: &str| CloudError::bad("InvalidServicePrincipalCredentials", TARGET, message);
    let claims = match claims {
        Err(error) if error.kind == ErrorKind::Malformed => return Err(bad(&error.message).into()),
        claims => claims?,
    };
    let mut roles = claims["roles"].as_array().into_iter().flatten();
    if roles.any(|role| role == "Application.ReadWrite.OwnedBy") {
        let message =
            "The provided service principal must not have the Application.ReadWrite.OwnedBy permission.";
        return Err(bad(message).into());
    }
    Ok(())
}
