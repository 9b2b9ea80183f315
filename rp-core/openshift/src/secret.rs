//! What is read of secrets.

use rp_base::Secret;
use serde::Deserialize;

use crate::lenient::object;
use crate::meta::Meta;
use crate::reader::Reader;

/// Of a `secret` of type `kubernetes.io/tls`: the certificate alone, never the key.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct SecretCertificate<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub data: CertificateData<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct CertificateData<R: Reader> {
    /// Base64 of PEM; empty: there is none.
    #[serde(rename = "tls.crt")]
    pub certificate: R::Text<131_072>,
}

/// `kube-system/azure-credentials`: base64, as the API server gives it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Credentials {
    #[serde(deserialize_with = "object")]
    pub data: CredentialsData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct CredentialsData {
    pub azure_client_id: Option<Secret<String>>,
    pub azure_client_secret: Option<Secret<String>>,
}
