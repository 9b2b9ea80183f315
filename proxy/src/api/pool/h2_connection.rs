//! One HTTP/2 connection, filled up to the peer's limit and watched by pings.

use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong};
use parking_lot::Mutex;
use rp_base::chain;
use rp_net::Stream;
use tokio::time::{Instant, timeout};
use tokio_rustls::client::TlsStream;

use super::super::error::ProxyError;

/// What one stream may have in flight towards us.
const STREAM_WINDOW: u32 = 256 * 1024;
/// No connection is filled further than this, whatever the peer allows.
const MOST_STREAMS: usize = 250;
/// Room for every stream's window: a reader that stalls never holds up its neighbours.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * 256;
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_WITHIN: Duration = Duration::from_secs(15);
const IDLE_FOR: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(super) struct H2Connection {
    send: SendRequest<Bytes>,
    streams: AtomicUsize,
    /// No new streams: GOAWAY, a dead peer, or an error.
    closing: AtomicBool,
    /// A slot was taken before.
    reused: AtomicBool,
    used: Mutex<Instant>,
}

/// A place on a connection, given back on drop.
#[derive(Debug)]
pub(super) struct H2Slot {
    connection: Arc<H2Connection>,
    reused: bool,
}

impl Drop for H2Slot {
    fn drop(&mut self) {
        if self.connection.streams.fetch_sub(1, Ordering::AcqRel) == 1 {
            *self.connection.used.lock() = Instant::now();
        }
    }
}

impl H2Slot {
    pub(super) fn sender(&self) -> SendRequest<Bytes> {
        self.connection.send.clone()
    }

    /// The connection carried another request before this one.
    pub(super) const fn reused(&self) -> bool {
        self.reused
    }

    /// The peer takes no more streams here.
    pub(super) fn close(&self) {
        self.connection.closing.store(true, Ordering::Release);
    }
}

impl H2Connection {
    /// Speaks the preface and waits until the peer's settings, and with them its stream limit, are known.
    pub(super) async fn open(tls: TlsStream<Stream>, within: Duration) -> Result<Arc<Self>, ProxyError> {
        let broken = |error: h2::Error| ProxyError::Broken(Box::new(error));
        let (send, mut connection) = h2::client::Builder::new()
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(64 * 1024)
            .max_send_buffer_size(128 * 1024)
            .handshake::<_, Bytes>(tls)
            .await
            .map_err(broken)?;
        let mut pings = connection.ping_pong();
        let this = Arc::new(Self {
            send,
            streams: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            reused: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        });
        let weak = Arc::downgrade(&this);
        let driver = tokio::spawn(async move {
            let ended = connection.await;
            if let Some(this) = weak.upgrade() {
                this.closing.store(true, Ordering::Release);
            }
            if let Err(error) = ended {
                tracing::debug!(error = %chain(&error), "connection to a cluster ended");
            }
        });
        // Settings are the first thing a peer sends, so an answered ping proves that they were read.
        if let Some(pings) = &mut pings {
            let answered = timeout(within, pings.ping(Ping::opaque())).await;
            let Ok(answered) = answered else {
                driver.abort();
                return Err(ProxyError::NoAnswer);
            };
            answered.map_err(broken)?;
        }
        if let Some(pings) = pings {
            tokio::spawn(watch(Arc::downgrade(&this), pings, driver.abort_handle()));
        }
        Ok(this)
    }

    /// Takes a place when there is one.
    pub(super) fn take(self: &Arc<Self>) -> Option<H2Slot> {
        if self.closing.load(Ordering::Acquire) {
            return None;
        }
        let most = self.send.current_max_send_streams().min(MOST_STREAMS);
        let taken = self.streams.fetch_update(Ordering::AcqRel, Ordering::Acquire, |streams| {
            (streams < most).then_some(streams + 1)
        });
        taken.is_ok().then(|| H2Slot {
            connection: Arc::clone(self),
            reused: self.reused.swap(true, Ordering::AcqRel),
        })
    }

    /// Nothing more will happen on it, or nothing has for a while.
    pub(super) fn finished(&self) -> bool {
        let empty = self.streams.load(Ordering::Acquire) == 0;
        self.closing.load(Ordering::Acquire) || empty && self.used.lock().elapsed() > IDLE_FOR
    }
}

/// A peer that does not answer pings is treated as dead even if TCP is still connected: all its streams end.
async fn watch(connection: Weak<H2Connection>, mut pings: PingPong, driver: tokio::task::AbortHandle) {
    loop {
        tokio::time::sleep(PING_EVERY).await;
        if driver.is_finished() {
            return;
        }
        match timeout(PONG_WITHIN, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => {
                if let Some(connection) = connection.upgrade() {
                    connection.closing.store(true, Ordering::Release);
                }
                driver.abort();
                return;
            }
        }
    }
}
