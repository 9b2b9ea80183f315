//! Settings: `aro.toml`, the environment and flags, read into one typed tree, with all mistakes at once.
//!
//! Precedence (`contract/rules.md` §5.16): flag, `ARO_SECTION__KEY`, the contract's names
//! (`contract/portal.md` §1.1), file.
//! [`parse`] is a pure function of its [`Input`]; [`load`] reads the process's environment and a file for it.

mod azure;
mod backend;
mod check;
mod keys;
mod load;
mod mistakes;
mod monitor;
mod parse;
mod reader;
mod recording;
mod reference;
mod rp;
mod secret_file;
mod settings;
mod sinks;
mod source;
mod ssh;
mod values;

pub use azure::{Azure, AzureCredential, DiagnosisEndpoint};
pub use backend::Backend;
pub use load::{LoadError, load};
pub use mistakes::{Mistake, Mistakes};
pub use monitor::Monitor;
pub use parse::{File, Input, Override, parse};
pub use recording::{BlobCredential, Recording, RecordingStorage};
pub use reference::reference_markdown;
pub use rp::{AdminRoles, ArmCallers, CallerCertificate, Rp, RpOidc, RpResources, TokenCheck, Tokens};
pub use secret_file::{SecretFile, SecretFileError};
pub use settings::{
    Access, Audit, AuditSink, AuditSinkTarget, GroupSource, Imports, Keys, Limits, Listen, Log, LogFormat,
    Metrics, Oidc, OidcCredential, Outage, Portal, Postgres, PostgresUrl, PrivateLink, PrivateLinkMode,
    Proxy, Roles, Session, Settings, Store, StoreKind, Terminal, Tls,
};
pub use ssh::Ssh;

/// Keys that a role cannot do without, for [`Input::needs`].
pub mod needs {
    /// `aro portal`, `aro serve`: browsers come in.
    pub const PORTAL: &[&str] =
        &["portal.url", "proxy.url", "oidc.issuer", "oidc.client_id", "tls.cert_file", "tls.key_file"];
    /// `aro rp`: ARM calls.
    pub const RP: &[&str] = &["azure.region", "rp.domain"];
    /// `aro proxy`: only kubectl and its kind come in.
    pub const PROXY: &[&str] = &["proxy.url", "tls.cert_file", "tls.key_file"];
}
