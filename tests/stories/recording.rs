//! Recorded sessions: exec through a real API server, both framings, played and searched; a kill in the middle; a
//! place that is away; and a real blob service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use rp_azure::{ArmOptions, BlobAccess, BlobStore, Credential, Endpoints, RetryPolicy, SasRequest};
use rp_base::{Clock as _, Id, Secret, SystemClock, SystemRandom};
use rp_metrics::Registry;
use rp_recording::{BlobHome, Storage};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, ControlPlane, Folder, GENEROUS, Kubectl, Session, browser, part, until};

/// A system that must record, with a real cluster.
struct Recorded {
    aro: Aro,
    cluster: String,
    place: PathBuf,
    _folder: Folder,
}

impl Recorded {
    async fn start(input: bool) -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        let folder = Folder::new("recordings")?;
        let place = folder.path().join("kept");
        let env = [
            ("ARO_RECORDING__POLICY", "required".to_owned()),
            ("ARO_RECORDING__FOLDER", place.display().to_string()),
            ("ARO_RECORDING__INPUT", input.to_string()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let aro = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
        let cluster =
            aro.import_and_wait(&plane.service_kubeconfig()?, "recorded", &["system:masters"]).await?;
        Ok(Self { aro, cluster, place, _folder: folder })
    }

    async fn kubectl(&self) -> Result<Kubectl> {
        self.aro.kubectl("elevated", &self.cluster, "write").await
    }
}

async fn recordings(session: &Session, query: &str) -> Result<Vec<Value>> {
    let list = session.get(&format!("/api/v1/recordings{query}")).await?.ok()?.json()?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// The newest recording, once it is as wanted.
async fn newest(session: &Session, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
    until(what, GENEROUS, || async {
        let all = recordings(session, "").await?;
        let first = all.first().cloned().context("no recording")?;
        ensure!(is_it(&first), "{first}");
        Ok(first)
    })
    .await
}

/// The cast's events: code and data.
async fn cast(session: &Session, id: &str) -> Result<(Value, Vec<(String, String)>)> {
    let cast = session.get(&format!("/api/v1/recordings/{id}/cast")).await?.ok()?;
    ensure!(cast.header("content-type") == "application/x-asciicast", "{cast:?}");
    let mut lines = cast.text.lines();
    let head = serde_json::from_str(lines.next().context("a head")?)?;
    let events = lines.map(|line| -> Result<(String, String)> {
        let (_, code, data): (f64, String, String) =
            serde_json::from_str(line).with_context(|| line.to_owned())?;
        Ok((code, data))
    });
    Ok((head, events.collect::<Result<_>>()?))
}

fn of(events: &[(String, String)], code: &str) -> String {
    events.iter().filter(|event| event.0 == code).map(|event| event.1.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_is_recorded_as_it_was_by_websocket_and_by_spdy() -> Result<()> {
    let world = Recorded::start(true).await?;
    let told = told(&world).await;
    world.aro.explain(told)
}

async fn told(world: &Recorded) -> Result<()> {
    let (person, auditor) = (world.aro.session("elevated").await?, world.aro.session("auditor").await?);
    let kubectl = world.kubectl().await?;
    for (way, kubectl) in [("websocket", kubectl.clone()), ("spdy", kubectl.clone().spdy())] {
        let script = format!("read line; echo \"got $line by {way}\"; echo to-stderr >&2; exit 7");
        let exec = ["exec", "-i", "web", "-c", "web", "--", "sh", "-c", &script];
        let output = kubectl.with_input(b"typed words\n", &exec).await?;
        ensure!(
            output.status == 7 && output.stdout == format!("got typed words by {way}\n"),
            "{way}: {output:?}"
        );
        let ended =
            |found: &Value| found["outcome"] == "exit 7" && found["command"].to_string().contains(way);
        let found = newest(&person, "the recording has its end", ended).await?;
        ensure!(found["kind"] == "exec" && found["place"] == "default/web/web", "{found}");
        ensure!(found["state"] == "ended" && found["interactive"] == false, "{found}");
        let id = found["id"].as_str().context("an id")?;
        let (head, events) = cast(&person, id).await?;
        ensure!(head["version"] == 3, "{head}");
        ensure!(of(&events, "o") == format!("got typed words by {way}\n"), "{way}: {events:?}");
        ensure!(
            of(&events, "e") == "to-stderr\n" && of(&events, "i") == "typed words\n",
            "{way}: {events:?}"
        );
        ensure!(of(&events, "x") == "7", "{way}: {events:?}");
    }
    // A terminal says its size.
    let output =
        kubectl.on_terminal(&["exec", "-it", "web", "--", "sh", "-c", "echo on a terminal; exit 5"]).await?;
    ensure!(output.status == 5, "{output:?}");
    let found = newest(&person, "the terminal's recording", |found| found["outcome"] == "exit 5").await?;
    ensure!(found["interactive"] == true, "{found}");
    let id = found["id"].as_str().context("an id")?;
    let (_, events) = cast(&auditor, id).await?;
    ensure!(
        of(&events, "o").contains("on a terminal") && events.iter().any(|event| event.0 == "r"),
        "{events:?}"
    );
    // Who watched is on the record; others do not learn that there is one.
    let watched = auditor.audit("recording.watch").await?;
    ensure!(watched.iter().any(|entry| entry["name"] == id), "{watched:?}");
    let ends = auditor.audit("recording.end").await?;
    ensure!(ends.len() >= 3 && ends[0]["query"].to_string().contains("head="), "{ends:?}");
    let other = world.aro.session("sre").await?;
    ensure!(recordings(&other, "").await?.is_empty());
    for path in ["", "/cast"] {
        let refused = other.get(&format!("/api/v1/recordings/{id}{path}")).await?;
        ensure!(refused.status == 404, "{refused:?}");
    }
    // What was shown is found, by auditors at everybody's.
    let found = recordings(&auditor, "?q=WORDS%20by%20spdy&person=elev").await?;
    ensure!(found.len() == 1 && found[0]["hits"][0]["line"] == "got typed words by spdy", "{found:?}");
    ensure!(recordings(&auditor, "?q=nowhere-at-all").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_before_a_kill_is_there_and_what_cannot_be_recorded_is_refused() -> Result<()> {
    let mut world = Recorded::start(false).await?;
    let kubectl = world.kubectl().await?;
    let mut exec = kubectl.start(&["exec", "-i", "web", "--", "sh"])?;
    exec.type_in("echo $((60 * 70)) before the kill\n").await?;
    exec.says("4200 before the kill").await?;
    let person = world.aro.session("elevated").await?;
    let found = newest(&person, "it is recorded", |found| found["state"] == "running").await?;
    let id = found["id"].as_str().context("an id")?.to_owned();
    until("the chunk is stored", GENEROUS, || async {
        let (_, events) = cast(&person, &id).await?;
        ensure!(of(&events, "o").contains("4200 before the kill"), "{events:?}");
        Ok(())
    })
    .await?;
    world.aro.process().kill()?;
    exec.kill().await?;
    world.aro.restart().await?;
    let person = world.aro.session("elevated").await?;
    let (_, events) = cast(&person, &id).await?;
    ensure!(of(&events, "o").contains("4200 before the kill"), "{events:?}");
    ensure!(events.iter().all(|event| event.0 != "m"), "nothing is wrong with its chunks: {events:?}");
    // A torn end is named.
    let file = world.place.join(format!("{id}.rec"));
    let whole = std::fs::read(&file)?;
    std::fs::write(&file, &whole[..whole.len() - 1])?;
    let (_, events) = cast(&person, &id).await?;
    ensure!(of(&events, "m").starts_with("the recording breaks off within chunk"), "{events:?}");
    // The place is gone: no session without its recording.
    std::fs::remove_dir_all(&world.place)?;
    let kubectl = world.kubectl().await?;
    let refused = kubectl.refused(&["exec", "web", "--", "echo", "unseen"]).await?;
    ensure!(refused.contains("must be recorded"), "{refused}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_is_played_in_a_browser() -> Result<()> {
    let world = Recorded::start(false).await?;
    let kubectl = world.kubectl().await?;
    // A title, the clipboard and a hyperlink: none may leave the screen.
    let script = "printf '\\033]0;stolen title\\007\\033]52;c;c3RvbGVu\\007\\033]8;;https://evil.example\\033\\\\link\\033]8;;\\033\\\\\\r\\n'; \
        for n in 1 2 3 4 5 6 7 8; do printf \"\\033[3${n}mline $n of eight\\033[0m\\r\\n\"; done; sleep 2; echo the last line";
    let output = kubectl.run(&["exec", "web", "--", "sh", "-c", script]).await?;
    ensure!(output.status == 0, "{output:?}");
    let person = world.aro.session("elevated").await?;
    let found = newest(&person, "it has its end", |found| found["outcome"] == "exit 0").await?;
    let id = found["id"].as_str().context("an id")?;
    let input = json!({
        "url": world.aro.dev.url,
        "account": "elevated",
        "password": world.aro.password("elevated")?,
        "id": id,
    });
    let seen = world.aro.explain(browser(world.aro.folder(), "player.mjs", &input).await)?;
    ensure!(seen["errors"] == json!([]) && seen["violations"] == json!([]), "{seen}");
    ensure!(seen["overflow"] == json!([]), "{seen}");
    ensure!(seen["title"].as_str().is_some_and(|title| !title.contains("stolen")), "{seen}");
    ensure!(seen["end"].to_string().contains("the last line"), "{seen}");
    ensure!(!seen["begin"].to_string().contains("the last line"), "{seen}");
    ensure!(seen["links"] == 0 && seen["clipboard"] != "stolen", "{seen}");
    ensure!(seen["download"] == format!("{id}.cast"), "{seen}");
    Ok(())
}

/// A client that asks with nothing but what the address carries.
fn client(registry: &Registry) -> Result<rp_azure::Client> {
    rp_net::tls::install_provider();
    let nowhere: url::Url = "http://127.0.0.1:9".parse()?;
    let arm = rp_azure::Arm::new(ArmOptions {
        endpoints: Endpoints::at(nowhere.clone(), nowhere),
        credential: Credential::Secret { client_id: String::new(), secret: Secret::new(String::new()) },
        ca_pem: None,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: registry.clone(),
        observer: None,
        retry: RetryPolicy::QUICK,
        patience: GENEROUS,
    })?;
    Ok(arm.in_tenant("none"))
}

/// A blob service and the address of its account.
async fn azurite(folder: &Folder) -> Result<(tokio::process::Child, url::Url)> {
    let mut azurite = tokio::process::Command::new(part("node")?)
        .arg(part("azurite-blob")?)
        .args(["--blobPort", "0", "--disableTelemetry", "--skipApiVersionCheck", "--location"])
        .arg(folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let told = azurite.stdout.take().context("its output")?;
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(told));
    let address = tokio::time::timeout(Duration::from_mins(2), async {
        while let Some(line) = lines.next_line().await? {
            if let Some((_, address)) = line.split_once("successfully listens on ") {
                return Ok(address.trim().to_owned());
            }
        }
        anyhow::bail!("it ended")
    });
    let address = address.await.context("the blob service does not listen")??;
    Ok((azurite, format!("{address}/devstoreaccount1").parse()?))
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_stand_in_append_blobs() -> Result<()> {
    let folder = Folder::new("azurite-recordings")?;
    let (mut azurite, account) = azurite(&folder).await?;
    // The account and key that everybody knows.
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let now = SystemClock.now();
    let hour = now + Duration::from_hours(1);
    let sas = SasRequest { permissions: "rwdca", resource_types: "co", from: now, until: hour, http: true };
    let sas = rp_azure::sign_account_sas("devstoreaccount1", &Secret::new(key.to_owned()), &sas)
        .context("a key")?;
    let blobs = BlobStore::new(client(&Registry::new())?, account, BlobAccess::Sas(sas));
    // Three blocks to a blob, so that one recording needs several.
    let home = BlobHome::open(blobs.clone(), "recordings").await?.with_blocks(3);
    let id = Id::random(&SystemRandom);
    let mut end = home.create(&id).await?;
    let chunks: Vec<Bytes> = (0..8u8).map(|n| Bytes::from(vec![n; 1000 + usize::from(n)])).collect();
    for chunk in &chunks {
        end.append(chunk.clone()).await?;
    }
    let mut begin = home.open(&id).await?.context("it is there")?;
    let mut read = Vec::new();
    while let Some(piece) = begin.piece().await? {
        read.extend_from_slice(&piece);
    }
    ensure!(read == chunks.concat(), "{} bytes of {}", read.len(), chunks.concat().len());
    ensure!(blobs.length("recordings", &format!("{id}/0002")).await? == Some(6 + 7 + 2000));
    // A block at a place where the blob does not end adds nothing.
    let name = format!("{id}/0000");
    let error =
        blobs.append("recordings", &name, 5, Bytes::from_static(b"x")).await.expect_err("it is longer");
    ensure!(error.code == "AppendPositionConditionNotMet", "{error:?}");
    home.remove(&id).await?;
    ensure!(home.open(&id).await?.is_none() && !blobs.exists("recordings", &format!("{id}/0002")).await?);
    home.remove(&id).await?;
    azurite.kill().await?;
    let away = home.create(&id).await.err().context("the service is away")?;
    ensure!(rp_base::chain(&away).to_string().contains("blob"), "{away}");
    Ok(())
}
