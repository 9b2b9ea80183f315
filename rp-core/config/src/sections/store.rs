//! `[store]` and `[keys]`.

use std::path::PathBuf;

use rp_settings::check::{missing_once, pair};
use rp_settings::{
    Group, Reader, SecretFile, Section, count, database, file, optional_file, secret, secret_path, section,
    word, words,
};

section! {
    /// Where documents are kept.
    "store" pub(crate) struct StoreLocation {
        /// SQLite for one process, PostgreSQL for any number.
        kind: KindWord = word("sqlite"),
        /// The SQLite file.
        path: PathBuf = file("aro.db"),
    }
}

section! {
    /// Where a PostgreSQL database is: exactly one of `url` and `url_file`; certificate and key come together.
    "store" pub struct Postgres {
        /// The PostgreSQL database. Several hosts with commas: the one that takes writes is used.
        url: Option<String> = database(),
        /// File with that URL, which may then hold the password.
        url_file: Option<SecretFile> = secret(),
        /// File with the password.
        password_file: Option<SecretFile> = secret(),
        /// PEM: the only CA to trust for PostgreSQL, in place of the usual ones.
        ca_file: Option<PathBuf> = optional_file(),
        /// PEM: our certificate towards PostgreSQL.
        client_cert_file: Option<PathBuf> = optional_file(),
        /// PEM: the key of that certificate.
        client_key_file: Option<SecretFile> = secret(),
        /// Connections of one process to PostgreSQL, at most.
        connections: u32 = count("12", 6..=500),
    }
}

section! {
    /// What happens while the store is away.
    "store" pub(crate) struct Away {
        /// When the store is away: refuse everything after 5 s and cut streams after 15 s, or let cached grants live on
        /// and write the audit log to `audit.spool_file`. An alarm rings either way.
        outage: Outage = word("refuse"),
    }
}

section! {
    /// Keys that seal what is secret in the store.
    "keys" pub struct Keys {
        /// The sealing keys; made on first start.
        keyring_file: PathBuf = secret_path("keyring.json").followed(),
    }
}

words! {
    /// The word for a kind of store.
    pub(crate) enum KindWord {
        Sqlite = "sqlite",
        Postgres = "postgres",
    }
}

words! {
    /// Behaviour while the store is unavailable (`contract/rules.md` §3.7).
    pub enum Outage {
        /// Nothing new after 5 s, nothing at all after 15 s.
        Refuse = "refuse",
        /// Cached grants stay valid, and the audit log is written to a local file.
        Spool = "spool",
    }
}

/// Where documents are kept.
#[derive(Debug, Clone)]
pub struct Store {
    /// The SQLite file.
    pub path: PathBuf,
    pub kind: StoreKind,
    pub outage: Outage,
}

#[derive(Debug, Clone)]
pub enum StoreKind {
    Sqlite,
    Postgres(Postgres),
}

pub(crate) const SECTION: Section = &[StoreLocation::GROUP, Postgres::GROUP, Away::GROUP];

/// SQLite, or PostgreSQL with exactly one way to say where.
pub(crate) fn read(r: &mut Reader) -> Store {
    let (place, postgres, away) = (StoreLocation::read(r), Postgres::read(r), Away::read(r));
    let Group { keys, .. } = Postgres::GROUP;
    let kind = match place.kind {
        KindWord::Sqlite => {
            for key in keys.iter().filter(|key| r.is_set(key.path)).collect::<Vec<_>>() {
                r.mistake(key.path, "has no effect unless store.kind is \"postgres\"");
            }
            StoreKind::Sqlite
        }
        KindWord::Postgres => {
            check_postgres(r, &postgres);
            StoreKind::Postgres(postgres)
        }
    };
    Store { path: place.path, kind, outage: away.outage }
}

fn check_postgres(r: &mut Reader, postgres: &Postgres) {
    let certificate = ("store.client_cert_file", postgres.client_cert_file.is_some());
    pair(r, certificate, ("store.client_key_file", postgres.client_key_file.is_some()));
    if r.is_set("store.url") && r.is_set("store.url_file") {
        r.mistake("store.url_file", "stands beside store.url: leave one of them out");
    } else if !r.is_set("store.url") && !r.is_set("store.url_file") {
        missing_once(
            r,
            "store.url",
            "is needed with store.kind = \"postgres\", or store.url_file in its place",
        );
    }
}
