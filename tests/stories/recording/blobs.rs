//! Recordings in append blobs of a real blob service: recorded, found, read, and removed when their time is over.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use rp_azure::{ArmOptions, BlobAccess, BlobStore, Credential, Endpoints, RetryPolicy, SasRequest};
use rp_base::{Clock as _, Id, Secret, SystemClock, SystemRandom, Timestamp};
use rp_metrics::Registry;
use rp_recording::Storage as _;
use rp_recording_blobs::BlobStorage;
use serde_json::Value;
use tests_kit::{Folder, GENEROUS, Process, part, until};

use super::{Recorded, cast, events_of_code, newest, recordings};

/// The account and key that everybody knows.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const SAID: &str = "successfully listens on ";

/// A blob service.
struct Azurite {
    process: Process,
    account: url::Url,
    /// What opens the account for an hour.
    sas: Secret<String>,
}

impl Azurite {
    async fn start(folder: &Folder) -> Result<Self> {
        let mut command = Command::new(part("node")?);
        command.arg(part("azurite-blob")?);
        command.args(["--blobPort", "0", "--disableTelemetry", "--skipApiVersionCheck", "--location"]);
        command.arg(folder.path().join("azurite")).stdin(Stdio::null());
        let process = Process::start(folder, "azurite", &mut command)?;
        let address = process.ready(Duration::from_mins(2), || async {
            let log = process.log();
            let (_, rest) = log.split_once(SAID).context("it does not listen yet")?;
            // The whole line: it may be half written.
            let (address, _) = rest.split_once('\n').context("its address is not there yet")?;
            Ok(address.trim().to_owned())
        });
        let account = format!("{}/{ACCOUNT}", address.await?).parse()?;
        let now = SystemClock.now();
        let until = now + Duration::from_hours(1);
        let ask = SasRequest { permissions: "rwdca", resource_types: "co", from: now, until, http: true };
        let sas = rp_azure::sign_account_sas(ACCOUNT, &Secret::new(KEY.to_owned()), &ask);
        Ok(Self { process, account, sas: sas.context("a key")? })
    }

    fn blobs(&self) -> Result<BlobStore> {
        let sas = Secret::new(self.sas.expose().clone());
        Ok(BlobStore::new(client(&Registry::new())?, self.account.clone(), BlobAccess::Sas(sas)))
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_stands_in_append_blobs_in_order() -> Result<()> {
    let folder = Folder::new("azurite-recordings")?;
    let azurite = Azurite::start(&folder).await?;
    let blobs = azurite.blobs()?;
    // Three blocks to a blob, so that one recording needs several.
    let home = BlobStorage::open(blobs.clone(), "recordings").await?.with_blocks(3);
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
    azurite.process.kill()?;
    let away = home.create(&id).await.err().context("the service is away")?;
    ensure!(rp_base::chain(&away).to_string().contains("blob"), "{away}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_recorded_in_blobs_and_removed_when_their_time_is_over() -> Result<()> {
    let folder = Folder::new("recorded-in-blobs")?;
    let azurite = Azurite::start(&folder).await?;
    let sas = folder.write("sas", azurite.sas.expose())?;
    let (url, sas) = (azurite.account.to_string(), sas.display().to_string());
    let settings = [("BLOB_URL", url.as_str()), ("BLOB_SAS_FILE", &sas), ("BLOB_CONTAINER", "kept")];
    let mut world = Recorded::at(folder.clone(), folder.path().to_owned(), false, &settings).await?;
    let told = check_in_blobs(&mut world, &azurite).await;
    world.aro.explain(told)
}

async fn check_in_blobs(world: &mut Recorded, azurite: &Azurite) -> Result<()> {
    let blobs = azurite.blobs()?;
    let first = record(world, "stays here").await?;
    let id = first["id"].as_str().context("an id")?;
    let person = world.aro.session("elevated").await?;
    let (head, events) = cast(&person, id).await?;
    ensure!(head["version"] == 3 && events_of_code(&events, "o") == "stays here\n", "{head} {events:?}");
    let found = recordings(&person, "?q=STAYS").await?;
    ensure!(found.len() == 1 && found[0]["hits"][0]["line"] == "stays here", "{found:?}");
    // What stands there is sealed.
    let stored = blobs.get("kept", &format!("{id}/0000")).await?.context("no blob")?;
    ensure!(stored.starts_with(b"ARO-REC2") && !stored.windows(5).any(|part| part == b"stays"));

    world.aro.restart_with(&[("ARO_RECORDING__KEEP", "1s")]).await?;
    let second = record(world, "goes soon").await?;
    let over =
        second["keep_until"].as_str().and_then(|text| Timestamp::parse(text).ok()).context("an end")?;
    until("its time is over", GENEROUS, || async {
        ensure!(SystemClock.now() > over, "until {over}");
        Ok(())
    })
    .await?;
    let gone = second["id"].as_str().context("an id")?;
    ensure!(blobs.exists("kept", &format!("{gone}/0000")).await?, "it is gone too early");
    // A process that starts looks at once.
    world.aro.restart_with(&[("ARO_RECORDING__KEEP", "400d")]).await?;
    let person = world.aro.session("elevated").await?;
    until("the recording is removed", GENEROUS, || async {
        let answer = person.get(&format!("/api/v1/recordings/{gone}")).await?;
        ensure!(answer.status == 404, "{answer:?}");
        Ok(())
    })
    .await?;
    ensure!(!blobs.exists("kept", &format!("{gone}/0000")).await?, "its blob is left");
    let auditor = world.aro.session("auditor").await?;
    until("a word of it stays", GENEROUS, || async {
        let entries = auditor.audit("recording.remove").await?;
        ensure!(entries.len() == 1 && entries[0]["name"] == gone, "{entries:?}");
        Ok(())
    })
    .await?;
    let (_, events) = cast(&person, id).await?;
    ensure!(events_of_code(&events, "o") == "stays here\n", "{events:?}");

    // Without its place no session begins.
    azurite.process.kill()?;
    let refused = world.kubectl().await?.refused(&["exec", "web", "--", "echo", "unseen"]).await?;
    ensure!(refused.contains("must be recorded"), "{refused}");
    Ok(())
}

/// The recording of a command that printed the given text.
async fn record(world: &Recorded, words: &str) -> Result<Value> {
    world.kubectl().await?.ok(&["exec", "web", "--", "echo", words]).await?;
    let person = world.aro.session("elevated").await?;
    let ended = |found: &Value| found["state"] == "ended" && found["command"].to_string().contains(words);
    newest(&person, "it is recorded", ended).await
}
