//! A key is changed on several replicas, each with a keyring file of its own: in the documented order nobody notices, and
//! in a wrong order what a replica cannot open is refused until its file is right, and nothing is lost.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, Session, binary, kubeconfig_server, kubeconfig_token, until};

use super::world::{Replicas, write_private};

/// The world, the person who signed in before any key was changed, and her cluster.
struct KeyChange {
    world: Replicas,
    alice: Session,
    resource: String,
}

/// A kubeconfig's way to the cluster, to be tried on any replica.
struct ClusterPath {
    path: String,
    token: String,
}

impl KeyChange {
    async fn start() -> Result<Self> {
        let world = Replicas::start("").await?;
        let alice = world.alice().await?;
        let resource = world.cluster(&alice).await?;
        Ok(Self { world, alice, resource })
    }

    /// `aro keys ARGS` at a replica; its status and what it printed.
    async fn keys(&self, replica: usize, args: &[&str]) -> Result<(bool, String)> {
        let mut command = tokio::process::Command::new(binary("aro")?);
        command.arg("keys").args(args).args(["--config", &format!("replica-{replica}.toml")]);
        command.current_dir(self.world.folder.path()).kill_on_drop(true);
        let output =
            tokio::time::timeout(GENEROUS, command.output()).await.context("aro keys does not end")??;
        let printed = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8(printed)?))
    }

    async fn keys_ok(&self, replica: usize, args: &[&str]) -> Result<String> {
        let (success, printed) = self.keys(replica, args).await?;
        ensure!(success, "{args:?}: {printed}\n{}", self.world.tails());
        Ok(printed)
    }

    /// Seals everything again with the current key of a replica.
    async fn reseal(&self, replica: usize) -> Result<Value> {
        let printed = self.keys_ok(replica, &["reseal"]).await?;
        let last = printed.lines().find(|line| line.starts_with('{')).with_context(|| printed.clone())?;
        Ok(serde_json::from_str(last)?)
    }

    fn keyring(&self, replica: usize) -> Result<String> {
        Ok(std::fs::read_to_string(self.world.folder.path().join(format!("replica-{replica}.keyring.json")))?)
    }

    /// Copies the keyring of one replica to another, which reads it at once.
    async fn copy(&self, from: usize, to: usize) -> Result<()> {
        write_private(&self.world.folder, &format!("replica-{to}.keyring.json"), &self.keyring(from)?)?;
        self.world.replicas[to].process.signal("HUP")?;
        let wanted = self.keys_ok(from, &["list"]).await?;
        until("the keyring is read again", GENEROUS, || async {
            let list = self.keys_ok(to, &["list"]).await?;
            ensure!(list == wanted, "{list} instead of {wanted}");
            Ok(())
        })
        .await
    }

    /// A new kubeconfig from a replica, past the balancer.
    async fn take(&self, replica: usize) -> Result<ClusterPath> {
        let here = self.alice.at(&self.world.replicas[replica].url);
        let info = here.get("/api/info").await?.ok()?.json()?;
        let csrf = info["csrf"].as_str().context("a token")?;
        let headers = [
            ("x-csrf-token", csrf),
            // The address of the pages is the balancer's.
            ("origin", self.world.url.as_str()),
            ("accept", "application/json"),
            ("content-type", "application/json"),
        ];
        let body = json!({ "reason": "while keys change", "rights": "read" }).to_string();
        let path = format!("{}/kubeconfig/new", self.resource);
        let text = here.send(Method::POST, &path, &headers, Some(body)).await?.ok()?.text;
        let server = kubeconfig_server(&text)?;
        let path = server.strip_prefix(&self.world.proxy_url).context("the balancer's address")?.to_owned();
        Ok(ClusterPath { path, token: kubeconfig_token(&text)? })
    }

    /// The status of a request to the cluster by a kubeconfig at each replica.
    async fn statuses(&self, kubeconfig: &ClusterPath) -> Result<Vec<u16>> {
        let mut statuses = Vec::new();
        for replica in &self.world.replicas {
            let here = Session::open(self.world.authority.pem(), &replica.proxy_url, None)?;
            let here = here.with_bearer(&kubeconfig.token);
            statuses.push(here.get(&format!("{}/api/v1/pods", kubeconfig.path)).await?.status);
        }
        Ok(statuses)
    }

    /// Sessions and a kubeconfig of before work on both.
    async fn all_old_is_well(&self, old: &ClusterPath) -> Result<()> {
        let statuses = self.statuses(old).await?;
        ensure!(statuses == [200, 200], "{statuses:?}\n{}", self.world.tails());
        for replica in &self.world.replicas {
            self.alice.at(&replica.url).get("/api/info").await?.ok()?;
        }
        Ok(())
    }

    /// Sessions, kubeconfigs of before and new ones from each replica work on both.
    async fn all_is_well(&self, step: &str, before: &[&ClusterPath]) -> Result<()> {
        for replica in &self.world.replicas {
            self.alice.at(&replica.url).get("/api/info").await?.ok().with_context(|| step.to_owned())?;
        }
        let new = [self.take(0).await?, self.take(1).await?];
        for kubeconfig in before.iter().copied().chain(&new) {
            until(step, GENEROUS, || async {
                let statuses = self.statuses(kubeconfig).await?;
                ensure!(statuses == [200, 200], "{statuses:?}\n{}", self.world.tails());
                Ok(())
            })
            .await?;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_documented_order_nobody_notices() -> Result<()> {
    let change = KeyChange::start().await?;
    let old = change.take(0).await?;
    change.all_is_well("before", &[&old]).await?;
    ensure!(change.keys_ok(0, &["rotate", "--later"]).await? == "k2\n");
    change.all_is_well("one replica has the new key", &[&old]).await?;
    change.copy(0, 1).await?;
    ensure!(change.keys_ok(0, &["use", "k2"]).await? == "k2\n");
    change.all_is_well("one replica seals with the new key", &[&old]).await?;
    change.copy(0, 1).await?;
    let done = change.reseal(0).await?;
    ensure!(done["key"] == "k2" && done["left"] == json!({}), "{done}");
    change.all_is_well("everything is sealed with the new key", &[&old]).await?;
    let new = change.take(1).await?;
    change.keys_ok(0, &["forget", "k1"]).await?;
    change.copy(0, 1).await?;
    change.all_is_well("the old key is forgotten", &[&new]).await?;
    let statuses = change.statuses(&old).await?;
    ensure!(statuses == [401, 401], "a token that was signed with a forgotten key: {statuses:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_used_before_the_others_have_it_stops_them_until_they_have() -> Result<()> {
    let change = KeyChange::start().await?;
    let old = change.take(1).await?;
    change.keys_ok(0, &["rotate"]).await?;
    let new = change.take(0).await?;
    let statuses = change.statuses(&new).await?;
    ensure!(statuses == [200, 401], "the other replica cannot know this token: {statuses:?}");
    // It goes on with what it can open, and the replica with both keys opens all.
    change.all_old_is_well(&old).await?;

    // Sealed again, the cluster's credential is closed to the replica that lacks the key; it says whose fault it is.
    change.reseal(0).await?;
    let status = until("the other replica reads what was sealed again", GENEROUS, || async {
        let statuses = change.statuses(&old).await?;
        ensure!(statuses[0] == 200, "{statuses:?}");
        Ok(statuses[1])
    })
    .await?;
    ensure!([200, 500, 502, 503].contains(&status), "{status}");
    change.copy(0, 1).await?;
    change.all_is_well("the file is everywhere", &[&old, &new]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_forgotten_too_early_comes_back_with_the_file_of_another() -> Result<()> {
    let change = KeyChange::start().await?;
    change.keys_ok(0, &["rotate", "--later"]).await?;
    change.copy(0, 1).await?;
    change.keys_ok(0, &["use", "k2"]).await?;
    change.reseal(0).await?;
    // The other replica was not given the file again: it still seals with the first key.
    change.keys_ok(0, &["forget", "k1"]).await?;
    let sealed_by_old = change.take(1).await?;
    let statuses = change.statuses(&sealed_by_old).await?;
    ensure!(
        statuses == [401, 200],
        "a token that was signed with a key that one replica forgot: {statuses:?}"
    );
    // Its file still has both keys. It goes back, and the order is followed from there.
    change.copy(1, 0).await?;
    change.all_is_well("both have both keys", &[&sealed_by_old]).await?;
    change.keys_ok(1, &["use", "k2"]).await?;
    change.copy(1, 0).await?;
    let done = change.reseal(1).await?;
    ensure!(done["left"] == json!({}), "{done}");
    change.all_is_well("one key seals everywhere", &[&sealed_by_old]).await
}
