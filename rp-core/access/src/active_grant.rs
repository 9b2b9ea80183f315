//! A grant in use.

use std::any::Any;
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, Rights};
use rp_net::TooOften;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::rights::CurrentRights;
use crate::streams::{OpenStreams, OwnerUsage};

/// Why a grant in use ended, or lost what it had above reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Expired,
    Revoked,
    /// The owner's groups no longer give the grant's rights.
    RightsLost,
    /// The store was unreachable for too long, so it may have been revoked.
    Unsure,
    /// The elevation behind it is over.
    ElevationOver,
}

impl EndReason {
    /// A sentence for the person whose stream is cut.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Expired => "this access has reached its end",
            Self::Revoked => "this access was revoked",
            Self::RightsLost => "your groups no longer give you this access",
            Self::Unsure => "the store has not answered for a while, so this access cannot be vouched for",
            Self::ElevationOver => "the elevation has ended, so this access is read-only",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Expired => 1,
            Self::Revoked => 2,
            Self::RightsLost => 3,
            Self::Unsure => 4,
            Self::ElevationOver => 5,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => None,
            1 => Some(Self::Expired),
            2 => Some(Self::Revoked),
            3 => Some(Self::RightsLost),
            5 => Some(Self::ElevationOver),
            _ => Some(Self::Unsure),
        }
    }
}

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this is not a token of ours")]
    Malformed,
    #[error("no grant has this token")]
    Unknown,
    /// A one-time password that was used, or is too old.
    #[error("this password was used already, or is too old")]
    Spent,
    #[error("the grant has ended: {}", .0.sentence())]
    Ended(EndReason),
    /// Freshness is lost: new accesses wait until the store answers again.
    #[error("the store has not answered for more than 5 s")]
    Unsure,
    #[error("the store did not answer")]
    Unavailable,
    /// Too many tokens that open nothing came from this address.
    #[error(transparent)]
    TooOften(TooOften),
}

/// A cached grant, shared by every request and stream that uses it.
#[derive(Debug)]
pub struct ActiveGrant {
    pub grant: Grant,
    /// The grant's rights, cut to what its owner holds now.
    pub rights: Rights,
    pub(crate) held: CurrentRights,
    /// When it is over whatever becomes of the wall clock: set back, that gives nobody more time than the grant had left.
    /// `None`: beyond all times.
    over: Option<Instant>,
    life: Arc<GrantLifetime>,
    power: Option<RightsTokens>,
    /// What another crate remembers of this grant, made once.
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// The end of an access by the steady clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteadyEnd {
    over: Instant,
    /// The end by the wall clock at that time.
    not_after: Timestamp,
    /// It was over already, by either clock.
    expired: bool,
}

impl SteadyEnd {
    /// Whether neither clock leaves the access any time: it needs not be remembered.
    pub(crate) fn is_past(&self, now: Timestamp, steady: Instant) -> bool {
        now >= self.not_after && steady >= self.over
    }
}

/// The end by the steady clock after the end by the wall clock was moved; `None`: beyond all times. Time moves on between
/// two looks at a clock, so the change is added and nothing computed anew.
fn moved_end(over: Instant, before: Timestamp, after: Timestamp) -> Option<Instant> {
    let less = over.checked_sub(before.since(after)).unwrap_or(over);
    less.checked_add(after.since(before))
}

/// Cancellation tokens of streams above reading: each level is cancelled when the rights fall below it.
#[derive(Debug, Clone)]
struct RightsTokens {
    write: CancellationToken,
    admin: Option<CancellationToken>,
}

/// The state that is kept over an extension: streams opened before it end when the extended grant does.
#[derive(Debug)]
pub(crate) struct GrantLifetime {
    /// Ends with the parent's.
    ended: CancellationToken,
    why: AtomicU8,
    last_used: AtomicI64,
    last_from: Mutex<Option<IpAddr>>,
    pub(crate) streams: AtomicUsize,
    pub(crate) open: Mutex<OpenStreams>,
    pub(crate) owner: Arc<OwnerUsage>,
    pub(crate) parent: Option<Arc<Self>>,
}

impl GrantLifetime {
    fn why(&self) -> Option<EndReason> {
        let own = EndReason::from_code(self.why.load(Ordering::Acquire));
        own.or_else(|| self.parent.as_ref().and_then(|parent| parent.why()))
    }

    /// This grant and its parents.
    pub(crate) fn lineage(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |life| life.parent.as_deref())
    }
}

impl ActiveGrant {
    /// Takes a grant into use with what its owner holds now. It ends with its parent.
    pub(crate) fn new(
        grant: Grant,
        held: CurrentRights,
        owner: Arc<OwnerUsage>,
        parent: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let parent = parent.map(|parent| Arc::clone(&parent.life));
        let life = GrantLifetime {
            ended: parent.as_ref().map(|parent| parent.ended.child_token()).unwrap_or_default(),
            why: AtomicU8::new(0),
            last_used: AtomicI64::new(0),
            last_from: Mutex::new(None),
            streams: AtomicUsize::new(0),
            open: Mutex::default(),
            owner,
            parent,
        };
        // No more than its whole length, for a clock that was set back before.
        let left = grant.not_after.since(now).min(grant.not_after.since(grant.created));
        let over = Instant::now().checked_add(left);
        Self::with(grant, held, over, Arc::new(life), None)
    }

    /// The same access after the grant or what its owner holds was changed. Streams that still have the rights
    /// they were opened with live on, the others end.
    pub(crate) fn changed(&self, grant: Grant, held: CurrentRights) -> Self {
        let (before, after) = (self.grant.not_after, grant.not_after);
        let over = self.over.and_then(|over| moved_end(over, before, after));
        Self::with(grant, held, over, Arc::clone(&self.life), self.power.as_ref())
    }

    /// When it ends by the steady clock, to be kept while the access is out of the cache; `None`: it never does, or
    /// the store itself says that it is over.
    pub(crate) fn steady_end(&self) -> Option<SteadyEnd> {
        let over = self.over.filter(|_| self.grant.revoked.is_none())?;
        let expired = self.life.why() == Some(EndReason::Expired);
        Some(SteadyEnd { over, not_after: self.grant.not_after, expired })
    }

    /// The access, in the cache again, with the end that it had before: it lives no longer, and what had expired stays
    /// so. An extension that was given meanwhile counts.
    pub(crate) fn resumed(mut self, end: SteadyEnd) -> Self {
        let before = moved_end(end.over, end.not_after, self.grant.not_after);
        self.over = self.over.into_iter().chain(before).min();
        if end.expired {
            self.end(EndReason::Expired);
        }
        self
    }

    fn with(
        grant: Grant,
        held: CurrentRights,
        over: Option<Instant>,
        life: Arc<GrantLifetime>,
        power: Option<&RightsTokens>,
    ) -> Self {
        let rights = held.rights.map_or(Rights::Read, |most| grant.rights.min(most));
        let power = RightsTokens::after(power, rights, &life.ended);
        let live = Self { grant, rights, held, over, life, power, attached: OnceLock::new() };
        if held.rights.is_none() {
            live.end(held.why.unwrap_or(EndReason::RightsLost));
        }
        live
    }

    /// Ends every stream that uses the grant; the first reason stays.
    pub(crate) fn end(&self, why: EndReason) {
        let _ = self.life.why.compare_exchange(0, why.code(), Ordering::AcqRel, Ordering::Acquire);
        self.life.ended.cancel();
    }

    /// Why it ended; `None` while it lives. Expiry is noticed here too, between two sweeps.
    pub fn ended(&self, now: Timestamp) -> Option<EndReason> {
        self.life.why().or_else(|| match self.grant.state(now) {
            GrantState::Active => {
                self.over.filter(|over| Instant::now() >= *over).map(|_| EndReason::Expired)
            }
            GrantState::Expired => Some(EndReason::Expired),
            GrantState::Revoked => Some(EndReason::Revoked),
        })
    }

    /// Why something that needed these rights was cut.
    pub fn end_reason(&self, now: Timestamp) -> EndReason {
        self.ended(now).unwrap_or_else(|| self.held.why.unwrap_or(EndReason::ElevationOver))
    }

    /// Why its rights are less than the grant says; `None` when they are not.
    pub const fn reduction_reason(&self) -> Option<EndReason> {
        self.held.why
    }

    /// Whether what the owner holds may have changed by itself since.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.held.until.is_some_and(|until| now >= until)
    }

    /// Resolves when the grant ends; what a stream waits for.
    pub fn wait_ended(&self) -> WaitForCancellationFuture<'_> {
        self.life.ended.cancelled()
    }

    /// Ends when the grant does.
    pub fn token(&self) -> CancellationToken {
        self.life.ended.clone()
    }

    /// Ends when the grant does, or no longer has these rights.
    pub fn token_for(&self, rights: Rights) -> CancellationToken {
        let level = match (&self.power, rights) {
            (_, Rights::Read) => return self.token(),
            (Some(power), Rights::Write) => Some(&power.write),
            (Some(power), Rights::Admin) => power.admin.as_ref(),
            (None, _) => None,
        };
        // Without the rights there is nothing to wait for.
        level.cloned().unwrap_or_else(|| {
            let over = CancellationToken::new();
            over.cancel();
            over
        })
    }

    /// Notes a use, also of the grants that it ends with.
    pub(crate) fn touch(&self, now: Timestamp, from: IpAddr) {
        for life in self.life.lineage() {
            life.last_used.store(now.millis(), Ordering::Relaxed);
            let mut last = life.last_from.lock();
            if *last != Some(from) {
                *last = Some(from);
            }
        }
    }

    /// When and from where it was last used; zero time when never.
    pub fn last_use(&self) -> (Timestamp, Option<IpAddr>) {
        (Timestamp::from_millis(self.life.last_used.load(Ordering::Relaxed)), *self.life.last_from.lock())
    }

    /// Whether a request or a stream holds it, or held it before it was changed.
    pub(crate) fn is_held(live: &Arc<Self>) -> bool {
        Arc::strong_count(live) > 1 || Arc::strong_count(&live.life) > 1
    }

    /// Streams open now on this replica, those of its renewals included.
    pub fn streams(&self) -> usize {
        self.life.streams.load(Ordering::Relaxed)
    }

    pub(crate) const fn life(&self) -> &Arc<GrantLifetime> {
        &self.life
    }

    /// What was attached, made by `make` the first time: something that depends on the grant alone and is asked
    /// for with every request. `None` when something of another type is attached.
    pub fn attached<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.attached.get_or_init(|| Box::new(make())).downcast_ref()
    }
}

impl RightsTokens {
    /// The levels of these rights: kept where they were held before, ended where they are lost.
    fn after(before: Option<&Self>, rights: Rights, ended: &CancellationToken) -> Option<Self> {
        let keep = |token: Option<&CancellationToken>| {
            token.filter(|token| !token.is_cancelled()).cloned().unwrap_or_else(|| ended.child_token())
        };
        let write = before.map(|before| &before.write);
        let admin = before.and_then(|before| before.admin.as_ref());
        let lost = [(Rights::Write, write), (Rights::Admin, admin)];
        for (_, token) in lost.into_iter().filter(|(level, _)| rights < *level) {
            token.into_iter().for_each(CancellationToken::cancel);
        }
        (rights > Rights::Read)
            .then(|| Self { write: keep(write), admin: (rights > Rights::Write).then(|| keep(admin)) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rp_documents::GrantKind;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const READS: CurrentRights = CurrentRights { rights: Some(Rights::Read), until: None, why: None };

    fn grant(created: Timestamp, not_after: Timestamp) -> Grant {
        tests_kit::grant(GrantKind::Kubeconfig, "ada", created, not_after)
    }

    /// Whether it lives an hour before and is over an hour after this much time, by a wall clock that was set back.
    async fn is_over_after(live: &ActiveGrant, hours: u32) -> bool {
        let back = live.grant.created - 100 * HOUR;
        tokio::time::advance((hours - 1) * HOUR).await;
        let before = live.ended(back);
        tokio::time::advance(2 * HOUR).await;
        before.is_none() && live.ended(back) == Some(EndReason::Expired)
    }

    #[tokio::test(start_paused = true)]
    async fn the_wall_clock_gives_no_more_time_and_an_extension_does() {
        let created = Timestamp::from_seconds(1_700_000_000);
        let of = |hours: u32| grant(created, created + hours * HOUR);
        let new = |hours, now| ActiveGrant::new(of(hours), READS, Arc::default(), None, now);
        assert!(is_over_after(&new(10, created), 10).await);
        assert!(is_over_after(&new(10, created + 4 * HOUR), 6).await);
        // First seen by a clock that is behind: its own length, and no more.
        assert!(is_over_after(&new(10, created - 4 * HOUR), 10).await);
        assert!(is_over_after(&new(4, created).changed(of(10), READS), 10).await);
        assert!(is_over_after(&new(10, created).changed(of(4), READS), 4).await);
        assert!(is_over_after(&new(10, created).changed(of(10), READS), 10).await);
        let endless = grant(created, Timestamp::from_millis(i64::MAX));
        let endless = ActiveGrant::new(endless, READS, Arc::default(), None, created);
        assert_eq!(endless.ended(created), None);
    }
}
