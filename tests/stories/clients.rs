//! Clients beside kubectl: what Helm keeps in a cluster, and tools that do not support a path in a server's address.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, until};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::proxied_cluster::ProxiedCluster;
use crate::terminal::Terminal;
use crate::world::World;

const NAMESPACE: &str = "releases";
const RELEASE: &str = "sh.helm.release.v1.web.v1";
const DISGUISED: &str = "sh.helm.release.v1.disguised.v1";
const HIDDEN: &str = "hush-this-is-no-release";
const REASON: &str = "a tool that does not support a path";

fn release(status: &str) -> String {
    json!({ "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": { "name": RELEASE, "namespace": NAMESPACE,
            "labels": { "name": "web", "owner": "helm", "status": status, "version": "1" } },
        "stringData": { "release": "the values of a chart" } })
    .to_string()
}

/// A system where write rights open releases, over a cluster with Secrets that are no releases.
async fn opened() -> Result<World> {
    let world = World::with(&[("ARO_ACCESS__HELM_SECRETS", "true")]).await?;
    let admin = world.plane.admin()?;
    admin.ok(&["create", "namespace", NAMESPACE]).await?;
    let literal = format!("--from-literal=release={HIDDEN}");
    for name in [DISGUISED, "plain"] {
        admin.ok(&["create", "secret", "generic", name, "-n", NAMESPACE, &literal]).await?;
    }
    Ok(world)
}

#[tokio::test(flavor = "multi_thread")]
async fn write_rights_keep_releases_of_helm_and_open_no_other_secret() -> Result<()> {
    let world = opened().await?;
    let writer = world.kubectl("elevated", "write").await?;
    let in_namespace = |args: &[&'static str]| [args, &["-n", NAMESPACE]].concat();
    writer.with_input(release("deployed").as_bytes(), &["create", "-f", "-"]).await?.ok()?;
    let got = writer.ok(&in_namespace(&["get", "secret", RELEASE, "-o", "json"])).await?;
    let got: Value = serde_json::from_str(&got)?;
    ensure!(got["type"] == "helm.sh/release.v1" && got["data"]["release"].is_string(), "{got}");
    writer.with_input(release("superseded").as_bytes(), &["replace", "-f", "-"]).await?.ok()?;
    writer.ok(&in_namespace(&["label", "secret", RELEASE, "story=clients"])).await?;
    for args in [&["get", "secrets", "-o", "name"][..], &["get", "secrets", "-l", "owner=helm", "-o", "name"]]
    {
        let listed = writer.ok(&in_namespace(args)).await?;
        ensure!(listed.trim() == format!("secret/{RELEASE}"), "{args:?}: {listed}");
    }
    for args in [
        &["get", "secret", DISGUISED, "-o", "yaml"][..],
        &["get", "secret", "plain", "-o", "yaml"],
        &["label", "secret", DISGUISED, "story=clients"],
        &["delete", "secret", DISGUISED],
        &["delete", "secrets", "--all"],
        &["get", "secrets", "--field-selector=type=Opaque"],
    ] {
        let output = writer.run(&in_namespace(args)).await?;
        let shows = output.stdout.contains(HIDDEN) || output.stderr.contains(HIDDEN);
        ensure!(args[1] == "secrets" && args[0] == "delete" || output.status != 0, "{args:?}: {output:?}");
        ensure!(!shows, "{args:?}: {output:?}");
    }
    // `delete --all` lists what it deletes, which are releases.
    let left = world.plane.admin()?.ok(&in_namespace(&["get", "secrets", "-o", "name"])).await?;
    ensure!(left.contains(DISGUISED) && left.contains("secret/plain"), "{left}");
    patched_and_asked_as_helm_does(&world).await?;
    let auditor = world.aro.session("auditor").await?;
    until("the audit names the release", GENEROUS, || async {
        let entries = auditor.audit(RELEASE).await?;
        let named = entries.iter().any(|entry| entry["verb"] == "helm.create" && entry["name"] == RELEASE);
        ensure!(named, "{entries:?}");
        Ok(())
    })
    .await
}

/// The requests of Helm's storage driver, and a patch of a Secret that is no release: the API server refuses it.
async fn patched_and_asked_as_helm_does(world: &World) -> Result<()> {
    let cluster = ProxiedCluster::with_grant(&world.aro, &world.named, "elevated", "write").await?;
    let secrets = format!("{}/api/v1/namespaces/{NAMESPACE}/secrets", cluster.path);
    let headers = [("content-type", "application/json"), ("accept", "application/json, */*")];
    let send = async |method: Method, path: String, headers: &[(&str, &str)], body: Option<String>| {
        cluster.proxy.send(method, &path, headers, body).await
    };
    send(Method::POST, secrets.clone(), &headers, Some(release("deployed"))).await?.ok()?;
    let query = "labelSelector=name%3Dweb%2Cowner%3Dhelm%2Cstatus%3Ddeployed";
    let listed = send(Method::GET, format!("{secrets}?{query}"), &headers, None).await?.ok()?.json()?;
    ensure!(listed["items"].as_array().is_some_and(|items| items.len() == 1), "{listed}");
    let merge = [("content-type", "application/merge-patch+json")];
    let label = json!({ "metadata": { "labels": { "a": "b" } } }).to_string();
    let refused = send(Method::PATCH, format!("{secrets}/{DISGUISED}"), &merge, Some(label.clone())).await?;
    ensure!(
        refused.status == 422 && refused.text.contains("immutable"),
        "{} {}",
        refused.status,
        refused.text
    );
    ensure!(!refused.text.contains(HIDDEN), "{}", refused.text);
    send(Method::PATCH, format!("{secrets}/{RELEASE}"), &merge, Some(label)).await?.ok()?;
    let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1" }).to_string();
    send(Method::DELETE, format!("{secrets}/{RELEASE}"), &headers, Some(options)).await?.ok()?;
    let gone = send(Method::GET, format!("{secrets}/{RELEASE}"), &headers, None).await?;
    ensure!(gone.status == 404, "{} {}", gone.status, gone.text);
    Ok(())
}

/// A running `aro proxy local`, and the kubeconfig that it printed.
async fn local(terminal: &Terminal, more: &[&str]) -> Result<(Child, PathBuf)> {
    let arguments = [&["proxy", "local", "--cluster", "named", "--reason", REASON], more].concat();
    let mut running = terminal.command(&arguments)?.spawn()?;
    let told = running.stdout.take().context("its output")?;
    let line = tokio::time::timeout(GENEROUS, BufReader::new(told).lines().next_line()).await;
    let line = line.context("it says nothing")??.context("it ended")?;
    Ok((running, PathBuf::from(line.trim())))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_served_on_loopback_without_a_path() -> Result<()> {
    let terminal = Terminal::signed_in("elevated").await?;
    terminal.world.aro.session("elevated").await?.elevate("write").await?;
    let (mut running, file) = local(&terminal, &["--rights", "write"]).await?;
    ensure!(std::fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600);
    let config: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let server = config["clusters"][0]["cluster"]["server"].as_str().context("a server")?.to_owned();
    ensure!(server.starts_with("https://127.0.0.1:") && server.matches('/').count() == 2, "{server}");
    ensure!(!config.to_string().contains("aro1_"), "the grant's token stands in the file");

    let kubectl = terminal.kubectl(&file)?;
    ensure!(kubectl.ok(&["get", "pods", "-o", "name"]).await?.contains("pod/web"));
    ensure!(kubectl.ok(&["get", "--raw", "/version"]).await?.contains("gitVersion"));
    let watch = kubectl.start(&["get", "pods", "-w"])?;
    watch.says("web").await?;
    watch.kill().await?;
    // Out of HTTP by WebSocket and by SPDY.
    for kubectl in [kubectl.clone(), kubectl.clone().spdy()] {
        let said = kubectl.ok(&["exec", "web", "--", "echo", "through loopback"]).await?;
        ensure!(said.contains("through loopback"), "{said}");
    }

    // Other users of this machine have no token, and a page's name that was pointed here is refused.
    let client = reqwest::Client::builder().no_proxy().tls_danger_accept_invalid_certs(true).build()?;
    let stranger = client.get(format!("{server}/version")).send().await?;
    ensure!(stranger.status().as_u16() == 401, "{}", stranger.status());
    let token = config["users"][0]["user"]["token"].as_str().context("a token")?;
    let rebound = client.get(format!("{server}/version")).header("host", "evil.example").bearer_auth(token);
    ensure!(rebound.send().await?.status().as_u16() == 421);

    let id = running.id().context("it runs")?.to_string();
    ensure!(Command::new("kill").args(["-TERM", &id]).status().await?.success());
    let ended = tokio::time::timeout(GENEROUS, running.wait()).await.context("it goes on")??;
    ensure!(ended.success() && !file.exists(), "{ended}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_with_the_local_kubeconfig_and_gives_its_exit_code() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let run = ["proxy", "local", "--cluster", "named", "--reason", REASON, "--exec", "kubectl"];
    let output = terminal.run(&[&run[..], &["get", "pods", "-o", "name"]].concat()).await?;
    ensure!(output.status == 0 && output.stdout.contains("pod/web"), "{output:?}");
    let output = terminal.run(&[&run[..], &["get", "pod", "no-such-pod"]].concat()).await?;
    ensure!(output.status == 1 && output.stderr.contains("NotFound"), "{output:?}");
    let left = std::fs::read_dir(terminal.profile_file("kubeconfigs"))?;
    let left =
        left.filter_map(Result::ok).filter(|file| file.file_name().to_string_lossy().starts_with("local-"));
    ensure!(left.count() == 0, "a kubeconfig outlives its run");
    Ok(())
}
