//! Who a cluster is towards Azure: a service principal, or identities of its operators (`contract/api.md` §3, §3.2).

use super::member::{Intent, Outcome, Shared};
use super::object::{object, optional_objects};
use super::shape::Map;
use crate::Sealed;

object! {
    /// `managedServiceIdentity`.
    #[derive(Default)]
    pub struct ManagedServiceIdentity {
        /// From ARM's header; never shown.
        "identityURL" => identity_url: Intent<String>,
        "principalId" => principal_id: Intent<String>,
        /// From ARM's header; the worker fills it in from the subscription.
        "tenantId" => tenant_id: Shared<String>,
        "type" => kind: Intent<String>,
        /// By resource id.
        "userAssignedIdentities" => user_assigned_identities: Intent<Map<Shared<UserAssignedIdentity>>>,
    }
}

object! {
    /// One of `managedServiceIdentity.userAssignedIdentities`.
    #[derive(Default)]
    pub struct UserAssignedIdentity {
        "clientId" => client_id: Outcome<String>,
        "principalId" => principal_id: Outcome<String>,
    }
}

object! {
    /// `properties.servicePrincipalProfile`; null with workload identity.
    #[derive(Default)]
    pub struct ServicePrincipalProfile {
        "clientId" => client_id: Intent<String>,
        "clientSecret" => client_secret: Intent<Sealed>,
        /// The object id, as the directory says.
        "spObjectId" => object_id: Outcome<String>,
    }
}

object! {
    /// `properties.platformWorkloadIdentityProfile`; null with a service principal.
    #[derive(Default)]
    pub struct PlatformWorkloadIdentityProfile {
        /// By the operator's name.
        "platformWorkloadIdentities" => platform_workload_identities: Intent<Map<Shared<PlatformWorkloadIdentity>>>,
        /// A version `x.y.z`.
        "upgradeableTo" => upgradeable_to: Intent<String>,
    }
}

object! {
    /// The identity of one operator.
    #[derive(Default)]
    pub struct PlatformWorkloadIdentity {
        "clientId" => client_id: Outcome<String>,
        "objectId" => object_id: Outcome<String>,
        "resourceId" => resource_id: Intent<String>,
    }
}

optional_objects!(
    ManagedServiceIdentity,
    PlatformWorkloadIdentity,
    PlatformWorkloadIdentityProfile,
    ServicePrincipalProfile,
    UserAssignedIdentity,
);
