//! A grant in use.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, Rights};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Why a grant in use ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Expired,
    Revoked,
    /// The owner's groups no longer give the grant's rights.
    RightsLost,
    /// We no longer know whether it was revoked.
    Unsure,
}

impl Ended {
    /// A sentence for the person whose stream is cut.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Expired => "this access has reached its end",
            Self::Revoked => "this access was revoked",
            Self::RightsLost => "your groups no longer give you this access",
            Self::Unsure => "the store has not answered for a while, so this access cannot be vouched for",
        }
    }
}

/// Why a token opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this is not a token of ours")]
    Malformed,
    #[error("no grant has this token")]
    Unknown,
    #[error("the grant has ended: {}", .0.sentence())]
    Ended(Ended),
    /// Freshness is lost: new accesses wait until the store answers again.
    #[error("the store has not answered for more than 5 s")]
    Unsure,
    #[error("the store did not answer")]
    Unavailable,
}

/// A cached grant, shared by every request and stream that uses it.
#[derive(Debug)]
pub struct Live {
    pub grant: Grant,
    /// The grant's rights, cut to what its owner holds now.
    pub rights: Rights,
    life: Arc<Life>,
}

/// What outlives an extension: streams opened before it end when the extended grant does.
#[derive(Debug, Default)]
struct Life {
    ended: CancellationToken,
    why: AtomicU8,
    last_used: AtomicI64,
    last_from: Mutex<Option<IpAddr>>,
    streams: AtomicUsize,
}

impl Live {
    /// Takes a grant into use with the rights that its owner holds now.
    pub fn new(grant: Grant, held: Option<Rights>) -> Self {
        Self::with(grant, held, Arc::default())
    }

    /// The same access after the grant was changed without taking anything away.
    pub(crate) fn changed(&self, grant: Grant, held: Option<Rights>) -> Self {
        Self::with(grant, held, Arc::clone(&self.life))
    }

    fn with(grant: Grant, held: Option<Rights>, life: Arc<Life>) -> Self {
        let rights = held.map_or(Rights::Read, |most| grant.rights.min(most));
        let live = Self { grant, rights, life };
        if held.is_none() {
            live.end(Ended::RightsLost);
        }
        live
    }

    /// Ends every stream that uses the grant; the first reason stays.
    pub(crate) fn end(&self, why: Ended) {
        let _ = self.life.why.compare_exchange(0, why as u8 + 1, Ordering::AcqRel, Ordering::Acquire);
        self.life.ended.cancel();
    }

    /// Why it ended; `None` while it lives. Expiry is noticed here too, between two sweeps.
    pub fn ended(&self, now: Timestamp) -> Option<Ended> {
        match self.life.why.load(Ordering::Acquire) {
            0 => match self.grant.state(now) {
                GrantState::Active => None,
                GrantState::Expired => Some(Ended::Expired),
                GrantState::Revoked => Some(Ended::Revoked),
            },
            1 => Some(Ended::Expired),
            2 => Some(Ended::Revoked),
            3 => Some(Ended::RightsLost),
            _ => Some(Ended::Unsure),
        }
    }

    /// Resolves when the grant ends; what a stream waits for.
    pub fn wait_ended(&self) -> WaitForCancellationFuture<'_> {
        self.life.ended.cancelled()
    }

    /// Ends when the grant does.
    pub fn token(&self) -> CancellationToken {
        self.life.ended.clone()
    }

    /// Notes a use.
    pub(crate) fn touch(&self, now: Timestamp, from: IpAddr) {
        self.life.last_used.store(now.millis(), Ordering::Relaxed);
        let mut last = self.life.last_from.lock();
        if *last != Some(from) {
            *last = Some(from);
        }
    }

    /// When and from where it was last used; zero time when never.
    pub fn last_use(&self) -> (Timestamp, Option<IpAddr>) {
        (Timestamp::from_millis(self.life.last_used.load(Ordering::Relaxed)), *self.life.last_from.lock())
    }

    /// Counts a stream while the guard lives.
    pub fn stream(&self) -> StreamGuard {
        self.life.streams.fetch_add(1, Ordering::Relaxed);
        StreamGuard(Arc::clone(&self.life))
    }

    /// Whether a request or a stream holds it, or held it before it was changed.
    pub(crate) fn is_held(live: &Arc<Self>) -> bool {
        Arc::strong_count(live) > 1 || Arc::strong_count(&live.life) > 1
    }

    /// Streams open now.
    pub fn streams(&self) -> usize {
        self.life.streams.load(Ordering::Relaxed)
    }
}

/// One open stream of a grant.
#[derive(Debug)]
pub struct StreamGuard(Arc<Life>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
