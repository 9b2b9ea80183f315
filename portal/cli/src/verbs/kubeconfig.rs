//! `aro kubeconfig CLUSTER`

use std::path::{Path, PathBuf};

use rp_base::Secret;
use serde_json::{Value, json};

use super::{put, resolve};
use crate::args::KubeconfigArgs;
use crate::client::Client;
use crate::kubeconfig::{Entry, PlugIn, context, usual_file, written};
use crate::output::cell;
use crate::{CliError, Output, files};

/// A grant of kind kubeconfig whose tokens are fetched when kubectl wants one.
pub(super) struct KubeconfigGrant {
    pub(super) id: String,
    pub(super) server: String,
    pub(super) ca: Option<String>,
}

/// Asks for one. `body` has rights, reason and what else the person gave.
pub(super) async fn ask(
    client: &Client,
    resource: &str,
    mut body: Value,
) -> Result<KubeconfigGrant, CliError> {
    body["target"] = Value::from(resource);
    body["kind"] = Value::from("kubeconfig");
    body["plugin"] = Value::from(true);
    let answer = client.post("/api/v1/grants", &body).await?;
    let (id, server) = (cell(&answer, &["/grant/id"]), cell(&answer, &["/server"]));
    if id.is_empty() || !server.starts_with("https://") {
        return Err(CliError::Answer("it is not a grant for kubectl"));
    }
    let ca = Some(cell(&answer, &["/ca"])).filter(|pem| !pem.is_empty());
    Ok(KubeconfigGrant { id, server, ca })
}

/// The last part of a resource id.
pub(super) fn name(resource: &str) -> &str {
    resource.rsplit('/').next().unwrap_or(resource)
}

pub(super) async fn run(args: KubeconfigArgs, out: &mut Output) -> Result<(), CliError> {
    let mut body = json!({ "reason": args.reason, "rights": args.rights });
    put(&mut body, "ticket", args.ticket.clone());
    put(&mut body, "life", args.life);
    if args.static_token {
        return with_token(&args, &body, out).await;
    }
    let plug_in = PlugIn::from_connection(&args.connection, args.command.clone())?;
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let given = ask(&client, &resource, body).await?;
    let entry = Entry {
        context: args.context.clone().unwrap_or_else(|| context(name(&resource), &args.rights)),
        server: &given.server,
        ca: given.ca.as_deref(),
        grant: &given.id,
        plug_in: &plug_in,
    };
    let format = args.connection.output;
    match args.file.map(Ok).or_else(|| args.merge.then(usual_file)).transpose()? {
        None => out.raw(&written(&entry.alone(), format)?),
        Some(file) if args.merge => {
            entry.merge_into(&file).await?;
            out.note(&format!(
                "Added to {}. Use it with: kubectl --context {} get nodes",
                file.display(),
                entry.context
            ));
            Ok(())
        }
        Some(file) => {
            files::write_private(&file, &written(&entry.alone(), format)?)?;
            out.note(&next_step(&file));
            Ok(())
        }
    }
}

/// The file as the portal writes it, with a token that lives as long as the grant.
async fn with_token(args: &KubeconfigArgs, body: &Value, out: &mut Output) -> Result<(), CliError> {
    let client = Client::new(&args.connection)?;
    let resource = resolve(&client, &args.cluster).await?;
    let answer = client.post_for_text(&format!("{resource}/kubeconfig/new"), body).await?;
    let is_kubeconfig = serde_json::from_str::<Value>(answer.expose())
        .is_ok_and(|value| value.get("kind").and_then(Value::as_str) == Some("Config"));
    if !is_kubeconfig {
        return Err(CliError::Answer("it is not a kubeconfig"));
    }
    write(args.file.as_ref(), &answer, out)
}

fn write(file: Option<&PathBuf>, text: &Secret<String>, out: &mut Output) -> Result<(), CliError> {
    match file {
        None => out.raw(&format!("{}\n", text.expose())),
        Some(path) => {
            files::write_private(path, text.expose())?;
            out.note(&next_step(path));
            Ok(())
        }
    }
}

fn next_step(path: &Path) -> String {
    format!("Written to {path}. Use it with: kubectl --kubeconfig {path} get nodes", path = path.display())
}
