//! `aro store copy`: from one place to another, with counts and digests compared.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::Args;
use rp_base::{SharedClock, SystemClock};
use rp_config::SecretFile;
use rp_core::services::{AUDIT, open_audit_store, open_postgres, open_sqlite, open_store};
use rp_database::{CopyReport, PostgresOptions, SharedStore, copy_only};
use rp_documents::Collection;

use crate::config_args::ConfigArgs;
use crate::output::print_line;

#[derive(Debug, Args)]
pub struct CopyArgs {
    /// `sqlite:FILE`, `postgres://USER@HOST/DATABASE`, or `settings:FILE` for store and audit trail of a settings file
    #[arg(long, value_name = "PLACE")]
    pub from: StoreLocation,
    /// As --from; must be empty
    #[arg(long, value_name = "PLACE")]
    pub to: StoreLocation,
    /// Where the audit trail is, when it is not with the documents
    #[arg(long, value_name = "PLACE")]
    pub audit_from: Option<StoreLocation>,
    /// Where the audit trail goes, when not to the documents
    #[arg(long, value_name = "PLACE")]
    pub audit_to: Option<StoreLocation>,
    /// File with the password of `postgres://` places
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    Sqlite(PathBuf),
    Postgres(String),
    Settings(PathBuf),
}

impl FromStr for StoreLocation {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.split_once(':') {
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            Some(("settings", file)) if !file.is_empty() => Ok(Self::Settings(file.into())),
            _ => Err("expected sqlite:FILE, postgres://USER@HOST/DATABASE or settings:FILE"),
        }
    }
}

/// An open store, and where its audit trail is.
struct OpenStore {
    documents: SharedStore,
    audit: SharedStore,
}

/// Copies and says what.
///
/// # Errors
/// A place cannot be opened, the one copied to is not empty, or the two differ in the end.
pub async fn run(args: &CopyArgs) -> anyhow::Result<()> {
    let open = async |place: &StoreLocation, audit: Option<&StoreLocation>| -> anyhow::Result<OpenStore> {
        let (documents, own) = open(place, args).await?;
        let audit = match audit {
            Some(place) => open(place, args).await?.0,
            None => own,
        };
        Ok(OpenStore { documents, audit })
    };
    let from = open(&args.from, args.audit_from.as_ref()).await.context("--from")?;
    let to = open(&args.to, args.audit_to.as_ref()).await.context("--to")?;
    let documents: Vec<Collection> =
        Collection::ALL.into_iter().filter(|collection| !AUDIT.contains(collection)).collect();
    let copied = async {
        print_report(&copy_only(&*from.documents, &*to.documents, &documents).await?)?;
        // The index has positions of the store that it was made in: it is made anew.
        let audit: Vec<Collection> =
            AUDIT.into_iter().filter(|collection| *collection != Collection::AuditIndex).collect();
        print_report(&copy_only(&*from.audit, &*to.audit, &audit).await?)?;
        Ok::<_, anyhow::Error>(())
    };
    let outcome = copied.await;
    for store in [from.documents, from.audit, to.documents, to.audit] {
        store.close().await;
    }
    outcome
}

fn print_report(copied: &[CopyReport]) -> std::io::Result<()> {
    for CopyReport { collection, documents, compared, digest } in copied {
        print_line(&format!(
            "{:<18} {documents:>9} copied {compared:>9} compared  {digest}",
            collection.name()
        ))?;
    }
    Ok(())
}

/// The store of documents there, and where its settings have the audit trail.
async fn open(place: &StoreLocation, args: &CopyArgs) -> anyhow::Result<(SharedStore, SharedStore)> {
    let clock: SharedClock = Arc::new(SystemClock);
    let store = match place {
        StoreLocation::Sqlite(path) => open_sqlite(path, &clock).await?,
        StoreLocation::Postgres(url) => {
            let (user, _) = url.split_once('@').unwrap_or_default();
            let after = user.split_once("://").map_or("", |(_, user)| user);
            ensure!(
                !after.contains(':'),
                "a password on the command line is seen by all: use --password-file"
            );
            let mut options = PostgresOptions::from_url(url)?;
            if let Some(file) = &args.password_file {
                options = options.with_password(&SecretFile::new(file).read()?);
            }
            open_postgres(&options).await?
        }
        StoreLocation::Settings(file) => {
            let settings = ConfigArgs { config: file.clone(), set: Vec::new() }.settings(&[])?;
            let documents = open_store(&settings, &clock).await?;
            let audit = open_audit_store(&settings, &clock, Some(&documents)).await?;
            return Ok((documents, audit));
        }
    };
    Ok((Arc::clone(&store), store))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        assert_eq!("sqlite:a/b.db".parse(), Ok(StoreLocation::Sqlite("a/b.db".into())));
        assert_eq!("settings:aro.toml".parse(), Ok(StoreLocation::Settings("aro.toml".into())));
        let url = "postgres://aro@db/aro";
        assert_eq!(url.parse(), Ok(StoreLocation::Postgres(url.to_owned())));
        for wrong in ["", "sqlite:", "aro.db", "mysql://x"] {
            assert!(wrong.parse::<StoreLocation>().is_err(), "{wrong}");
        }
    }
}
