//! Logs: made-up lines that say so, and more of them while they are followed.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use rp_base::{SharedClock, Timestamp};
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::Dice;
use rp_simulator::objects;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Call;
use super::path::Resource;
use super::status::Failure;

/// Lines that a container has written so far.
const KEPT: u64 = 400;
/// The longest that a log is followed.
const LONGEST: Duration = Duration::from_hours(1);

const LINES: [&str; 6] = [
    "I starting reconcile of \"cluster\"",
    "I synced 3 objects in 41ms",
    "I leader election lock renewed",
    "W slow request: GET /api/v1/nodes took 812ms",
    "I watch closed by the server, opening it again",
    "E could not update status, will try again: the object has been modified",
];

/// `GET …/pods/{name}/log`.
pub(super) fn answer(call: &Call<'_>, at: &Resource) -> Result<Response<Body>, Failure> {
    let writer = Writer::open(call, at)?;
    let tail = call.query.number("tailLines")?.unwrap_or(KEPT).min(KEPT);
    let since = call.query.number("sinceSeconds")?;
    let mut past = Vec::new();
    for back in (1..=tail).rev().filter(|back| since.is_none_or(|since| back * 15 <= since)) {
        let at = call.view.now - Duration::from_secs(back * 15);
        past.extend_from_slice(writer.line(at).as_bytes());
    }
    if let Some(limit) = call.query.number("limitBytes")? {
        past.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let body = if call.query.flag("follow") {
        let follow = Follow {
            past: Some(past.into()),
            writer,
            clock: call.api.clock.clone(),
            tick: call.api.tick,
            end: Instant::now() + LONGEST,
            stop: call.api.stop.clone(),
        };
        body::stream(stream::unfold(follow, Follow::next))
    } else {
        body::full(past)
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// Writes the lines of one container.
pub(super) struct Writer {
    cluster: String,
    container: String,
    dice: Dice,
    timestamps: bool,
}

impl Writer {
    /// The writer of the container that a request names, or of the pod's first.
    pub(super) fn open(call: &Call<'_>, at: &Resource) -> Result<Self, Failure> {
        let kind = objects::find("", "v1", "pods").ok_or_else(Failure::no_path)?;
        let name = at.name.as_deref().unwrap_or_default();
        let pod = call.find(kind, at.namespace.as_deref(), name)?;
        let mut containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let container = match call.query.get("container") {
            None => containers.next(),
            Some(wanted) => containers.find(|container| container["name"] == wanted),
        };
        let container = container.and_then(|container| container["name"].as_str()).ok_or_else(|| {
            let wanted = rp_base::text::clean(call.query.get("container").unwrap_or_default(), 63);
            Failure::bad(format!("container {wanted} is not valid for pod {name}"))
        })?;
        Ok(Self {
            cluster: call.view.cluster.name.clone(),
            container: container.to_owned(),
            dice: call.view.cluster.dice(name),
            timestamps: call.query.flag("timestamps"),
        })
    }

    /// The line of an instant: the same whenever it is asked for.
    pub(super) fn line(&self, at: Timestamp) -> String {
        let mut dice = Dice::new(self.dice.clone().next(), at.seconds().unsigned_abs() / 15);
        let text = LINES[dice.below(LINES.len())];
        let (level, text) = text.split_at(1);
        let stamp = if self.timestamps { format!("{at} ") } else { String::new() };
        format!("{stamp}{level} {at} simulated {}/{}:{text}\n", self.cluster, self.container)
    }
}

struct Follow {
    past: Option<Bytes>,
    writer: Writer,
    clock: SharedClock,
    tick: Duration,
    end: Instant,
    stop: CancellationToken,
}

impl Follow {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if let Some(past) = self.past.take().filter(|past| !past.is_empty()) {
            return Some((past, self));
        }
        let wait = tokio::time::sleep(self.tick);
        tokio::select! {
            () = wait => {}
            () = tokio::time::sleep_until(self.end) => return None,
            () = self.stop.cancelled() => return None,
        }
        let line = self.writer.line(self.clock.now());
        Some((line.into(), self))
    }
}
