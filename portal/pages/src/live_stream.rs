//! The stream of a live page, `GET {RES}/live/{tab}[/{item}]`: the parts of the page that changed.
//!
//! Server-sent events (HTML Standard §9.2): `fragment` with the element's id and its HTML, `state` with how current the
//! page is, `end` with why nothing more comes. Watches are shared among all viewers (`rp_observe`). Here are the
//! authorization, the audit entry at the start, and the response whose body a viewer writes; the viewer adds the entry at
//! the end.

mod tabs;
mod viewer;

use std::collections::HashSet;
use std::pin::Pin;
use std::task::{Context as Poller, Poll};

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use futures_util::Stream;
use http::{HeaderValue, StatusCode, header};
use portal_model::live_limits::LimitReached;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_base::text::clean;
use rp_documents::{Phase, Side};
use serde::Deserialize;
use tokio::sync::mpsc;
use tower_sessions::Session;
use web::Tab;

use self::viewer::{Viewer, ViewerParts};
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::live;

/// The page's clock is accepted when it is at most this many seconds old.
const OLDEST_PAGE: i64 = 12 * 3600;
/// Maximum number of parts that a page may report as present.
const MOST_SEEN: usize = 64;

#[derive(Debug, Deserialize)]
pub struct TabPath {
    page: String,
}

/// What the page's script adds to the page's own query.
#[derive(Debug, Default, PartialEq, Eq)]
struct StreamQuery {
    /// The page's clock, and digests of the parts that it has.
    now: Option<i64>,
    seen: HashSet<u64>,
    /// One update, then the end: for pages that poll.
    once: bool,
    /// The rest.
    query: String,
}

impl StreamQuery {
    fn parse(query: &str) -> Self {
        let mut asked = Self::default();
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            if let Some(seen) = pair.strip_prefix("seen=") {
                let seen = seen.replace("%2C", ",");
                let mut parts = seen.split(',');
                asked.now = parts.next().and_then(|now| now.parse().ok());
                asked.seen =
                    parts.take(MOST_SEEN).filter_map(|part| u64::from_str_radix(part, 16).ok()).collect();
            } else if pair == "once=1" {
                asked.once = true;
            } else {
                rest.push(pair);
            }
        }
        asked.query = rest.join("&");
        asked
    }
}

/// `GET {RES}/live/{tab}[/{item}]`.
pub async fn stream(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    session: Option<Extension<Session>>,
    ClusterPath(id): ClusterPath,
    Path(TabPath { page }): Path<TabPath>,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let (segment, item) = page.split_once('/').unwrap_or((&page, ""));
    let tab = Tab::from_segment(segment).ok_or_else(Fault::not_found)?;
    let fragments = tabs::fragments_of(tab).ok_or_else(Fault::not_found)?;
    let key = session.and_then(|Extension(session)| state.session.sign_in.sessions.key(&session));
    let Some(key) = key.filter(|_| user.token_grant().is_none()) else {
        return Err(Fault::bad_input("Live pages are for browsers")
            .why("Scripts ask the JSON API under /api/v1/clusters, or watch with a kubeconfig."));
    };
    let asked = StreamQuery::parse(query.as_deref().unwrap_or_default());
    let place = state.model.live.take(&user.caller.person.sub).map_err(|full| {
        state.model.live_metrics.refused.inc();
        refused(full)
    })?;
    let mut entry_start = user.caller.entry(state.session.clock.now(), Phase::Start, "look");
    entry_start.target = Some(id.clone());
    tab.segment().clone_into(&mut entry_start.resource);
    entry_start.name = clean(item, 300);
    "read credential".clone_into(&mut entry_start.identity_used);
    // The audit entry is durable before the first byte is sent.
    state.session.audit.promise(entry_start.clone()).await.map_err(|error| Fault::audit(&error))?;

    let mut frame = frame(&state, &context);
    frame.now = asked.now.filter(|now| (0..=OLDEST_PAGE).contains(&(frame.now - now))).unwrap_or(frame.now);
    let viewing = state.model.clusters.observer.watch(&id, live::kinds(&entry, tab));
    let looking = live::watch_operations(&state, &entry, tab).await;
    let (send, receive) = mpsc::channel(1);
    let viewer = Viewer::new(ViewerParts {
        state: state.clone(),
        user,
        key,
        entry,
        frame,
        tab,
        fragments,
        item: item.to_owned(),
        query: asked.query,
        once: asked.once,
        viewing,
        looking,
        seen: asked.seen,
        send,
        started: entry_start,
        place,
    });
    tokio::spawn(viewer.run());
    let mut response = Response::new(Body::from_stream(Events(receive)));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Load balancers that buffer responses would delay the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

fn refused(full: LimitReached) -> Fault {
    let fault = |what: &str| Fault::new(StatusCode::TOO_MANY_REQUESTS, "too_many_pages", Side::You, what);
    match full {
        LimitReached::Person => {
            fault("You have too many live pages open").why("Close some, or read on without.")
        }
        LimitReached::Process => {
            fault("Too many live pages are open").why("The page asks now and then instead.")
        }
    }
    .retry_after(std::time::Duration::from_secs(30))
}

/// The body: what the viewer writes.
struct Events(mpsc::Receiver<Bytes>);

impl Stream for Events {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_adds_is_taken_out_of_the_query() {
        let asked = StreamQuery::parse("sort=age&seen=1700000000,ff,10,zz&once=1&state=bad");
        assert_eq!(asked.now, Some(1_700_000_000));
        assert_eq!(asked.seen, HashSet::from([0xff, 0x10]));
        assert!(asked.once);
        assert_eq!(asked.query, "sort=age&state=bad");
        assert_eq!(StreamQuery::parse(""), StreamQuery::default());
        let many = format!("seen=1{}", ",1".repeat(100_000));
        assert!(StreamQuery::parse(&many).seen.len() <= MOST_SEEN);
    }
}
