//! Watches: what there is, then a change now and then, bookmarks, and an end.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use rp_base::SharedClock;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::path::Resource;
use super::status::Failure;
use super::{Call, list, table};
use crate::body::{self, Body};
use crate::region::fleet::{Cluster, Dice};
use crate::region::objects::{Kind, View};

/// The longest watch, whatever was asked for.
const LONGEST: Duration = Duration::from_hours(1);
/// A bookmark after that many ticks.
const BOOKMARK: u64 = 12;
/// Objects that change while a watch is open.
const CHANGING: usize = 4;

/// A watch that goes on after its first events.
struct Watch {
    kind: &'static Kind,
    cluster: Cluster,
    clock: SharedClock,
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
    let objects = list::select(call, kind, at)?;
    let initial = call.query.flag("sendInitialEvents");
    let life = call.query.number("timeoutSeconds")?.filter(|n| *n > 0).map_or(LONGEST, Duration::from_secs);
    let mut watch = Watch {
        kind,
        cluster: call.view.cluster.clone(),
        clock: call.api.clock.clone(),
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
        let heart = json!(rp_base::Timestamp::from_seconds(now.seconds()));
        if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
            for condition in conditions.iter_mut().filter(|c| c.get("lastHeartbeatTime").is_some()) {
                condition["lastHeartbeatTime"] = heart.clone();
            }
        }
        let object = object.clone();
        self.write(into, "MODIFIED", &object);
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
                let table = table::of(self.kind, std::slice::from_ref(object), &view, version, &metadata);
                json!({"type": event, "object": table})
            }
            None => json!({"type": event, "object": object}),
        };
        into.extend_from_slice(line.to_string().as_bytes());
        into.push(b'\n');
    }
}
