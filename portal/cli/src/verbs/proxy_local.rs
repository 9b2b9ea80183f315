//! `aro proxy local`: clusters on this machine's loopback without a path prefix, for tools that do not support one.
//!
//! Each cluster has a listener that speaks TLS with a certificate of this run. Programs send a token that is only in the
//! kubeconfig of this run, which its owner alone may read. The grant's token is added here and is not in that file.

mod grant;
mod server;
mod upstream;

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Random as _, SystemRandom};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::task::JoinSet;

use self::grant::take;
use self::server::{LocalServer, LocalTls};
use super::kubeconfig::name;
use super::{items, resolve};
use crate::args::{Format, ProxyLocalArgs};
use crate::client::Client;
use crate::kubeconfig::{PlugIn, context, written};
use crate::output::cell;
use crate::profile::Profile;
use crate::{CliError, Output, files, platform};

/// Listeners of one run.
const MOST_CLUSTERS: usize = 50;

/// Serves until it is interrupted, or until the command of `--exec` ends, whose exit code it takes.
pub(super) async fn run(args: ProxyLocalArgs, out: &mut Output) -> Result<(), CliError> {
    // Refuses a session's cookie, which gives no tokens.
    let plug_in = PlugIn::from_connection(&args.connection, None)?;
    let profile = Profile::named(args.connection.config_dir.as_deref(), args.connection.profile.as_deref())?;
    let client = Client::new(&args.connection)?;
    let tls = Arc::new(LocalTls::new()?);
    let mut contexts: Vec<LocalContext> = Vec::new();
    let mut serving = JoinSet::new();
    for resource in clusters(&client, &args).await? {
        let upstream = take(&client, &profile, &resource, &args, &plug_in).await?;
        let port = port_of(args.port, contexts.len())?;
        let server = LocalServer::open(port, Arc::clone(&tls), upstream).await?;
        let name = unique(&context(name(&resource), &args.rights), &contexts);
        contexts.push(LocalContext { name, resource, address: format!("https://{}", server.address) });
        serving.spawn(server.serve());
    }
    // Before the file is written: a signal at any time after that removes it.
    let terminated = platform::terminated()?;
    let file = PrivateKubeconfig::write(&profile, &contexts, &tls)?;
    tell(&args, &contexts, &file, out)?;
    let ended = if args.exec.is_empty() {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated => {}
        }
        None
    } else {
        Some(execute(&args, &file, terminated).await?)
    };
    serving.abort_all();
    drop(file);
    match ended {
        Some(status) if !status.success() => std::process::exit(status.code().unwrap_or(1)),
        Some(_) | None => Ok(()),
    }
}

/// A cluster as its kubeconfig shows it.
struct LocalContext {
    name: String,
    resource: String,
    /// `https://127.0.0.1:PORT`
    address: String,
}

/// The resource ids of what was asked for, each once.
async fn clusters(client: &Client, args: &ProxyLocalArgs) -> Result<Vec<String>, CliError> {
    let mut found = Vec::new();
    if let Some(words) = &args.search {
        let limit = (MOST_CLUSTERS + 1).to_string();
        let answer =
            client.get("/api/v1/clusters", &[("q", words.as_str()), ("limit", limit.as_str())]).await?;
        for row in items(&answer) {
            found.push(resolve(client, &cell(row, &["/resourceId"])).await?);
        }
    }
    for cluster in &args.cluster {
        found.push(resolve(client, cluster).await?);
    }
    found.sort();
    found.dedup();
    match found.len() {
        0 => Err(CliError::Usage("the search finds no cluster".to_owned())),
        1..=MOST_CLUSTERS => Ok(found),
        _ => Err(CliError::Usage(format!(
            "more than {MOST_CLUSTERS} clusters: narrow the search, or name them by --cluster"
        ))),
    }
}

fn port_of(first: u16, index: usize) -> Result<u16, CliError> {
    if first == 0 {
        return Ok(0);
    }
    u16::try_from(index).ok().and_then(|index| first.checked_add(index)).ok_or_else(|| {
        CliError::Usage("--port: the ports behind it do not suffice for all clusters".to_owned())
    })
}

/// Clusters of several resource groups may have one name.
fn unique(name: &str, others: &[LocalContext]) -> String {
    let mut free = name.to_owned();
    let mut number = 2;
    while others.iter().any(|other| other.name == free) {
        free = format!("{name}-{number}");
        number += 1;
    }
    free
}

fn tell(
    args: &ProxyLocalArgs,
    contexts: &[LocalContext],
    file: &PrivateKubeconfig,
    out: &mut Output,
) -> Result<(), CliError> {
    let path = file.0.to_string_lossy();
    let clusters: Vec<Value> = contexts
        .iter()
        .map(|one| json!({ "name": one.name, "resourceId": one.resource, "address": one.address }))
        .collect();
    let notes = contexts.iter().map(|one| format!("{} is at {}", one.name, one.address));
    if args.exec.is_empty() {
        let told = json!({ "kubeconfig": path, "clusters": clusters });
        out.value(args.connection.output, &told, |told| format!("{}\n", cell(told, &["/kubeconfig"])))?;
        notes.for_each(|note| out.note(&note));
        out.note(&format!("Use it with: KUBECONFIG={path} kubectl get nodes. End it with Ctrl-C."));
    } else {
        // Standard output is the command's.
        notes.for_each(|note| out.note(&note));
    }
    Ok(())
}

/// Runs the command of `--exec` to its end; `terminated` kills it.
async fn execute(
    args: &ProxyLocalArgs,
    file: &PrivateKubeconfig,
    terminated: impl Future<Output = ()>,
) -> Result<ExitStatus, CliError> {
    let Some((program, arguments)) = args.exec.split_first() else {
        return Err(CliError::Usage("--exec names no command".to_owned()));
    };
    let failed = |cause| CliError::Program { program: program.to_string_lossy().into_owned(), cause };
    let mut command = Command::new(program);
    command.args(arguments).env("KUBECONFIG", &file.0).kill_on_drop(true);
    let mut running = command.spawn().map_err(failed)?;
    tokio::pin!(terminated);
    loop {
        tokio::select! {
            status = running.wait() => return status.map_err(failed),
            // The terminal sends it to the command too, which decides.
            _ = tokio::signal::ctrl_c() => {}
            () = &mut terminated => {
                running.start_kill().map_err(failed)?;
                return running.wait().await.map_err(failed);
            }
        }
    }
}

/// The kubeconfig of this run, gone with it.
#[derive(Debug)]
struct PrivateKubeconfig(PathBuf);

impl PrivateKubeconfig {
    fn write(profile: &Profile, contexts: &[LocalContext], tls: &LocalTls) -> Result<Self, CliError> {
        let folder = profile.kubeconfigs();
        profile.make(&folder)?;
        let file = Self(folder.join(format!("local-{}", SystemRandom.uuid().simple())));
        files::write_private(&file.0, &written(&config(contexts, tls), Format::Json)?)?;
        Ok(file)
    }
}

impl Drop for PrivateKubeconfig {
    fn drop(&mut self) {
        // Its token opens nothing any more.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn config(contexts: &[LocalContext], tls: &LocalTls) -> Value {
    let authority = STANDARD.encode(&tls.authority);
    let entries = |key: &str, of: &dyn Fn(&LocalContext) -> Value| -> Vec<Value> {
        contexts.iter().map(|one| json!({ "name": one.name, key: of(one) })).collect()
    };
    let clusters =
        entries("cluster", &|one| json!({ "server": one.address, "certificate-authority-data": authority }));
    let users = entries("user", &|_: &LocalContext| json!({ "token": tls.token.expose() }));
    let shown =
        entries("context", &|one| json!({ "cluster": one.name, "user": one.name, "namespace": "default" }));
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {},
        "clusters": clusters, "users": users, "contexts": shown,
        "current-context": contexts.first().map(|one| one.name.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(name: &str) -> LocalContext {
        LocalContext {
            name: name.to_owned(),
            resource: String::new(),
            address: "https://127.0.0.1:1".to_owned(),
        }
    }

    #[test]
    fn each_cluster_has_a_name_and_a_port_of_its_own() {
        let others = [local("harbor"), local("harbor-2")];
        assert_eq!(unique("harbor", &others), "harbor-3");
        assert_eq!(unique("quay", &others), "quay");
        assert_eq!(port_of(0, 7).unwrap(), 0);
        assert_eq!(port_of(8001, 2).unwrap(), 8003);
        assert!(port_of(65535, 1).is_err());
    }

    #[test]
    fn the_kubeconfig_has_no_path_and_the_runs_own_token() {
        let tls = LocalTls::new().unwrap();
        let config = config(&[local("harbor")], &tls);
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://127.0.0.1:1");
        assert_eq!(config["users"][0]["user"]["token"], tls.token.expose().as_str());
        assert_eq!(config["current-context"], "harbor");
        assert!(
            tls.token.expose().len() >= 43 && LocalTls::new().unwrap().token.expose() != tls.token.expose()
        );
    }
}
