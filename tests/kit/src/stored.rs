//! Data folders of `aro-dev` that earlier versions left, each with what its version answered about it:
//! `tests/fixtures/stores`. The example `stored` makes them. One whose store was in PostgreSQL has it in `database.sql`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use rp_client::ClusterId;
use serde_json::{Value, json};

use crate::{Aro, Behaviour, Folder, Session, Upstream, free_port, workspace};

/// A simulated cluster is made, changed and removed in seconds; the machine may be busy.
const LONG: Duration = Duration::from_secs(300);
const REASON: &str = "kept for the versions to come";
/// A store of PostgreSQL, in the data folder.
pub const DATABASE: &str = "database.sql";
/// The cluster that a customer made.
const MADE: &str = "kept";
/// What is asked of the portal about the store, and by which account. The answers do not depend on the time: everything
/// in the store that ends by itself was ended.
const PORTAL: [(&str, &str); 7] = [
    ("admin", "/api/v1/clusters?limit=100"),
    ("elevated", "/api/v1/grants"),
    ("elevated", "/api/v1/elevations?mine=true"),
    ("admin", "/api/v1/robots"),
    ("admin", "/api/v1/imports"),
    ("elevated", "/api/v1/views"),
    ("elevated", "/api/v1/queries"),
];
/// Versions of the provider's API: the oldest, a later one, and what administrators see.
const VERSIONS: [&str; 3] = ["2020-04-30", "2023-11-22", "admin"];

/// A data folder of an earlier version, and the answers of that version.
#[derive(Debug)]
pub struct StoredFolder {
    /// Name of the archive without its ending.
    pub name: String,
    archive: PathBuf,
    /// By account and path.
    pub answers: BTreeMap<String, Value>,
}

impl StoredFolder {
    /// All that are kept.
    ///
    /// # Errors
    /// A file cannot be read, or there is none.
    pub fn all() -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder())? {
            let archive = entry?.path();
            let Some(name) = archive.file_name().and_then(|name| name.to_str()?.strip_suffix(".tar.gz"))
            else {
                continue;
            };
            let answers = std::fs::read(folder().join(format!("{name}.json")))?;
            let answers = serde_json::from_slice(&answers).with_context(|| name.to_owned())?;
            found.push(Self { name: name.to_owned(), archive, answers });
        }
        ensure!(!found.is_empty(), "no store is kept in {}", folder().display());
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// A copy with free ports, in the form that [`Aro::start_in`] takes.
    ///
    /// # Errors
    /// `tar` failed, or no port is free.
    pub fn unpack(&self) -> Result<Folder> {
        let folder = Folder::new("stored")?;
        tar(&["-xzf", &self.archive.to_string_lossy(), "-C", &folder.path().to_string_lossy()])?;
        let state = folder.path().join("data/kept.json");
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&state)?)?;
        let ports = kept["ports"].as_object_mut().context("no ports in kept.json")?;
        for port in ports.values_mut() {
            *port = free_port()?.into();
        }
        std::fs::write(&state, kept.to_string())?;
        Ok(folder)
    }

    /// Keeps a stopped system's data folder with these answers.
    ///
    /// # Errors
    /// `tar` failed, or a file cannot be written.
    pub fn keep(name: &str, aro: &Aro, answers: &BTreeMap<String, Value>) -> Result<()> {
        std::fs::create_dir_all(folder())?;
        let mut text = serde_json::to_string_pretty(answers)?;
        text.push('\n');
        std::fs::write(folder().join(format!("{name}.json")), text)?;
        let archive = folder().join(format!("{name}.tar.gz"));
        let home = aro.folder().path().to_string_lossy();
        tar(&["-czf", &archive.to_string_lossy(), "--exclude=*.sock", "-C", &home, "data"])
    }
}

fn folder() -> PathBuf {
    workspace().join("tests/fixtures/stores")
}

fn tar(args: &[&str]) -> Result<()> {
    let output = Command::new("tar").args(args).output().context("tar")?;
    ensure!(output.status.success(), "tar {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Makes documents of all kinds: what people take and end, what they keep, an imported cluster, and a customer's cluster
/// that is made and changed beside one that is made and deleted.
///
/// # Errors
/// A call was refused.
pub async fn fill(aro: &Aro) -> Result<()> {
    let (person, admin) = (aro.session("elevated").await?, aro.session("admin").await?);
    let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
    let imported =
        aro.import_and_wait(&upstream.kubeconfig(aro.folder(), "imported")?, "imported", &[]).await?;
    person.kubeconfig(&imported, "read", REASON, None).await?;
    person.kubeconfig(&imported, "write", REASON, None).await?;
    for grant in person.grants().await? {
        person.revoke(grant["id"].as_str().context("a grant's id")?).await?;
    }
    let elevation = person.elevate("write").await?;
    person.post(&format!("/api/v1/elevations/{elevation}/end"), &json!({})).await?.ok()?;
    let robot = json!({ "name": "kept", "clusters": "all", "kinds": ["kubeconfig"], "rights": "read",
                        "reason": REASON, "life": 3600, "max_grants": 3 });
    admin.post("/api/v1/robots", &robot).await?.ok()?;
    let ended = format!("/api/v1/robots/kept?why={}", REASON.replace(' ', "%20"));
    admin.change(Method::DELETE, &ended, None).await?.ok()?;
    let query = json!({ "name": "up", "query": "up == 0", "range_secs": 3600, "shared": true });
    person.post("/api/v1/queries", &query).await?.ok()?;
    person.post("/api/v1/views", &json!({ "name": "failed", "query": "provisioning=Failed" })).await?.ok()?;
    customer(aro).await
}

async fn customer(aro: &Aro) -> Result<()> {
    let rp = aro.rp()?.version("2023-11-22");
    for name in ["gone", MADE] {
        let asked: Value = serde_json::from_str(&aro.verb("cluster", &["--name", name, "--json"]).await?)?;
        let id = cluster(asked["id"].as_str().context("an id")?, name)?;
        rp.put(&id, &asked["body"]).await?.wait(LONG).await?;
        if name == "gone" {
            let deletion = rp.delete(&id).await?;
            deletion.context("a deletion")?.wait_for_result(LONG).await?;
        } else {
            rp.patch(&id, &json!({ "tags": { "kept": "yes" } })).await?.wait(LONG).await?;
        }
    }
    Ok(())
}

fn cluster(id: &str, name: &str) -> Result<ClusterId> {
    let mut parts = id.split('/').skip(2).step_by(2);
    let (subscription, group) = (parts.next().context("a subscription")?, parts.next().context("a group")?);
    Ok(ClusterId::new(subscription, group, name))
}

/// What the system answers about its store, by account and path.
///
/// # Errors
/// A question was refused.
pub async fn answers(aro: &Aro) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    for (account, path) in PORTAL {
        let answer = aro.session(account).await?.get(path).await?.ok()?;
        found.insert(format!("{account} {path}"), without_addresses(&answer.json()?, aro));
    }
    let rp = Session::open(&aro.ca_pem()?, &aro.dev.rp_url, None)?;
    for path in customers_paths(&rp).await? {
        found.insert(format!("customer {path}"), without_addresses(&rp.get(&path).await?.ok()?.json()?, aro));
    }
    Ok(found)
}

/// Each cluster in each version, and as administrators see it.
async fn customers_paths(rp: &Session) -> Result<Vec<String>> {
    let lines = rp.get("/admin/clusters").await?.ok()?.json()?;
    let mut paths = Vec::new();
    for line in lines.as_array().context("a list of clusters")? {
        let id = line["resourceId"].as_str().context("a resource id")?;
        paths.extend(VERSIONS.iter().map(|version| format!("{id}?api-version={version}")));
    }
    ensure!(!paths.is_empty(), "no clusters: {lines}");
    paths.push("/admin/clusters".to_owned());
    Ok(paths)
}

/// The answer without what names this process: its ports are others at each start.
fn without_addresses(answer: &Value, aro: &Aro) -> Value {
    let text = answer.to_string();
    let text = text.replace(&aro.dev.url, "PORTAL").replace(&aro.dev.proxy_url, "PROXY");
    let text = if aro.dev.rp_url.is_empty() { text } else { text.replace(&aro.dev.rp_url, "PROVIDER") };
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
