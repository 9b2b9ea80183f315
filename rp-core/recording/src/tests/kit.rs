//! What the tests stand on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rp_audit::{Audit, AuditOptions, CheckpointKey};
use rp_base::{Clock as _, Id, ManualClock, SharedClock, SystemRandom, Timestamp};
use rp_config::{RecordingPolicy, RecordingRules};
use rp_database::{SharedStore, in_memory};
use rp_documents::{Entry, Grant, GrantKind, Person, Recording, RecordingKind, ResourceId, Rights};
use rp_metrics::Registry;
use rp_seal::Keyring;
use tempfile::TempDir;

use crate::{
    Appender, DiskStorage, Fault, Options, RecordError, Recorder, RecordingParts, Recordings, SessionStart,
    Source, Storage, StorageError, StreamKind,
};

/// More than any cast of these tests.
pub(super) const CAST: usize = 1 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// When the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    AtOnce,
    AfterBegin,
}

pub(super) struct Kit {
    pub(super) recordings: Recordings,
    pub(super) clock: ManualClock,
    audit: Audit,
    registry: Registry,
    folder: TempDir,
    store: SharedStore,
    keyring: Keyring,
}

impl Kit {
    pub(super) async fn new(policy: RecordingPolicy, input: bool) -> Self {
        Self::with(policy, input, None).await
    }

    pub(super) async fn with(policy: RecordingPolicy, input: bool, broken: Option<Broken>) -> Self {
        let clock = ManualClock::at(Timestamp::from_seconds(1_800_000_000));
        let shared: SharedClock = Arc::new(clock.clone());
        let store: SharedStore = in_memory(Arc::clone(&shared));
        let registry = Registry::new();
        let random = Arc::new(SystemRandom);
        let options = AuditOptions::new(CheckpointKey::generate().unwrap());
        let audit = Audit::start(Arc::clone(&store), Arc::clone(&shared), options).await.unwrap();
        let folder = TempDir::new().unwrap();
        let disk = DiskStorage::open(&folder.path().join("recordings")).unwrap();
        let storage: crate::SharedStorage = match broken {
            None => Arc::new(disk),
            Some(broken) => Arc::new(FullDisk { disk, broken }),
        };
        let keyring = Keyring::generate(&SystemRandom);
        let recordings = Recordings::new(RecordingParts {
            store: Arc::clone(&store),
            keyring: keyring.clone(),
            audit: audit.clone(),
            clock: shared,
            random,
            storage,
            registry: registry.clone(),
            options: Options {
                rules: RecordingRules { policy, input, ..RecordingRules::default() },
                ..Options::default()
            },
        });
        Self { recordings, clock, audit, registry, folder, store, keyring }
    }

    /// As another process would find it, after this one.
    pub(super) fn again(&mut self) {
        self.clock.advance(Duration::from_secs(1));
        self.recordings = Recordings::off();
        self.recordings = Recordings::new(RecordingParts {
            store: Arc::clone(&self.store),
            keyring: self.keyring.clone(),
            audit: self.audit.clone(),
            clock: Arc::new(self.clock.clone()),
            random: Arc::new(SystemRandom),
            storage: Arc::new(DiskStorage::open(&self.folder.path().join("recordings")).unwrap()),
            registry: Registry::new(),
            options: Options::default(),
        });
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn file(&self, id: &Id) -> PathBuf {
        self.folder.path().join("recordings").join(format!("{id}.rec"))
    }

    pub(super) fn grant(&self) -> Grant {
        let now = self.now();
        Grant {
            id: Id::parse("grant-1").unwrap(),
            owner: person(),
            target: Some(ResourceId::imported("harbor").unwrap()),
            rights: Rights::Admin,
            reason: "looking".to_owned(),
            ..tests_kit::grant(GrantKind::Ssh, "ada", now, now)
        }
    }

    pub(super) fn start<'a>(&self, grant: &'a Grant, place: &str) -> SessionStart<'a> {
        SessionStart {
            kind: RecordingKind::Ssh,
            grant,
            person: &grant.owner,
            place: place.to_owned(),
            command: Vec::new(),
            interactive: true,
            size: None,
            term: None,
        }
    }

    pub(super) async fn begin(&self, place: &str) -> Result<Option<Recorder>, RecordError> {
        let grant = self.grant();
        self.recordings.begin(self.start(&grant, place)).await
    }

    /// A recording of those pieces, each in a chunk of its own, and its chunks as they stand there.
    pub(super) async fn recorded(&self, place: &str, pieces: &[&str]) -> (Recording, Vec<Vec<u8>>) {
        let recorder = self.begin(place).await.unwrap().unwrap();
        for piece in pieces {
            recorder.wrote(StreamKind::Output, piece.as_bytes()).await.unwrap();
            let escaped = serde_json::to_string(piece).unwrap();
            self.until_stored(recorder.id(), escaped.trim_matches('"')).await;
        }
        recorder.finish("exit 0").await;
        let found = self.recordings.find(recorder.id().as_str()).await.unwrap().unwrap();
        let mut rest = std::fs::read(self.file(recorder.id())).unwrap();
        let mut frames = Vec::new();
        while let Some(head) = crate::frame::Head::parse(&rest) {
            let tail = rest.split_off(crate::frame::HEAD + head.length);
            frames.push(std::mem::replace(&mut rest, tail));
        }
        assert_eq!(frames.len(), pieces.len() + 2);
        (found, frames)
    }

    /// Waits until a text is in the stored chunks.
    pub(super) async fn until_stored(&self, id: &Id, text: &str) -> Recording {
        let mut seen = String::new();
        let look = async {
            loop {
                let found = self.recordings.find(id.as_str()).await.unwrap().unwrap();
                seen = self.read_as(&found).await.0;
                if seen.contains(text) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(LIMIT, look).await {
            Ok(found) => found,
            Err(_) => panic!("{text:?} is not stored, but {seen:?}"),
        }
    }

    pub(super) async fn until_metric(&self, line: &str) {
        let look = async {
            while !self.registry.render().contains(line) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(tokio::time::timeout(LIMIT, look).await.is_ok(), "{line}: {}", self.registry.render());
    }

    pub(super) async fn read(&self, id: &Id) -> (Recording, String, Vec<Fault>) {
        let found = self.recordings.find(id.as_str()).await.unwrap().unwrap();
        let (text, faults) = self.read_as(&found).await;
        (found, text, faults)
    }

    pub(super) async fn read_as(&self, recording: &Recording) -> (String, Vec<Fault>) {
        let mut reader = self.recordings.open(recording).await.unwrap();
        let (mut text, mut faults) = (String::new(), Vec::new());
        while let Some(chunk) = reader.next().await.unwrap() {
            text.push_str(chunk.text.as_deref().unwrap_or_default());
            faults.extend(chunk.faults);
        }
        (text, faults)
    }

    /// The entries of a verb, when there is one.
    pub(super) async fn audit_of(&self, verb: &str) -> Vec<Entry> {
        let query = rp_audit::Query { verb: Some(verb.to_owned()), limit: 100, ..rp_audit::Query::default() };
        let look = async {
            loop {
                let entries = self.audit.search(&query).await.unwrap().entries;
                if !entries.is_empty() {
                    return entries;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LIMIT, look).await.unwrap()
    }
}

fn person() -> Person {
    Person { sub: "sub-1".to_owned(), name: "elevated@example".to_owned(), groups: Vec::new() }
}

/// What was shown, of a cast's lines.
pub(super) fn text(cast: &str) -> String {
    crate::plain::events(cast).filter(|event| event.1 == 'o').map(|event| event.2).collect()
}

/// A disk that is full.
#[derive(Debug)]
struct FullDisk {
    disk: DiskStorage,
    broken: Broken,
}

#[derive(Debug)]
struct FailingAppender {
    below: Box<dyn Appender>,
    left: u32,
}

#[async_trait]
impl Storage for FullDisk {
    async fn create(&self, id: &Id) -> Result<Box<dyn Appender>, StorageError> {
        let left = match self.broken {
            Broken::AtOnce => 0,
            Broken::AfterBegin => 1,
        };
        Ok(Box::new(FailingAppender { below: self.disk.create(id).await?, left }))
    }

    async fn open(&self, id: &Id) -> Result<Option<Box<dyn Source>>, StorageError> {
        self.disk.open(id).await
    }

    async fn remove(&self, id: &Id) -> Result<(), StorageError> {
        self.disk.remove(id).await
    }
}

#[async_trait]
impl Appender for FailingAppender {
    async fn append(&mut self, chunk: Bytes) -> Result<(), StorageError> {
        self.left = self.left.checked_sub(1).ok_or(StorageError::Full)?;
        self.below.append(chunk).await
    }
}
