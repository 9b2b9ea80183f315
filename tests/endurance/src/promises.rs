//! What the replicas answered as done, and whether it is so at the end.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use serde_json::Value;
use tests_kit::{Answer, Session, binary};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::environment::Environment;
use crate::part::{Part, Role};
use crate::workloads::puts::{Caller, has_what_was_put};

/// For reading the whole audit log once.
const WHOLE_LOG: Duration = Duration::from_secs(3600);
/// Texts of an error that are shown.
const SHOWN: usize = 5;

/// Something that was answered as done. No `Debug`: some hold tokens.
#[derive(Clone)]
pub(crate) enum Promise {
    /// A grant was given: it is listed.
    Grant { id: String },
    /// It was revoked: its token opens nothing any more.
    Revoked { id: String, target: String, token: String },
    /// An answer that is promised to the audit log: a start entry with this request id.
    Entry { request_id: String },
    /// A session was signed out: its cookie opens nothing any more.
    SignedOut { cookie: String },
    /// An operation was accepted: it has come to its end in this state. The path of its status; of a PUT also what was
    /// sent, which its result must have.
    Operation { path: String, status: &'static str, put: Option<Value> },
    /// The deletion of a cluster was accepted: it is gone, and so is what it had in Azure. The path of the cluster.
    Deleted { path: String, number: u64 },
}

/// All of them so far.
#[derive(Default)]
pub(crate) struct Promises(Mutex<Vec<Promise>>);

/// What became of them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) checked: usize,
    /// What was lost, in words.
    pub(crate) lost: Vec<String>,
}

impl Promises {
    /// One more.
    pub(crate) fn note(&self, promise: Promise) {
        self.0.lock().push(promise);
    }

    /// Looks each of them up, once nothing is broken any more.
    ///
    /// # Errors
    /// The audit log cannot be read, or nobody answers.
    pub(crate) async fn check(&self, environment: &Environment) -> Result<Kept> {
        let all = self.0.lock().clone();
        let mut kept = Kept { checked: all.len(), lost: Vec::new() };
        let caller = Caller::arm(&environment.site)?;
        let mut entries = BTreeSet::new();
        for promise in all {
            if let Promise::Entry { request_id } = promise {
                entries.insert(request_id);
                continue;
            }
            if let Err(error) = holds(environment, &caller, &promise).await {
                kept.lost.push(format!("{error:#}"));
            }
        }
        let missing = missing_entries(environment, entries).await?;
        kept.lost.extend(missing.into_iter().map(|id| format!("no start entry of request {id}")));
        Ok(kept)
    }
}

impl Kept {
    /// The first of what was lost.
    pub(crate) fn shown(&self) -> &[String] {
        &self.lost[..self.lost.len().min(SHOWN)]
    }
}

/// One promise; the error says how it was broken, without its secrets.
async fn holds(environment: &Environment, caller: &Caller, promise: &Promise) -> Result<()> {
    let site = &environment.site;
    let portals = || site.with_role(Role::Portal);
    match promise {
        Promise::Grant { id } => {
            let grant = environment.alice.get(&format!("/api/v1/grants/{id}")).await?;
            ensure!(grant.status == 200, "grant {id}: {}", grant.status);
        }
        Promise::Revoked { id, target, token } => {
            for portal in portals() {
                let base = format!("https://127.0.0.1:{}", portal.ports.web);
                let here = Session::open(site.authority.pem(), &base, None)?.with_bearer(token);
                let status = here.get(target).await?.status;
                ensure!(status == 401, "revoked grant {id} is answered {status} by {}", portal.name);
            }
        }
        Promise::SignedOut { cookie } => {
            for portal in portals() {
                let base = format!("https://localhost:{}", portal.ports.web);
                let here = Session::open(site.authority.pem(), &base, Some(cookie.clone()))?;
                let status = here.get("/api/info").await?.status;
                ensure!(
                    status == 401,
                    "a session that was signed out is answered {status} by {}",
                    portal.name
                );
            }
        }
        Promise::Operation { path, status, put } => {
            let operation = caller.get(0, path).await?.ok().with_context(|| path.clone())?.json()?;
            ended(&operation, status).with_context(|| format!("operation {path}"))?;
            // The same path but for the kind (`contract/frontend.md` §6.5).
            let result = caller.get(0, &path.replacen("/operationsstatus/", "/operationresults/", 1)).await?;
            resulted(&result, status, put.as_ref())
                .with_context(|| format!("the result of operation {path}"))?;
        }
        Promise::Deleted { path, number } => {
            let status = caller.get(0, path).await?.status;
            ensure!(status == 404, "deleted cluster {number} is answered {status}");
            let left = site.azure.left(*number);
            ensure!(left.is_empty(), "left of deleted cluster {number} in Azure: {left:?}");
        }
        // Looked up all at once, in one reading of the log.
        Promise::Entry { .. } => {}
    }
    Ok(())
}

/// Fails unless the status of an operation says that it ended so (`contract/frontend.md` §6.5).
fn ended(operation: &Value, status: &str) -> Result<()> {
    ensure!(operation["endTime"].is_string(), "it has not ended: {operation}");
    ensure!(operation["status"] == status, "it did not end as {status}: {operation}");
    let explained = operation["error"]["code"].as_str().is_some_and(|code| !code.is_empty());
    ensure!(explained == (status == "Failed"), "only a failure has an error: {operation}");
    Ok(())
}

/// Fails unless the result of an operation is the cluster as it was PUT, in the state that the operation ended in, or
/// nothing after a deletion.
fn resulted(result: &Answer, status: &str, put: Option<&Value>) -> Result<()> {
    let Some(put) = put else {
        ensure!(result.status == 204, "the deleted cluster is answered: {result:?}");
        return Ok(());
    };
    ensure!(result.status == 200, "{result:?}");
    let document = result.json()?;
    let state = &document["properties"]["provisioningState"];
    ensure!(state == status, "the cluster is in state {state}");
    has_what_was_put(&document, put)
}

/// The request ids without a start entry in the whole log, as `aro audit dump` prints it.
async fn missing_entries(
    environment: &Environment,
    mut wanted: BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let first = environment.site.parts.first().context("a process")?;
    let mut command = Command::new(binary("aro")?);
    command.args(["audit", "dump", "--config", &format!("{}.toml", first.name)]);
    command.current_dir(environment.site.folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("standard output")?).lines();
    let read = async {
        while let Some(line) = lines.next_line().await? {
            // Checkpoints and tombstones stand there too.
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            if entry["phase"] == "start"
                && let Some(id) = entry["request_id"].as_str()
            {
                wanted.remove(id);
            }
        }
        let status = child.wait().await?;
        ensure!(status.success(), "aro audit dump: {status}");
        anyhow::Ok(())
    };
    tokio::time::timeout(WHOLE_LOG, read).await.context("aro audit dump does not end")??;
    Ok(wanted)
}

/// `aro audit verify` over the store, with the keys of all processes; its verdict in JSON.
///
/// # Errors
/// The log cannot be read.
pub(crate) async fn audit_verdict(environment: &Environment) -> Result<Value> {
    let site = &environment.site;
    let first = site.parts.first().context("a process")?;
    let mut words = vec!["verify".to_owned(), "--output".to_owned(), "json".to_owned()];
    for part in &site.parts {
        // A process that signed nothing has made no key.
        if site.folder.path().join(format!("{}.p8", part.name)).exists() {
            let key = audit(environment, part, &["key".to_owned()]).await?;
            words.extend(["--key".to_owned(), key.trim().to_owned()]);
        }
    }
    let printed = audit(environment, first, &words).await?;
    serde_json::from_str(&printed).with_context(|| format!("aro audit verify printed: {printed}"))
}

/// `aro audit WORDS` by the settings of a process; what it printed, whatever its status.
async fn audit(environment: &Environment, part: &Part, words: &[String]) -> Result<String> {
    let mut command = Command::new(binary("aro")?);
    command.arg("audit").args(words).args(["--config", &format!("{}.toml", part.name)]);
    command.current_dir(environment.site.folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    let output =
        tokio::time::timeout(WHOLE_LOG, command.output()).await.context("aro audit does not end")??;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.stdout.is_empty(), "aro audit {}: {}: {said}", words.join(" "), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde_json::json;
    use tests_kit::cluster_body;

    use super::*;

    #[test]
    fn an_operation_that_ended_otherwise_or_not_at_all_is_a_broken_promise() {
        let end = "2026-11-23T00:00:00Z";
        let failed = json!({"status": "Failed", "endTime": end, "error": {"code": "DeploymentFailed"}});
        ended(&failed, "Failed").unwrap();
        ended(&json!({"status": "Succeeded", "endTime": end}), "Succeeded").unwrap();
        assert!(ended(&failed, "Succeeded").is_err(), "another state");
        assert!(ended(&json!({"status": "Failed", "endTime": end}), "Failed").is_err(), "no error");
        assert!(ended(&json!({"status": "Creating"}), "Failed").is_err(), "it runs");
    }

    #[test]
    fn a_result_without_what_was_put_is_a_broken_promise() {
        let answer =
            |status, body: &Value| Answer { status, headers: HeaderMap::new(), text: body.to_string() };
        let mut put = cluster_body("sub", 1);
        put["properties"]["clusterProfile"]["version"] = json!("4.17.27");
        let mut document = put.clone();
        document["properties"]["provisioningState"] = json!("Failed");
        resulted(&answer(200, &document), "Failed", Some(&put)).unwrap();
        assert!(resulted(&answer(202, &document), "Failed", Some(&put)).is_err(), "it runs");
        assert!(resulted(&answer(200, &put), "Failed", Some(&put)).is_err(), "no state");
        document["tags"] = json!({});
        assert!(resulted(&answer(200, &document), "Failed", Some(&put)).is_err(), "other tags");
        resulted(&answer(204, &Value::Null), "Succeeded", None).unwrap();
        assert!(resulted(&answer(200, &document), "Succeeded", None).is_err(), "it is there");
    }
}
