//! What a program with `kube` does. It prints a line `ACTION ok` or `ACTION FAILED` each.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{
    AttachParams, AttachedProcess, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams,
    WatchEvent, WatchParams,
};
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// For one action.
const LIMIT: Duration = Duration::from_secs(90);
const MANAGER: &str = "a-client";

struct World {
    pods: Api<Pod>,
    maps: Api<ConfigMap>,
    pod: String,
    port: u16,
    says: String,
    /// A name of our own: versions run one after the other on the same cluster.
    map: String,
}

impl World {
    async fn new() -> Result<Self> {
        let client = Client::try_default().await?;
        let namespace = told("NAMESPACE")?;
        Ok(Self {
            pods: Api::namespaced(client.clone(), &namespace),
            maps: Api::namespaced(client, &namespace),
            pod: told("POD")?,
            port: told("PORT")?.parse()?,
            says: told("PORT_SAYS")?,
            map: format!("of-a-client-{}", std::process::id()),
        })
    }

    async fn get(&self) -> Result<()> {
        same(&self.pods.get(&self.pod).await?.name_any(), &self.pod)
    }

    async fn list(&self) -> Result<()> {
        let pods = self.pods.list(&ListParams::default()).await?;
        ensure!(pods.iter().any(|pod| pod.name_any() == self.pod), "{} other pods", pods.items.len());
        Ok(())
    }

    async fn watch(&self) -> Result<()> {
        let mut events = self.pods.watch(&WatchParams::default().timeout(10), "0").await?.boxed();
        while let Some(event) = events.try_next().await? {
            if matches!(event, WatchEvent::Added(pod) if pod.name_any() == self.pod) {
                return Ok(());
            }
        }
        anyhow::bail!("it ended")
    }

    /// The watch that controllers use: its first objects come in the stream, too.
    async fn informer(&self) -> Result<()> {
        let mut events = watcher(self.pods.clone(), watcher::Config::default().streaming_lists()).boxed();
        while let Some(event) = events.try_next().await? {
            if matches!(event, watcher::Event::InitApply(pod) if pod.name_any() == self.pod) {
                return Ok(());
            }
        }
        anyhow::bail!("it ended")
    }

    async fn logs(&self) -> Result<()> {
        self.pods.logs(&self.pod, &LogParams { tail_lines: Some(5), ..LogParams::default() }).await?;
        Ok(())
    }

    /// The log goes on; its last line comes at once.
    async fn logs_follow(&self) -> Result<()> {
        let how = LogParams { tail_lines: Some(1), follow: true, ..LogParams::default() };
        let mut lines = self.pods.log_stream(&self.pod, &how).await?.lines();
        lines.try_next().await?.context("it ended")?;
        Ok(())
    }

    async fn exec(&self) -> Result<()> {
        let process = self.started(&["echo", "from-the-container"], false).await?;
        let (said, status) = ended(process).await?;
        same(said.trim(), "from-the-container")?;
        same(&status, "Success: ")
    }

    async fn exec_status(&self) -> Result<()> {
        let (_, status) = ended(self.started(&["sh", "-c", "exit 7"], false).await?).await?;
        same(&status, "Failure: 7")
    }

    /// The command sees the end of its input when we drop ours.
    async fn exec_stdin(&self) -> Result<()> {
        let mut process = self.started(&["cat"], true).await?;
        let mut stdin = process.stdin().context("no standard input")?;
        stdin.write_all(b"to-the-container").await?;
        stdin.shutdown().await?;
        drop(stdin);
        same(&ended(process).await?.0, "to-the-container")
    }

    async fn started(&self, command: &[&str], stdin: bool) -> Result<AttachedProcess> {
        let how = AttachParams::default().stdin(stdin).stdout(true).stderr(false);
        Ok(self.pods.exec(&self.pod, command.to_vec(), &how).await?)
    }

    async fn port_forward(&self) -> Result<()> {
        let mut forward = self.pods.portforward(&self.pod, &[self.port]).await?;
        let mut stream = forward.take_stream(self.port).context("no stream")?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        let mut said = String::new();
        stream.read_to_string(&mut said).await?;
        ensure!(said.ends_with(&self.says), "{said:?}");
        Ok(())
    }

    async fn apply_dry_run(&self) -> Result<()> {
        let map = serde_json::from_value(self.body("value"))?;
        let how = PostParams { dry_run: true, ..PostParams::default() };
        has(&self.maps.create(&how, &map).await?, "value")
    }

    async fn create(&self) -> Result<()> {
        let map = serde_json::from_value(self.body("created"))?;
        has(&self.maps.create(&PostParams::default(), &map).await?, "created")
    }

    async fn apply(&self) -> Result<()> {
        let patch = Patch::Apply(self.body("applied"));
        has(&self.maps.patch(&self.map, &PatchParams::apply(MANAGER).force(), &patch).await?, "applied")
    }

    async fn patch(&self) -> Result<()> {
        let patch = Patch::Merge(json!({ "data": { "key": "patched" } }));
        has(&self.maps.patch(&self.map, &PatchParams::default(), &patch).await?, "patched")
    }

    async fn delete(&self) -> Result<()> {
        self.maps.delete(&self.map, &DeleteParams::default()).await?;
        ensure!(self.maps.get_opt(&self.map).await?.is_none(), "it is still there");
        Ok(())
    }

    fn body(&self, value: &str) -> Value {
        let metadata = json!({ "name": self.map });
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "key": value } })
    }
}

fn told(name: &str) -> Result<String> {
    std::env::var(format!("CLIENT_{name}")).with_context(|| format!("CLIENT_{name}"))
}

fn same(is: &str, should_be: &str) -> Result<()> {
    ensure!(is == should_be, "{is:?} instead of {should_be:?}");
    Ok(())
}

fn has(map: &ConfigMap, value: &str) -> Result<()> {
    let is = map.data.as_ref().and_then(|data| data.get("key"));
    same(is.map_or("", String::as_str), value)
}

/// What a command said, and how it ended: the status, and the exit code if it is not zero.
async fn ended(mut process: AttachedProcess) -> Result<(String, String)> {
    let mut said = String::new();
    process.stdout().context("no standard output")?.read_to_string(&mut said).await?;
    let status = process.take_status().context("no status")?.await.context("no status came")?;
    let causes = status.details.and_then(|details| details.causes).unwrap_or_default();
    let code = causes.into_iter().next().and_then(|cause| cause.message).unwrap_or_default();
    process.join().await?;
    Ok((said, format!("{}: {code}", status.status.unwrap_or_default())))
}

async fn attempt(name: &str, action: impl Future<Output = Result<()>>) {
    let result = tokio::time::timeout(LIMIT, action).await.context("not in time").flatten();
    if let Err(error) = &result {
        eprintln!("{name}: {error:?}");
    }
    println!("{name} {}", if result.is_ok() { "ok" } else { "FAILED" });
}

#[tokio::main]
async fn main() -> Result<()> {
    let world = World::new().await?;
    attempt("get", world.get()).await;
    attempt("list", world.list()).await;
    attempt("watch", world.watch()).await;
    attempt("informer", world.informer()).await;
    attempt("logs", world.logs()).await;
    attempt("logs-follow", world.logs_follow()).await;
    attempt("exec", world.exec()).await;
    attempt("exec-status", world.exec_status()).await;
    attempt("exec-stdin", world.exec_stdin()).await;
    attempt("port-forward", world.port_forward()).await;
    attempt("apply-dry-run", world.apply_dry_run()).await;
    attempt("create", world.create()).await;
    attempt("apply", world.apply()).await;
    attempt("patch", world.patch()).await;
    attempt("delete", world.delete()).await;
    Ok(())
}
