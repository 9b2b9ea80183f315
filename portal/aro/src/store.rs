//! `aro store`: backups and documents of a running process; restore and copy while none runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Subcommand;
use rp_base::text::terminal_json;
use serde_json::{Value, json};

use crate::config_args::ConfigArgs;
use crate::control::Client;
use crate::output::{print_json, print_part};
use crate::{store_copy, store_restore};

#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Copy every document into an empty store, and compare counts and digests; while no process uses either
    Copy(store_copy::CopyArgs),
    /// Have the running process write a backup: FILE, and FILE.audit with the audit trail (SQLite)
    Backup {
        /// Where the process may write; must not be there yet
        file: PathBuf,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Put a backup in the place of the store, while no process uses it (SQLite)
    Restore(store_restore::RestoreArgs),
    /// Print one document as it is stored, by its id or unique key
    Get {
        /// Such as `OpenShiftClusters`
        collection: String,
        id: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Print the documents of a collection, one a line
    List {
        /// Such as `Grants`
        collection: String,
        /// Only of this partition
        #[arg(long)]
        partition: Option<String>,
        /// Only so many
        #[arg(long)]
        limit: Option<usize>,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// Runs a verb.
///
/// # Errors
/// No process answers, or it refuses; a store cannot be opened, or holds something it should not.
pub async fn run(verb: StoreVerb) -> anyhow::Result<()> {
    let client = |config: &ConfigArgs| Client::new(&config.settings(&[])?);
    match verb {
        StoreVerb::Copy(args) => store_copy::run(&args).await,
        StoreVerb::Backup { file, config } => backup(&file, &client(&config)?).await,
        StoreVerb::Restore(args) => store_restore::run(&args, &args.config.settings(&[])?).await,
        StoreVerb::Get { collection, id, config } => {
            let query = query(&[("collection", &collection), ("id", &id)]);
            let found = client(&config)?.get(&format!("/store/document?{query}")).await?;
            Ok(print_json(serde_json::to_string_pretty(&found)?)?)
        }
        StoreVerb::List { collection, partition, limit, config } => {
            list(&client(&config)?, &collection, partition.as_deref(), limit).await
        }
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

async fn backup(file: &Path, client: &Client) -> anyhow::Result<()> {
    let file = std::path::absolute(file)?;
    let done = client.post("/store/backup", &json!({ "file": file })).await?;
    let files = done.get("files").and_then(Value::as_array).context("the answer has another form")?;
    ensure!(!files.is_empty(), "nothing was written");
    Ok(files.iter().try_for_each(|file| print_json(file.to_string()))?)
}

async fn list(
    client: &Client,
    collection: &str,
    partition: Option<&str>,
    limit: Option<usize>,
) -> anyhow::Result<()> {
    let mut left = limit.unwrap_or(usize::MAX);
    let mut from: Option<String> = None;
    while left > 0 {
        let size = left.min(200).to_string();
        let mut pairs = vec![("collection", collection), ("limit", size.as_str())];
        pairs.extend(partition.map(|partition| ("partition", partition)));
        pairs.extend(from.as_deref().map(|from| ("continue", from)));
        let page = client.get(&format!("/store/documents?{}", query(&pairs))).await?;
        let items = page.get("items").and_then(Value::as_array).context("the answer has another form")?;
        for item in items.iter().take(left) {
            if !print_part(&format!("{}\n", terminal_json(item.to_string())))? {
                return Ok(());
            }
        }
        left -= items.len().min(left);
        from = page.get("continue").and_then(Value::as_str).map(str::to_owned);
        if from.is_none() {
            break;
        }
    }
    Ok(())
}
