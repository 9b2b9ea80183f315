//! The grants in use and the calls on them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::RwLock;
use rp_audit::{Audit, AuditError};
use rp_base::{Id, SharedClock, SharedRandom, Timestamp};
use rp_database::{SharedStore, StoreError, Typed, update};
use rp_documents::grant::GrantState;
use rp_documents::{Actor, Collection, Entry, Grant, GrantUse, Phase, ResourceId, Revocation, Rights, Role};
use rp_seal::Keyring;
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::follow;
use crate::live::{Ended, Live, Refusal};
use crate::policy::{Caller, Policy};
use crate::token::TokenForge;

/// Older than this: new accesses are refused (`design.md` §3 Freshness).
pub(crate) const REFUSE_AFTER: Duration = Duration::from_secs(5);

/// What access is made of.
#[derive(Debug, Clone)]
pub struct AccessParts {
    pub store: SharedStore,
    pub audit: Audit,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub policy: Policy,
}

/// Grants: issue, authenticate, list, revoke. Shared; cheap to call.
#[derive(Debug)]
pub struct Access {
    pub(crate) grants: Typed<Grant>,
    pub(crate) uses: Typed<GrantUse>,
    pub(crate) store: SharedStore,
    pub(crate) audit: Audit,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) policy: Policy,
    pub(crate) forge: ArcSwap<TokenForge>,
    keyring: Keyring,
    pub(crate) cache: RwLock<HashMap<Id, Arc<Live>>>,
    /// Grows with every batch of changes that was applied: a read that raced with one is repeated.
    pub(crate) epoch: AtomicU64,
    started: Instant,
    /// Milliseconds after `started` at which the feed was last known to be complete.
    last_fresh: AtomicU64,
}

/// A call on a grant that failed.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("no such grant")]
    Unknown,
    #[error("this grant is somebody else's")]
    NotYours,
    #[error("the grant has ended already")]
    Ended,
    #[error("the store did not answer")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was done")]
    Audit(#[source] AuditError),
}

/// Which grants to list.
#[derive(Debug, Clone, Default)]
pub struct GrantFilter {
    pub owner_sub: Option<String>,
    pub target: Option<ResourceId>,
    pub active_only: bool,
    /// At most this many, newest first.
    pub limit: usize,
}

/// A grant with what is known of its use.
#[derive(Debug, Clone)]
pub struct GrantView {
    pub grant: Grant,
    pub state: GrantState,
    pub last_used: Option<Timestamp>,
    pub last_from: Option<String>,
    /// Streams open on this replica.
    pub streams: usize,
}

impl Access {
    /// Starts following the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(parts: AccessParts) -> Result<Arc<Self>, StoreError> {
        let cursor = parts.store.head(Collection::Grants).await?;
        let access = Arc::new(Self {
            grants: Typed::new(Arc::clone(&parts.store)),
            uses: Typed::new(Arc::clone(&parts.store)),
            forge: ArcSwap::from_pointee(TokenForge::new(&parts.keyring)),
            keyring: parts.keyring,
            store: parts.store,
            audit: parts.audit,
            clock: parts.clock,
            random: parts.random,
            policy: parts.policy,
            cache: RwLock::default(),
            epoch: AtomicU64::new(0),
            started: Instant::now(),
            last_fresh: AtomicU64::new(0),
        });
        tokio::spawn(follow::run(Arc::downgrade(&access), cursor));
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
    pub async fn authenticate(&self, token: &str, from: IpAddr) -> Result<Arc<Live>, Refusal> {
        let forge = self.forge.load();
        let parsed = forge.read(token).ok_or(Refusal::Malformed)?;
        if self.age() > REFUSE_AFTER {
            return Err(Refusal::Unsure);
        }
        let cached = self.cache.read().get(parsed.id).cloned();
        let live = match cached {
            Some(live) => live,
            None => self.load(parsed.id).await?,
        };
        let same: bool = live.grant.secret_sha256.0.ct_eq(&parsed.secret_sha256.0).into();
        if !same || live.grant.kind != parsed.kind {
            return Err(Refusal::Unknown);
        }
        let now = self.clock.now();
        if let Some(why) = live.ended(now) {
            return Err(Refusal::Ended(why));
        }
        live.touch(now, from);
        Ok(live)
    }

    async fn load(&self, id: &str) -> Result<Arc<Live>, Refusal> {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let found = self.grants.get(id).await.map_err(|_| Refusal::Unavailable)?;
            let grant = found.ok_or(Refusal::Unknown)?.value;
            let live = self.keep(grant);
            // Changes were applied meanwhile, perhaps this grant's: read it again.
            if self.epoch.load(Ordering::Acquire) == epoch {
                return Ok(live);
            }
        }
    }

    /// Puts a grant into the cache. Of two first requests at once, both get the same entry: one that stood in
    /// no cache could not be ended.
    fn keep(&self, grant: Grant) -> Arc<Live> {
        let mut cache = self.cache.write();
        match cache.get(&grant.id) {
            Some(there) if there.grant == grant => Arc::clone(there),
            Some(there) => {
                let live = Arc::new(there.changed(grant.clone(), self.held(&grant)));
                cache.insert(grant.id, Arc::clone(&live));
                live
            }
            None => {
                let live = Arc::new(Live::new(grant.clone(), self.held(&grant)));
                cache.insert(grant.id, Arc::clone(&live));
                live
            }
        }
    }

    /// The most rights that a grant's owner holds now.
    pub(crate) fn held(&self, grant: &Grant) -> Option<Rights> {
        self.policy.most_rights(self.policy.roles_of(&grant.owner.groups))
    }

    /// Uses the keyring as it is now: call it after the keyring was read again.
    pub fn reload_keys(&self) {
        self.forge.store(Arc::new(TokenForge::new(&self.keyring)));
    }

    /// Lists grants, newest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn list(&self, filter: &GrantFilter) -> Result<Vec<GrantView>, StoreError> {
        let now = self.clock.now();
        let mut found = self.read_all(filter.owner_sub.as_deref()).await?;
        found.retain(|grant| {
            filter.owner_sub.as_ref().is_none_or(|sub| *sub == grant.owner.sub)
                && filter.target.as_ref().is_none_or(|id| grant.target.as_ref() == Some(id))
                && (!filter.active_only || grant.state(now) == GrantState::Active)
        });
        found.sort_by_key(|grant| std::cmp::Reverse(grant.created));
        found.truncate(filter.limit.max(1));
        let mut views = Vec::with_capacity(found.len());
        for grant in found {
            views.push(self.view(grant, now).await?);
        }
        Ok(views)
    }

    /// Every stored grant, or those of one owner.
    pub(crate) async fn read_all(&self, owner: Option<&str>) -> Result<Vec<Grant>, StoreError> {
        let (mut found, mut from) = (Vec::new(), None::<String>);
        loop {
            let page = self.store.list(Collection::Grants, owner, from.as_deref(), 1000).await?;
            // A grant of a shape that we do not know is not shown; it opens nothing here either.
            found.extend(
                page.items.iter().filter_map(|stored| serde_json::from_str::<Grant>(&stored.body).ok()),
            );
            from = page.continuation;
            if from.is_none() {
                return Ok(found);
            }
        }
    }

    async fn view(&self, grant: Grant, now: Timestamp) -> Result<GrantView, StoreError> {
        let state = grant.state(now);
        let cached = self.cache.read().get(&grant.id).cloned();
        let streams = cached.as_ref().map_or(0, |live| live.streams());
        let here = cached.map(|live| live.last_use()).filter(|(at, _)| at.millis() > 0);
        let (last_used, last_from) = match here {
            Some((at, from)) => (Some(at), from.map(|ip| ip.to_string())),
            None => match self.uses.get(grant.id.as_str()).await? {
                Some(stored) => (Some(stored.value.last_used), Some(stored.value.from)),
                None => (None, None),
            },
        };
        Ok(GrantView { grant, state, last_used, last_from, streams })
    }

    /// Ends a grant everywhere. Its owner and admins may.
    ///
    /// # Errors
    /// [`AccessError`]; on `Store` and `Audit` nothing was done.
    pub async fn revoke(&self, caller: &Caller, id: &Id, why: Option<String>) -> Result<Grant, AccessError> {
        let found = self.grants.get(id.as_str()).await.map_err(AccessError::Store)?;
        let grant = found.ok_or(AccessError::Unknown)?.value;
        if grant.owner.sub != caller.person.sub && !caller.roles.has(Role::Admin) {
            return Err(AccessError::NotYours);
        }
        let now = self.clock.now();
        if grant.state(now) != GrantState::Active {
            return Err(AccessError::Ended);
        }
        let mut entry = caller.entry(now, Phase::Single, "grant.revoke");
        entry.grant = Some(id.clone());
        entry.target.clone_from(&grant.target);
        entry.reason = why.clone().unwrap_or_default();
        self.audit.promise(entry).await.map_err(AccessError::Audit)?;
        let by = caller.person.name.clone();
        let revoked = update(&self.grants, id.as_str(), |grant: &mut Grant| {
            if grant.revoked.is_none() {
                grant.revoked = Some(Revocation { at: now, by: by.clone(), why: why.clone() });
            }
        })
        .await
        .map_err(AccessError::Store)?;
        // At once here; the other replicas follow the feed.
        if let Some(live) = self.cache.write().remove(id.as_str()) {
            live.end(Ended::Revoked);
        }
        Ok(revoked.value)
    }

    /// How old our knowledge of revocations is.
    pub fn age(&self) -> Duration {
        let fresh = Duration::from_millis(self.last_fresh.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(fresh) + self.store.freshness()
    }

    pub(crate) fn mark_fresh(&self, at: Instant) {
        let millis = u64::try_from(at.duration_since(self.started).as_millis()).unwrap_or(u64::MAX);
        self.last_fresh.fetch_max(millis, Ordering::Relaxed);
    }
}

impl Caller {
    /// An audit entry that this caller causes.
    pub fn entry(&self, at: Timestamp, phase: Phase, verb: &str) -> Entry {
        let actor =
            Actor { sub: self.person.sub.clone(), name: self.person.name.clone(), from: self.from.clone() };
        Entry::new(at, phase, self.request_id.clone(), actor, verb)
    }
}
