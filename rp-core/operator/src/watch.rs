//! Watches: one for each kind and scope, however many controllers want it. Only metadata is read and only a mark of each
//! object is kept, so that a quiet operator is small; a controller reads what it needs when it runs.

mod lines;
mod marks;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rp_base::{Backoff, SharedRandom, chain};
use rp_metrics::Gauge;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use self::lines::{Event, Lines};
use self::marks::{Degree, Mark};
use crate::api::{Api, ApiError};
use crate::controller::{Changes, Key, Scope, Watched};
use crate::kinds::Kind;
use crate::queue::Queue;

/// The server ends a watch after 5 to 10 minutes, so that watches do not begin again all at once.
const WATCH: Duration = Duration::from_secs(300);
/// The first and the longest wait after a failure.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// How often a kind is tried that the cluster does not serve.
const NOT_SERVED: Duration = Duration::from_secs(60);
/// A watch that ends sooner counts as failed.
const SHORT: Duration = Duration::from_secs(1);
/// Failures in a row after which the list is read again.
const RELIST: u32 = 3;

/// Who is told of changes.
#[derive(Debug)]
struct Subscriber {
    queue: Queue,
    watched: Watched,
}

/// All watches of a process, before they run.
#[derive(Debug, Default)]
pub struct Watches {
    feeds: HashMap<(&'static str, &'static str, Scope), (&'static Kind, Vec<Subscriber>)>,
}

/// Whether the first list of each watch was read.
#[derive(Debug, Clone, Default)]
pub struct Synced(Arc<Vec<(String, Arc<AtomicBool>)>>);

impl Synced {
    /// The watches whose first list is still missing.
    pub fn missing(&self) -> Vec<String> {
        let waiting = self.0.iter().filter(|(_, done)| !done.load(Ordering::Relaxed));
        waiting.map(|(name, _)| name.clone()).collect()
    }
}

impl Watches {
    /// Adds what a controller watches.
    pub fn add(&mut self, watched: &Watched, queue: &Queue) {
        let key = (watched.kind.group, watched.kind.plural, watched.scope);
        let feed = self.feeds.entry(key).or_insert_with(|| (watched.kind, Vec::new()));
        feed.1.push(Subscriber { queue: queue.clone(), watched: *watched });
    }

    /// The watches as tasks that end when they are dropped, and whether their first lists were read.
    pub(crate) fn into_feeds(self, api: &Api, random: &SharedRandom, open: &Gauge) -> (Vec<Feed>, Synced) {
        let mut synced = Vec::new();
        let mut feeds = Vec::new();
        for ((_, plural, scope), (kind, subscribers)) in self.feeds {
            let done = Arc::new(AtomicBool::new(false));
            synced.push((format!("{plural} {scope:?}"), Arc::clone(&done)));
            let (api, random, open) = (api.clone(), Arc::clone(random), open.clone());
            feeds.push(Feed { api, random, open, kind, scope, subscribers, done, marks: HashMap::new() });
        }
        (feeds, Synced(Arc::new(synced)))
    }
}

/// One watch.
#[derive(Debug)]
pub(crate) struct Feed {
    api: Api,
    random: SharedRandom,
    open: Gauge,
    kind: &'static Kind,
    scope: Scope,
    subscribers: Vec<Subscriber>,
    done: Arc<AtomicBool>,
    /// By namespace and name.
    marks: HashMap<String, Mark>,
}

impl Feed {
    /// Follows the objects for ever.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::new(BACK_OFF.0, BACK_OFF.1);
        let (mut version, mut failures) = (None, 0);
        loop {
            let began = Instant::now();
            let wait = match self.round(&mut version).await {
                Ok(()) if began.elapsed() >= SHORT => {
                    failures = 0;
                    backoff.reset();
                    continue;
                }
                Ok(()) => backoff.step(&*self.random),
                Err(error) => {
                    failures += 1;
                    self.wait_after(&error, &mut version, failures, &mut backoff)
                }
            };
            sleep(wait).await;
        }
    }

    fn wait_after(
        &mut self,
        error: &ApiError,
        version: &mut Option<String>,
        failures: u32,
        backoff: &mut Backoff,
    ) -> Duration {
        if error.is_expired() || error.is_not_served() || failures.is_multiple_of(RELIST) {
            *version = None;
        }
        if error.is_not_served() {
            self.forget_all();
            self.done.store(true, Ordering::Relaxed);
            return NOT_SERVED.mul_f64(1.0 + self.random.unit());
        }
        if !error.is_expired() {
            tracing::debug!(resource = self.kind.plural, error = %chain(error), "a watch failed");
        }
        backoff.step(&*self.random)
    }

    /// Lists if need be, and watches until the server ends the watch.
    async fn round(&mut self, version: &mut Option<String>) -> Result<(), ApiError> {
        let from = match version.take() {
            Some(from) => from,
            None => self.list().await?,
        };
        *version = Some(from.clone());
        let (namespace, fields) = self.selection();
        let seconds = WATCH.mul_f64(1.0 + self.random.unit()).as_secs();
        let query = [("fieldSelector", fields.as_str())];
        let body = self.api.watch_metadata(self.kind, namespace, &query, &from, seconds).await?;
        let _open = self.open.track();
        let mut lines = Lines::new(body, self.kind.plural);
        while let Some(event) = lines.next().await? {
            if let Some(at) = self.apply(event) {
                *version = Some(at);
            }
        }
        Ok(())
    }

    fn selection(&self) -> (&'static str, String) {
        match self.scope {
            Scope::All => ("", String::new()),
            Scope::Namespace(namespace) => (namespace, String::new()),
            Scope::One(namespace, name) => (namespace, format!("metadata.name={name}")),
        }
    }

    /// Reads the whole list and tells what differs from what was known; gives its version.
    async fn list(&mut self) -> Result<String, ApiError> {
        let (namespace, fields) = self.selection();
        let query = [("fieldSelector", fields.as_str())];
        let (mut present, mut more) = (HashMap::new(), None);
        let version = loop {
            let page = self.api.metadata_page(self.kind, namespace, &query, more.as_deref()).await?;
            for item in &page.items {
                present.insert(marks::key(item), Mark::of(item));
            }
            more = page.more;
            if more.is_none() {
                break page.version;
            }
        };
        let gone: Vec<_> = self.marks.keys().filter(|key| !present.contains_key(*key)).cloned().collect();
        for key in gone {
            self.remove(&key);
        }
        for (key, mark) in present {
            self.put(key, mark);
        }
        self.done.store(true, Ordering::Relaxed);
        Ok(version)
    }

    /// Gives the version of the object.
    fn apply(&mut self, event: Event) -> Option<String> {
        let version = |object: &Value| {
            object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)
        };
        match event {
            Event::Put(object) => {
                self.put(marks::key(&object), Mark::of(&object));
                version(&object)
            }
            Event::Gone(object) => {
                self.remove(&marks::key(&object));
                version(&object)
            }
            Event::Bookmark(object) => version(&object),
        }
    }

    fn put(&mut self, key: String, mark: Mark) {
        let (degree, was_owned) = match self.marks.get(&key) {
            Some(old) => (old.degree(&mark), old.is_owned()),
            None => (Degree::Generation, false),
        };
        let owned = mark.is_owned() || was_owned;
        self.tell(&key, degree, owned);
        self.marks.insert(key, mark);
    }

    fn remove(&mut self, key: &str) {
        if let Some(old) = self.marks.remove(key) {
            self.tell(key, Degree::Generation, old.is_owned());
        }
    }

    /// The kind is no longer served.
    fn forget_all(&mut self) {
        let keys: Vec<_> = self.marks.keys().cloned().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    fn tell(&self, key: &str, degree: Degree, owned: bool) {
        for Subscriber { queue, watched } in &self.subscribers {
            let least = match watched.changes {
                Changes::Generation => Degree::Generation,
                Changes::Metadata => Degree::Metadata,
                Changes::All => Degree::Other,
            };
            let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
            if degree < least || (watched.owned && !owned) || !watched.takes(name) {
                continue;
            }
            match watched.key {
                Key::One => queue.add(""),
                Key::Name => queue.add(name),
            }
        }
    }
}
