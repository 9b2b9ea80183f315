//! `aro api`: the resource provider's API by hand.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand};
use http::Method;
use rp_base::Secret;
use rp_client::{Client, ClientOptions, ClusterId, Identity, Operation};
use serde::Serialize;
use serde_json::Value;
use url::Url;

/// Largest body that the API takes, bytes.
const MOST_BODY: u64 = 1 << 20;

/// How the API is reached.
#[derive(Debug, Args)]
pub struct ApiArgs {
    /// Scheme, host and port of the API
    #[arg(long, env = "ARO_RP_URL", default_value = "https://localhost:8443")]
    pub url: Url,
    /// Version of the API
    #[arg(long, default_value = rp_client::API_VERSION)]
    pub api_version: String,
    /// PEM certificates to trust beside the host's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// PEM certificate to show
    #[arg(long, value_name = "FILE", requires = "key_file")]
    pub cert_file: Option<PathBuf>,
    /// PEM key of that certificate
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    pub key_file: Option<PathBuf>,
    #[command(subcommand)]
    pub verb: ApiVerb,
}

/// What to ask. ID is a cluster's resource id.
#[derive(Debug, Subcommand)]
pub enum ApiVerb {
    /// Print a cluster
    Get { id: ClusterId },
    /// Print the clusters of a subscription
    List {
        subscription: String,
        /// Only of that resource group
        #[arg(long)]
        group: Option<String>,
    },
    /// Create a cluster, or replace what may be changed of one
    Put(WriteArgs),
    /// Change members of a cluster
    Patch(WriteArgs),
    /// Delete a cluster
    Delete {
        id: ClusterId,
        /// Wait for the end
        #[arg(long)]
        wait: bool,
    },
    /// Wait until nothing is under way on a cluster, and print each state
    Watch { id: ClusterId },
    /// Send any request, and print the answer
    Call {
        method: Method,
        /// With a leading slash; `api-version` is added
        path: String,
        /// JSON to send
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// A body for a cluster.
#[derive(Debug, Args)]
pub struct WriteArgs {
    pub id: ClusterId,
    /// JSON to send
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// Wait for the end
    #[arg(long)]
    pub wait: bool,
}

/// Longest that a verb waits for an operation.
const LONG: Duration = Duration::from_secs(3 * 3600);
/// Between two looks at a cluster.
const PAUSE: Duration = Duration::from_secs(2);

/// Does what is asked and gives each piece of the answer to `print`.
///
/// # Errors
/// What the API refuses, or a file that cannot be read.
pub async fn run(args: ApiArgs, mut print: impl FnMut(&str)) -> anyhow::Result<()> {
    let client = client(&args)?;
    let mut shown = |value: &Value| print(&format!("{value:#}"));
    match args.verb {
        ApiVerb::Get { id } => shown(&json(&client.get(&id).await?)?),
        ApiVerb::List { subscription, group } => {
            shown(&json(&client.list(&subscription, group.as_deref()).await?)?);
        }
        ApiVerb::Put(write) => {
            let followed = client.put(&write.id, &body(&write.file)?).await?;
            shown(&json(&if write.wait { followed.wait(LONG).await? } else { followed.cluster })?);
        }
        ApiVerb::Patch(write) => {
            let followed = client.patch(&write.id, &body(&write.file)?).await?;
            shown(&json(&if write.wait { followed.wait(LONG).await? } else { followed.cluster })?);
        }
        ApiVerb::Delete { id, wait } => deleted(client.delete(&id).await?, wait, print).await?,
        ApiVerb::Watch { id } => watch(&client, &id, print).await?,
        ApiVerb::Call { method, path, file } => {
            let body = file.map(|file| body(&file)).transpose()?;
            shown(&client.call(method, &path, body.as_ref()).await?);
        }
    }
    Ok(())
}

async fn deleted(
    operation: Option<Operation>,
    wait: bool,
    mut print: impl FnMut(&str),
) -> anyhow::Result<()> {
    match operation {
        None => print("there is no such cluster"),
        Some(operation) if wait => {
            operation.wait(LONG).await?;
            print("deleted");
        }
        Some(_) => print("being deleted"),
    }
    Ok(())
}

async fn watch(client: &Client, id: &ClusterId, mut print: impl FnMut(&str)) -> anyhow::Result<()> {
    let mut last = String::new();
    loop {
        let cluster = match client.get(id).await {
            Err(error) if error.status() == Some(404) && !last.is_empty() => {
                print("gone");
                return Ok(());
            }
            cluster => cluster?,
        };
        let state = cluster.properties.provisioning_state;
        if state != last {
            print(&state);
            last.clone_from(&state);
        }
        if matches!(state.as_str(), "Succeeded" | "Failed") {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn client(args: &ApiArgs) -> anyhow::Result<Client> {
    let read = |path: &PathBuf| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let identity = match (&args.cert_file, &args.key_file) {
        (Some(certificate), Some(key)) => {
            Some(Identity { certificate_pem: read(certificate)?, key_pem: Secret::new(read(key)?) })
        }
        _ => None,
    };
    Ok(Client::new(ClientOptions {
        api_version: args.api_version.clone(),
        ca_pem: args.ca_file.as_ref().map(read).transpose()?,
        identity,
        ..ClientOptions::new(args.url.clone())
    })?)
}

fn body(file: &PathBuf) -> anyhow::Result<Value> {
    let shown = || file.display().to_string();
    let size = std::fs::metadata(file).with_context(shown)?.len();
    ensure!(size <= MOST_BODY, "{}: larger than the {MOST_BODY} bytes that the API takes", shown());
    serde_json::from_slice(&std::fs::read(file).with_context(shown)?).with_context(shown)
}

fn json(value: &impl Serialize) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(value)?)
}
