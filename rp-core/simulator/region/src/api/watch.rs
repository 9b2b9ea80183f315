//! Watches: what there is, then what is written and a change now and then, bookmarks, and an end.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use rp_base::{SharedClock, Timestamp};
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::{Cluster, ClusterShape, Dice, Fleet};
use rp_simulator::objects::{Kind, View};
use rp_simulator::written::{Change, WrittenObjects};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::path::Resource;
use super::status::Failure;
use super::{Call, list, table};

/// The longest watch, even if the client requests a longer one.
const LONGEST: Duration = Duration::from_hours(1);
/// A bookmark after that many ticks.
const BOOKMARK: u64 = 12;
/// Objects that change while a watch is open.
const CHANGING: usize = 4;

/// A watch that continues after its first events.
struct Watch {
    kind: &'static Kind,
    cluster: Cluster,
    clock: SharedClock,
    fleet: Arc<Fleet>,
    written: Arc<WrittenObjects>,
    newest: tokio::sync::watch::Receiver<u64>,
    /// Writes up to this version were sent.
    sent: u64,
    choice: list::ObjectQuery,
    table: Option<&'static str>,
    objects: Vec<Value>,
    bookmarks: bool,
    first: Option<Bytes>,
    ended: bool,
    ticks: u64,
    tick: Duration,
    next_tick: Instant,
    end: Instant,
    stop: CancellationToken,
    dice: Dice,
}

/// Opens a watch.
pub(super) fn answer(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Response<Body>, Failure> {
    let version =
        call.query.number("resourceVersion").map_err(|_| Failure::bad("invalid resource version"))?;
    let initial = call.query.flag("sendInitialEvents");
    let matching = call.query.get("resourceVersionMatch");
    if initial && matching != Some("NotOlderThan") || !initial && matching.is_some() {
        let why = "resourceVersionMatch: Forbidden: sendInitialEvents requires resourceVersionMatch NotOlderThan, \
                   and a watch without it takes none";
        return Err(Failure::invalid("ListOptions.meta.k8s.io", "", why));
    }
    let written = call.view.cluster.open_written();
    let current = list::version(call);
    // Without a version, or with 0, a watch begins with what there is.
    let from = version.filter(|version| *version > 0 && !initial);
    let sent = from.unwrap_or(current).min(current);
    let choice = list::ObjectQuery::read(call, kind, at)?;
    let life = call.query.number("timeoutSeconds")?.filter(|n| *n > 0).map_or(LONGEST, Duration::from_secs);
    let mut watch = Watch {
        kind,
        cluster: since(call, sent),
        clock: call.api.clock.clone(),
        fleet: Arc::clone(&call.api.fleet),
        newest: written.subscribe(),
        written,
        sent,
        objects: choice.select(kind, &call.view),
        choice,
        table: table::wanted(&call.headers),
        bookmarks: call.query.flag("allowWatchBookmarks"),
        first: None,
        ended: false,
        ticks: 0,
        tick: call.api.tick,
        next_tick: Instant::now() + call.api.tick,
        end: Instant::now() + life.min(LONGEST),
        stop: call.api.stop.clone(),
        dice: Dice::new(call.view.cluster.index as u64, call.view.now.millis().unsigned_abs()),
    };
    watch.first = Some(watch.begin(from.is_none(), initial, current).into());
    watch.forget();
    let mut response = Response::new(body::stream(stream::unfold(watch, Watch::next)));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The cluster at the version from which a watch continues, so that later changes are sent.
fn since(call: &Call<'_>, version: u64) -> Cluster {
    let current = call.view.cluster;
    let now = call.view.now;
    let then = i64::try_from(version).map_or(now, Timestamp::from_millis).min(now);
    call.api.fleet.changed(current, then).unwrap_or_else(|| current.clone())
}

impl Watch {
    /// The first events: what there is, or what was written since the version that the client names.
    fn begin(&mut self, all: bool, initial: bool, current: u64) -> Vec<u8> {
        let mut first = Vec::new();
        if all {
            for object in &self.objects {
                self.write(&mut first, "ADDED", object);
            }
            if initial && self.bookmarks {
                self.bookmark(&mut first, current, true);
            }
        } else if list::is_recent(self.sent, current) {
            self.send_written(&mut first);
        } else {
            self.expire(&mut first, current);
        }
        first
    }

    /// The client's version is too old. It learns that by an event, as from the API server, and the watch ends.
    fn expire(&mut self, into: &mut Vec<u8>, current: u64) {
        let status = Failure::too_old(self.sent, current).object();
        into.extend_from_slice(json!({"type": "ERROR", "object": status}).to_string().as_bytes());
        into.push(b'\n');
        self.ended = true;
    }

    /// Sends what was written since the last time.
    fn send_written(&mut self, into: &mut Vec<u8>) {
        let Some(changes) = self.written.since(self.sent) else {
            let current = self.written.version(self.clock.now());
            return self.expire(into, current);
        };
        // A project is its namespace.
        let written_as =
            if self.kind.plural == "projects" { "namespaces".to_owned() } else { self.kind.full() };
        for change in changes {
            self.sent = change.version;
            if change.key.0 == written_as {
                self.send_change(into, &change);
            }
        }
    }

    fn send_change(&mut self, into: &mut Vec<u8>, change: &Change) {
        let mut object = Value::clone(&change.object);
        object["kind"] = json!(self.kind.kind);
        object["apiVersion"] = json!(self.kind.api_version());
        let before = change.before.as_ref().is_some_and(|before| self.choice.matches(before));
        let after = !change.deleted && self.choice.matches(&object);
        self.objects.retain(|one| name(one) != name(&object));
        match (before, after) {
            (false, true) => self.write(into, "ADDED", &object),
            (true, true) => self.write(into, "MODIFIED", &object),
            (true, false) => self.write(into, "DELETED", &object),
            (false, false) => {}
        }
    }

    /// Keeps the few objects that will change: thousands of idle watches must not hold all of theirs.
    fn forget(&mut self) {
        while self.objects.len() > CHANGING {
            let at = self.dice.below(self.objects.len());
            self.objects.swap_remove(at);
        }
        self.objects.shrink_to_fit();
    }

    /// The next piece of the answer; `None` ends it.
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some((first, self));
        }
        loop {
            if self.ended {
                return None;
            }
            let ticked = tokio::select! {
                () = tokio::time::sleep_until(self.next_tick) => true,
                _ = self.newest.changed() => false,
                () = tokio::time::sleep_until(self.end) => return None,
                () = self.stop.cancelled() => return None,
            };
            let mut piece = Vec::new();
            if ticked {
                self.next_tick = Instant::now() + self.tick;
                self.ticks += 1;
            }
            let now = self.clock.now();
            if let Some(current) = self.fleet.changed(&self.cluster, now) {
                if current.shape == ClusterShape::Silent {
                    continue;
                }
                self.turn(current, &mut piece);
            }
            // Read first: a bookmark must not be newer than what was sent.
            let version = self.written.version(now);
            self.send_written(&mut piece);
            if ticked && !self.ended {
                if self.bookmarks && self.ticks.is_multiple_of(BOOKMARK) {
                    self.bookmark(&mut piece, version, false);
                } else {
                    self.change(&mut piece, version);
                }
            }
            if !piece.is_empty() {
                return Some((piece.into(), self));
            }
        }
    }

    /// One object was touched: its resource version moves, and a node's heartbeat.
    fn change(&mut self, into: &mut Vec<u8>, version: u64) {
        let at = self.dice.below(self.objects.len());
        let now = self.clock.now();
        let Some(object) = self.objects.get_mut(at) else { return };
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let heart = json!(Timestamp::from_seconds(now.seconds()));
        if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            for condition in conditions.iter_mut().filter(|c| c.get("lastHeartbeatTime").is_some()) {
                condition["lastHeartbeatTime"] = heart.clone();
            }
        }
        let object = object.clone();
        self.write(into, "MODIFIED", &object);
    }

    /// The cluster's faults changed: sends the objects that differ.
    fn turn(&mut self, current: Cluster, into: &mut Vec<u8>) {
        let now = self.clock.now();
        let before = self.choice.select(self.kind, &View { cluster: &self.cluster, now });
        let after = self.choice.select(self.kind, &View { cluster: &current, now });
        self.cluster = current;
        for old in before.iter().filter(|old| !after.iter().any(|new| name(new) == name(old))) {
            self.write(into, "DELETED", old);
        }
        for new in &after {
            match before.iter().find(|old| name(old) == name(new)) {
                None => self.write(into, "ADDED", new),
                Some(old) if differs(old, new) => {
                    let mut new = new.clone();
                    new["metadata"]["resourceVersion"] = json!(self.written.version(now).to_string());
                    self.write(into, "MODIFIED", &new);
                }
                Some(_) => {}
            }
        }
        self.objects = after;
        self.forget();
    }

    fn bookmark(&self, into: &mut Vec<u8>, version: u64, initial_end: bool) {
        let annotations = if initial_end { json!({"k8s.io/initial-events-end": "true"}) } else { json!({}) };
        let object = json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": version.to_string(), "annotations": annotations}});
        self.write(into, "BOOKMARK", &object);
    }

    fn write(&self, into: &mut Vec<u8>, event: &str, object: &Value) {
        let view = View { cluster: &self.cluster, now: self.clock.now() };
        let line = match self.table {
            Some(version) => {
                let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                let table =
                    table::from_objects(self.kind, std::slice::from_ref(object), &view, version, &metadata);
                json!({"type": event, "object": table})
            }
            None => json!({"type": event, "object": object}),
        };
        into.extend_from_slice(line.to_string().as_bytes());
        into.push(b'\n');
    }
}

fn name(object: &Value) -> (&Value, &Value) {
    (&object["metadata"]["namespace"], &object["metadata"]["name"])
}

/// In anything but the resource version.
fn differs(old: &Value, new: &Value) -> bool {
    let mut old = old.clone();
    old["metadata"]["resourceVersion"] = new["metadata"]["resourceVersion"].clone();
    old != *new
}
