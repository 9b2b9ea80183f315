//! Commands in containers of the platform, with their output as it comes (`contract/frontend.md` §11.1 `exec`,
//! `etcdkeycount`).

use std::time::Duration;

use rp_api::CloudError;
use rp_base::chain;
use rp_kube::{ExecError, ExecRequest, RunningCommand, start_exec};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::cluster_api::unreached;
use super::context::ActionContext;
use super::rules;
use super::stream::{Gone, Output, Verdict, permit, streamed};
use crate::call::Call;
use crate::fault::{Fault, internal};
use crate::response::HttpResponse;

/// Time limit of a command.
pub(super) const WITHIN: Duration = Duration::from_mins(30);
/// Shown of each stream, bytes.
pub(super) const MOST: usize = 1 << 20;
/// Longest command, bytes.
const MOST_COMMAND: usize = 4096;
/// Size of one read, bytes.
const PIECE: usize = 16 << 10;

/// Body of `exec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ExecBody {
    pub(super) namespace: String,
    pub(super) pod_name: String,
    pub(super) container: String,
    pub(super) command: String,
}

impl ExecBody {
    /// The body of a call.
    ///
    /// # Errors
    /// 400 `InvalidRequestContent`.
    pub(super) fn parse(call: &Call) -> Result<Self, CloudError> {
        let bad = |message: &str| CloudError::bad("InvalidRequestContent", "", message);
        if call.body.is_empty() {
            return Err(bad("The request body must not be empty."));
        }
        serde_json::from_slice(&call.body).map_err(|_| bad("Failed to parse request body."))
    }

    fn check(&self) -> Result<(), CloudError> {
        rules::container(&self.namespace, &self.pod_name, &self.container)?;
        if self.command.is_empty() {
            return Err(CloudError::invalid("", "The provided command must not be empty."));
        }
        if self.command.len() > MOST_COMMAND {
            let message = format!("The provided command must not exceed {MOST_COMMAND} bytes.");
            return Err(CloudError::invalid("", message));
        }
        Ok(())
    }
}

/// Runs a command by `sh -c`.
pub(super) async fn exec(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let body = ExecBody::parse(of.call)?;
    body.check()?;
    run(of, &body, "sh").await
}

/// Counts the keys of etcd by namespace.
pub(super) async fn etcd_key_count(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let body = ExecBody {
        namespace: "openshift-etcd".to_owned(),
        pod_name: format!("etcd-{}", of.machine()?),
        container: "etcdctl".to_owned(),
        command: KEY_COUNT.to_owned(),
    };
    run(of, &body, "bash").await
}

/// Names are read first, so that a key's segment counts as a namespace only if there is one of that name.
const KEY_COUNT: &str = r#"set -euo pipefail
names=$(etcdctl get --prefix --keys-only /kubernetes.io/namespaces/)
keys=$(etcdctl get --prefix --keys-only /kubernetes.io/)
declare -A known count
while IFS= read -r name; do
  name=${name#/kubernetes.io/namespaces/}
  if [ -n "$name" ]; then known["$name"]=1; fi
done <<<"$names"
while IFS=/ read -r start root first second third rest; do
  if [ -z "$root" ]; then continue; fi
  where='<cluster-scope>'
  if [ -n "$third" ] && [ -n "$second" ] && [ -n "${known["$second"]:-}" ]; then
    where=$second
  elif [ -n "$rest" ] && [ -n "$third" ] && [ -n "${known["$third"]:-}" ]; then
    where=$third
  fi
  count["$where"]=$((${count["$where"]:-0} + 1))
done <<<"$keys"
for where in "${!count[@]}"; do echo "${count["$where"]} $where"; done | sort -k1,1nr -k2
"#;

async fn run(of: ActionContext<'_>, body: &ExecBody, shell: &str) -> Result<HttpResponse, Fault> {
    let permit = permit(&of.parts.edge)?;
    let signal = of.signal();
    let api = of.admin_api().await?;
    let ExecBody { namespace, pod_name, container, command } = body;
    let what = ExecRequest {
        namespace,
        pod: pod_name,
        container: Some(container),
        command: &[shell, "-c", command],
        most: MOST,
        within: WITHIN,
    };
    let running = start_exec(&api.client, &what).await.map_err(|error| not_started(&error))?;
    let first = format!("Executing in {namespace}/{pod_name}/{container}...");
    Ok(streamed("text/plain", WITHIN, permit, |out| async move {
        let _signal = signal;
        out.line(&first).await?;
        follow(&out, running).await
    }))
}

fn not_started(error: &ExecError) -> CloudError {
    match error {
        ExecError::Kube(error) => unreached(error),
        ExecError::TimedOut(_) | ExecError::TooLong(_) | ExecError::Broken(_) => {
            tracing::error!(error = %chain(error), "a command was not started");
            internal()
        }
    }
}

/// Standard output live, standard error at the end.
async fn follow(out: &Output, mut running: RunningCommand) -> Result<Verdict, Gone> {
    let (stdout, stderr) = (running.stdout(), running.stderr());
    let (shown, errors) = tokio::join!(copy(out, stdout), collect(stderr));
    shown?;
    if !errors.is_empty() {
        out.line("stderr:").await?;
        out.write(errors).await?;
        out.write("\n").await?;
    }
    match running.end().await {
        Ok(()) => {
            out.line("Done.").await?;
            Ok(Verdict::Good)
        }
        Err(why) => {
            let why = if why.is_empty() { "the connection to the container ended".to_owned() } else { why };
            out.line(&format!("Command failed: {}", rp_base::text::clean(&why, 1024))).await?;
            Ok(Verdict::Failed)
        }
    }
}

/// Passes a stream on, up to [`MOST`] bytes; what comes after is read and dropped, so that the command can end.
pub(super) async fn copy(out: &Output, stream: Option<impl AsyncRead + Unpin>) -> Result<(), Gone> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut piece = vec![0; PIECE];
    let mut left = MOST;
    let mut cut = false;
    // An error ends a stream as its end does; how the command ended is said by its status.
    while let Ok(read) = stream.read(&mut piece).await {
        if read == 0 {
            break;
        }
        let shown = piece.get(..read.min(left)).unwrap_or_default();
        left -= shown.len();
        out.write(shown.to_vec()).await?;
        if shown.len() < read && !cut {
            cut = true;
            out.line("\n[stdout truncated at 1 MiB]").await?;
        }
    }
    Ok(())
}

async fn collect(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut all = Vec::new();
    let Some(mut stream) = stream else { return all };
    let mut piece = vec![0; PIECE];
    let mut cut = false;
    while let Ok(read) = stream.read(&mut piece).await {
        if read == 0 {
            break;
        }
        let kept = piece.get(..read.min(MOST.saturating_sub(all.len()))).unwrap_or_default();
        all.extend_from_slice(kept);
        cut |= kept.len() < read;
    }
    if cut {
        all.extend_from_slice(b"\n[stderr truncated at 1 MiB]");
    }
    all
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tests_kit::{Folder, GENEROUS, Process, free_port, part, until};

    use super::*;

    #[test]
    fn keys_of_etcd_are_counted_by_namespace() {
        let keys = "/kubernetes.io/namespaces/openshift-etcd\n\n/kubernetes.io/namespaces/default\n\n\
            /kubernetes.io/pods/default/web\n\n/kubernetes.io/pods/openshift-etcd/a\n\n\
            /kubernetes.io/pods/openshift-etcd/b\n\n/kubernetes.io/config.openshift.io/dnses/cluster\n\n\
            /kubernetes.io/machine.openshift.io/machines/openshift-etcd/m/deep\n\n\
            /kubernetes.io/minions/default\n\n/other/pods/default/x\n";
        let etcdctl = format!(
            "etcdctl() {{ local all=$'{}'; if [ \"$4\" = /kubernetes.io/namespaces/ ]; then \
             grep '^/kubernetes.io/namespaces/' <<<\"$all\"; else grep -v '^/other' <<<\"$all\"; fi; }}\n",
            keys.replace('\n', "\\n")
        );
        let done = Command::new("bash").args(["-c", &format!("{etcdctl}{KEY_COUNT}")]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(String::from_utf8_lossy(&done.stdout), "4 <cluster-scope>\n3 openshift-etcd\n1 default\n");
    }

    #[tokio::test]
    async fn keys_of_a_real_etcd_are_counted_by_namespace() {
        let folder = Folder::new("etcd-keys").unwrap();
        let [client, peer] = [(); 2].map(|()| format!("http://127.0.0.1:{}", free_port().unwrap()));
        let mut etcd = Command::new(part("etcd").unwrap());
        etcd.args(["--log-level=warn", "--unsafe-no-fsync", "--data-dir"]).arg(folder.path().join("data"));
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        etcd.args(["--initial-cluster", &format!("default={peer}")]);
        let _etcd = Process::start(&folder, "etcd", &mut etcd).unwrap();
        let etcdctl = part("etcdctl").unwrap();
        let put = |key: &str| -> anyhow::Result<()> {
            let done =
                Command::new(&etcdctl).args(["--endpoints", &client, "put", key, "a\nvalue"]).output()?;
            anyhow::ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Ok(())
        };
        until("etcd takes keys", GENEROUS, || async { put("/other/pods/default/x") }).await.unwrap();
        for key in ["namespaces/default", "namespaces/a-b", "pods/default/web", "pods/a-b/x", "pods/gone/x"] {
            put(&format!("/kubernetes.io/{key}")).unwrap();
        }
        for key in ["machine.openshift.io/machines/a-b/m", "apiextensions.k8s.io/customresourcedefinitions/d"]
        {
            put(&format!("/kubernetes.io/{key}")).unwrap();
        }
        // As in the container: etcdctl is in the path and finds the member by its environment.
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", etcdctl.parent().unwrap().display());
        let mut shell = Command::new("bash");
        shell.args(["-c", KEY_COUNT]).env("PATH", path).env("ETCDCTL_ENDPOINTS", &client);
        let done = shell.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(String::from_utf8_lossy(&done.stdout), "4 <cluster-scope>\n2 a-b\n1 default\n");
    }

    #[test]
    fn a_failed_read_of_etcd_is_a_failed_count() {
        let failing = format!("etcdctl() {{ return 1; }}\n{KEY_COUNT}");
        let done = Command::new("bash").args(["-c", &failing]).output().unwrap();
        assert!(!done.status.success() && done.stdout.is_empty());
    }

    #[test]
    fn a_command_is_there_and_short() {
        let body = |command: &str| ExecBody {
            namespace: "openshift-etcd".to_owned(),
            pod_name: "p".to_owned(),
            container: "c".to_owned(),
            command: command.to_owned(),
        };
        let told = |command: &str| body(command).check().map_err(|error| error.body.message);
        assert_eq!(told(&"x".repeat(4096)), Ok(()));
        assert_eq!(told(""), Err("The provided command must not be empty.".to_owned()));
        let long = "The provided command must not exceed 4096 bytes.".to_owned();
        assert_eq!(told(&"x".repeat(4097)), Err(long));
    }
}
