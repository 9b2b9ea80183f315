//! Begins recordings and opens them again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rp_audit::Audit;
use rp_base::text::clean;
use rp_base::{Digest, Id, SharedClock, SharedRandom, Timestamp, chain};
use rp_config::RecordingPolicy;
use rp_database::{Expect, SharedStore, Typed};
use rp_documents::{Grant, Person, Recording, RecordingKind};
use rp_seal::{DataKey, Keyring};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::cast::{Encoder, Header};
use crate::event_buffer::EventBuffer;
use crate::metrics::RecordingMetrics;
use crate::options::PATIENCE;
use crate::reader::ExpectedEnd;
use crate::recorder::RecorderInner;
use crate::writer::{Writer, key_place};
use crate::{
    Options, ReadError, Reader, RecordError, Recorder, RecordingParts, RecordingState, SharedStorage,
};

/// Characters of a place and of each argument that are kept, and arguments.
const MOST_TEXT: usize = 1024;
const MOST_ARGUMENTS: usize = 64;
/// The size of a terminal that named none.
const USUAL: (u16, u16) = (80, 24);

/// A session that begins.
#[derive(Debug, Clone)]
pub struct SessionStart<'a> {
    pub kind: RecordingKind,
    pub grant: &'a Grant,
    /// Who acts.
    pub person: &'a Person,
    /// `MACHINE`, or `NAMESPACE/POD/CONTAINER`.
    pub place: String,
    /// What is run; empty for a login shell.
    pub command: Vec<String>,
    /// It has a terminal.
    pub interactive: bool,
    /// Columns and rows.
    pub size: Option<(u16, u16)>,
    /// `TERM`.
    pub term: Option<String>,
}

/// The recordings of this service. A cheap clone.
#[derive(Debug, Clone)]
pub struct Recordings(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Options,
    home: Option<RecordingStore>,
}

/// Where they are kept.
#[derive(Debug)]
pub(crate) struct RecordingStore {
    pub(crate) store: SharedStore,
    pub(crate) documents: Typed<Recording>,
    pub(crate) keyring: Keyring,
    pub(crate) audit: Audit,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) storage: SharedStorage,
    pub(crate) metrics: RecordingMetrics,
    /// Since when this process may have begun recordings.
    pub(crate) since: Timestamp,
    writers: TaskTracker,
}

impl Recordings {
    /// None are made and none are kept.
    pub fn off() -> Self {
        Self(Arc::new(Inner { options: Options::default(), home: None }))
    }

    /// Recordings under that policy. Those that stand there can be read with any.
    pub fn new(parts: RecordingParts) -> Self {
        let RecordingParts { store, keyring, audit, clock, random, storage, registry, options } = parts;
        let home = RecordingStore {
            documents: Typed::new(Arc::clone(&store)),
            store,
            keyring,
            audit,
            since: clock.now(),
            clock,
            random,
            storage,
            metrics: RecordingMetrics::register(&registry),
            writers: TaskTracker::new(),
        };
        Self(Arc::new(Inner { options, home: Some(home) }))
    }

    /// The policy, for pages and banners.
    pub fn policy(&self) -> RecordingPolicy {
        if self.0.home.is_some() { self.0.options.rules.policy } else { RecordingPolicy::Off }
    }

    /// Whether keystrokes are recorded.
    pub fn records_input(&self) -> bool {
        self.policy() != RecordingPolicy::Off && self.0.options.rules.input
    }

    /// Whether there is a place for recordings, also with the policy off.
    pub fn are_kept(&self) -> bool {
        self.0.home.is_some()
    }

    pub(crate) fn home(&self) -> Result<&RecordingStore, ReadError> {
        self.0.home.as_ref().ok_or(ReadError::NotKept)
    }

    /// Begins to record a session: its first chunk is stored for certain when this returns. `None`: the policy is off,
    /// or `wanted` and it cannot be stored (counted and logged).
    ///
    /// # Errors
    /// With policy `required`: the session must not begin, with these words.
    pub async fn begin(&self, start: SessionStart<'_>) -> Result<Option<Recorder>, RecordError> {
        let options = &self.0.options;
        let Some(home) = self.0.home.as_ref().filter(|_| options.rules.policy != RecordingPolicy::Off) else {
            return Ok(None);
        };
        match Box::pin(home.begin(start, options)).await {
            Ok(recorder) => Ok(Some(recorder)),
            Err(error) => {
                home.metrics.failures.inc();
                tracing::error!(error = %chain(&error), "a recording could not be begun");
                if options.rules.policy == RecordingPolicy::Required { Err(error) } else { Ok(None) }
            }
        }
    }

    /// What is known of a recording; `None`: there is none.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, id: &str) -> Result<Option<Recording>, ReadError> {
        let Some(home) = &self.0.home else { return Ok(None) };
        Ok(home.documents.get(id).await?.map(|found| found.value))
    }

    /// Opens a recording to be read from its begin.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn open(&self, recording: &Recording) -> Result<Reader, ReadError> {
        self.home()?.read(recording).await
    }

    /// Waits until every recording stands, at most that long: for the end of a process, after its sessions.
    pub async fn close(&self, within: Duration) {
        let Some(home) = &self.0.home else { return };
        home.writers.close();
        if tokio::time::timeout(within, home.writers.wait()).await.is_err() {
            tracing::warn!(open = home.writers.len(), "recordings were left without their end");
        }
    }
}

impl RecordingStore {
    async fn begin(&self, start: SessionStart<'_>, options: &Options) -> Result<Recorder, RecordError> {
        let key = DataKey::generate(&*self.random);
        let recording = self.document(&start, &key, options)?;
        let store = |error| RecordError::Store(Arc::new(error));
        let created = tokio::time::timeout(PATIENCE, self.documents.create(recording.clone()));
        created.await.map_err(|_| RecordError::Late)?.map_err(store)?;
        let id = recording.id.clone();
        match self.start(start, key, recording, options).await {
            Ok(recorder) => Ok(recorder),
            Err(error) => {
                // Nothing was recorded, so the recording must not be listed. Its remains are swept after the retention
                // time.
                let _ = self.documents.delete(id.as_str(), Expect::Any).await;
                Err(error)
            }
        }
    }

    fn document(
        &self,
        start: &SessionStart<'_>,
        key: &DataKey,
        options: &Options,
    ) -> Result<Recording, RecordError> {
        let now = self.clock.now();
        let id = Id::newest_first(now, &*self.random);
        let sealed = key.wrap(&self.keyring, &key_place(&id));
        let keep = i64::try_from(options.rules.keep.as_millis()).unwrap_or(i64::MAX / 2);
        Ok(Recording {
            kind: start.kind,
            grant: start.grant.primary_id().clone(),
            owner: start.person.clone(),
            target: start.grant.target.clone().ok_or(RecordError::NoTarget)?,
            place: clean(&start.place, MOST_TEXT),
            command: start.command.iter().take(MOST_ARGUMENTS).map(|word| clean(word, MOST_TEXT)).collect(),
            interactive: start.interactive,
            started: now,
            ended: None,
            outcome: None,
            chunks: 0,
            bytes: 0,
            head: Digest::default(),
            heard: now,
            sealed: sealed.map_err(|error| RecordError::Seal(Arc::new(error)))?,
            keep_until: Timestamp::from_millis(now.millis().saturating_add(keep)),
            unknown: rp_documents::Unknown::new(),
            id,
        })
    }

    async fn start(
        &self,
        start: SessionStart<'_>,
        key: DataKey,
        recording: Recording,
        options: &Options,
    ) -> Result<Recorder, RecordError> {
        let created = tokio::time::timeout(PATIENCE, self.storage.create(&recording.id)).await;
        let storage = |error| RecordError::Storage(Arc::new(error));
        let appender = created.map_err(|_| RecordError::Late)?.map_err(storage)?;
        let title = format!("{} {}", recording.target.name(), recording.place);
        let term = start.term.as_deref().map(|term| clean(term, 64));
        let header = Header {
            started: recording.started,
            size: start.size.filter(|(cols, rows)| *cols > 0 && *rows > 0).unwrap_or(USUAL),
            term: term.as_deref(),
            title: &title,
            command: &recording.command,
        };
        let mut lines = Vec::new();
        let encoder = Encoder::new(&header, &mut lines);
        let tape = Arc::new(EventBuffer::new(encoder, lines));
        let (broken, told) = watch::channel(None);
        let (ends, ended) = watch::channel(false);
        let id = recording.id.clone();
        let mut writer = Writer {
            documents: Typed::new(Arc::clone(&self.store)),
            audit: self.audit.clone(),
            clock: Arc::clone(&self.clock),
            metrics: self.metrics.clone(),
            key,
            appender,
            recording,
            tape: Arc::clone(&tape),
            spare: Vec::new(),
            broken,
            ended: ends,
        };
        writer.flush().await?;
        self.metrics.begun.inc();
        self.writers.spawn(writer.run());
        let page = options.pages.as_ref().map(|portal| format!("{portal}/recordings/{id}"));
        Ok(Recorder(Arc::new(RecorderInner {
            id,
            page,
            page_unannounced: AtomicBool::new(start.interactive),
            policy: options.rules.policy,
            input: options.rules.input,
            clock: Arc::clone(&self.clock),
            metrics: self.metrics.clone(),
            tape,
            broken: told,
            ended,
            given_up: AtomicBool::new(false),
        })))
    }

    pub(crate) async fn read(&self, recording: &Recording) -> Result<Reader, ReadError> {
        let id = &recording.id;
        let key = DataKey::unwrap(&self.keyring, &recording.sealed, &key_place(id))?;
        let source = self.storage.open(id).await?.ok_or(ReadError::Unknown)?;
        let told = ExpectedEnd {
            chunks: recording.chunks,
            head: recording.head,
            ended: recording.ended.is_some(),
            cut: RecordingState::from_recording(recording, self.clock.now()) == RecordingState::BrokenOff,
        };
        Ok(Reader::new(source, key, id.clone(), told))
    }
}
