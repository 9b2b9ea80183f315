//! Watches: what there is, then a change now and then, bookmarks, and an end.

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
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::path::Resource;
use super::status::Failure;
use super::{Call, list, table};

/// The longest watch, even if the client requests a longer one.
const LONGEST: Duration = Duration::from_hours(1);
/// Older versions are expired, seconds.
const HISTORY: i64 = 600;
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
    choice: list::ObjectQuery,
    table: Option<&'static str>,
    objects: Vec<Value>,
    bookmarks: bool,
    first: Option<Bytes>,
    ticks: u64,
    tick: Duration,
    end: Instant,
    stop: CancellationToken,
    dice: Dice,
}

/// Opens a watch.
pub(super) fn answer(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Response<Body>, Failure> {
    let version =
        call.query.number("resourceVersion").map_err(|_| Failure::bad("invalid resource version"))?;
    let cluster = since(call, version.unwrap_or(0))?;
    let choice = list::ObjectQuery::read(call, at)?;
    let objects = choice.select(kind, &call.view);
    let initial = call.query.flag("sendInitialEvents");
    let life = call.query.number("timeoutSeconds")?.filter(|n| *n > 0).map_or(LONGEST, Duration::from_secs);
    let mut watch = Watch {
        kind,
        cluster,
        clock: call.api.clock.clone(),
        fleet: Arc::clone(&call.api.fleet),
        choice,
        table: table::wanted(&call.headers),
        objects,
        bookmarks: call.query.flag("allowWatchBookmarks"),
        first: None,
        ticks: 0,
        tick: call.api.tick,
        end: Instant::now() + life.min(LONGEST),
        stop: call.api.stop.clone(),
        dice: Dice::new(call.view.cluster.index as u64, call.view.now.millis().unsigned_abs()),
    };
    let mut first = Vec::new();
    // Without a version, or with 0, a watch begins with what there is.
    if initial || version.unwrap_or(0) == 0 {
        for object in &watch.objects {
            watch.write(&mut first, "ADDED", object);
        }
    }
    if initial && watch.bookmarks {
        watch.bookmark(&mut first, true);
    }
    watch.first = Some(first.into());
    watch.forget();
    let mut response = Response::new(body::stream(stream::unfold(watch, Watch::next)));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The cluster at the version from which a watch continues, so that later changes are sent.
fn since(call: &Call<'_>, version: u64) -> Result<Cluster, Failure> {
    let now = call.view.now.seconds();
    let current = call.view.cluster;
    let Some(age) = i64::try_from(version).ok().filter(|at| (1..=now).contains(at)).map(|at| now - at) else {
        return Ok(current.clone());
    };
    if age <= HISTORY {
        let then = Timestamp::from_seconds(now - age);
        return Ok(call.api.fleet.changed(current, then).unwrap_or_else(|| current.clone()));
    }
    // Versions of objects that never changed are no instants of late.
    if version > 1_000_000_000 { Err(Failure::expired()) } else { Ok(current.clone()) }
}

impl Watch {
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
            let wait = tokio::time::sleep(self.tick);
            tokio::select! {
                () = wait => {}
                () = tokio::time::sleep_until(self.end) => return None,
                () = self.stop.cancelled() => return None,
            }
            self.ticks += 1;
            let mut piece = Vec::new();
            if let Some(current) = self.fleet.changed(&self.cluster, self.clock.now()) {
                if current.shape == ClusterShape::Silent {
                    continue;
                }
                self.turn(current, &mut piece);
            }
            if self.bookmarks && self.ticks.is_multiple_of(BOOKMARK) {
                self.bookmark(&mut piece, false);
            } else {
                self.change(&mut piece);
            }
            if !piece.is_empty() {
                return Some((piece.into(), self));
            }
        }
    }

    /// One object was touched: its resource version moves, and a node's heartbeat.
    fn change(&mut self, into: &mut Vec<u8>) {
        let at = self.dice.below(self.objects.len());
        let now = self.clock.now();
        let Some(object) = self.objects.get_mut(at) else { return };
        object["metadata"]["resourceVersion"] = json!((now.millis() / 1000).to_string());
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
                    new["metadata"]["resourceVersion"] = json!(now.seconds().to_string());
                    self.write(into, "MODIFIED", &new);
                }
                Some(_) => {}
            }
        }
        self.objects = after;
        self.forget();
    }

    fn bookmark(&self, into: &mut Vec<u8>, initial_end: bool) {
        let annotations = if initial_end { json!({"k8s.io/initial-events-end": "true"}) } else { json!({}) };
        let object = json!({"kind": self.kind.kind, "apiVersion": self.kind.api_version(),
            "metadata": {"resourceVersion": self.clock.now().seconds().to_string(), "annotations": annotations}});
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
