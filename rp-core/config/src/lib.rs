//! Settings: `aro.toml`, the environment and flags, read into one typed tree, with all mistakes at once.
//!
//! Each section is declared once, below `sections`, in the language of `rp-settings`; [`parse`] and [`reference_markdown`]
//! come from the declarations. [`load`] reads the process's environment and a file.
//!
//! Crates take the sections that they go by; all of them together, [`Settings`], are for the crates that start processes.

mod load;
mod sections;
mod settings;

pub use load::{LoadError, load};
pub use rp_settings::values::{address, is_local};
pub use rp_settings::{File, Input, Mistake, Mistakes, Override, SecretFile, SecretFileError, Word};
pub use sections::access::{Access, Elevation, Imports, Robots, SelfServiceRights};
pub use sections::audit::{Audit, AuditSink, AuditSinkTarget};
pub use sections::azure::{Azure, AzureCredential, AzureEnvironment, CredentialKind, DiagnosisEndpoint};
pub use sections::backend::Backend;
pub use sections::limits::Limits;
pub use sections::listen::Listen;
pub use sections::maintenance::Maintenance;
pub use sections::metrics::{Log, LogFormat, Metrics, MetricsDetail};
pub use sections::monitor::Monitor;
pub use sections::notify::{Notify, NotifyDestination, NotifyTarget, NotifyTopic, NotifyUrl};
pub use sections::oidc::{GroupSource, Oidc, OidcCredential, OidcOptions, Roles};
pub use sections::portal::{Portal, Proxy};
pub use sections::private_link::{PrivateLink, PrivateLinkMode};
pub use sections::prometheus::Prometheus;
pub use sections::recording::{BlobCredential, Recording, RecordingPolicy, RecordingRules, RecordingStorage};
pub use sections::rp::{
    AdminCallers, ArmCallers, CallerCertificate, Rp, RpAnswers, RpApi, RpFeatures, RpInstall, RpInvestigate,
    RpOidc, RpOperator, RpResources, TokenCheck, TokenPolicy, Tokens,
};
pub use sections::session::Session;
pub use sections::store::{Keys, Outage, Postgres, Store, StoreKind};
pub use sections::terminal::{Ssh, Terminal};
pub use sections::tls::Tls;
pub use settings::{Settings, parse, reference_markdown};

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
