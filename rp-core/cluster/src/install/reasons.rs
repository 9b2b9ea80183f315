//! Why an installation failed, as customers read it (`contract/cluster.md` §10.4): one table for what an installer reports
//! and for what Azure answers to the deployment of machines.

use rp_api::{CloudError, ErrorBody};
use serde_json::Value;

use crate::resources::deploy::with_detail;

const DETAILS: &str = "Deployment failed. Please see details for more information.";
/// What a customer can do whose policies take keys away from the cluster's storage account.
const NO_KEYS: &str = "Cluster creation failed because key based authentication has been disabled on the ARO cluster storage account, most likely by an Azure Policy modify effect. Please ensure that any policies in your Azure subscription do not mutate this property on the storage accounts provisioned during ARO cluster deployment. See https://learn.microsoft.com/en-us/azure/governance/policy/concepts/effect-modify for more details.";
/// What a customer can do about a failure that is none of theirs.
const AGAIN: &str = "The configuration of the cluster could not be prepared. Delete the cluster and create it again. If the issue persists, raise an Azure support ticket.";

/// A reason that customers can act on, in the order in which they are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    KeyBasedAuthenticationNotPermitted,
    RequestDisallowedByPolicy,
    InvalidTemplateDeployment,
    ZonalAllocationFailed,
    OsProvisioningTimedOut,
}

impl Reason {
    const ALL: [Self; 5] = [
        Self::KeyBasedAuthenticationNotPermitted,
        Self::RequestDisallowedByPolicy,
        Self::InvalidTemplateDeployment,
        Self::ZonalAllocationFailed,
        Self::OsProvisioningTimedOut,
    ];

    /// The name that an installer gives.
    const fn name(self) -> &'static str {
        match self {
            Self::KeyBasedAuthenticationNotPermitted => "AzureKeyBasedAuthenticationNotPermitted",
            Self::RequestDisallowedByPolicy => "AzureRequestDisallowedByPolicy",
            Self::InvalidTemplateDeployment => "AzureInvalidTemplateDeployment",
            Self::ZonalAllocationFailed => "AzureZonalAllocationFailed",
            Self::OsProvisioningTimedOut => "AzureOSProvisioningTimedOut",
        }
    }

    /// By its name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// By what stands in an installer's output or in Azure's error as JSON.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let code = |code: &str| has_code(text, code);
        if code("KeyBasedAuthenticationNotPermitted") {
            return Some(Self::KeyBasedAuthenticationNotPermitted);
        }
        if code("RequestDisallowedByPolicy") {
            return Some(Self::RequestDisallowedByPolicy);
        }
        let later = [
            ("InvalidTemplateDeployment", Self::InvalidTemplateDeployment),
            ("ZonalAllocationFailed", Self::ZonalAllocationFailed),
            ("OSProvisioningTimedOut", Self::OsProvisioningTimedOut),
        ];
        later.into_iter().find(|(name, _)| code(name)).map(|(_, reason)| reason)
    }

    /// The customer's error, with Azure's own error where there is one.
    pub(crate) fn told(self, azure: Option<&Value>) -> CloudError {
        let message = match self {
            Self::KeyBasedAuthenticationNotPermitted => {
                "Deployment failed with KeyBasedAuthenticationNotPermitted error. Please see details for more information."
            }
            Self::RequestDisallowedByPolicy => {
                "Deployment failed due to RequestDisallowedByPolicy. Please see details for more information."
            }
            Self::InvalidTemplateDeployment | Self::ZonalAllocationFailed => DETAILS,
            Self::OsProvisioningTimedOut => {
                "Deployment failed due to OSProvisioningTimedOut. The cluster's virtual machines failed to start up in \
                 time. Please check your network configuration."
            }
        };
        let mut told = CloudError::bad("DeploymentFailed", "", message);
        if self == Self::KeyBasedAuthenticationNotPermitted {
            return with_detail(told, NO_KEYS.to_owned());
        }
        if let Some(azure) = azure {
            told.body.details.extend(details(azure));
        }
        told
    }
}

/// Whether a code stands there as a word of its own.
fn has_code(text: &str, code: &str) -> bool {
    text.match_indices(code).any(|(at, _)| {
        let edge = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric());
        let (before, after) = text.split_at(at);
        edge(before.chars().next_back()) && edge(after.chars().nth(code.len()))
    })
}

/// The details of Azure's error: code, message and target of each.
fn details(azure: &Value) -> Vec<ErrorBody> {
    const MOST: usize = 20;
    let text = |of: &Value, member: &str| of[member].as_str().unwrap_or_default().to_owned();
    let found = azure["details"].as_array().into_iter().flatten().take(MOST);
    found
        .map(|detail| {
            let code = text(detail, "code");
            let message = text(detail, "message");
            let message = if code.is_empty() { message } else { format!("{code}: {message}") };
            ErrorBody { code: "", message, target: text(detail, "target"), details: Vec::new() }
        })
        .collect()
}

/// The customer's error of an installation that failed for no reason of the table.
pub(crate) fn unexplained() -> CloudError {
    CloudError::new(500, "InternalServerError", "", "Deployment failed.")
}

/// The same, of an installer that made no assets.
pub(crate) fn unprepared() -> CloudError {
    with_detail(unexplained(), AGAIN.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_are_found_in_the_order_of_the_table() {
        for (text, reason) in [
            (
                r#"cluster0123456789 said "code":"KeyBasedAuthenticationNotPermitted""#,
                Some(Reason::KeyBasedAuthenticationNotPermitted),
            ),
            (
                r#"{"code":"InvalidTemplateDeployment","details":[{"code":"RequestDisallowedByPolicy"}]}"#,
                Some(Reason::RequestDisallowedByPolicy),
            ),
            (r#"{"code": "InvalidTemplateDeployment"}"#, Some(Reason::InvalidTemplateDeployment)),
            (r#"{\"code\": \"ZonalAllocationFailed\"}"#, Some(Reason::ZonalAllocationFailed)),
            (r#""code":"OSProvisioningTimedOut""#, Some(Reason::OsProvisioningTimedOut)),
            ("NotOSProvisioningTimedOutAtAll", None),
            ("", None),
        ] {
            assert_eq!(Reason::of(text), reason, "{text}");
        }
        for reason in Reason::ALL {
            assert_eq!(Reason::named(reason.name()), Some(reason));
        }
        assert_eq!(Reason::named("x"), None);
    }

    #[test]
    fn azures_details_are_the_customers() {
        let azure = json!({"code": "DeploymentFailed", "details": [
            {"code": "Conflict", "message": "no room in zone 1", "target": "vm"}, {"code": null}, 7]});
        let told = Reason::ZonalAllocationFailed.told(Some(&azure));
        assert_eq!((told.status, told.body.message.as_str()), (400, DETAILS));
        assert_eq!(told.body.details.len(), 3);
        assert_eq!(told.body.details[0].message, "Conflict: no room in zone 1");
        let told = Reason::KeyBasedAuthenticationNotPermitted.told(Some(&azure));
        assert_eq!(told.body.details[0].message, NO_KEYS);
    }
}
