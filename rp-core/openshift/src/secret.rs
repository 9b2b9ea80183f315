//! What is read of secrets. Values are base64, as the API server gives them.

use rp_base::Secret;
use serde::Deserialize;
use serde::de::{DeserializeSeed as _, Deserializer};

use crate::lenient::{LenientVisitor, SerdeAdapter, member, object};
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

/// `kube-system/azure-credentials`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Credentials {
    #[serde(deserialize_with = "object")]
    pub data: CredentialsData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct CredentialsData {
    #[serde(deserialize_with = "secret")]
    pub azure_client_id: Option<Secret<String>>,
    #[serde(deserialize_with = "secret")]
    pub azure_client_secret: Option<Secret<String>>,
}

/// `kube-system/azure-cloud-provider`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct CloudProvider<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub data: CloudProviderData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct CloudProviderData {
    /// YAML or JSON.
    #[serde(rename = "cloud-config", deserialize_with = "secret")]
    pub config: Option<Secret<String>>,
}

/// A `secret` of type `kubernetes.io/dockerconfigjson`, or one in its place.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct PullSecret<R: Reader> {
    #[serde(rename = "type")]
    pub kind: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub immutable: bool,
    #[serde(deserialize_with = "object")]
    pub data: PullSecretData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct PullSecretData {
    /// JSON.
    #[serde(rename = ".dockerconfigjson", deserialize_with = "secret")]
    pub config: Option<Secret<String>>,
}

struct AsSecret;

impl LenientVisitor<'_> for AsSecret {
    type Out = Option<Secret<String>>;

    fn nothing(self) -> Self::Out {
        None
    }

    fn text(self, text: &str) -> Self::Out {
        Some(Secret::new(text.to_owned()))
    }
}

/// A text that never prints; `None`: the value is no text.
fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Secret<String>>, D::Error> {
    SerdeAdapter(AsSecret).deserialize(deserializer)
}
