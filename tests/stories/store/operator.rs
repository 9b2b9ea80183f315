//! A running system and the operator of its machine.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{
    Aro, AroOptions, GENEROUS, Output, Process, Session, binary, kubeconfig_server, kubeconfig_token,
};
use tokio::io::AsyncWriteExt as _;

/// `aro-dev`, and the verbs beside it.
pub(super) struct Operator {
    pub(super) aro: Aro,
}

impl Operator {
    pub(super) async fn start(clusters: u32) -> Result<Self> {
        Ok(Self { aro: Aro::start(AroOptions { clusters, ..AroOptions::default() }).await? })
    }

    /// Runs `aro ARGS` in the data folder, to its end.
    pub(super) async fn run(&self, args: &[&str], input: &str) -> Result<Output> {
        let mut command = tokio::process::Command::new(binary("aro")?);
        command.args(args).current_dir(self.aro.data()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take().context("its input")?;
        // A verb that reads nothing may be gone already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = tokio::time::timeout(GENEROUS, child.wait_with_output()).await;
        let output = output.with_context(|| format!("{args:?} does not end"))??;
        Ok(Output {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// Starts `aro ARGS` in the data folder.
    pub(super) fn spawn(&self, name: &str, args: &[&str]) -> Result<Process> {
        let mut command = std::process::Command::new(binary("aro")?);
        command.args(args).current_dir(self.aro.data());
        Process::start(self.aro.folder(), name, &mut command)
    }

    /// As [`Operator::run`]; gives its standard output when it succeeds.
    pub(super) async fn ok(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args, "").await?;
        ensure!(output.status == 0, "{args:?}: {output:?}\n{}", self.aro.process().tail());
        Ok(output.stdout)
    }

    /// As [`Operator::run`]; gives its standard error when it is refused.
    pub(super) async fn refused(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args, "").await?;
        ensure!(output.status == 1 && output.stdout.is_empty(), "{args:?}: {output:?}");
        Ok(output.stderr)
    }

    /// The settings with the database of the file `database` in the place of SQLite; gives the file's name.
    pub(super) fn postgres_settings(&self) -> Result<String> {
        let text = std::fs::read_to_string(self.aro.data().join("aro.toml"))?;
        let postgres = text
            .replace("[store]\npath = \"aro.db\"", "[store]\nkind = \"postgres\"\nurl_file = \"database\"");
        // The SQLite files of the audit trail are held by aro-dev.
        let postgres = postgres.replace("path = \"audit.db\"\n", "");
        ensure!(postgres != text, "the settings have another form: {text}");
        self.aro.folder().write("data/postgres.toml", postgres)?;
        Ok("postgres.toml".to_owned())
    }

    /// Documents of a collection as `aro store list` prints them.
    pub(super) async fn list(&self, collection: &str) -> Result<Vec<Value>> {
        let text = self.ok(&["store", "list", collection]).await?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Stops it gracefully, for verbs that need it stopped.
    pub(super) async fn stop(&self) -> Result<()> {
        self.aro.process().signal("TERM")?;
        let status = self.aro.process().wait(GENEROUS).await?;
        ensure!(status.success(), "{status}\n{}", self.aro.process().tail());
        Ok(())
    }

    /// A simulated cluster in good health.
    pub(super) async fn cluster(&self, session: &Session) -> Result<String> {
        let list = session.get("/api/v1/clusters?limit=200").await?.ok()?.json()?;
        let rows = list["items"].as_array().context("items")?;
        let good = rows.iter().find(|row| row["provisioningState"] == "Succeeded");
        let id = good.and_then(|row| row["resourceId"].as_str());
        Ok(id.with_context(|| format!("no healthy cluster in {list}"))?.to_owned())
    }
}

/// A kubeconfig in use.
pub(super) struct Kubeconfig {
    session: Session,
    path: String,
}

impl Kubeconfig {
    pub(super) async fn take(operator: &Operator, session: &Session, resource: &str) -> Result<Self> {
        let text = session.kubeconfig(resource, "read", "looking after the store", None).await?;
        let server = kubeconfig_server(&text)?;
        let proxy = operator.aro.proxy()?;
        let path = server.strip_prefix(proxy.base()).context("the proxy's address")?.to_owned();
        Ok(Self { session: proxy.with_bearer(&kubeconfig_token(&text)?), path })
    }

    /// The same at another listener.
    pub(super) fn at(&self, base: &str) -> Self {
        Self { session: self.session.at(base), path: self.path.clone() }
    }

    /// The status of a request to the cluster.
    pub(super) async fn status(&self) -> Result<u16> {
        Ok(self.session.get(&format!("{}/api/v1/nodes", self.path)).await?.status)
    }
}
