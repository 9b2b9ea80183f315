//! Grants as managed objects: found, looked at, extended (`contract/rules.md` §5.1).

use std::ops::ControlFlow;
use std::sync::Arc;

use futures_util::StreamExt as _;
use rp_audit::AuditError;
use rp_base::{Id, Timestamp};
use rp_database::{Span, StoreError, Versioned};
use rp_documents::grant::GrantState;
use rp_documents::{Elevation, Grant, GrantKind, ResourceId, Rights, Robot, Role, StreamRecord};

use crate::access::Access;
use crate::active_grant::EndReason;
use crate::grant_status::GrantStatus;
use crate::policy::Caller;

/// Read from the store at once.
const PAGE: u32 = 500;
/// Grants looked at for one page of a list: a search that finds little gives a short page and goes on from there.
const MOST_EXAMINED: usize = 20_000;
/// The longest page.
const MOST_LISTED: usize = 1000;
/// Looked up at once for the rows of a page.
const AT_ONCE: usize = 16;

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
    pub state: Option<GrantState>,
    pub kind: Option<GrantKind>,
    /// Part of an id, a name, a reason, a ticket or a cluster's name, in any case of letters.
    pub text: Option<String>,
    /// At most this many (1 to 1000), newest first.
    pub limit: usize,
    /// Where the page before ended.
    pub continuation: Option<String>,
}

/// A part of a list of grants.
#[derive(Debug, Clone, Default)]
pub struct GrantPage {
    pub items: Vec<GrantView>,
    /// Pass it as `continuation`; `None` at the end. A page may be short though more follow.
    pub next: Option<String>,
}

/// A grant with what is known of its use.
#[derive(Debug, Clone)]
pub struct GrantView {
    pub grant: Grant,
    pub state: GrantState,
    /// What it gives now: less than the grant says when its elevation is over.
    pub rights: Rights,
    /// Why it opens nothing now, though it has neither expired nor been revoked: a shell whose elevation is over, a
    /// grant whose owner has lost the groups or the robot's scope. `None` for every other grant.
    pub ended: Option<EndReason>,
    pub last_used: Option<Timestamp>,
    pub last_from: Option<String>,
    /// Streams open now, on every replica.
    pub streams: usize,
    /// What they are, replica by replica; filled by [`Access::get`] only.
    pub open: Vec<StreamRecord>,
    pub elevation: Option<Arc<Elevation>>,
}

impl GrantView {
    /// What has become of it, as pages and JSON show it.
    pub const fn status(&self) -> GrantStatus {
        GrantStatus::new(self.state, self.ended)
    }

    /// Whether it opens anything now.
    pub fn is_effective(&self) -> bool {
        self.status() == GrantStatus::Active
    }
}

impl GrantFilter {
    fn wants_active(&self) -> bool {
        self.active_only || self.state == Some(GrantState::Active)
    }

    fn takes(&self, grant: &Grant, now: Timestamp, text: Option<&str>) -> bool {
        let state = grant.state(now);
        let has = |hay: &str| text.is_none_or(|text| hay.to_lowercase().contains(text));
        !grant.renewal
            && self.owner_sub.as_ref().is_none_or(|sub| *sub == grant.owner.sub)
            && self.target.as_ref().is_none_or(|id| grant.target.as_ref() == Some(id))
            && (!self.active_only || state == GrantState::Active)
            && self.state.is_none_or(|wanted| wanted == state)
            && self.kind.is_none_or(|kind| kind == grant.kind)
            && (has(grant.id.as_str())
                || has(&grant.owner.name)
                || has(&grant.reason)
                || has(grant.ticket.as_deref().unwrap_or_default())
                || has(grant.target.as_ref().map(ResourceId::name).unwrap_or_default()))
    }
}

impl Access {
    /// Lists grants, newest first, page by page. The work for a page is bounded whatever the store holds.
    ///
    /// # Errors
    /// The store did not answer; [`StoreError::BadCall`] for a continuation that is none.
    pub async fn list(&self, filter: &GrantFilter) -> Result<GrantPage, StoreError> {
        let (now, limit) = (self.clock.now(), filter.limit.clamp(1, MOST_LISTED));
        let text =
            filter.text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_lowercase);
        let after = match &filter.continuation {
            Some(given) => Some(
                Id::parse(given).map_err(|_| StoreError::BadCall("the continuation belongs to no list"))?,
            ),
            None => None,
        };
        let keys = filter.target.as_ref().map(Grant::unique_key_prefix);
        let span = match (&filter.owner_sub, &keys) {
            (Some(sub), _) => Span::Partition(sub),
            (None, Some(keys)) => Span::Keys(keys),
            (None, None) => Span::All,
        };
        let after = after.map(|id| {
            format!("{}{id}", keys.as_deref().filter(|_| filter.owner_sub.is_none()).unwrap_or_default())
        });
        let oldest = filter.wants_active().then(|| now - self.policy.oldest_life());
        let (mut found, mut examined, mut last) = (Vec::new(), 0, None);
        let ended = self
            .walk(span, after, oldest, |read| {
                examined += 1;
                last = Some(read.value.id.clone());
                if filter.takes(&read.value, now, text.as_deref()) {
                    found.push(read.value);
                }
                let full = found.len() >= limit || examined >= MOST_EXAMINED;
                if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .await?;
        let next = last.filter(|_| ended == WalkOutcome::BrokeOff).map(|id| id.to_string());
        if next.is_none() && filter.wants_active() && span == Span::All {
            self.add_robot_tokens(&mut found, filter, now, text.as_deref()).await?;
        }
        let views = futures_util::stream::iter(found).map(|grant| self.view(grant, now));
        let views: Vec<_> = views.buffered(AT_ONCE).collect().await;
        Ok(GrantPage { items: views.into_iter().collect::<Result<_, _>>()?, next })
    }

    /// One grant in full. Its owner, auditors and admins may.
    ///
    /// # Errors
    /// [`AccessError`].
    pub async fn get(&self, caller: &Caller, id: &Id) -> Result<GrantView, AccessError> {
        let found = self.grants.get(id.as_str()).await.map_err(AccessError::Store)?;
        let grant = found.ok_or(AccessError::Unknown)?.value;
        let reads_all = caller.roles.has(Role::Auditor) || caller.roles.has(Role::Admin);
        if !caller.owns(&grant.owner.sub) && !reads_all {
            return Err(AccessError::NotYours);
        }
        if let Some(parent) = grant.parent.as_ref().filter(|_| grant.renewal) {
            return Box::pin(self.get(caller, parent)).await;
        }
        self.cache_privileges_of(&grant).await.map_err(AccessError::Store)?;
        let mut view = self.view(grant, self.clock.now()).await.map_err(AccessError::Store)?;
        let mut open = self.open_elsewhere(id).await.map_err(AccessError::Store)?;
        open.extend(self.open_here(id));
        view.streams = open.iter().map(|each| each.count).sum();
        view.open = open;
        Ok(view)
    }

    /// Visits grants in order, from after an id (a key) on, until one is older than `oldest` or the visitor breaks
    /// off.
    pub(crate) async fn walk(
        &self,
        span: Span<'_>,
        mut after: Option<String>,
        oldest: Option<Timestamp>,
        mut visit: impl FnMut(Versioned<Grant>) -> ControlFlow<()>,
    ) -> Result<WalkOutcome, StoreError> {
        loop {
            // A grant that this version cannot decode is not listed; it is not accepted here either.
            let page = self.grants.scan(span, after.as_deref(), PAGE).await?;
            for read in page.items {
                let made = read.value.id.made();
                if oldest.is_some_and(|oldest| made.is_some_and(|made| made < oldest)) {
                    return Ok(WalkOutcome::ToTheEnd);
                }
                if visit(read).is_break() {
                    return Ok(WalkOutcome::BrokeOff);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(WalkOutcome::ToTheEnd);
            }
        }
    }

    /// Visits the grants that may be alive, renewals and robots' tokens aside.
    pub(crate) async fn walk_living(
        &self,
        span: Span<'_>,
        mut visit: impl FnMut(&Grant) -> ControlFlow<()>,
    ) -> Result<WalkOutcome, StoreError> {
        let oldest = self.clock.now() - self.policy.oldest_life();
        self.walk(span, None, Some(oldest), |read| {
            let aside = read.value.renewal || read.value.kind == GrantKind::Robot;
            if aside { ControlFlow::Continue(()) } else { visit(&read.value) }
        })
        .await
    }

    /// Robots' tokens live longer than other grants: those older than the walk went.
    async fn add_robot_tokens(
        &self,
        found: &mut Vec<Grant>,
        filter: &GrantFilter,
        now: Timestamp,
        text: Option<&str>,
    ) -> Result<(), StoreError> {
        for robot in self.privileges.all_robots() {
            for read in self.tokens_of(&robot).await? {
                let known = found.iter().any(|grant| grant.id == read.value.id);
                if !known && found.len() < MOST_LISTED && filter.takes(&read.value, now, text) {
                    found.push(read.value);
                }
            }
        }
        Ok(())
    }

    /// A robot's tokens, newest first: few, for only rotation makes them.
    pub(crate) async fn tokens_of(&self, robot: &Robot) -> Result<Vec<Versioned<Grant>>, StoreError> {
        let (owner, mut tokens) = (robot.person(), Vec::new());
        self.walk(Span::Partition(&owner.name), None, None, |read| {
            if read.value.kind == GrantKind::Robot && read.value.owner.sub == owner.sub {
                tokens.push(read);
            }
            if tokens.len() < MOST_LISTED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
        Ok(tokens)
    }

    async fn view(&self, grant: Grant, now: Timestamp) -> Result<GrantView, StoreError> {
        let state = grant.state(now);
        let cached = self.cache.read().get(&grant.id).cloned();
        let mut streams = cached.as_ref().map_or(0, |live| live.streams());
        let here = cached.map(|live| live.last_use()).filter(|(at, _)| at.millis() > 0);
        let noted = self.uses.get(grant.id.as_str()).await?.map(|stored| stored.value);
        // The later of what this replica observed and what is stored.
        let (last_used, last_from) = match (here, noted) {
            (Some((at, from)), noted) if noted.as_ref().is_none_or(|noted| noted.last_used <= at) => {
                (Some(at), from.map(|ip| ip.to_string()))
            }
            (_, Some(noted)) => (Some(noted.last_used), Some(noted.from)),
            (_, None) => (None, None),
        };
        if state == GrantState::Active {
            streams += self.open_elsewhere(&grant.id).await?.iter().map(|each| each.count).sum::<usize>();
        }
        let held = if state == GrantState::Active {
            self.cache_privileges_of(&grant).await?;
            Some(self.current_rights(&grant))
        } else {
            None
        };
        let elevation = grant.elevation_id.as_ref().and_then(|id| self.privileges.elevation(id));
        let rights =
            held.map_or(grant.rights, |held| held.rights.map_or(Rights::Read, |most| most.min(grant.rights)));
        let ended = held.filter(|held| held.rights.is_none()).and_then(|held| held.why);
        let open = Vec::new();
        Ok(GrantView { grant, state, rights, ended, last_used, last_from, streams, open, elevation })
    }
}

/// How a walk over grants ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkOutcome {
    ToTheEnd,
    BrokeOff,
}
