//! The resource provider's own resources in Azure.

use rp_settings::check::{missing_once, pair};
use rp_settings::{Reader, optional_text, section, text, url};
use url::Url;

section! {
    /// The resource provider's own resources in Azure.
    "rp" pub struct RpResources {
        /// The resource provider's own subscription; empty: no workers run in this process.
        subscription: String = text(""),
        /// The directory of that subscription.
        tenant: String = text(""),
        /// The resource group of its network and DNS zone there.
        group: String = text(""),
        /// The resource group of the gateway.
        gateway_group: String = text("").also("GATEWAY_RESOURCEGROUP"),
        /// The virtual network of private endpoints.
        endpoint_vnet: String = text("rp-pe-vnet-001"),
        /// The subnet of private endpoints in it.
        endpoint_subnet: String = text("rp-pe-subnet"),
        /// The container registry; empty: clusters get no tokens of it.
        registry_id: String = text("").also("ACR_RESOURCE_ID"),
        /// The registry's host.
        registry_host: String = text("arosvc.azurecr.io"),
        /// The object id of the service principal of the application `azure.client_id`.
        service_principal: String = text(""),
        /// The machine's identity for the gateway's link services and the issuers' storage; empty: the application.
        managed_identity: Option<String> = optional_text(),
        /// The key vault that orders certificates of clusters' API and ingress; empty: none are ordered.
        certificate_vault: Option<Url> = url(),
        /// The issuer that the vault orders them of.
        certificate_issuer: String = text("OneCertV2-PublicCA"),
    }
}

section! {
    /// Where the OpenID documents of clusters' issuers lie.
    "rp" pub struct RpOidc {
        /// The storage account of issuers of workload identities; empty: such clusters are refused.
        oidc_account: Option<String> = optional_text().also("OIDC_STORAGE_ACCOUNT_NAME"),
        /// Where that account's blobs are written; empty: the cloud's address.
        oidc_storage: Option<Url> = url(),
        /// Host, and perhaps a path, at which everybody reads what lies in that account.
        oidc_endpoint: Option<String> = optional_text().also("OIDC_AFD_ENDPOINT"),
    }
}

impl RpOidc {
    /// Storage account, and where everybody reads: host and perhaps path, without scheme and slash at the end.
    pub fn place(&self) -> Option<(&str, &str)> {
        let (account, endpoint) = (self.oidc_account.as_deref()?, self.oidc_endpoint.as_deref()?);
        Some((account, endpoint.strip_prefix("https://").unwrap_or(endpoint).trim_end_matches('/')))
    }
}

/// All of it hangs on the subscription.
pub(super) fn read(r: &mut Reader) -> (Option<RpResources>, Option<RpOidc>) {
    let (resources, oidc) = (RpResources::read(r), RpOidc::read(r));
    let account = ("rp.oidc_account", oidc.oidc_account.is_some());
    pair(r, account, ("rp.oidc_endpoint", oidc.oidc_endpoint.is_some()));
    if resources.subscription.is_empty() {
        return (None, None);
    }
    for key in ["rp.tenant", "rp.group"] {
        if !r.is_set(key) {
            missing_once(r, key, "is needed with rp.subscription");
        }
    }
    (Some(resources), Some(oidc).filter(|oidc| oidc.place().is_some()))
}
