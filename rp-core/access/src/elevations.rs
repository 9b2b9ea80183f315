//! Elevations: requested with a reason, decided by another person or by the policy, limited in time
//! (`contract/rules.md` §5.3).

mod change;
mod find;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rp_audit::AuditError;
use rp_base::Id;
use rp_database::{Span, StoreError, Versioned};
use rp_documents::elevation::{ElevationMethod, ElevationState};
use rp_documents::{Elevation, Entry, ResourceId, Rights, Role, Unknown};

use rp_net::TooOften;

use crate::access::Access;
use crate::issue::MOST_TICKET;
use crate::life::length;
use crate::metrics::ElevationLabels;
use crate::policy::Caller;
use crate::reason::{BadReason, ReasonLimits};

/// Elevations that a person may have waiting or in force at once.
const MOST_OPEN: usize = 10;

pub use find::ElevationFilter;

/// A request for an elevation.
#[derive(Debug, Clone)]
pub struct ElevationRequest {
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
    #[error(transparent)]
    Reason(#[from] BadReason),
    #[error("a ticket has at most {most} characters")]
    Ticket { most: usize },
    #[error("the life must be between {} and {}", length(*shortest), length(*longest))]
    Life { shortest: Duration, longest: Duration },
    #[error("you have {most} elevations waiting or in force already")]
    TooMany { most: usize },
    #[error(transparent)]
    TooOften(TooOften),
    #[error("the store did not answer; nothing was done")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was done")]
    Audit(#[source] AuditError),
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
        ask: ElevationRequest,
    ) -> Result<Elevation, ElevationError> {
        self.rates.issue(&caller.person.sub).map_err(ElevationError::TooOften)?;
        let life = self.check_elevation(caller, &ask)?;
        let _turn = self.issue_lock(&caller.person.sub).await;
        self.check_open(&caller.person.sub).await?;
        let now = self.clock.now();
        let way = if ask.break_glass {
            ElevationMethod::BreakGlass
        } else if self.policy.is_self_service(&caller.person.groups, ask.rights) {
            ElevationMethod::SelfService
        } else {
            ElevationMethod::Approval
        };
        let at_once = way != ElevationMethod::Approval;
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
            ElevationMethod::BreakGlass => "elevation.break_glass",
            ElevationMethod::SelfService => "elevation.start",
            ElevationMethod::Approval => "elevation.request",
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

    fn check_elevation(&self, caller: &Caller, ask: &ElevationRequest) -> Result<Duration, ElevationError> {
        // A robot has only the rights of its scope: no person is accountable for more.
        if caller.robot_name().is_some() {
            return Err(ElevationError::NotAllowed { role: Role::Elevated });
        }
        require(caller, &[Role::Elevated])?;
        if ask.rights == Rights::Read {
            return Err(ElevationError::Rights);
        }
        if ask.break_glass && !self.policy.elevation.break_glass {
            return Err(ElevationError::BreakGlassOff);
        }
        self.policy.reason_limits().required().check(&ask.reason)?;
        if ask.ticket.as_ref().is_some_and(|ticket| ticket.chars().count() > MOST_TICKET) {
            return Err(ElevationError::Ticket { most: MOST_TICKET });
        }
        let longest = self.policy.elevation.max_life;
        let life = ask.life.unwrap_or(longest);
        let shortest = self.policy.access.min_life;
        if life < shortest || life > longest {
            return Err(ElevationError::Life { shortest, longest });
        }
        Ok(life)
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

    /// Caches what was written and lets grants follow at once here; other replicas follow the feed.
    fn take_elevation(&self, written: Versioned<Elevation>) -> Arc<Elevation> {
        let elevation = self.privileges.put_elevation(written);
        self.recompute(&[elevation.id.clone()].into(), &std::collections::HashSet::new());
        elevation
    }

    fn came_into_force(&self, elevation: &Elevation) {
        let labels = ElevationLabels { way: elevation.way.name(), rights: elevation.rights.name() };
        self.metrics.elevations.with(&labels).inc();
        if elevation.way == ElevationMethod::BreakGlass {
            self.metrics.break_glass.inc();
            tracing::warn!(
                elevation = %elevation.id,
                person = %elevation.owner.name,
                resource_id = elevation.target.as_ref().map_or("every cluster", ResourceId::key),
                rights = elevation.rights.name(),
                reason = %rp_base::text::clean(&elevation.reason, ReasonLimits::OPTIONAL.most),
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
    let (id, owner) = (&elevation.id, &elevation.owner.name);
    entry.query = match elevation.not_after {
        Some(end) => format!("elevation={id} owner={owner} until={end}"),
        None => format!("elevation={id} owner={owner} life={}s", elevation.life_secs),
    };
    entry.reason.clone_from(&elevation.reason);
}
