//! The grants in use: taken into the cache with the first request, then free of queries.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use rp_audit::Audit;
use rp_base::{Id, SharedClock, SharedRandom, Timestamp};
use rp_config::Outage;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::login::LoginCode;
use rp_documents::{Collection, Elevation, Grant, GrantUse, Robot, StreamRecord};
use rp_metrics::{Registry, Rounds};
use rp_net::Rates;
use rp_seal::Keyring;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::active_grant::{ActiveGrant, Refusal};
use crate::follow;
use crate::forgotten::ForgottenEnds;
use crate::metrics::AccessMetrics;
use crate::policy::{Caller, Policy, Via};
use crate::privilege_cache::PrivilegeCache;
use crate::streams::{self, OwnerUsage};
use crate::token::TokenCodec;

/// Older than this: new accesses are refused (`contract/rules.md` §3.7).
pub(crate) const REFUSE_AFTER: Duration = Duration::from_secs(5);
/// A renewal of a grant that was made with a robot's token: no lineage is longer.
const LONGEST_LINEAGE: usize = 3;
/// Locks that people share when they ask for grants.
const ISSUE_LOCKS: usize = 64;

/// What access is made of.
#[derive(Debug, Clone)]
pub struct AccessParts {
    pub store: SharedStore,
    pub audit: Audit,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub policy: Policy,
    pub registry: Registry,
}

/// Grants, elevations and robots. Shared; cheap to call.
#[derive(Debug)]
pub struct Access {
    pub(crate) grants: Typed<Grant>,
    pub(crate) uses: Typed<GrantUse>,
    pub(crate) elevations: Typed<Elevation>,
    pub(crate) robots: Typed<Robot>,
    pub(crate) records: Typed<StreamRecord>,
    pub(crate) codes: Typed<LoginCode>,
    pub(crate) store: SharedStore,
    pub(crate) audit: Audit,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) policy: Policy,
    pub(crate) codec: ArcSwap<TokenCodec>,
    pub(crate) metrics: AccessMetrics,
    /// Of the task that follows the store.
    pub(crate) rounds: Rounds,
    pub(crate) rates: Rates,
    pub(crate) keyring: Keyring,
    pub(crate) cache: RwLock<HashMap<Id, Arc<ActiveGrant>>>,
    /// Locked after `cache`, never before it.
    pub(crate) forgotten: Mutex<ForgottenEnds>,
    pub(crate) privileges: PrivilegeCache,
    pub(crate) owners: Mutex<HashMap<String, Weak<OwnerUsage>>>,
    issue_locks: Vec<tokio::sync::Mutex<()>>,
    hasher: RandomState,
    /// Names this replica in what it writes down of open streams.
    pub(crate) replica: Id,
    /// Grows with every batch of changes that was applied: a read that raced with one is repeated.
    pub(crate) epoch: AtomicU64,
    /// Whether accesses live on though the store is away.
    pub(crate) blind: AtomicBool,
    /// Uses up to here are written down.
    pub(crate) uses_noted: Mutex<Timestamp>,
    started: Instant,
    /// Milliseconds after `started` at which the feeds were last known to be complete.
    last_fresh: AtomicU64,
}

impl Access {
    /// Starts following the store. Reads what is in force now; nothing here grows with the number of stored
    /// grants.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(parts: AccessParts) -> Result<Arc<Self>, StoreError> {
        let cursors = follow::Cursors {
            // From 0 the feed tells of no deletions; the first position is a creation, and those need no telling.
            grants: parts.store.head(Collection::Grants).await?.max(1),
            elevations: parts.store.head(Collection::Elevations).await?,
            robots: parts.store.head(Collection::Robots).await?,
        };
        let access = Arc::new(Self {
            grants: Typed::new(Arc::clone(&parts.store)),
            uses: Typed::new(Arc::clone(&parts.store)),
            elevations: Typed::new(Arc::clone(&parts.store)),
            robots: Typed::new(Arc::clone(&parts.store)),
            records: Typed::new(Arc::clone(&parts.store)),
            codes: Typed::new(Arc::clone(&parts.store)),
            codec: ArcSwap::from_pointee(TokenCodec::new(&parts.keyring)),
            metrics: AccessMetrics::register(&parts.registry),
            rounds: Rounds::new(&parts.registry, "grants"),
            rates: Rates::new(&parts.policy.rates, &parts.registry),
            keyring: parts.keyring,
            store: parts.store,
            audit: parts.audit,
            clock: parts.clock,
            replica: Id::random(&*parts.random),
            random: parts.random,
            policy: parts.policy,
            cache: RwLock::default(),
            forgotten: Mutex::default(),
            privileges: PrivilegeCache::default(),
            owners: Mutex::default(),
            issue_locks: (0..ISSUE_LOCKS).map(|_| tokio::sync::Mutex::default()).collect(),
            hasher: RandomState::new(),
            epoch: AtomicU64::new(0),
            blind: AtomicBool::new(false),
            uses_noted: Mutex::default(),
            started: Instant::now(),
            last_fresh: AtomicU64::new(0),
        });
        access.load_privileges().await?;
        tokio::spawn(follow::run(Arc::downgrade(&access), cursors));
        tokio::spawn(streams::publish_streams(Arc::downgrade(&access)));
        Ok(access)
    }

    /// The policy in force.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The audit trail that grants are written to.
    pub const fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Opens a grant with its token. Costs no query while the grant is in use.
    ///
    /// # Errors
    /// [`Refusal`]; the caller answers 401 for all but `Unsure` and `Unavailable` (503).
    pub async fn authenticate(&self, token: &str, from: IpAddr) -> Result<Arc<ActiveGrant>, Refusal> {
        match self.open(token).await {
            Err(missed @ (Refusal::Malformed | Refusal::Unknown)) => {
                Err(self.rates.miss(from).err().map_or(missed, Refusal::TooOften))
            }
            Err(refusal) => Err(refusal),
            Ok(live) => {
                live.touch(self.clock.now(), from);
                Ok(live)
            }
        }
    }

    pub(crate) async fn open(&self, token: &str) -> Result<Arc<ActiveGrant>, Refusal> {
        let codec = self.codec.load();
        let parsed = codec.read(token).ok_or(Refusal::Malformed)?;
        let sure = self.age() <= REFUSE_AFTER;
        if !sure && self.policy.outage == Outage::Refuse {
            return Err(Refusal::Unsure);
        }
        let cached = self.cache.read().get(parsed.id).cloned();
        let live = match cached {
            Some(live) => live,
            None if !sure => return Err(Refusal::Unsure),
            // Boxed: rare, and every request would carry room for it.
            None => Box::pin(self.load(parsed.id)).await?,
        };
        let same: bool = live.grant.secret_sha256.0.ct_eq(&parsed.secret_sha256.0).into();
        if !same || live.grant.kind != parsed.kind {
            return Err(Refusal::Unknown);
        }
        self.current(live)
    }

    /// The cached grant as it is at this moment, while it lives.
    pub(crate) fn current(&self, live: Arc<ActiveGrant>) -> Result<Arc<ActiveGrant>, Refusal> {
        let now = self.clock.now();
        // Between two sweeps: an elevation that has just expired gives nothing any more.
        let live = if live.is_due(now) { self.refreshed(live) } else { live };
        match live.ended(now) {
            Some(why) => Err(Refusal::Ended(why)),
            None => Ok(live),
        }
    }

    /// How often people may ask for what, shared by every edge of the process.
    pub const fn rates(&self) -> &Rates {
        &self.rates
    }

    /// The caller of a request with this token; the edge adds the address.
    pub fn caller(&self, live: &ActiveGrant, from: String, request_id: Id) -> Caller {
        let person = live.grant.owner.clone();
        let roles = match Robot::name_in(&person.sub) {
            Some(_) => Policy::robot_roles(),
            None => self.policy.roles_of(&person.groups),
        };
        Caller { person, roles, from, request_id, via: Via::Token(live.grant.id.clone()) }
    }

    pub(crate) async fn load(&self, id: &str) -> Result<Arc<ActiveGrant>, Refusal> {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let found = self.grants.get(id).await.map_err(|_| Refusal::Unavailable)?;
            let grant = found.ok_or(Refusal::Unknown)?.value;
            let live = self.live_of(grant).await.map_err(|_| Refusal::Unavailable)?;
            // Changes were applied meanwhile, perhaps this grant's: read it again.
            if self.epoch.load(Ordering::Acquire) == epoch {
                return Ok(live);
            }
        }
    }

    /// Takes a grant that was just read into the cache, with those that it ends with.
    pub(crate) async fn live_of(&self, grant: Grant) -> Result<Arc<ActiveGrant>, StoreError> {
        let mut line = vec![grant];
        while let Some(parent) = line.last().and_then(|grant| grant.parent.clone())
            && line.len() < LONGEST_LINEAGE
            && let Some(read) = self.grants.get(parent.as_str()).await?
        {
            line.push(read.value);
        }
        let mut parent: Option<Arc<ActiveGrant>> = None;
        loop {
            let Some(grant) = line.pop() else {
                return parent.ok_or(StoreError::BadCall("no grant"));
            };
            self.cache_privileges_of(&grant).await?;
            parent = Some(self.keep(grant, parent.as_deref()));
        }
    }

    /// Puts a grant into the cache. Of two first requests at once, both get the same entry: one that stood in
    /// no cache could not be ended.
    fn keep(&self, grant: Grant, parent: Option<&ActiveGrant>) -> Arc<ActiveGrant> {
        let held = self.current_rights(&grant);
        let orphan = grant.parent.is_some() && parent.is_none();
        let now = self.clock.now();
        let mut cache = self.cache.write();
        let live = match cache.get(&grant.id) {
            Some(there) if there.grant == grant && there.held == held => return Arc::clone(there),
            Some(there) => there.changed(grant, held),
            None => {
                let owner = self.owner(&grant.owner.sub);
                let before = self.forgotten.lock().take(&grant.id);
                let live = ActiveGrant::new(grant, held, owner, parent, now);
                match before {
                    Some(end) => live.resumed(end),
                    None => live,
                }
            }
        };
        // Those made with it learn of its end through it, so it must be marked; and without the grant that it
        // was made with there is nobody to end it.
        match live.ended(now) {
            Some(why) => live.end(why),
            None if orphan => live.end(crate::EndReason::Revoked),
            None => {}
        }
        let live = Arc::new(live);
        cache.insert(live.grant.id.clone(), Arc::clone(&live));
        live
    }

    /// The cached grant with what its owner holds at this moment.
    fn refreshed(&self, live: Arc<ActiveGrant>) -> Arc<ActiveGrant> {
        let mut cache = self.cache.write();
        match cache.get_mut(&live.grant.id) {
            Some(cached) => {
                self.refresh_rights(cached);
                Arc::clone(cached)
            }
            None => live,
        }
    }

    /// A lock for each person, on this replica: limits are checked and grants issued one at a time.
    pub(crate) async fn issue_lock(&self, sub: &str) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let place = usize::try_from(self.hasher.hash_one(sub) % ISSUE_LOCKS as u64).unwrap_or(0);
        match self.issue_locks.get(place) {
            Some(lock) => Some(lock.lock().await),
            None => None,
        }
    }

    /// Uses the keyring as it is now: call it after the keyring was read again.
    pub fn reload_keys(&self) {
        self.codec.store(Arc::new(TokenCodec::new(&self.keyring)));
    }

    /// How old our knowledge of revocations is.
    pub fn age(&self) -> Duration {
        let fresh = Duration::from_millis(self.last_fresh.load(Ordering::Relaxed));
        // The older of the two: while the store is away both grow, and neither may count twice.
        self.started.elapsed().saturating_sub(fresh).max(self.store.freshness())
    }

    pub(crate) fn mark_fresh(&self, at: Instant) {
        let millis = u64::try_from(at.duration_since(self.started).as_millis()).unwrap_or(u64::MAX);
        self.last_fresh.fetch_max(millis, Ordering::Relaxed);
    }
}
