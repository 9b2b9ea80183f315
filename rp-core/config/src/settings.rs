//! The typed tree. No secret is in it, only the names of files.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use crate::{Azure, Backend, Monitor, Recording, Rp, SecretFile, Ssh};

/// Every setting. Keys that a role needs ([`crate::needs`]) are there when it named them.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: Listen,
    pub portal: Portal,
    pub proxy: Proxy,
    pub tls: Option<Tls>,
    pub store: Store,
    pub keys: Keys,
    pub oidc: Option<Oidc>,
    pub roles: Roles,
    pub session: Session,
    pub access: Access,
    pub elevation: Elevation,
    pub robots: Robots,
    pub imports: Imports,
    pub prometheus: Prometheus,
    pub monitor: Monitor,
    pub backend: Backend,
    pub rp: Rp,
    pub recording: Recording,
    pub terminal: Terminal,
    pub ssh: Ssh,
    pub audit: Audit,
    pub limits: Limits,
    pub azure: Azure,
    pub private_link: PrivateLink,
    pub metrics: Metrics,
    pub log: Log,
}

#[derive(Debug, Clone)]
pub struct Listen {
    pub portal: SocketAddr,
    /// On loopback, unless the settings allow another address.
    pub admin: SocketAddr,
    pub proxy_protocol_from: Vec<IpNet>,
    pub forwarded_from: Vec<IpNet>,
    /// The control socket; `None`: none.
    pub control: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Portal {
    pub url: Option<Url>,
    /// What a run-book is for (an operator's name, or `*`) and its address.
    pub run_books: Vec<(String, String)>,
    /// Portals of other regions: name and address.
    pub regions: Vec<(String, Url)>,
}

#[derive(Debug, Clone)]
pub struct Proxy {
    pub url: Option<Url>,
    /// Lower-case host names, without ports, under which the API proxy answers: the URL's first.
    pub hosts: Vec<String>,
}

/// Certificate and key come together.
#[derive(Debug, Clone)]
pub struct Tls {
    pub cert_file: PathBuf,
    pub key_file: SecretFile,
    pub ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub struct Store {
    /// The SQLite file.
    pub path: PathBuf,
    pub kind: StoreKind,
    pub outage: Outage,
}

/// Behaviour while the store is unavailable (`contract/rules.md` §3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// Nothing new after 5 s, nothing at all after 15 s.
    Refuse,
    /// Cached grants stay valid, and the audit log is written to a local file.
    Spool,
}

#[derive(Debug, Clone)]
pub enum StoreKind {
    Sqlite,
    Postgres(Postgres),
}

#[derive(Debug, Clone)]
pub struct Postgres {
    pub url: PostgresUrl,
    pub password_file: Option<SecretFile>,
    pub ca_file: Option<PathBuf>,
    /// Certificate and key come together.
    pub client: Option<(PathBuf, SecretFile)>,
    pub connections: u32,
}

#[derive(Debug, Clone)]
pub enum PostgresUrl {
    /// Without a password.
    Text(String),
    File(SecretFile),
}

#[derive(Debug, Clone)]
pub struct Keys {
    pub keyring_file: PathBuf,
}

/// There when the issuer is.
#[derive(Debug, Clone)]
pub struct Oidc {
    pub issuer: Url,
    pub client_id: String,
    pub credential: OidcCredential,
    pub scopes: Vec<String>,
    /// `None`: the usual ones.
    pub identity_claim: Option<String>,
    pub groups_claim: String,
    pub groups_from: GroupSource,
    pub api_audience: Option<String>,
    pub ca_file: Option<PathBuf>,
}

/// Where to read groups that do not fit into a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupSource {
    Token,
    Userinfo,
    Address(Url),
}

/// How long people stay signed in.
#[derive(Debug, Clone)]
pub struct Session {
    pub idle: Duration,
    pub max_age: Duration,
    pub revalidate: Duration,
    pub alarm_after: Duration,
    pub backchannel_ends_grants: bool,
}

/// How we show the provider who we are.
#[derive(Debug, Clone)]
pub enum OidcCredential {
    /// `client_secret_basic` or `client_secret_post`.
    Secret(SecretFile),
    /// `private_key_jwt` (RFC 7523); the certificate's thumbprint goes into the header.
    Key { key_file: SecretFile, cert_file: Option<PathBuf> },
}

/// The provider's groups per role.
#[derive(Debug, Clone, Default)]
pub struct Roles {
    pub viewer: Vec<String>,
    pub sre: Vec<String>,
    pub elevated: Vec<String>,
    pub approver: Vec<String>,
    pub auditor: Vec<String>,
    pub admin: Vec<String>,
}

impl Roles {
    /// The roles' names with their groups, least role first.
    pub fn named(&self) -> [(&'static str, &[String]); 6] {
        [
            ("viewer", &self.viewer),
            ("sre", &self.sre),
            ("elevated", &self.elevated),
            ("approver", &self.approver),
            ("auditor", &self.auditor),
            ("admin", &self.admin),
        ]
    }
}

#[derive(Debug, Clone)]
pub struct Access {
    pub cli_life: Duration,
    pub default_life: Duration,
    pub max_life: Duration,
    pub min_life: Duration,
    /// Characters.
    pub min_reason: usize,
    pub max_power_life: Duration,
    pub max_total_life: Duration,
    pub renew_life: Duration,
    pub password_life: Duration,
    pub fresh_sign_in: Duration,
    pub max_grants: usize,
    pub max_streams: usize,
    pub max_requests: usize,
    pub own_networks: Vec<IpNet>,
}

#[derive(Debug, Clone)]
pub struct Elevation {
    /// Groups.
    pub self_service: Vec<String>,
    /// Whether self-service gives admin rights too; else write.
    pub self_service_admin: bool,
    pub max_life: Duration,
    pub break_glass: bool,
}

#[derive(Debug, Clone)]
pub struct Robots {
    pub max_life: Duration,
    /// Client ids of the provider, and the robots that they are.
    pub clients: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub struct Imports {
    pub allow: Vec<IpNet>,
}

/// Questions to the Prometheus of clusters.
#[derive(Debug, Clone)]
pub struct Prometheus {
    /// `NAME=WAY`, validated where they are used.
    pub ways: Vec<String>,
    pub page_time: Duration,
    pub tool_time: Duration,
    pub fleet_time: Duration,
    pub series: usize,
    pub drawn: usize,
    pub answer_bytes: u64,
    pub per_cluster: usize,
    pub parallel: usize,
    pub names_bytes: usize,
}

#[derive(Debug, Clone)]
pub struct Audit {
    /// A SQLite file; `None`: with the documents, in PostgreSQL.
    pub path: Option<PathBuf>,
    pub checkpoint_key_file: PathBuf,
    pub checkpoint_period: Duration,
    pub spool_file: PathBuf,
    /// Public Ed25519 keys whose checkpoints are trusted in addition to our own.
    pub known_keys: Vec<[u8; 32]>,
    pub sinks: Vec<AuditSink>,
    /// `None`: nothing is removed.
    pub retention: Option<Duration>,
}

/// A copy of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSink {
    /// Names its place in the log; no two are the same.
    pub name: String,
    pub to: AuditSinkTarget,
    /// The records of `contract/portal.md` §17.3 instead of our own lines.
    pub ifx: bool,
    /// Refuse what needs an entry when the sink takes nothing for so long; `None`: go on, with an alarm.
    pub refuse_after: Option<Duration>,
}

/// Where a copy goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditSinkTarget {
    File {
        path: PathBuf,
        /// Bytes.
        rotate: u64,
        /// 0: all.
        keep: usize,
        sync: bool,
    },
    /// `host:port`.
    SyslogTcp(String),
    SyslogTls {
        /// `host:port`.
        address: String,
        ca_file: PathBuf,
    },
    /// `host:port`.
    SyslogUdp(String),
    SyslogUnix(PathBuf),
    Http {
        url: Url,
        token_file: Option<SecretFile>,
        /// Beside the system's.
        ca_file: Option<PathBuf>,
    },
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub connections: usize,
    pub per_address: usize,
    /// Connections of clients that have not signed in.
    pub strangers: usize,
    pub strangers_per_address: usize,
    /// Of one connection.
    pub stranger_answers: usize,
    pub stranger_time: Duration,
    /// Of one address; 0: no limit.
    pub connections_per_minute: u32,
    pub idle: Duration,
    pub stalled: Duration,
    pub checks_from: Vec<IpNet>,
    pub streams: u32,
    pub handshake: Duration,
    pub head: Duration,
    pub head_bytes: usize,
    pub body_bytes: usize,
    pub leave: Duration,
    pub drain: Duration,
    /// By address; 0 in this and the next three: no limit.
    pub sign_in_per_minute: u32,
    /// By person.
    pub issue_per_minute: u32,
    /// By person.
    pub renewals_per_minute: u32,
    /// By address.
    pub misses_per_minute: u32,
    /// By grant.
    pub streams_per_minute: u32,
    /// To one cluster; 0: no limit.
    pub cluster_requests_per_second: u32,
    pub cluster_requests_burst: u32,
    pub watched_clusters: usize,
    pub kept_clusters: usize,
    pub live_pages: usize,
    pub live_pages_per_person: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// A session waits so long for its browser.
    pub grace: Duration,
    /// Sessions of one process.
    pub most: usize,
    /// A terminal ends when nothing was typed for so long.
    pub idle: Duration,
    /// Whether others may look on.
    pub watch: bool,
}

#[derive(Debug, Clone)]
pub struct PrivateLink {
    pub way: PrivateLinkMode,
}

/// How private addresses are reached (`contract/portal.md` §12.2, §12.3).
#[derive(Debug, Clone)]
pub enum PrivateLinkMode {
    Direct,
    Connect {
        /// `host:port`.
        address: String,
        server_name: String,
        ca_file: PathBuf,
        client_cert_file: PathBuf,
        client_key_file: SecretFile,
    },
}

#[derive(Debug, Clone)]
pub struct Metrics {
    /// `udp:host:port` or `unix:path`, validated when it is opened.
    pub statsd_socket: Option<String>,
    pub statsd_account: String,
    pub statsd_namespace: String,
    /// Account and namespace of lines about clusters.
    pub cluster_account: String,
    pub cluster_namespace: String,
    /// `all`, `unhealthy` or `fleet`: how much of each cluster is exported to Prometheus.
    pub detail: String,
    pub environment: String,
}

#[derive(Debug, Clone)]
pub struct Log {
    /// A level or a filter.
    pub level: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    Text,
}
