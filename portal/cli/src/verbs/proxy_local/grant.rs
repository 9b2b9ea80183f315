//! The grant behind a local listener.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::kubectl;
use super::upstream::Upstream;
use crate::args::{KubectlArgs, ProxyLocalArgs};
use crate::client::Client;
use crate::kubeconfig::PlugIn;
use crate::output::cell;
use crate::profile::Profile;
use crate::{CliError, files};

/// The grant that `aro kubectl` would use, or a new one; with where it leads.
pub(super) async fn take(
    client: &Client,
    profile: &Profile,
    resource: &str,
    args: &ProxyLocalArgs,
    plug_in: &PlugIn,
) -> Result<Upstream, CliError> {
    let wish = KubectlArgs {
        cluster: resource.to_owned(),
        reason: args.reason.clone(),
        ticket: args.ticket.clone(),
        rights: args.rights.clone(),
        life: args.life,
        arguments: Vec::new(),
        connection: args.connection.clone(),
    };
    let file = kubectl::kubeconfig_of(client, profile, resource, &wish, plug_in).await?;
    let (server, authority) = read(&file)?;
    let grant = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    Upstream::new(&server, authority.as_deref(), grant, args.connection.clone(), profile.clone())
}

/// Server and authority (PEM) of a kubeconfig that this program wrote.
fn read(file: &Path) -> Result<(String, Option<String>), CliError> {
    let damaged = || CliError::BadFile { path: file.to_owned(), what: "is damaged; remove it" };
    let config: Value = serde_json::from_str(files::read(file)?.expose()).map_err(|_| damaged())?;
    let server = cell(&config, &["/clusters/0/cluster/server"]);
    let packed = config.pointer("/clusters/0/cluster/certificate-authority-data").and_then(Value::as_str);
    let authority = packed
        .map(|packed| {
            STANDARD.decode(packed).ok().and_then(|pem| String::from_utf8(pem).ok()).ok_or_else(damaged)
        })
        .transpose()?;
    Ok((server, authority))
}
