//! Copies of the audit log: complete after kill -9, proved without us, and what happens when they cannot be made.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use rp_audit::CheckpointKey;
use serde_json::Value;
use tests_kit::{Aro, AroOptions, Behaviour, GENEROUS, Output, Upstream, until};

use crate::command_line::aro as verb;
use crate::proxied_cluster::ProxiedCluster;

fn option(sinks: &str) -> Vec<(String, String)> {
    vec![("ARO_AUDIT__SINKS".to_owned(), sinks.to_owned())]
}

/// The copies in a folder, oldest first.
fn copies(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = entries.collect::<Result<Vec<PathBuf>>>()?;
    // Former ones have their time in their names; the one at hand has not.
    files.sort_by_key(|path| (path.extension().is_some_and(|ending| ending == "jsonl"), path.clone()));
    Ok(files)
}

/// `aro audit verify` over copies, on a machine that knows the public key only.
async fn verify(folder: &Path, key: &str, files: &[PathBuf]) -> Result<(Output, Value)> {
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    let mut args = vec!["audit", "verify", "--output", "json", "--key", key, "--lines"];
    args.extend(files.iter().map(String::as_str));
    let output = verb(folder, &args).await?;
    let verdict = serde_json::from_str(&output.stdout).with_context(|| format!("{output:?}"))?;
    Ok((output, verdict))
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_complete_after_kill_9_and_can_be_proved_elsewhere() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copies");
    std::fs::create_dir(&copy)?;
    let env = option(&format!("file:{}#rotate=64KiB&name=archive", copy.join("audit.jsonl").display()));
    let mut system = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
    let echo = Upstream::start(Behaviour::Echo(vec![])).await?;
    let door = ProxiedCluster::import(&system, &echo, "echo").await?;
    let resource = door.path.strip_suffix("/kubeconfig/proxy").context("a proxy's path")?.to_owned();
    for round in 0..3 {
        let session = system.session("sre").await?;
        for n in 0..6 {
            session
                .kubeconfig(&resource, "read", &format!("grant {round}-{n} before the kill"), None)
                .await?;
            door.get(&format!("/api/v1/pods?limit={n}")).await?.ok()?;
        }
        system.process().kill()?;
        system.restart().await?;
    }
    system.process().signal("TERM")?;
    system.process().wait(GENEROUS).await?;
    let checked = proved(&system, folder.path(), &copy).await;
    system.explain(checked)
}

async fn proved(system: &Aro, folder: &Path, copy: &Path) -> Result<()> {
    let data = system.data();
    let key = CheckpointKey::open(&data.join("checkpoint.key"))?.public_text();
    // What is stored, checked by the settings of the process that wrote it.
    let settings = format!(
        "[audit]\npath = {:?}\ncheckpoint_key_file = {:?}\n",
        data.join("audit.db"),
        data.join("checkpoint.key")
    );
    std::fs::write(folder.join("aro.toml"), settings)?;
    let printed = verb(folder, &["audit", "key"]).await?;
    ensure!(printed.stdout.trim() == key, "{printed:?}");
    let stored = verb(folder, &["audit", "verify", "--output", "json"]).await?;
    ensure!(stored.status == 0, "{stored:?}");
    let stored: Value = serde_json::from_str(&stored.stdout)?;
    let (output, copied) = verify(folder, &key, &copies(copy)?).await?;
    ensure!(output.status == 0 && copied["intact"] == true, "{output:?}");
    for what in ["entries", "writers"] {
        ensure!(copied[what] == stored[what], "{what}: {copied} is not {stored}");
    }
    ensure!(copied["writers"] == 4 && copied["entries"].as_u64() > Some(30), "{copied}");
    // A dump says the same as the copies, and is checked alike.
    let dump = verb(folder, &["audit", "dump"]).await?;
    ensure!(dump.status == 0, "{dump:?}");
    let lines: Vec<&str> = dump.stdout.lines().collect();
    let file = folder.join("dump.jsonl");
    std::fs::write(&file, &dump.stdout)?;
    let (output, dumped) = verify(folder, &key, std::slice::from_ref(&file)).await?;
    ensure!(output.status == 0 && dumped["entries"] == stored["entries"], "{output:?}");
    // A removed line, a changed line and a cut-off end are each detected.
    let is_grant = |line: &&str| line.contains("grant 1-3 before the kill");
    let grant = *lines.iter().find(|line| is_grant(line)).context("the entry of a grant")?;
    let without = dump.stdout.replacen(&format!("{grant}\n"), "", 1);
    let changed = dump.stdout.replacen("grant 1-3 before", "grant 1-3 without", 1);
    // Up to the writer's name, which is the same for all of a chain.
    let chain = grant.split_once("\",\"seq\"").context("an entry")?.0;
    let last = lines.iter().rposition(|line| line.starts_with(chain)).context("its chain")?;
    let mut cut: Vec<&str> = lines.clone();
    cut.remove(last);
    for (what, text) in [("removed", without), ("changed", changed), ("truncated", cut.join("\n"))] {
        std::fs::write(&file, text)?;
        let (output, verdict) = verify(folder, &key, std::slice::from_ref(&file)).await?;
        let found = &verdict["findings"][0];
        ensure!(output.status == 1 && verdict["intact"] == false, "{what}: {output:?}");
        ensure!(
            found["kind"] == what && found["at"].is_string() && found["writer"].is_string(),
            "{what}: {verdict}"
        );
    }
    // A key that signed nothing here is no proof.
    let stranger = CheckpointKey::generate()?.public_text();
    let (output, verdict) = verify(folder, &stranger, &copies(copy)?).await?;
    ensure!(output.status == 1 && verdict["findings"][0]["kind"] == "checkpoint-forged", "{output:?}");
    Ok(())
}

const SECRET: &str = "/api/v1/namespaces/a/secrets/b";

/// `/dev/full` is a disk without space.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_under_a_copy_is_dealt_with_as_the_policy_says() -> Result<()> {
    let mut system = Aro::start(AroOptions::default()).await?;
    let echo = Upstream::start(Behaviour::Echo(vec![])).await?;
    let door = ProxiedCluster::import(&system, &echo, "echo").await?;
    let resource = door.path.strip_suffix("/kubeconfig/proxy").context("a proxy's path")?.to_owned();
    // Whose rights alone open secrets: what refuses them below is the missing entry.
    let strong = ProxiedCluster::with_grant(&system, &resource, "elevated", "admin").await?;
    strong.get(SECRET).await?.ok()?;
    system.restart_with(&[("ARO_AUDIT__SINKS", "file:/dev/full#policy=refuse&after=0s&name=disk")]).await?;
    let checked = refused(&system, &door, &strong, &resource).await;
    system.explain(checked)?;
    system.restart_with(&[("ARO_AUDIT__SINKS", "file:/dev/full#policy=alarm&name=disk")]).await?;
    let session = system.session("sre").await?;
    until("the alarm rings", GENEROUS, || failing(&system)).await?;
    session.kubeconfig(&resource, "read", "the work goes on", None).await?;
    Ok(())
}

async fn failing(system: &Aro) -> Result<()> {
    let metrics = reqwest::get(format!("{}/metrics", system.dev.admin_url.trim_end_matches('/'))).await?;
    let metrics = metrics.text().await?;
    ensure!(metrics.contains("aro_audit_sink_failing{sink=\"disk\"} 1"), "the sink does not fail yet");
    Ok(())
}

async fn refused(system: &Aro, door: &ProxiedCluster, strong: &ProxiedCluster, resource: &str) -> Result<()> {
    until("the sink fails", GENEROUS, || failing(system)).await?;
    // What needs an entry before it is done is refused; reads go on.
    let secret = strong.get(SECRET).await?;
    ensure!(secret.status == 503 && secret.text.contains("audit"), "{secret:?}");
    strong.get("/api/v1/pods").await?.ok()?;
    let watch = door.get("/api/v1/pods?watch=true").await?;
    ensure!(watch.status == 503, "{watch:?}");
    door.get("/api/v1/pods").await?.ok()?;
    let given = match system.session("sre").await {
        Ok(session) => session.kubeconfig(resource, "read", "nobody records this", None).await,
        Err(error) => Err(error),
    };
    ensure!(given.is_err(), "a grant needs an entry as well");
    ensure!(system.process().log().contains("no space for /dev/full"), "the log names the disk");
    Ok(())
}
