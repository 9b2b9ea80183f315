//! Who we are towards Azure.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rp_base::{Random, Secret, Timestamp};
use rp_net::assertion::{self, Signer};
use url::Url;

use crate::cloud::Endpoints;
use crate::error::{AzureError, ErrorKind};
use crate::token::OPERATION;

/// Largest file of a key, certificate or federated token.
const MOST: u64 = 256 * 1024;

/// Where a managed identity's tokens come from.
#[derive(Debug, Clone)]
pub enum IdentityEndpoint {
    /// The instance metadata service of a virtual machine.
    Metadata(Url),
    /// `IDENTITY_ENDPOINT` with the header that `IDENTITY_HEADER` tells.
    Given { url: Url, header: Secret<String> },
}

impl IdentityEndpoint {
    /// The metadata service's own address; link-local, so never by a name.
    pub fn metadata() -> Option<Self> {
        "http://169.254.169.254/metadata/identity/oauth2/token".parse().ok().map(Self::Metadata)
    }
}

/// A credential. Files are read again for each token, so that what is rotated is used without a restart.
#[derive(Debug, Clone)]
pub enum Credential {
    /// An application with a certificate: the first-party service principal.
    Certificate { client_id: String, certificate: PathBuf, key: PathBuf },
    /// The same with the PEM texts themselves: what the managed identity's data plane gave for a cluster.
    CertificateText { client_id: String, certificate: Secret<String>, key: Secret<String> },
    /// An application with a secret: a cluster's service principal.
    Secret { client_id: String, secret: Secret<String> },
    /// Identity of the machine; `client_id` names one of several. Its tokens are of its own tenant, whichever is asked.
    ManagedIdentity { client_id: Option<String>, endpoint: IdentityEndpoint },
    /// A Kubernetes service account that is federated with an application.
    WorkloadIdentity { client_id: String, token_file: PathBuf },
}

/// How a token is asked for.
pub(crate) struct TokenRequest {
    pub(crate) url: Url,
    /// `None`: GET.
    pub(crate) form: Option<Vec<(&'static str, Secret<String>)>>,
    pub(crate) headers: Vec<(&'static str, Secret<String>)>,
}

impl Credential {
    /// Whether one token serves every tenant.
    pub(crate) const fn is_of_one_tenant(&self) -> bool {
        matches!(self, Self::ManagedIdentity { .. })
    }

    /// The request for a token of that scope.
    pub(crate) async fn ask(
        &self,
        endpoints: &Endpoints,
        tenant: &str,
        scope: &str,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<TokenRequest, AzureError> {
        if let Self::ManagedIdentity { client_id, endpoint } = self {
            return Ok(managed(client_id.as_deref(), endpoint, scope));
        }
        let url = endpoints.token(tenant).ok_or_else(|| failed("the tenant is not known"))?;
        let text = |text: &str| Secret::new(text.to_owned());
        let assertion = |jwt: Secret<String>| {
            [("client_assertion_type", text(assertion::TYPE)), ("client_assertion", jwt)].to_vec()
        };
        let (client_id, proof) = match self {
            Self::Certificate { client_id, certificate, key } => {
                let signer = Signer::new(&read(key).await?, read(certificate).await?.expose());
                let jwt = signer.and_then(|signer| signer.sign(client_id, url.as_str(), now, random));
                (client_id, assertion(jwt.map_err(|error| failed(&error.to_string()))?))
            }
            Self::CertificateText { client_id, certificate, key } => {
                let jwt = Signer::new(key, certificate.expose())
                    .and_then(|signer| signer.sign(client_id, url.as_str(), now, random));
                (client_id, assertion(jwt.map_err(|error| failed(&error.to_string()))?))
            }
            Self::Secret { client_id, secret } => (client_id, vec![("client_secret", secret.clone())]),
            Self::WorkloadIdentity { client_id, token_file } => {
                let jwt = read(token_file).await?;
                (client_id, assertion(Secret::new(jwt.expose().trim().to_owned())))
            }
            Self::ManagedIdentity { .. } => return Err(failed("not reached")),
        };
        let mut form = vec![
            ("grant_type", text("client_credentials")),
            ("client_id", text(client_id)),
            ("scope", text(scope)),
        ];
        form.extend(proof);
        Ok(TokenRequest { url, form: Some(form), headers: Vec::new() })
    }

    /// For one request for a token: the metadata service may take its time.
    pub(crate) const fn patience(&self) -> Duration {
        match self {
            Self::ManagedIdentity { .. } => Duration::from_secs(30),
            _ => Duration::from_secs(15),
        }
    }
}

fn managed(client_id: Option<&str>, endpoint: &IdentityEndpoint, scope: &str) -> TokenRequest {
    let text = |text: &str| Secret::new(text.to_owned());
    let resource = scope.strip_suffix("/.default").unwrap_or(scope);
    let (mut url, version, headers) = match endpoint {
        IdentityEndpoint::Metadata(url) => (url.clone(), "2018-02-01", vec![("Metadata", text("true"))]),
        IdentityEndpoint::Given { url, header } => {
            (url.clone(), "2019-08-01", vec![("X-IDENTITY-HEADER", header.clone())])
        }
    };
    url.query_pairs_mut().append_pair("api-version", version).append_pair("resource", resource);
    if let Some(client_id) = client_id {
        url.query_pairs_mut().append_pair("client_id", client_id);
    }
    TokenRequest { url, form: None, headers }
}

pub(crate) fn failed(why: &str) -> AzureError {
    AzureError::new(OPERATION, ErrorKind::Credential, why)
}

async fn read(path: &Path) -> Result<Secret<String>, AzureError> {
    let cannot = |error: std::io::Error| failed(&format!("cannot read {}: {}", path.display(), error.kind()));
    if tokio::fs::metadata(path).await.map_err(cannot)?.len() > MOST {
        return Err(failed(&format!("{} is too large", path.display())));
    }
    tokio::fs::read_to_string(path).await.map(Secret::new).map_err(cannot)
}
