//! How the servers are reached, and how long anything may take.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rp_base::{Secret, SharedClock};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::StoreError;

/// How the connection is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostgresTls {
    /// Not at all: the server is on this machine.
    Off,
    /// The certificate must be good for the host name, by these roots (PEM) or the built-in ones.
    Verified { roots: Option<PathBuf> },
}

/// Where the server is.
#[derive(Debug, Clone)]
pub struct PostgresParts {
    /// A host name, an address, or the folder of a Unix socket.
    pub host: String,
    pub port: u16,
    pub database: String,
    pub user: String,
    pub password: Option<Secret<String>>,
    pub tls: PostgresTls,
}

/// Servers that one URL may name.
const MOST_SERVERS: usize = 8;

/// How the database is opened. Every member but the addresses has a good default.
#[derive(Clone)]
pub struct PostgresOptions {
    /// At least one. Of several, the one that takes writes is used.
    pub(super) addresses: Vec<PgConnectOptions>,
    /// Connections of this process, at least 6. A third of them write; one listens for changes.
    pub max_connections: u32,
    /// How long a call waits for a connection.
    pub connect_wait: Duration,
    /// How long the opening of the store waits for each answer of a slow server. A process that ends because its server
    /// is busy only adds to the work. A server that refuses ends the opening at once.
    pub start_wait: Duration,
    /// How long one statement may run, lock waits included. The server ends it.
    pub statement_timeout: Duration,
    /// How long a writer may be silent within a transaction, a frozen process: the server ends it.
    pub idle_in_transaction: Duration,
    /// How long lost connections, serialisation failures and deadlocks are tried again.
    pub retry_for: Duration,
    /// How often it is made sure that the server answers; [`crate::Store::freshness`] counts from there.
    pub pulse_every: Duration,
    /// How often expired documents become tombstones and old tombstones are dropped; `None`: never.
    pub sweep_every: Option<Duration>,
    /// How long a follower may be away without missing that a document is gone.
    pub keep_tombstones: Duration,
    /// For tests: stands for the database's clock.
    pub clock: Option<SharedClock>,
}

impl PostgresOptions {
    /// From `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. Several hosts stand there with commas, as libpq
    /// has it; `target_session_attrs` may be `primary` or `read-write`, which is what happens without it. Without
    /// `sslmode` a server on another machine must show a certificate for its name.
    ///
    /// # Errors
    /// [`StoreError::BadCall`]: no such URL. The error does not repeat it, for it holds the password.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        const NO_URL: StoreError =
            StoreError::BadCall("not a URL of the form postgres://USER@HOST:PORT/DATABASE");
        let (scheme, rest) = url.split_once("://").ok_or(NO_URL)?;
        if !matches!(scheme, "postgres" | "postgresql") {
            return Err(NO_URL);
        }
        let (authority, path) = rest.split_once('/').ok_or(NO_URL)?;
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (database, query) = path.split_once('?').unwrap_or((path, ""));
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("target_session_attrs", "primary" | "read-write")) => {}
                Some(("target_session_attrs", _)) => {
                    return Err(StoreError::BadCall("target_session_attrs must be primary or read-write"));
                }
                _ => pairs.push(pair),
            }
        }
        let says_mode =
            pairs.iter().any(|pair| pair.starts_with("sslmode=") || pair.starts_with("ssl-mode="));
        let query = pairs.join("&");
        let mut addresses = Vec::new();
        for host in hosts.split(',') {
            let one = format!("{scheme}://{user}@{host}/{database}?{query}");
            let address: PgConnectOptions = one.parse().map_err(|_| NO_URL)?;
            let here = address.get_socket().is_some() || is_here(address.get_host());
            let address = if says_mode || here { address } else { address.ssl_mode(PgSslMode::VerifyFull) };
            addresses.push(address);
        }
        if addresses.len() > MOST_SERVERS {
            return Err(StoreError::BadCall("the URL names more than 8 servers"));
        }
        Ok(Self::new(addresses))
    }

    /// With this password.
    #[must_use]
    pub fn with_password(self, password: &Secret<String>) -> Self {
        self.each(|address| address.password(password.expose()))
    }

    /// With these certificates (PEM) in place of the built-in ones to trust; a certificate must then be shown, for the
    /// host's name.
    #[must_use]
    pub fn with_roots(self, pem: &str) -> Self {
        self.each(|address| {
            address.ssl_mode(PgSslMode::VerifyFull).ssl_root_cert_from_pem(pem.as_bytes().to_vec())
        })
    }

    /// With our certificate towards the server; PEM.
    #[must_use]
    pub fn with_client(self, certificate: &str, key: &Secret<String>) -> Self {
        self.each(|address| {
            address.ssl_client_cert_from_pem(certificate).ssl_client_key_from_pem(key.expose())
        })
    }

    /// Where the database is, for people: without user and password.
    pub fn place(&self) -> String {
        let of = |address: &PgConnectOptions| match address.get_socket() {
            Some(folder) => folder.display().to_string(),
            None => format!("{}:{}", address.get_host(), address.get_port()),
        };
        let hosts: Vec<String> = self.addresses.iter().map(of).collect();
        let database = self.addresses.first().and_then(PgConnectOptions::get_database).unwrap_or_default();
        format!("{}/{database}", hosts.join(","))
    }

    fn each(mut self, change: impl Fn(PgConnectOptions) -> PgConnectOptions) -> Self {
        self.addresses = self.addresses.into_iter().map(change).collect();
        self
    }

    /// From its parts.
    pub fn from_parts(parts: &PostgresParts) -> Self {
        let mut address = PgConnectOptions::new_without_pgpass()
            .host(&parts.host)
            .port(parts.port)
            .database(&parts.database)
            .username(&parts.user);
        if let Some(password) = &parts.password {
            address = address.password(password.expose());
        }
        if parts.host.starts_with('/') {
            address = address.socket(&parts.host);
        }
        address = match &parts.tls {
            PostgresTls::Off => address.ssl_mode(PgSslMode::Disable),
            PostgresTls::Verified { roots: None } => address.ssl_mode(PgSslMode::VerifyFull),
            PostgresTls::Verified { roots: Some(file) } => {
                address.ssl_mode(PgSslMode::VerifyFull).ssl_root_cert(file)
            }
        };
        Self::new(vec![address])
    }

    fn new(addresses: Vec<PgConnectOptions>) -> Self {
        Self {
            addresses,
            max_connections: 12,
            connect_wait: Duration::from_secs(3),
            start_wait: Duration::from_secs(30),
            statement_timeout: Duration::from_secs(5),
            idle_in_transaction: Duration::from_secs(5),
            retry_for: Duration::from_secs(3),
            pulse_every: Duration::from_millis(250),
            sweep_every: Some(Duration::from_secs(30)),
            keep_tombstones: Duration::from_secs(24 * 3600),
            clock: None,
        }
    }

    /// An address, for every connection that is not there to migrate.
    pub(super) fn session(&self, address: &PgConnectOptions) -> PgConnectOptions {
        let millis = |duration: Duration| duration.as_millis().max(1).to_string();
        address.clone().application_name("aro").options([
            ("statement_timeout", millis(self.statement_timeout)),
            ("lock_timeout", millis(self.statement_timeout)),
            ("idle_in_transaction_session_timeout", millis(self.idle_in_transaction)),
            // Each statement of ours has its index. A plan from when the table was small would read the whole table,
            // and a session keeps it while the table grows.
            ("enable_seqscan", "off".to_owned()),
            // Compiling a statement takes longer than any of ours.
            ("jit", "off".to_owned()),
        ])
    }
}

fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("place", &self.place())
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(options: &PostgresOptions) -> PgSslMode {
        options.addresses[0].get_ssl_mode()
    }

    #[test]
    fn urls_are_read_and_secrets_not_told() {
        let options = PostgresOptions::from_url("postgres://me:hunter2@db.example.test:5433/aro").unwrap();
        assert!(matches!(mode(&options), PgSslMode::VerifyFull));
        let shown = format!("{options:?}");
        assert!(shown.contains("db.example.test:5433/aro") && !shown.contains("hunter2"), "{shown}");
        let options = PostgresOptions::from_url("postgres://me@127.0.0.1/aro").unwrap();
        assert!(!matches!(mode(&options), PgSslMode::VerifyFull));
        let options = PostgresOptions::from_url("postgres://me@db.example.test/aro?sslmode=require").unwrap();
        assert!(matches!(mode(&options), PgSslMode::Require));
        for wrong in [
            "",
            "mysql://me:hunter2@x/y",
            "postgres://me:hunter2@x:port/y",
            "postgres://me:hunter2@x",
            "postgres://me:hunter2@x/y?target_session_attrs=any",
        ] {
            let refused = PostgresOptions::from_url(wrong).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
        }
    }

    #[test]
    fn several_servers_share_everything_but_their_place() {
        let url = "postgres://me:p%40ss@one:1,[::1]:2,three/aro?target_session_attrs=read-write";
        let options = PostgresOptions::from_url(url).unwrap();
        assert_eq!(options.place(), "one:1,[::1]:2,three:5432/aro");
        assert!(options.addresses.iter().all(|each| each.get_username() == "me"));
        assert!(matches!(mode(&options), PgSslMode::VerifyFull));
        assert!(!matches!(options.addresses[1].get_ssl_mode(), PgSslMode::VerifyFull));
        let many = ["h"; 9].join(",");
        assert!(PostgresOptions::from_url(&format!("postgres://{many}/aro")).is_err());
    }
}
