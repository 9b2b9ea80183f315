//! Objects that clients wrote into a cluster: they stand over the generated ones, and changes are remembered for watches.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use rp_base::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

/// Most written objects per cluster, deletions of generated objects included.
pub const MOST_OBJECTS: usize = 2_000;
/// Most bytes of written objects per cluster, as JSON.
pub const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Most changes that are remembered per cluster.
const MOST_CHANGES: usize = 1_000;
/// Most bytes of the objects of remembered changes per cluster, as JSON.
const MOST_CHANGED_BYTES: usize = 16 * 1024 * 1024;

/// Plural with group, namespace (empty: none), name.
pub type Key = (String, String, String);

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// The cluster's resource version after it.
    pub version: u64,
    pub key: Key,
    /// `None`: the object was created.
    pub before: Option<Arc<Value>>,
    /// The object after the change; of a deletion its last state, with the version of the deletion.
    pub object: Arc<Value>,
    pub deleted: bool,
    bytes: usize,
}

/// A change that is to be made.
#[derive(Debug)]
pub struct Write {
    pub key: Key,
    pub before: Option<Value>,
    /// `None`: the object is deleted.
    pub after: Option<Value>,
    /// The cluster has an object of that name by itself, so its deletion must be remembered.
    pub generated: bool,
}

/// There is no room for another object ([`MOST_OBJECTS`], [`MOST_BYTES`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

/// A written object with its size in bytes, or `None`: a generated object that was deleted.
type Entry = Option<(Arc<Value>, usize)>;

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<Key, Entry>,
    bytes: usize,
    changes: VecDeque<Change>,
    changed_bytes: usize,
    version: u64,
    /// The newest change that is no longer remembered.
    forgotten: u64,
}

/// The objects of one cluster.
#[derive(Debug)]
pub struct WrittenObjects {
    turn: Mutex<()>,
    state: RwLock<State>,
    newest: watch::Sender<u64>,
}

impl Default for WrittenObjects {
    fn default() -> Self {
        Self { turn: Mutex::default(), state: RwLock::default(), newest: watch::Sender::new(0) }
    }
}

impl WrittenObjects {
    /// Held while an object is read, changed and written, so that no other write comes between.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Applies the written objects of a kind (`plural.group`) to the generated ones, in order of namespace and name.
    pub fn over(&self, kind: &str, all: &mut Vec<Value>) {
        let state = self.state.read();
        let first = (kind.to_owned(), String::new(), String::new());
        let of_kind = state.objects.range(first..).take_while(|((found, ..), _)| found == kind);
        let written: HashMap<(&str, &str), &Entry> = of_kind
            .map(|((_, namespace, name), object)| ((namespace.as_str(), name.as_str()), object))
            .collect();
        if written.is_empty() {
            return;
        }
        all.retain(|one| !written.contains_key(&location(one)));
        all.extend(written.values().copied().flatten().map(|(object, _)| Value::clone(object)));
        all.sort_by_cached_key(|one| {
            let (namespace, name) = location(one);
            (namespace.to_owned(), name.to_owned())
        });
    }

    /// The object that was written under this key; `None`: none was, or it was deleted.
    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let state = self.state.read();
        let (object, _) = state.objects.get(key)?.as_ref()?;
        Some(Arc::clone(object))
    }

    /// The cluster's resource version: milliseconds since 1970, or the version of the last write where that is newer.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.state.read().version.max(now.millis().unsigned_abs())
    }

    /// Makes a change; gives the object with its new resource version (of a deletion: its last state).
    ///
    /// `now` is asked for when no other change can be made any more: a version that was given out before must be smaller than
    /// that of this change, or a watch from there would miss it.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing was changed.
    pub fn put(&self, write: Write, now: impl FnOnce() -> Timestamp) -> Result<Arc<Value>, NoRoom> {
        let Write { key, before, after, generated } = write;
        let mut state = self.state.write();
        let version = state.version.max(now().millis().unsigned_abs()) + 1;
        let deleted = after.is_none();
        let mut object = after.or_else(|| before.clone()).unwrap_or_else(|| json!({}));
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let bytes = object.to_string().len();
        let object = Arc::new(object);
        let freed = match state.objects.get(&key) {
            Some(Some((_, bytes))) => *bytes,
            _ => 0,
        };
        let added = if deleted { 0 } else { bytes };
        let grows = (!deleted || generated) && !state.objects.contains_key(&key);
        let total = state.bytes - freed + added;
        if grows && state.objects.len() >= MOST_OBJECTS || added > freed && total > MOST_BYTES {
            return Err(NoRoom);
        }
        if deleted && !generated {
            state.objects.remove(&key);
        } else {
            state.objects.insert(key.clone(), (!deleted).then(|| (Arc::clone(&object), bytes)));
        }
        state.bytes = total;
        state.version = version;
        let bytes = bytes * if before.is_some() { 2 } else { 1 };
        let before = before.map(Arc::new);
        state.remember(Change { version, key, before, object: Arc::clone(&object), deleted, bytes });
        drop(state);
        self.newest.send_replace(version);
        Ok(object)
    }

    /// The changes after a version, oldest first; `None`: some of them are no longer remembered.
    pub fn since(&self, version: u64) -> Option<Vec<Change>> {
        let state = self.state.read();
        if version < state.forgotten {
            return None;
        }
        let from = state.changes.partition_point(|change| change.version <= version);
        Some(state.changes.range(from..).cloned().collect())
    }

    /// Tells of new versions.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

impl State {
    fn remember(&mut self, change: Change) {
        self.changed_bytes += change.bytes;
        self.changes.push_back(change);
        while self.changes.len() > MOST_CHANGES || self.changed_bytes > MOST_CHANGED_BYTES {
            let Some(oldest) = self.changes.pop_front() else { break };
            self.changed_bytes -= oldest.bytes;
            self.forgotten = oldest.version;
        }
    }
}

/// Namespace (empty: none) and name of an object.
fn location(object: &Value) -> (&str, &str) {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// What was written into the clusters of a fleet, by the index of the cluster.
#[derive(Debug, Clone, Default)]
pub struct FleetWrites(Arc<RwLock<HashMap<usize, Arc<WrittenObjects>>>>);

impl FleetWrites {
    /// What was written into a cluster, if anything was.
    pub(crate) fn find(&self, index: usize) -> Option<Arc<WrittenObjects>> {
        self.0.read().get(&index).cloned()
    }

    /// The same, made when there is nothing yet.
    pub(crate) fn open(&self, index: usize) -> Arc<WrittenObjects> {
        if let Some(found) = self.find(index) {
            return found;
        }
        Arc::clone(self.0.write().entry(index).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_795_000_000);

    fn object(name: &str, spec: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": spec})
    }

    fn write(name: &str, after: Option<Value>) -> Write {
        let key = ("secrets".to_owned(), String::new(), name.to_owned());
        Write { key, before: None, after, generated: true }
    }

    #[test]
    fn what_was_written_stands_over_what_there_is() {
        let kept = WrittenObjects::default();
        kept.put(write("b", Some(object("b", "2"))), || NOW).unwrap();
        kept.put(write("c", None), || NOW).unwrap();
        let mut all = vec![object("c", "1"), object("b", "1"), object("a", "1")];
        kept.over("secrets", &mut all);
        let told: Vec<_> =
            all.iter().map(|one| (one["metadata"]["name"].clone(), one["spec"].clone())).collect();
        assert_eq!(told, [(json!("a"), json!("1")), (json!("b"), json!("2"))]);
        let key = |name: &str| ("secrets".to_owned(), String::new(), name.to_owned());
        assert_eq!(kept.get(&key("b")).unwrap()["spec"], "2");
        assert!(kept.get(&key("a")).is_none() && kept.get(&key("c")).is_none());
    }

    #[test]
    fn versions_grow_and_changes_are_remembered_in_order() {
        let kept = WrittenObjects::default();
        let before = kept.version(NOW);
        for spec in ["1", "2", "3"] {
            kept.put(write("a", Some(object("a", spec))), || NOW).unwrap();
        }
        let changes = kept.since(before).unwrap();
        let versions: Vec<u64> = changes.iter().map(|change| change.version).collect();
        assert_eq!(versions, [before + 1, before + 2, before + 3]);
        assert_eq!(kept.version(NOW), before + 3);
        assert_eq!(kept.since(before + 2).unwrap().len(), 1);
        for _ in 0..MOST_CHANGES {
            kept.put(write("a", Some(object("a", "4"))), || NOW).unwrap();
        }
        assert!(kept.since(before).is_none(), "the first changes are forgotten");
    }

    #[test]
    fn a_cluster_keeps_so_many_objects_and_bytes() {
        let kept = WrittenObjects::default();
        for number in 0..MOST_OBJECTS {
            let name = number.to_string();
            kept.put(write(&name, Some(object(&name, ""))), || NOW).unwrap();
        }
        assert_eq!(kept.put(write("more", Some(object("more", ""))), || NOW).unwrap_err(), NoRoom);
        let mut gone = write("0", None);
        gone.generated = false;
        kept.put(gone, || NOW).unwrap();
        kept.put(write("more", Some(object("more", ""))), || NOW).unwrap();
        let large = "x".repeat(MOST_BYTES);
        assert_eq!(kept.put(write("1", Some(object("1", &large))), || NOW).unwrap_err(), NoRoom);
    }
}
