//! How the server is reached, and how long anything may take.

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

/// How the database is opened. Every member but the address has a good default.
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) address: PgConnectOptions,
    /// Connections of this process, at least 6. A third of them write; one listens for changes.
    pub max_connections: u32,
    /// How long a call waits for a connection, and so for a server that starts.
    pub connect_wait: Duration,
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
    /// From `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`. Without `sslmode` a server on another machine
    /// must show a certificate for its name.
    ///
    /// # Errors
    /// [`StoreError::BadCall`]: no such URL. The error does not repeat it, for it holds the password.
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        const NO_URL: StoreError =
            StoreError::BadCall("not a URL of the form postgres://USER@HOST:PORT/DATABASE");
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(NO_URL);
        }
        let address: PgConnectOptions = url.parse().map_err(|_| NO_URL)?;
        let says_mode = url.split_once('?').is_some_and(|(_, query)| {
            query.split('&').any(|pair| pair.starts_with("sslmode=") || pair.starts_with("ssl-mode="))
        });
        let here = address.get_socket().is_some() || is_here(address.get_host());
        Ok(Self::new(if says_mode || here { address } else { address.ssl_mode(PgSslMode::VerifyFull) }))
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
        Self::new(address)
    }

    fn new(address: PgConnectOptions) -> Self {
        Self {
            address,
            max_connections: 12,
            connect_wait: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            idle_in_transaction: Duration::from_secs(5),
            retry_for: Duration::from_secs(3),
            pulse_every: Duration::from_millis(250),
            sweep_every: Some(Duration::from_secs(30)),
            keep_tombstones: Duration::from_secs(24 * 3600),
            clock: None,
        }
    }

    /// The options of every connection that is not there to migrate.
    pub(super) fn session(&self) -> PgConnectOptions {
        let millis = |duration: Duration| duration.as_millis().max(1).to_string();
        self.named("aro").options([
            ("statement_timeout", millis(self.statement_timeout)),
            ("lock_timeout", millis(self.statement_timeout)),
            ("idle_in_transaction_session_timeout", millis(self.idle_in_transaction)),
        ])
    }

    pub(super) fn named(&self, name: &str) -> PgConnectOptions {
        self.address.clone().application_name(name)
    }
}

fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("host", &self.address.get_host())
            .field("port", &self.address.get_port())
            .field("database", &self.address.get_database())
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_secrets_not_told() {
        let options = PostgresOptions::from_url("postgres://me:hunter2@db.example.test:5433/aro").unwrap();
        assert!(matches!(options.address.get_ssl_mode(), PgSslMode::VerifyFull));
        let shown = format!("{options:?}");
        assert!(shown.contains("db.example.test") && !shown.contains("hunter2"), "{shown}");
        let options = PostgresOptions::from_url("postgres://me@127.0.0.1/aro").unwrap();
        assert!(!matches!(options.address.get_ssl_mode(), PgSslMode::VerifyFull));
        let options = PostgresOptions::from_url("postgres://me@db.example.test/aro?sslmode=require").unwrap();
        assert!(matches!(options.address.get_ssl_mode(), PgSslMode::Require));
        for wrong in ["", "mysql://me:hunter2@x/y", "postgres://me:hunter2@x:port/y"] {
            let refused = PostgresOptions::from_url(wrong).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
        }
    }
}
