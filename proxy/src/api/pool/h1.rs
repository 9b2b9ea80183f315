//! Idle HTTP/1.1 connections, for peers that speak nothing newer.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::client::conn::http1::SendRequest;
use tokio::time::Instant;

use super::send::OutBody;
use super::{MOST_IDLE, Upstream};

/// Balancers drop silent connections after a minute or more; stay below.
const IDLE_FOR: Duration = Duration::from_secs(45);

/// A connection between two requests.
#[derive(Debug)]
pub(super) struct IdleConnection {
    sender: SendRequest<OutBody>,
    since: Instant,
}

impl IdleConnection {
    pub(super) fn fresh(&self) -> bool {
        !self.sender.is_closed() && self.since.elapsed() < IDLE_FOR
    }
}

/// Gives a connection back when its answer was read to the end; dropped before that, the connection closes.
pub(super) struct H1Return {
    sender: SendRequest<OutBody>,
    to: Weak<Upstream>,
}

impl std::fmt::Debug for H1Return {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("H1Return")
    }
}

impl H1Return {
    pub(super) fn new(sender: SendRequest<OutBody>, to: &Arc<Upstream>) -> Self {
        Self { sender, to: Arc::downgrade(to) }
    }

    pub(super) fn now(self) {
        let Self { mut sender, to } = self;
        tokio::spawn(async move {
            if sender.ready().await.is_err() {
                return;
            }
            let Some(upstream) = to.upgrade() else { return };
            let mut idle = upstream.h1.lock();
            if idle.len() < MOST_IDLE {
                idle.push(IdleConnection { sender, since: Instant::now() });
            }
        });
    }
}

impl Upstream {
    /// The connection used last, when one is still good.
    pub(super) fn take_idle(&self) -> Option<SendRequest<OutBody>> {
        let mut idle = self.h1.lock();
        while let Some(candidate) = idle.pop() {
            if candidate.fresh() && candidate.sender.is_ready() {
                return Some(candidate.sender);
            }
        }
        None
    }
}
