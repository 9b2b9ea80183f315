//! Elevations: asked for with a reason, decided by somebody else or by the policy, over after a while
//! (`anchors/access.md` §5, 3).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rp_audit::AuditError;
use rp_base::{Id, Timestamp};
use rp_database::{Span, StoreError, Versioned};
use rp_documents::elevation::{Decision, ElevationState, ElevationWay, Review};
use rp_documents::{Elevation, Entry, Outcome, ResourceId, Rights, Role, Side, Unknown};

use rp_net::TooOften;

use crate::access::Access;
use crate::grants::AccessError;
use crate::issue::{LEAST_LIFE, MOST_REASON, MOST_TICKET};
use crate::metrics::ElevationLabels;
use crate::policy::Caller;
use crate::revoke::Ending;

/// Elevations that a person may have waiting or in force at once.
const MOST_OPEN: usize = 10;
/// Writers of one elevation that may be in each other's way.
const TRIES: usize = 5;
/// The longest list.
const MOST_LISTED: usize = 1000;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ElevationAsk {
    pub reason: String,
    pub ticket: Option<String>,
    /// `None`: every cluster.
    pub target: Option<ResourceId>,
    pub rights: Rights,
    /// `None`: as long as the policy allows.
    pub life: Option<Duration>,
    /// Without an approver, loudly.
    pub break_glass: bool,
}

/// A call on an elevation that did nothing.
#[derive(Debug, thiserror::Error)]
pub enum ElevationError {
    #[error("no such elevation")]
    Unknown,
    #[error("this needs the role {}", role.name())]
    NotAllowed { role: Role },
    #[error("this elevation is somebody else's")]
    NotYours,
    #[error("somebody else must do this: it is your own")]
    Own,
    #[error("it was decided already")]
    AlreadyDecided,
    #[error("nobody decided within an hour, so the request has lapsed")]
    Lapsed,
    #[error("it is over already")]
    Over,
    #[error("only a break-glass elevation is reviewed, and once")]
    NothingToReview,
    #[error("break-glass is switched off here")]
    BreakGlassOff,
    #[error("an elevation gives write or admin rights")]
    Rights,
    #[error("the reason must say in {least} to {most} characters what you are going to do")]
    Reason { least: usize, most: usize },
    #[error("a ticket has at most {most} characters")]
    Ticket { most: usize },
    #[error("the life must be between 1 minute and {} minutes", longest.as_secs() / 60)]
    Life { longest: Duration },
    #[error("you have {most} elevations waiting or in force already")]
    TooMany { most: usize },
    #[error(transparent)]
    TooOften(TooOften),
    #[error("the store did not answer; nothing was done")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was done")]
    Audit(#[source] AuditError),
}

/// Which elevations to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct ElevationFilter {
    pub owner_sub: Option<String>,
    /// Requests that can still be decided.
    pub waiting_only: bool,
    pub active_only: bool,
    /// Break-glass elevations that nobody has looked at, however old.
    pub unreviewed_only: bool,
    /// 1 to 1000.
    pub limit: usize,
}

impl Access {
    /// Asks for more rights. Comes into force at once by self-service or break-glass, else it waits an hour for
    /// somebody's decision.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was done.
    pub async fn request_elevation(
        &self,
        caller: &Caller,
        ask: ElevationAsk,
    ) -> Result<Elevation, ElevationError> {
        self.rates.issue(&caller.person.sub).map_err(ElevationError::TooOften)?;
        let life = self.check_elevation(caller, &ask)?;
        let _turn = self.turn(&caller.person.sub).await;
        self.check_open(&caller.person.sub).await?;
        let now = self.clock.now();
        let way = if ask.break_glass {
            ElevationWay::BreakGlass
        } else if self.policy.is_self_service(&caller.person.groups, ask.rights) {
            ElevationWay::SelfService
        } else {
            ElevationWay::Approval
        };
        let at_once = way != ElevationWay::Approval;
        let elevation = Elevation {
            id: Id::newest_first(now, &*self.random),
            owner: caller.person.clone(),
            target: ask.target,
            rights: ask.rights,
            way,
            reason: ask.reason.trim().to_owned(),
            ticket: ask.ticket,
            asked: now,
            life_secs: life.as_secs(),
            decision: None,
            not_before: at_once.then_some(now),
            not_after: at_once.then_some(now + life),
            ended: None,
            review: None,
            unknown: Unknown::new(),
        };
        let verb = match way {
            ElevationWay::BreakGlass => "elevation.break_glass",
            ElevationWay::SelfService => "elevation.start",
            ElevationWay::Approval => "elevation.request",
        };
        let mut entry = caller.entry(now, rp_documents::Phase::Single, verb);
        describe(&mut entry, &elevation);
        self.audit.promise(entry).await.map_err(ElevationError::Audit)?;
        let stored = self.elevations.create(elevation).await.map_err(ElevationError::Store)?;
        let elevation = self.take_elevation(stored);
        if at_once {
            self.came_into_force(&elevation);
        }
        Ok(Elevation::clone(&elevation))
    }

    /// Approves or refuses somebody else's request. Needs the role approver. Of two deciders at once, one wins.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was decided.
    pub async fn decide(
        &self,
        caller: &Caller,
        id: &Id,
        approve: bool,
        why: Option<String>,
    ) -> Result<Elevation, ElevationError> {
        require(caller, &[Role::Approver])?;
        let verb = if approve { "elevation.approve" } else { "elevation.refuse" };
        let decided = self
            .change_elevation(caller, id, verb, why.clone(), |elevation, now| {
                if elevation.owner.sub == caller.person.sub {
                    return Err(ElevationError::Own);
                }
                match elevation.state(now) {
                    ElevationState::Waiting => {}
                    ElevationState::Lapsed => return Err(ElevationError::Lapsed),
                    ElevationState::Ended => return Err(ElevationError::Over),
                    ElevationState::Refused | ElevationState::Active | ElevationState::Expired => {
                        return Err(ElevationError::AlreadyDecided);
                    }
                }
                let (by, at) = (caller.person.clone(), now);
                elevation.decision = Some(Decision { at, by, approved: approve, why: why.clone() });
                if approve {
                    elevation.not_before = Some(now);
                    // Never longer than the policy says now.
                    let life = Duration::from_secs(elevation.life_secs).min(self.policy.max_elevation);
                    elevation.not_after = Some(now + life);
                }
                Ok(())
            })
            .await?;
        if approve {
            self.came_into_force(&decided);
        }
        Ok(decided)
    }

    /// Ends an elevation before its time, or takes a request back. Its owner, approvers and admins may.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was done.
    pub async fn end_elevation(
        &self,
        caller: &Caller,
        id: &Id,
        why: Option<String>,
    ) -> Result<Elevation, ElevationError> {
        let ending = Ending::by(caller, self.clock.now(), why.clone());
        self.change_elevation(caller, id, "elevation.end", why, |elevation, now| {
            let may = caller.roles.has(Role::Approver) || caller.roles.has(Role::Admin);
            if elevation.owner.sub != caller.person.sub && !may {
                return Err(ElevationError::NotYours);
            }
            if !matches!(elevation.state(now), ElevationState::Active | ElevationState::Waiting) {
                return Err(ElevationError::Over);
            }
            elevation.ended = Some(ending.revocation());
            Ok(())
        })
        .await
    }

    /// Says what was found when a break-glass elevation was looked at afterwards. Needs the role approver or
    /// auditor; nobody reviews their own.
    ///
    /// # Errors
    /// [`ElevationError`]; then nothing was done.
    pub async fn review(
        &self,
        caller: &Caller,
        id: &Id,
        fine: bool,
        note: String,
    ) -> Result<Elevation, ElevationError> {
        require(caller, &[Role::Approver, Role::Auditor])?;
        let note = note.trim().to_owned();
        if note.chars().count() > MOST_REASON {
            return Err(ElevationError::Reason { least: 0, most: MOST_REASON });
        }
        self.change_elevation(caller, id, "elevation.review", Some(note.clone()), |elevation, now| {
            if elevation.owner.sub == caller.person.sub {
                return Err(ElevationError::Own);
            }
            if !elevation.needs_review() {
                return Err(ElevationError::NothingToReview);
            }
            let by = caller.person.clone();
            elevation.review = Some(Review { at: now, by, fine, note: note.clone() });
            Ok(())
        })
        .await
    }

    /// One elevation. Its owner, approvers, auditors and admins may.
    ///
    /// # Errors
    /// [`ElevationError`].
    pub async fn elevation(&self, caller: &Caller, id: &Id) -> Result<Elevation, ElevationError> {
        let read = self.read_elevation(id).await?;
        let reads_all =
            [Role::Approver, Role::Auditor, Role::Admin].iter().any(|role| caller.roles.has(*role));
        if read.value.owner.sub != caller.person.sub && !reads_all {
            return Err(ElevationError::NotYours);
        }
        Ok(read.value)
    }

    /// Lists elevations, newest first.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn elevations(&self, filter: &ElevationFilter) -> Result<Vec<Elevation>, StoreError> {
        let (now, limit) = (self.clock.now(), filter.limit.clamp(1, MOST_LISTED));
        let span = match &filter.owner_sub {
            Some(sub) => Span::Partition(sub),
            None if filter.unreviewed_only => Span::Keys(Elevation::UNREVIEWED),
            None => Span::All,
        };
        let oldest = if filter.waiting_only {
            now - Elevation::REQUEST_LIFE
        } else if filter.active_only {
            now - self.elevation_window()
        } else {
            Timestamp::default()
        };
        let mut found = Vec::new();
        self.walk_elevations(span, oldest, |read| {
            let (elevation, state) = (&read.value, read.value.state(now));
            let takes = filter.owner_sub.as_ref().is_none_or(|sub| *sub == elevation.owner.sub)
                && (!filter.waiting_only || state == ElevationState::Waiting)
                && (!filter.active_only || state == ElevationState::Active)
                && (!filter.unreviewed_only || elevation.needs_review());
            if takes {
                found.push(read.value);
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .await?;
        Ok(found)
    }

    /// A person's elevations that are in force, the newest first: from the cache that follows the feed.
    pub fn active_elevations(&self, sub: &str) -> Vec<Arc<Elevation>> {
        let mut active = self.powers.active(sub, self.clock.now());
        active.sort_by(|a, b| a.id.cmp(&b.id));
        active
    }

    /// The elevation in force that gives a person these rights for a cluster, the longest living of several.
    /// What another replica made a moment ago is read from the store.
    pub(crate) async fn elevation_for(
        &self,
        sub: &str,
        target: Option<&ResourceId>,
        rights: Rights,
    ) -> Result<Option<Arc<Elevation>>, StoreError> {
        let best = || {
            let active = self.active_elevations(sub).into_iter();
            active
                .filter(|each| each.covers(target) && each.rights >= rights)
                .max_by_key(|each| each.not_after)
        };
        if let Some(found) = best() {
            return Ok(Some(found));
        }
        let oldest = self.clock.now() - self.elevation_window();
        self.walk_elevations(Span::Partition(sub), oldest, |read| {
            self.powers.put_elevation(read);
            ControlFlow::Continue(())
        })
        .await?;
        Ok(best())
    }

    /// Ends an elevation for one of our own reasons; one that is over already is left as it is.
    pub(crate) async fn finish_elevation(
        &self,
        elevation: &Elevation,
        ending: &Ending,
    ) -> Result<(), AccessError> {
        let mut entry = ending.entry("elevation.end");
        describe(&mut entry, elevation);
        entry.reason = ending.why.clone().unwrap_or_default();
        self.audit.promise(entry).await.map_err(AccessError::Audit)?;
        let written = rp_database::update(&self.elevations, elevation.id.as_str(), |elevation| {
            if elevation.ended.is_none() {
                elevation.ended = Some(ending.revocation());
            }
        })
        .await;
        match written {
            Ok(read) => {
                self.take_elevation(read);
                Ok(())
            }
            Err(StoreError::Gone { .. }) => Ok(()),
            Err(error) => Err(AccessError::Store(error)),
        }
    }

    fn check_elevation(&self, caller: &Caller, ask: &ElevationAsk) -> Result<Duration, ElevationError> {
        // A robot has the rights of its scope, and nobody to answer for more.
        if caller.robot_name().is_some() {
            return Err(ElevationError::NotAllowed { role: Role::Elevated });
        }
        require(caller, &[Role::Elevated])?;
        if ask.rights == Rights::Read {
            return Err(ElevationError::Rights);
        }
        if ask.break_glass && !self.policy.break_glass {
            return Err(ElevationError::BreakGlassOff);
        }
        let length = ask.reason.trim().chars().count();
        if length < self.policy.min_reason.max(1) || length > MOST_REASON {
            return Err(ElevationError::Reason { least: self.policy.min_reason.max(1), most: MOST_REASON });
        }
        if ask.ticket.as_ref().is_some_and(|ticket| ticket.chars().count() > MOST_TICKET) {
            return Err(ElevationError::Ticket { most: MOST_TICKET });
        }
        let longest = self.policy.max_elevation;
        let life = ask.life.unwrap_or(longest);
        if life < LEAST_LIFE || life > longest { Err(ElevationError::Life { longest }) } else { Ok(life) }
    }

    async fn check_open(&self, sub: &str) -> Result<(), ElevationError> {
        let (now, mut open) = (self.clock.now(), 0);
        self.walk_elevations(Span::Partition(sub), now - self.elevation_window(), |read| {
            let state = read.value.state(now);
            open += usize::from(matches!(state, ElevationState::Active | ElevationState::Waiting));
            ControlFlow::Continue(())
        })
        .await
        .map_err(ElevationError::Store)?;
        if open >= MOST_OPEN { Err(ElevationError::TooMany { most: MOST_OPEN }) } else { Ok(()) }
    }

    async fn read_elevation(&self, id: &Id) -> Result<Versioned<Elevation>, ElevationError> {
        let read = self.elevations.get(id.as_str()).await.map_err(ElevationError::Store)?;
        read.ok_or(ElevationError::Unknown)
    }

    /// Reads, checks and changes, promises the entry, writes what was read. Whoever loses a race looks again, and
    /// the audit trail says that the entry came to nothing.
    async fn change_elevation(
        &self,
        caller: &Caller,
        id: &Id,
        verb: &str,
        why: Option<String>,
        change: impl Fn(&mut Elevation, Timestamp) -> Result<(), ElevationError>,
    ) -> Result<Elevation, ElevationError> {
        let mut lost: Option<Entry> = None;
        for _ in 0..TRIES {
            let mut read = self.read_elevation(id).await?;
            let now = self.clock.now();
            if let Err(refused) = change(&mut read.value, now) {
                self.came_to_nothing(lost).await;
                return Err(refused);
            }
            let mut entry = caller.entry(now, rp_documents::Phase::Single, verb);
            describe(&mut entry, &read.value);
            entry.reason = why.clone().unwrap_or_default();
            if lost.is_none() {
                self.audit.promise(entry.clone()).await.map_err(ElevationError::Audit)?;
                lost = Some(entry);
            }
            match self.elevations.replace(read).await {
                Ok(written) => return Ok(Elevation::clone(&self.take_elevation(written))),
                Err(StoreError::Stale { .. }) => {}
                Err(StoreError::Gone { .. }) => {
                    self.came_to_nothing(lost).await;
                    return Err(ElevationError::Unknown);
                }
                Err(error) => return Err(ElevationError::Store(error)),
            }
        }
        self.came_to_nothing(lost).await;
        Err(ElevationError::AlreadyDecided)
    }

    /// Follows an entry that was promised for something that somebody else was faster with.
    pub(crate) async fn came_to_nothing(&self, entry: Option<Entry>) {
        let Some(mut entry) = entry else { return };
        entry.phase = rp_documents::Phase::End;
        entry.result = Outcome { status: 409, word: "refused".to_owned(), side: Some(Side::You) };
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %rp_base::chain(&error), "a lost race could not be audited");
        }
    }

    /// Caches what was written and lets grants follow at once here; other replicas follow the feed.
    fn take_elevation(&self, written: Versioned<Elevation>) -> Arc<Elevation> {
        let elevation = self.powers.put_elevation(written);
        self.recompute(&[elevation.id.clone()].into(), &std::collections::HashSet::new());
        elevation
    }

    fn came_into_force(&self, elevation: &Elevation) {
        let labels = ElevationLabels { way: elevation.way.name(), rights: elevation.rights.name() };
        self.metrics.elevations.with(&labels).inc();
        if elevation.way == ElevationWay::BreakGlass {
            self.metrics.break_glass.inc();
            tracing::warn!(
                elevation = %elevation.id,
                person = %elevation.owner.name,
                cluster = elevation.target.as_ref().map_or("every cluster", ResourceId::key),
                rights = elevation.rights.name(),
                reason = %rp_base::text::clean(&elevation.reason, MOST_REASON),
                "break-glass: somebody elevated without an approver"
            );
        }
    }
}

fn require(caller: &Caller, any: &[Role]) -> Result<(), ElevationError> {
    let role = any.first().copied().unwrap_or(Role::Admin);
    let has = any.iter().any(|role| caller.roles.has(*role));
    if has { Ok(()) } else { Err(ElevationError::NotAllowed { role }) }
}

fn describe(entry: &mut Entry, elevation: &Elevation) {
    entry.target.clone_from(&elevation.target);
    "elevation".clone_into(&mut entry.resource);
    elevation.rights.name().clone_into(&mut entry.subresource);
    elevation.id.as_str().clone_into(&mut entry.name);
    entry.query = match elevation.not_after {
        Some(end) => format!("of {} until {end}", elevation.owner.name),
        None => format!("of {} for {} minutes", elevation.owner.name, elevation.life_secs / 60),
    };
    entry.reason.clone_from(&elevation.reason);
}
