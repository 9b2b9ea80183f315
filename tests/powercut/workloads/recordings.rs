//! Recordings on the disk: sessions that begin, go on and end, and chunks that the storage says are stored.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, SystemClock, SystemRandom};
use rp_config::{RecordingPolicy, RecordingRules};
use rp_database::{SharedStore, SqliteOptions, SqliteStore};
use rp_documents::{Grant, GrantKind, RecordingKind, ResourceId, Rights};
use rp_metrics::Registry;
use rp_recording::{
    DiskStorage, Options, RecordingParts, Recordings, SessionStart, Storage as _, StreamKind,
};
use rp_seal::Keyring;
use serde::{Deserialize, Serialize};

use super::Workload;
use crate::recorder::{Marks, said};

/// What a session shows, in so many pieces.
const PIECES: u32 = 40;
const SESSIONS: u32 = 3;
const CHUNKS: u8 = 12;

#[derive(Debug, Serialize, Deserialize)]
enum Mark {
    /// A container is there, with so many chunks.
    Stored { id: String, chunks: u8 },
    /// A session may begin: its first chunk is stored.
    Begun(String),
    /// Its end is stored.
    Ended(String),
}

pub(super) struct Sessions;

#[async_trait]
impl Workload for Sessions {
    fn name(&self) -> &'static str {
        "recordings"
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let disk = disk(folder)?;
        let raw = Id::random(&SystemRandom);
        let mut container = disk.create(&raw).await?;
        for chunks in 0..=CHUNKS {
            marks.say(&Mark::Stored { id: raw.to_string(), chunks })?;
            container.append(chunk(chunks)).await?;
        }
        let place = RecordingStore::open(folder, disk).await?;
        for number in 0..SESSIONS {
            let grant = grant()?;
            let begun = place.recordings.begin(start(&grant)).await?;
            let recorder = begun.context("it is not recorded")?;
            let id = recorder.id().to_string();
            marks.say(&Mark::Begun(id.clone()))?;
            for piece in 0..PIECES {
                recorder.wrote(StreamKind::Output, line(piece).as_bytes()).await?;
            }
            // The last one is cut in its middle.
            if number + 1 < SESSIONS {
                recorder.finish("exit 0").await;
                marks.say(&Mark::Ended(id))?;
            }
        }
        Ok(())
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        let marks: Vec<Mark> = said(marks)?;
        let disk = disk(folder).context("the folder of recordings does not open")?;
        let place = RecordingStore::open(folder, disk.clone()).await?;
        let looked = look(&place, &disk, &marks).await;
        place.close().await;
        looked
    }
}

/// Two folders that the product makes.
fn disk(folder: &Path) -> Result<DiskStorage> {
    Ok(DiskStorage::open(&folder.join("kept/recordings"))?)
}

/// Longer than a sector, and known by its number.
fn chunk(number: u8) -> Bytes {
    vec![b'A' + number; 1500].into()
}

fn line(piece: u32) -> String {
    format!("line {piece} of what was shown\r\n")
}

/// What recordings stand on.
struct RecordingStore {
    store: SharedStore,
    audit: Audit,
    recordings: Recordings,
}

impl RecordingStore {
    async fn open(folder: &Path, disk: DiskStorage) -> Result<Self> {
        let clock = Arc::new(SystemClock);
        let keyring = Keyring::open_or_create(&folder.join("store/keys.json"), &SystemRandom)?;
        let mut options = SqliteOptions::new(folder.join("store/store.db"), clock.clone());
        options.sweep_every = None;
        let store: SharedStore = Arc::new(SqliteStore::open(options).await?);
        let options = AuditOptions::new(CheckpointKey::generate()?);
        let audit = Audit::start(Arc::clone(&store), clock.clone(), options).await?;
        let recordings = Recordings::new(RecordingParts {
            store: Arc::clone(&store),
            keyring,
            audit: audit.clone(),
            clock,
            random: Arc::new(SystemRandom),
            storage: Arc::new(disk),
            registry: Registry::new(),
            options: Options {
                rules: RecordingRules { policy: RecordingPolicy::Required, ..RecordingRules::default() },
                ..Options::default()
            },
        });
        Ok(Self { store, audit, recordings })
    }

    async fn close(self) {
        self.audit.close().await;
        self.store.close().await;
    }
}

fn grant() -> Result<Grant> {
    let now = SystemClock.now();
    Ok(Grant {
        target: Some(ResourceId::imported("harbor").context("a name")?),
        rights: Rights::Admin,
        reason: "looking".to_owned(),
        ..tests_kit::grant(GrantKind::Ssh, "elevated@example", now, now)
    })
}

fn start(grant: &Grant) -> SessionStart<'_> {
    SessionStart {
        kind: RecordingKind::Ssh,
        grant,
        person: &grant.owner,
        place: "master-0".to_owned(),
        command: Vec::new(),
        interactive: true,
        size: None,
        term: None,
    }
}

async fn look(place: &RecordingStore, disk: &DiskStorage, marks: &[Mark]) -> Result<()> {
    for mark in marks {
        match mark {
            Mark::Stored { id, chunks } => stored(disk, id, *chunks).await?,
            Mark::Begun(id) => {
                let (shown, faults) = read(place, id).await?;
                ensure!(shown.is_some(), "the begin of {id} was promised, it cannot be read: {faults}");
            }
            Mark::Ended(id) => {
                let (shown, faults) = read(place, id).await?;
                let whole: String = (0..PIECES).map(line).collect();
                ensure!(faults.is_empty(), "{id} was promised whole: {faults}");
                ensure!(shown.as_ref() == Some(&whole), "{id} was promised whole, it shows {shown:?}");
                let found = place.recordings.find(id).await?;
                ensure!(
                    found.is_some_and(|found| found.ended.is_some()),
                    "{id} has no end, which was promised"
                );
            }
        }
    }
    Ok(())
}

/// Chunks that were stored stand at the container's begin, byte for byte.
async fn stored(disk: &DiskStorage, id: &str, chunks: u8) -> Result<()> {
    let id = Id::parse(id)?;
    let source = disk.open(&id).await?;
    let mut source = source.with_context(|| format!("the container {id} was promised, it is not there"))?;
    let mut found = Vec::new();
    while let Some(piece) = source.piece().await? {
        found.extend_from_slice(&piece);
    }
    let promised: Vec<u8> = (0..chunks).flat_map(chunk).collect();
    ensure!(
        found.starts_with(&promised),
        "{chunks} chunks of {id} were promised, {} bytes are there",
        found.len()
    );
    Ok(())
}

/// What a recording shows (`None`: not even its first chunk), and what is wrong with it.
async fn read(place: &RecordingStore, id: &str) -> Result<(Option<String>, String)> {
    let found = place.recordings.find(id).await?;
    let found = found.with_context(|| format!("the recording {id} was promised, it is not there"))?;
    let mut reader = place.recordings.open(&found).await.with_context(|| format!("{id} was promised"))?;
    let (mut shown, mut faults) = (None, Vec::new());
    while let Some(chunk) = reader.next().await? {
        faults.extend(chunk.faults.iter().map(ToString::to_string));
        if let Some(cast) = chunk.text {
            shown.get_or_insert_with(String::new).push_str(&output(&cast)?);
        }
    }
    Ok((shown, faults.join("; ")))
}

/// What was shown, of the lines of a cast; its first line is the header.
fn output(cast: &str) -> Result<String> {
    let mut shown = String::new();
    for line in cast.lines().filter(|line| line.starts_with('[')) {
        let (_, code, text): (f64, String, String) = serde_json::from_str(line)?;
        if code == "o" {
            shown.push_str(&text);
        }
    }
    Ok(shown)
}
