//! The clouds and where their parts are.

use std::str::FromStr;

use url::Url;

/// An Azure cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloud {
    Public,
    UsGovernment,
}

/// The name is no cloud that the service runs in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected AzurePublicCloud or AzureUSGovernmentCloud, got {0:?}")]
pub struct UnknownCloud(String);

impl FromStr for Cloud {
    type Err = UnknownCloud;

    /// Reads `AZURE_ENVIRONMENT`'s names, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownCloud> {
        match text.to_ascii_lowercase().as_str() {
            "azurepubliccloud" => Ok(Self::Public),
            "azureusgovernmentcloud" => Ok(Self::UsGovernment),
            _ => Err(UnknownCloud(text.to_owned())),
        }
    }
}

/// Where the parts of a cloud are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Azure Resource Manager: scheme and host.
    pub resource_manager: Url,
    /// Where tokens are issued: scheme and host.
    pub authority: Url,
    /// The scope of a token for the resource manager.
    pub scope: String,
    /// Microsoft Graph: scheme and host.
    pub graph: Url,
    /// `authorization.azure.net`, behind a region's name; none: the resource manager's own address.
    pub authorization: Option<&'static str>,
    /// Scopes of vaults and of storage.
    pub key_vault_scope: String,
    pub storage_scope: String,
    /// AppLens; `None`: there is none.
    pub diagnosis: Option<Diagnosis>,
}

/// Where AppLens is, and whose tokens it takes (`contract/frontend.md` §8.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub url: Url,
    pub scope: String,
    /// Its own directory, no matter whose cluster it looks at.
    pub tenant: String,
}

/// The audience of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    ResourceManager,
    KeyVault,
    Storage,
    Graph,
    Authorization,
    /// AppLens.
    Diagnosis,
}

impl Diagnosis {
    fn for_cloud(cloud: Cloud) -> Option<Self> {
        let (url, scope, tenant) = match cloud {
            Cloud::Public => (
                "https://diag-runtimehost-prod.trafficmanager.net/api/invoke",
                "0d7b6142-46a3-426a-ad6d-eed97c2a48ee/.default",
                "33e01921-4d64-4f8c-a055-5bdaffd5e33d",
            ),
            Cloud::UsGovernment => (
                "https://diag-runtimehost-prod-bn1-001.azurewebsites.us/api/invoke",
                "https://microsoft.onmicrosoft.com/runtimehost/.default",
                "cab8a31a-1906-4287-a0d8-4eef66b95f6e",
            ),
        };
        Some(Self { url: url.parse().ok()?, scope: scope.to_owned(), tenant: tenant.to_owned() })
    }
}

impl Endpoints {
    /// Those of a cloud; `None` never happens for the ones that are listed here.
    pub fn for_cloud(cloud: Cloud) -> Option<Self> {
        let (manager, authority, graph, authorization, vault) = match cloud {
            Cloud::Public => (
                "https://management.azure.com",
                "https://login.microsoftonline.com",
                "https://graph.microsoft.com",
                "authorization.azure.net",
                "https://vault.azure.net/.default",
            ),
            Cloud::UsGovernment => (
                "https://management.usgovcloudapi.net",
                "https://login.microsoftonline.us",
                "https://graph.microsoft.us",
                "authorization.azure.us",
                "https://vault.usgovcloudapi.net/.default",
            ),
        };
        let at = Self::at(manager.parse().ok()?, authority.parse().ok()?);
        Some(Self {
            graph: graph.parse().ok()?,
            authorization: Some(authorization),
            key_vault_scope: vault.to_owned(),
            storage_scope: "https://storage.azure.com/.default".to_owned(),
            diagnosis: Diagnosis::for_cloud(cloud),
            ..at
        })
    }

    /// Other addresses than a cloud's own: a stand-in, or a private cloud. Everything is at the resource manager's.
    pub fn at(resource_manager: Url, authority: Url) -> Self {
        let scope = format!("{}/.default", resource_manager.as_str().trim_end_matches('/'));
        Self {
            graph: resource_manager.clone(),
            authorization: None,
            key_vault_scope: scope.clone(),
            storage_scope: scope.clone(),
            diagnosis: None,
            resource_manager,
            authority,
            scope,
        }
    }

    /// The scope of a token.
    pub(crate) fn scope(&self, audience: Audience) -> String {
        match audience {
            Audience::ResourceManager => self.scope.clone(),
            Audience::KeyVault => self.key_vault_scope.clone(),
            Audience::Storage => self.storage_scope.clone(),
            Audience::Diagnosis => {
                self.diagnosis.as_ref().map_or_else(|| self.scope.clone(), |place| place.scope.clone())
            }
            Audience::Graph => format!("{}/.default", self.graph.as_str().trim_end_matches('/')),
            Audience::Authorization => self
                .authorization
                .map_or_else(|| self.scope.clone(), |host| format!("https://{host}/.default")),
        }
    }

    /// Where a tenant's tokens are issued (OAuth 2.0 client credentials, RFC 6749 §4.4).
    pub(crate) fn token(&self, tenant: &str) -> Option<Url> {
        let plain =
            !tenant.is_empty() && tenant.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        let dots = tenant.split('.').any(str::is_empty);
        if plain && !dots { self.authority.join(&format!("/{tenant}/oauth2/v2.0/token")).ok() } else { None }
    }
}
