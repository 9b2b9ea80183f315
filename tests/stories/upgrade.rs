//! Stores that earlier versions made: they open, answer what they answered then, go on, and go back.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_client::ClusterId;
use serde_json::json;
use tests_kit::{
    Aro, AroOptions, GENEROUS, Postgres, StoredFolder, earlier_binary, kubeconfig_server, kubeconfig_token,
    stored, until,
};

use crate::command_line::aro as run_aro;

/// A change of a simulated cluster, on a busy machine.
const LONG: Duration = Duration::from_secs(300);

/// A kept store that is open, and the database server below it.
struct Opened {
    aro: Aro,
    kept: StoredFolder,
    _server: Option<Postgres>,
}

impl Opened {
    async fn start(kept: StoredFolder) -> Result<Self> {
        let folder = kept.unpack()?;
        let dump = folder.path().join("data").join(stored::DATABASE);
        let mut options = AroOptions { clusters: 6, ..AroOptions::default() };
        let mut server = None;
        if dump.exists() {
            let started = Postgres::start().await?;
            let url = started.database().await?;
            started.load(url.rsplit_once('/').context("a database")?.1, &dump).await?;
            folder.write("data/database", url)?;
            // `aro-dev` runs in the folder above its data.
            let settings = [("ARO_STORE__KIND", "postgres"), ("ARO_STORE__URL_FILE", "data/database")];
            options.env = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            server = Some(started);
        }
        Ok(Self { aro: Aro::start_in(folder, options).await?, kept, _server: server })
    }

    /// All that its version answered is answered now.
    async fn answers_as_before(&self) -> Result<()> {
        let now = self.aro.explain(stored::answers(&self.aro).await)?;
        for (question, before) in &self.kept.answers {
            let answer = now.get(question).with_context(|| format!("{question} is not asked"))?;
            ensure!(answer == before, "{}: {question}\nbefore: {before}\nnow:    {answer}", self.kept.name);
        }
        Ok(())
    }

    /// A customer changes a cluster, a person reaches one with what the store has sealed, and both are on record.
    async fn goes_on(&self) -> Result<()> {
        let answer = self.kept.answers.get("customer /admin/clusters").context("the clusters")?;
        let made = answer.as_array().context("a list")?.iter().filter_map(|line| line["resourceId"].as_str());
        let made = made.into_iter().find(|id| id.ends_with("/kept")).context("the customer's cluster")?;
        let mut parts = made.split('/').skip(2).step_by(2);
        let (subscription, group) =
            (parts.next().context("a subscription")?, parts.next().context("a group")?);
        let id = ClusterId::new(subscription, group, "kept");
        let rp = self.aro.rp()?.version("2023-11-22");
        let changed = rp.patch(&id, &json!({ "tags": { "changed": "by a later version" } })).await?;
        let changed = self.aro.explain(changed.wait(LONG).await.map_err(Into::into))?;
        ensure!(changed.properties.provisioning_state == "Succeeded", "{changed:?}");
        self.portal_shows_the_end().await?;

        let person = self.aro.session("elevated").await?;
        let text = person.kubeconfig(&made.to_lowercase(), "read", "a later version", None).await?;
        let proxy = self.aro.proxy()?;
        let server = kubeconfig_server(&text)?;
        let path = server.strip_prefix(proxy.base()).context("the proxy's address")?;
        let nodes = proxy.with_bearer(&kubeconfig_token(&text)?).get(&format!("{path}/api/v1/nodes")).await?;
        ensure!(nodes.status == 200, "{nodes:?}");
        let auditor = self.aro.session("auditor").await?;
        ensure!(!auditor.audit("a%20later%20version").await?.is_empty(), "it is not on record");
        Ok(())
    }

    /// The portal follows the store a moment later than the operation's result.
    async fn portal_shows_the_end(&self) -> Result<()> {
        let admin = self.aro.session("admin").await?;
        until("the portal shows the end of the change", GENEROUS, || async {
            let list = admin.get("/api/v1/clusters?limit=100").await?.ok()?.json()?;
            let mut items = list["items"].as_array().context("items")?.iter();
            let kept = items.find(|item| item["name"] == "kept").context("the customer's cluster")?;
            ensure!(kept["provisioningState"] == "Succeeded", "{kept}");
            Ok(())
        })
        .await
    }

    async fn stop(&self) -> Result<()> {
        self.aro.process().signal("TERM")?;
        let status = self.aro.process().wait(GENEROUS).await?;
        ensure!(status.success(), "{status}\n{}", self.aro.process().tail());
        Ok(())
    }
}

/// Each store is a system of its own, one after the other.
#[tokio::test(flavor = "multi_thread")]
async fn stores_of_earlier_versions_open_go_on_and_go_back() -> Result<()> {
    // In the soak it is another program.
    let before = earlier_binary("aro-dev")?;
    for kept in StoredFolder::all()? {
        let name = kept.name.clone();
        let mut opened = Opened::start(kept).await.with_context(|| name.clone())?;
        opened.answers_as_before().await?;
        opened.goes_on().await?;
        let now = stored::answers(&opened.aro).await?;
        opened.stop().await?;
        chain_holds(&opened.aro.data()).await.with_context(|| name.clone())?;

        opened.aro.restart_by(before.parent().context("a folder")?).await?;
        let back = opened.aro.explain(stored::answers(&opened.aro).await)?;
        for (question, answer) in &now {
            let told = back.get(question);
            ensure!(told == Some(answer), "{name}: {question}\nthen: {answer}\nback: {told:?}");
        }
        opened.goes_on().await?;
    }
    Ok(())
}

/// The audit log of both versions is one chain.
async fn chain_holds(data: &Path) -> Result<()> {
    if !data.join("audit.db").exists() {
        return Ok(());
    }
    let verified = run_aro(data, &["audit", "verify", "--output", "json"]).await?;
    ensure!(verified.status == 0, "{verified:?}");
    Ok(())
}
