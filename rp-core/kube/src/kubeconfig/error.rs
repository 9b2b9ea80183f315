//! Why a kubeconfig is refused.

use rp_base::{Timestamp, text};

/// Why a kubeconfig cannot be imported. `Display` says what is wrong, [`ImportError::action`] what to
/// do; neither repeats a secret or a value from the file other than names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("The kubeconfig is empty.")]
    Empty,
    #[error("The kubeconfig is larger than 1 MiB.")]
    TooBig,
    #[error("The kubeconfig has too many entries, levels or aliases.")]
    TooComplex,
    #[error("The file is neither YAML nor JSON (line {line}, column {column}).")]
    NotYaml { line: u64, column: u64 },
    #[error("The file is not a kubeconfig: an entry has an unexpected form (line {line}, column {column}).")]
    BadShape { line: u64, column: u64 },
    #[error("The file is not a kubeconfig.")]
    NotKubeconfig,
    #[error("The kubeconfig has no contexts.")]
    NoContexts,
    #[error("The kubeconfig has no current context.")]
    NoCurrentContext { names: String },
    #[error("The kubeconfig has no context {wanted}.")]
    ContextNotFound { wanted: String, names: String },
    #[error("The kubeconfig has no clusters.")]
    NoCluster,
    #[error("The kubeconfig has no users.")]
    NoUser,
    #[error("Context {context} names cluster {cluster}, which is not in the kubeconfig.")]
    ClusterNotFound { context: String, cluster: String },
    #[error("Context {context} names user {user}, which is not in the kubeconfig.")]
    UserNotFound { context: String, user: String },
    #[error("The cluster entry has no server.")]
    NoServer,
    #[error("The cluster's server is not a plain URL of the form https://host:port/path.")]
    BadServer,
    #[error("The cluster's server is not reached by https.")]
    NotHttps,
    #[error("The cluster's tls-server-name is not a host name or an address.")]
    BadServerName,
    #[error("The cluster entry has no certificate authority.")]
    NoAuthority,
    #[error("The cluster entry asks to skip the check of the server's certificate.")]
    Insecure,
    #[error("The kubeconfig names a file on your machine ({field}).")]
    PathBased { field: &'static str },
    #[error("The user's credential comes from a program (exec).")]
    Exec,
    #[error("The user's credential comes from an auth provider.")]
    AuthProvider,
    #[error("The user signs in with a user name and a password.")]
    BasicAuth,
    #[error("The user entry acts as somebody else (as, as-groups).")]
    Impersonates,
    #[error("The cluster is reached through a proxy (proxy-url).")]
    ProxyUrl,
    #[error("The user entry has no credential.")]
    NoCredential,
    #[error("The user entry has both a token and a client certificate.")]
    TwoCredentials,
    #[error("The user entry has a client certificate without its key.")]
    NoKey,
    #[error("The user entry has a client key without its certificate.")]
    NoCertificate,
    #[error("{field} is not base64.")]
    BadBase64 { field: &'static str },
    #[error("{field} holds no usable PEM.")]
    BadPem { field: &'static str },
    #[error("{field} holds more than {most} certificates.")]
    TooManyCertificates { field: &'static str, most: usize },
    #[error("The client key is protected by a passphrase.")]
    EncryptedKey,
    #[error("The client key is of a kind that is not supported.")]
    UnsupportedKey,
    #[error("The client certificate ended on {not_after}.")]
    Expired { not_after: Timestamp },
    #[error("The client certificate starts only on {not_before}.")]
    NotYetValid { not_before: Timestamp },
    #[error("The client certificate is not meant for clients.")]
    NotClientCertificate,
    #[error("The client key does not belong to the client certificate.")]
    KeyMismatch,
    #[error("The token has characters that a token cannot have, or is too long.")]
    BadToken,
}

impl ImportError {
    /// A stable error code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "kubeconfig_empty",
            Self::TooBig => "kubeconfig_too_big",
            Self::TooComplex => "kubeconfig_too_complex",
            Self::NotYaml { .. } => "kubeconfig_not_yaml",
            Self::BadShape { .. } => "kubeconfig_bad_shape",
            Self::NotKubeconfig => "kubeconfig_not_kubeconfig",
            Self::NoContexts => "kubeconfig_no_contexts",
            Self::NoCurrentContext { .. } => "kubeconfig_no_current_context",
            Self::ContextNotFound { .. } => "kubeconfig_context_not_found",
            Self::NoCluster => "kubeconfig_no_cluster",
            Self::NoUser => "kubeconfig_no_user",
            Self::ClusterNotFound { .. } => "kubeconfig_cluster_not_found",
            Self::UserNotFound { .. } => "kubeconfig_user_not_found",
            Self::NoServer => "kubeconfig_no_server",
            Self::BadServer => "kubeconfig_bad_server",
            Self::NotHttps => "kubeconfig_not_https",
            Self::BadServerName => "kubeconfig_bad_server_name",
            Self::NoAuthority => "kubeconfig_no_authority",
            Self::Insecure => "kubeconfig_insecure",
            Self::PathBased { .. } => "kubeconfig_path_based",
            Self::Exec => "kubeconfig_exec",
            Self::AuthProvider => "kubeconfig_auth_provider",
            Self::BasicAuth => "kubeconfig_basic_auth",
            Self::Impersonates => "kubeconfig_impersonates",
            Self::ProxyUrl => "kubeconfig_proxy_url",
            Self::NoCredential => "kubeconfig_no_credential",
            Self::TwoCredentials => "kubeconfig_two_credentials",
            Self::NoKey => "kubeconfig_no_key",
            Self::NoCertificate => "kubeconfig_no_certificate",
            Self::BadBase64 { .. } => "kubeconfig_bad_base64",
            Self::BadPem { .. } => "kubeconfig_bad_pem",
            Self::TooManyCertificates { .. } => "kubeconfig_too_many_certificates",
            Self::EncryptedKey => "kubeconfig_encrypted_key",
            Self::UnsupportedKey => "kubeconfig_unsupported_key",
            Self::Expired { .. } => "kubeconfig_expired",
            Self::NotYetValid { .. } => "kubeconfig_not_yet_valid",
            Self::NotClientCertificate => "kubeconfig_not_client_certificate",
            Self::KeyMismatch => "kubeconfig_key_mismatch",
            Self::BadToken => "kubeconfig_bad_token",
        }
    }

    /// What the user can do about it.
    pub fn action(&self) -> String {
        let plain = match self {
            Self::NoCurrentContext { names } | Self::ContextNotFound { names, .. } => {
                return format!("Name one of its contexts: {names}.");
            }
            Self::Empty | Self::NotKubeconfig | Self::NotYaml { .. } | Self::BadShape { .. } => {
                "Take the output of: kubectl config view --raw --minify --flatten"
            }
            Self::TooBig
            | Self::TooComplex
            | Self::NoContexts
            | Self::NoCluster
            | Self::NoUser
            | Self::ClusterNotFound { .. }
            | Self::UserNotFound { .. } => {
                "Leave only the cluster you mean: kubectl config view --raw --minify --flatten"
            }
            Self::PathBased { .. } => {
                "Put the content into the file: kubectl config view --raw --minify --flatten"
            }
            Self::NoServer | Self::BadServer | Self::NotHttps => {
                "Give the API server as https://host:port, without a user, query or fragment."
            }
            Self::BadServerName => "Give the name that stands in the server's certificate, or leave it out.",
            Self::NoAuthority | Self::Insecure => {
                "Give certificate-authority-data: we trust only what the kubeconfig names, not the system's authorities."
            }
            Self::ProxyUrl => "Give an address that we can reach directly.",
            Self::Exec | Self::AuthProvider | Self::BasicAuth | Self::NoCredential | Self::TwoCredentials => {
                "Give one lasting credential: a service account's token, or a client certificate with its key."
            }
            Self::Impersonates => "Remove it; groups to act with are named at the import.",
            Self::NoKey | Self::NoCertificate | Self::KeyMismatch => {
                "Give client-certificate-data and client-key-data that belong together."
            }
            Self::BadBase64 { .. } | Self::BadPem { .. } | Self::TooManyCertificates { .. } => {
                "Write the PEM file into the kubeconfig with base64, nothing else."
            }
            Self::EncryptedKey | Self::UnsupportedKey => {
                "Give an RSA, ECDSA or Ed25519 key in PKCS#8, PKCS#1 or SEC1 form without a passphrase."
            }
            Self::Expired { .. } | Self::NotYetValid { .. } => "Take a new kubeconfig from the cluster.",
            Self::NotClientCertificate => {
                "Give a certificate whose extended key usage allows client sign-in."
            }
            Self::BadToken => "Give the token alone, on one line, without blanks.",
        };
        plain.to_owned()
    }
}

/// Names from the file for a message: quoted, without control characters, at most 20 names of 80 characters.
pub(super) fn shown_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut names = names.into_iter();
    let mut shown: Vec<String> =
        names.by_ref().take(MOST).map(|name| format!("\"{}\"", text::clean(name, 80))).collect();
    let more = names.count();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(", ")
}
