//! `[azure]`: which cloud, and who we are towards it.

use std::path::PathBuf;

use url::Url;

use crate::check;
use crate::reader::Reader;
use crate::secret_file::SecretFile;

#[derive(Debug, Clone)]
pub struct Azure {
    pub region: Option<String>,
    /// `AzurePublicCloud` or `AzureUSGovernmentCloud`.
    pub environment: String,
    pub locations: Vec<String>,
    /// `None`: no requests are sent to Azure.
    pub credential: Option<AzureCredential>,
    /// Replaces the cloud's default address.
    pub resource_manager: Option<Url>,
    /// Replaces the cloud's default address.
    pub authority: Option<Url>,
    /// AppLens; replaces the cloud's default.
    pub diagnosis: Option<DiagnosisEndpoint>,
    /// PEM of a CA to trust beside the host's.
    pub ca_file: Option<PathBuf>,
}

/// Where clusters are diagnosed.
#[derive(Debug, Clone)]
pub struct DiagnosisEndpoint {
    /// Receives every request.
    pub url: Url,
    /// The directory whose tokens it accepts.
    pub tenant: String,
    /// Scope of those tokens; `None`: the cloud's, or that of the configured resource manager.
    pub scope: Option<String>,
}

/// The credential for Azure.
#[derive(Debug, Clone)]
pub enum AzureCredential {
    Certificate { client_id: String, cert_file: PathBuf, key_file: SecretFile },
    ManagedIdentity { client_id: Option<String> },
    WorkloadIdentity { client_id: String, token_file: PathBuf },
}

pub(crate) fn azure(r: &mut Reader<'_>) -> Azure {
    Azure {
        region: r.text("azure.region"),
        environment: r.word("azure.environment"),
        locations: r.texts("azure.locations"),
        credential: credential(r),
        resource_manager: r.origin("azure.resource_manager"),
        authority: r.origin("azure.authority"),
        diagnosis: diagnosis(r),
        ca_file: r.file("azure.ca_file"),
    }
}

fn diagnosis(r: &mut Reader<'_>) -> Option<DiagnosisEndpoint> {
    let (url, tenant) = (r.url("azure.diagnosis"), r.text("azure.diagnosis_tenant"));
    let scope = r.text("azure.diagnosis_scope");
    check::pair(r, ("azure.diagnosis", url.is_some()), ("azure.diagnosis_tenant", tenant.is_some()));
    Some(DiagnosisEndpoint { url: url?, tenant: tenant?, scope })
}

fn credential(r: &mut Reader<'_>) -> Option<AzureCredential> {
    let word = r.word("azure.credential");
    let (client_id, cert_file) = (r.text("azure.client_id"), r.file("azure.client_cert_file"));
    let (key_file, token_file) = (r.secret("azure.client_key_file"), r.file("azure.federated_token_file"));
    let needed: &[&str] = match word.as_str() {
        "certificate" => &["azure.client_id", "azure.client_cert_file", "azure.client_key_file"],
        "workload_identity" => &["azure.client_id", "azure.federated_token_file"],
        _ => &[],
    };
    for key in needed {
        if !r.is_set(key) {
            check::missing_once(r, key, &format!("is needed with azure.credential = \"{word}\""));
        }
    }
    match (word.as_str(), client_id) {
        ("certificate", Some(client_id)) => {
            Some(AzureCredential::Certificate { client_id, cert_file: cert_file?, key_file: key_file? })
        }
        ("workload_identity", Some(client_id)) => {
            Some(AzureCredential::WorkloadIdentity { client_id, token_file: token_file? })
        }
        ("managed_identity", client_id) => Some(AzureCredential::ManagedIdentity { client_id }),
        _ => None,
    }
}
