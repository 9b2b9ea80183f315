//! `[azure]`: which cloud, and who we are towards it.

use std::path::PathBuf;

use rp_settings::check::{missing_once, pair};
use rp_settings::{
    Reader, SecretFile, Word as _, optional_file, optional_text, origin, secret, section, texts, url, word,
    words,
};
use url::Url;

section! {
    /// Where in Azure this runs.
    "azure" pub struct Azure {
        /// The region's name.
        region: Option<String> = optional_text().also("LOCATION"),
        /// The cloud.
        environment: AzureEnvironment = word("AzurePublicCloud").also("AZURE_ENVIRONMENT"),
        /// Names of the regions that the portal lists; empty: the cloud's.
        locations: Vec<String> = texts(""),
        /// Who asks Azure about subnets and machines; none: nobody does.
        credential: CredentialKind = word("none"),
        /// The application, or which of the machine's identities.
        client_id: Option<String> = optional_text().also("AZURE_FP_CLIENT_ID"),
        /// PEM: the application's certificate; read for each token.
        client_cert_file: Option<PathBuf> = optional_file(),
        /// PEM: the key of that certificate.
        client_key_file: Option<SecretFile> = secret(),
        /// The service account's token of a workload identity.
        federated_token_file: Option<PathBuf> = optional_file().also("AZURE_FEDERATED_TOKEN_FILE"),
        /// Azure Resource Manager; empty: the cloud's.
        resource_manager: Option<Url> = origin(""),
        /// Where tokens are issued; empty: the cloud's.
        authority: Option<Url> = origin(""),
        /// AppLens, which diagnoses clusters; empty: the cloud's.
        diagnosis: Option<Url> = url(),
        /// The directory whose tokens it takes.
        diagnosis_tenant: Option<String> = optional_text(),
        /// The scope of those tokens; empty: the cloud's.
        diagnosis_scope: Option<String> = optional_text(),
        /// PEM: a CA to trust for Azure beside the host's.
        ca_file: Option<PathBuf> = optional_file(),
    }
}

words! {
    /// The cloud.
    pub enum AzureEnvironment {
        Public = "AzurePublicCloud",
        UsGovernment = "AzureUSGovernmentCloud",
    }
}

words! {
    /// The word for an [`AzureCredential`].
    pub enum CredentialKind {
        None = "none",
        Certificate = "certificate",
        ManagedIdentity = "managed_identity",
        WorkloadIdentity = "workload_identity",
    }
}

/// Where clusters are diagnosed.
#[derive(Debug, Clone)]
pub struct DiagnosisEndpoint<'a> {
    /// Receives every request.
    pub url: &'a Url,
    /// The directory whose tokens it accepts.
    pub tenant: &'a str,
    /// Scope of those tokens; `None`: the cloud's, or that of the configured resource manager.
    pub scope: Option<&'a str>,
}

/// The credential for Azure.
#[derive(Debug, Clone)]
pub enum AzureCredential {
    Certificate { client_id: String, cert_file: PathBuf, key_file: SecretFile },
    ManagedIdentity { client_id: Option<String> },
    WorkloadIdentity { client_id: String, token_file: PathBuf },
}

impl Azure {
    /// Who asks Azure; `None`: no requests are sent.
    pub fn identity(&self) -> Option<AzureCredential> {
        let client_id = self.client_id.clone();
        Some(match self.credential {
            CredentialKind::None => return None,
            CredentialKind::Certificate => AzureCredential::Certificate {
                client_id: client_id?,
                cert_file: self.client_cert_file.clone()?,
                key_file: self.client_key_file.clone()?,
            },
            CredentialKind::WorkloadIdentity => AzureCredential::WorkloadIdentity {
                client_id: client_id?,
                token_file: self.federated_token_file.clone()?,
            },
            CredentialKind::ManagedIdentity => AzureCredential::ManagedIdentity { client_id },
        })
    }

    /// AppLens; `None`: the cloud's.
    pub fn diagnosed_at(&self) -> Option<DiagnosisEndpoint<'_>> {
        let (url, tenant) = (self.diagnosis.as_ref()?, self.diagnosis_tenant.as_deref()?);
        Some(DiagnosisEndpoint { url, tenant, scope: self.diagnosis_scope.as_deref() })
    }
}

pub(crate) fn read(r: &mut Reader) -> Azure {
    let azure = Azure::read(r);
    let needed: &[&str] = match azure.credential {
        CredentialKind::Certificate => {
            &["azure.client_id", "azure.client_cert_file", "azure.client_key_file"]
        }
        CredentialKind::WorkloadIdentity => &["azure.client_id", "azure.federated_token_file"],
        CredentialKind::None | CredentialKind::ManagedIdentity => &[],
    };
    for key in needed {
        if !r.is_set(key) {
            let word = azure.credential.word();
            missing_once(r, key, &format!("is needed with azure.credential = \"{word}\""));
        }
    }
    let tenant = ("azure.diagnosis_tenant", azure.diagnosis_tenant.is_some());
    pair(r, ("azure.diagnosis", azure.diagnosis.is_some()), tenant);
    azure
}
