//! Giving a grant.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use rp_audit::AuditError;
use rp_base::{Id, Secret, Timestamp};
use rp_database::StoreError;
use rp_documents::grant::GrantState;
use rp_documents::{
    Elevation, Grant, GrantKind, GrantOptions, Person, Phase, ResourceId, Rights, Robot, Role, Unknown,
};
use rp_net::TooOften;

use crate::access::Access;
use crate::life::length;
use crate::metrics::GrantLabels;
use crate::policy::{Caller, Via};
use crate::reason::BadReason;
use crate::rights::{is_shell, rights_of};

/// The longest ticket, in characters.
pub(crate) const MOST_TICKET: usize = 100;
/// A renewed token is forgotten by the store so long after its end.
const FORGET_RENEWED: Duration = Duration::from_secs(60);

/// A request for a grant.
#[derive(Debug, Clone)]
pub struct IssueRequest {
    pub kind: GrantKind,
    pub target: Option<ResourceId>,
    pub rights: Rights,
    pub reason: String,
    pub ticket: Option<String>,
    /// `None`: the policy's default.
    pub life: Option<Duration>,
    /// When the person last signed in at the identity provider, for kind cli.
    pub auth_time: Option<Timestamp>,
    /// The machine that a shell is for.
    pub machine: Option<String>,
    /// `host:port` that a tunnel, or a local forwarding of a shell, may reach.
    pub destinations: Vec<String>,
    pub options: GrantOptions,
}

impl IssueRequest {
    /// A request with only the fields that every request has.
    pub fn new(kind: GrantKind, target: Option<ResourceId>, rights: Rights, reason: String) -> Self {
        Self {
            kind,
            target,
            rights,
            reason,
            ticket: None,
            life: None,
            auth_time: None,
            machine: None,
            destinations: Vec::new(),
            options: GrantOptions::default(),
        }
    }
}

/// A grant and its token, which is shown once.
#[derive(Debug)]
pub struct IssuedGrant {
    pub grant: Grant,
    pub token: Secret<String>,
}

/// Why no grant was given.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("your groups do not give {}", needed.name())]
    NotAllowed { needed: Rights },
    #[error("this needs an elevation with {} rights for this cluster", rights.name())]
    ElevationNeeded { rights: Rights },
    #[error("an access of kind {} is given with the rights {allowed}", kind.name())]
    Rights { kind: GrantKind, allowed: String },
    #[error("this is outside the robot's scope: {what}")]
    OutOfScope { what: &'static str },
    #[error(transparent)]
    Reason(#[from] BadReason),
    #[error("a ticket has at most {most} characters")]
    Ticket { most: usize },
    #[error("the life must be between {} and {}", length(*shortest), length(*longest))]
    Life { shortest: Duration, longest: Duration },
    #[error("you hold {most} living grants already; revoke some")]
    TooMany { most: usize },
    #[error(transparent)]
    TooOften(TooOften),
    #[error("the store did not answer; nothing was given")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was given")]
    Audit(#[source] AuditError),
    #[error("the keyring has no key")]
    NoKey,
}

/// Why no further token was given.
#[derive(Debug, thiserror::Error)]
pub enum RenewError {
    #[error("no such grant")]
    Unknown,
    #[error("this grant is somebody else's")]
    NotYours,
    #[error("the grant has ended already")]
    Ended,
    #[error("a grant of this kind has no further tokens")]
    Kind,
    #[error(transparent)]
    TooOften(TooOften),
    #[error("the store did not answer; nothing was given")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was given")]
    Audit(#[source] AuditError),
    #[error("the keyring has no key")]
    NoKey,
}

/// What a grant is issued on the basis of.
#[derive(Default)]
struct IssueBasis {
    elevation: Option<Arc<Elevation>>,
    parent: Option<Id>,
    /// It ends then at the latest.
    latest: Option<Timestamp>,
    most_grants: usize,
}

impl Access {
    /// Gives a grant: checked against the policy, promised to the audit trail, then stored.
    ///
    /// # Errors
    /// [`IssueError`]; then nothing was given and no token exists.
    pub async fn issue(&self, caller: &Caller, ask: IssueRequest) -> Result<IssuedGrant, IssueError> {
        self.rates.issue(&caller.person.sub).map_err(IssueError::TooOften)?;
        self.check_text(&ask.reason, ask.ticket.as_deref())?;
        check_rights(&ask)?;
        let basis = match caller.robot_name() {
            Some(name) => self.robot_basis(caller, name, &ask).await?,
            None => self.person_basis(caller, &ask).await?,
        };
        let longest = self.policy.longest(ask.rights);
        let life = ask.life.unwrap_or_else(|| self.policy.access.default_life.min(longest));
        let shortest = self.policy.access.min_life;
        if life < shortest || life > longest {
            return Err(IssueError::Life { shortest, longest });
        }
        // One at a time for each person, so that many at once do not get past the count.
        let _turn = self.issue_lock(&caller.person.sub).await;
        self.check_count(&caller.person, basis.most_grants).await?;
        let now = self.clock.now();
        let not_after = basis.latest.map_or(now + life, |latest| latest.min(now + life));
        let grant = Grant {
            target: ask.target,
            rights: ask.rights,
            reason: ask.reason.trim().to_owned(),
            ticket: ask.ticket,
            auth_time: ask.auth_time.filter(|_| ask.kind == GrantKind::Cli),
            elevation_id: basis.elevation.map(|elevation| elevation.id.clone()),
            parent: basis.parent,
            machine: ask.machine,
            destinations: ask.destinations,
            options: ask.options,
            ..self.blank(ask.kind, caller.person.clone(), now, not_after)
        };
        let issued = self.make_token(grant).ok_or(IssueError::NoKey)?;
        self.record_issue(caller, &issued.grant).await.map_err(IssueError::Audit)?;
        if issued.grant.kind == GrantKind::Ssh {
            self.keep_password(&issued.grant).await?;
        }
        self.grants.create(issued.grant.clone()).await.map_err(IssueError::Store)?;
        let labels = GrantLabels { kind: issued.grant.kind.name(), rights: issued.grant.rights.name() };
        self.metrics.issued.with(&labels).inc();
        Ok(issued)
    }

    /// A further token of the caller's grant, for the exec plug-in: it lives `life` (at most the policy's
    /// `renew_life`), never longer than the grant, and ends with it. It does not count against the limit.
    ///
    /// # Errors
    /// [`RenewError`]; then nothing was given.
    pub async fn renew(&self, id: &Id, caller: &Caller, life: Duration) -> Result<IssuedGrant, RenewError> {
        self.rates.renew(&caller.person.sub).map_err(RenewError::TooOften)?;
        let found = self.grants.get(id.as_str()).await.map_err(RenewError::Store)?;
        let parent = found.ok_or(RenewError::Unknown)?.value;
        if !caller.owns(&parent.owner.sub) {
            return Err(RenewError::NotYours);
        }
        if parent.renewal || !matches!(parent.kind, GrantKind::Kubeconfig | GrantKind::Metrics) {
            return Err(RenewError::Kind);
        }
        let now = self.clock.now();
        let live = self.live_of(parent).await.map_err(RenewError::Store)?;
        if live.ended(now).is_some() {
            return Err(RenewError::Ended);
        }
        let parent = &live.grant;
        let not_after = (now + life.min(self.policy.access.renew_life).max(self.policy.access.min_life))
            .min(parent.not_after);
        let grant = Grant {
            target: parent.target.clone(),
            rights: parent.rights,
            reason: parent.reason.clone(),
            ticket: parent.ticket.clone(),
            elevation_id: parent.elevation_id.clone(),
            parent: Some(parent.id.clone()),
            renewal: true,
            machine: parent.machine.clone(),
            destinations: parent.destinations.clone(),
            options: parent.options.clone(),
            ..self.blank(parent.kind, parent.owner.clone(), now, not_after)
        };
        let issued = self.make_token(grant).ok_or(RenewError::NoKey)?;
        let mut entry = caller.entry(now, Phase::Single, "grant.renew");
        entry.grant = Some(parent.id.clone());
        entry.target.clone_from(&parent.target);
        entry.query = format!("until {not_after}");
        self.audit.promise(entry).await.map_err(RenewError::Audit)?;
        let until = Some(not_after + FORGET_RENEWED);
        self.grants.create_until(issued.grant.clone(), until).await.map_err(RenewError::Store)?;
        Ok(issued)
    }

    /// A grant with nothing but kind, owner and times.
    pub(crate) fn blank(
        &self,
        kind: GrantKind,
        owner: Person,
        now: Timestamp,
        not_after: Timestamp,
    ) -> Grant {
        Grant {
            id: Id::newest_first(now, &*self.random),
            kind,
            owner,
            target: None,
            rights: Rights::Read,
            reason: String::new(),
            ticket: None,
            elevation_id: None,
            parent: None,
            renewal: false,
            machine: None,
            destinations: Vec::new(),
            options: GrantOptions::default(),
            created: now,
            auth_time: None,
            not_after,
            revoked: None,
            secret_sha256: rp_base::Digest::default(),
            unknown: Unknown::new(),
        }
    }

    /// Gives the grant its token; `None` when the keyring has no key.
    pub(crate) fn make_token(&self, mut grant: Grant) -> Option<IssuedGrant> {
        let (token, digest) = self.codec.load().make(grant.kind, &grant.id, &*self.random)?;
        grant.secret_sha256 = digest;
        Some(IssuedGrant { grant, token })
    }

    fn check_text(&self, reason: &str, ticket: Option<&str>) -> Result<(), IssueError> {
        self.policy.reason_limits().check(reason)?;
        if ticket.is_some_and(|ticket| ticket.chars().count() > MOST_TICKET) {
            return Err(IssueError::Ticket { most: MOST_TICKET });
        }
        Ok(())
    }

    /// The approval was made elsewhere; here is one cluster and a kind that automation has a use for.
    fn automation_basis(&self, caller: &Caller, ask: &IssueRequest) -> Result<IssueBasis, IssueError> {
        let useful = matches!(ask.kind, GrantKind::Kubeconfig | GrantKind::Ssh) && ask.target.is_some();
        if caller.via != Via::Automation || !caller.person.is_automated() || !useful {
            return Err(IssueError::NotAllowed { needed: ask.rights });
        }
        Ok(IssueBasis { most_grants: self.policy.access.max_grants, ..IssueBasis::default() })
    }

    async fn person_basis(&self, caller: &Caller, ask: &IssueRequest) -> Result<IssueBasis, IssueError> {
        if caller.via == Via::Automation || caller.person.is_automated() {
            return self.automation_basis(caller, ask);
        }
        let most_grants = self.policy.access.max_grants;
        if ask.kind == GrantKind::Robot {
            return Err(IssueError::NotAllowed { needed: Rights::Admin });
        }
        if ask.kind == GrantKind::Cli && caller.roles.has(Role::Viewer) && ask.rights == Rights::Read {
            return Ok(IssueBasis { most_grants, ..IssueBasis::default() });
        }
        let needed = ask.rights;
        if self.policy.most_rights(caller.roles).is_none_or(|most| needed > most) {
            return Err(IssueError::NotAllowed { needed });
        }
        if needed == Rights::Read {
            return Ok(IssueBasis { most_grants, ..IssueBasis::default() });
        }
        let sub = &caller.person.sub;
        let elevation = self.elevation_for(sub, ask.target.as_ref(), needed).await;
        let elevation =
            elevation.map_err(IssueError::Store)?.ok_or(IssueError::ElevationNeeded { rights: needed })?;
        // Of a kubeconfig reading is left when the elevation ends, of a shell nothing.
        let latest = elevation.not_after.filter(|_| is_shell(ask.kind));
        Ok(IssueBasis { elevation: Some(elevation), parent: None, latest, most_grants })
    }

    async fn robot_basis(
        &self,
        caller: &Caller,
        name: &str,
        ask: &IssueRequest,
    ) -> Result<IssueBasis, IssueError> {
        let out = |what| IssueError::OutOfScope { what };
        let robot = self.robot(name).await.map_err(IssueError::Store)?.ok_or(out("it does not exist"))?;
        let now = self.clock.now();
        if !robot.is_active(now) {
            return Err(out("it has ended"));
        }
        let parent = match &caller.via {
            Via::Token(id) => Some(self.robot_token(&robot, id, now).await?),
            Via::Client if self.is_client(name) => None,
            Via::Client | Via::Session | Via::Automation => {
                return Err(out("it did not show a token of its own"));
            }
        };
        if !robot.kinds.contains(&ask.kind) {
            return Err(out("the kind"));
        }
        if !ask.target.as_ref().is_some_and(|target| robot.clusters.covers(target)) {
            return Err(out("the cluster"));
        }
        if ask.rights > robot.rights {
            return Err(out("the rights"));
        }
        let latest = parent.as_ref().map_or(robot.not_after, |token| token.not_after.min(robot.not_after));
        Ok(IssueBasis {
            elevation: None,
            parent: parent.map(|token| token.id),
            latest: Some(latest),
            most_grants: robot.max_grants,
        })
    }

    async fn robot_token(&self, robot: &Robot, id: &Id, now: Timestamp) -> Result<Grant, IssueError> {
        let found = self.grants.get(id.as_str()).await.map_err(IssueError::Store)?;
        let token = found.map(|read| read.value).filter(|token| {
            token.kind == GrantKind::Robot
                && token.owner.sub == Robot::subject(&robot.name)
                && token.state(now) == GrantState::Active
        });
        token.ok_or(IssueError::OutOfScope { what: "its token has ended" })
    }

    /// Counts newest first and stops where older ones have ended: the work does not grow with the past.
    async fn check_count(&self, person: &Person, most: usize) -> Result<(), IssueError> {
        let (now, mut living) = (self.clock.now(), 0);
        let counted = self.walk_living(rp_database::Span::Partition(&person.sub), |grant| {
            let counts = grant.owner.sub == person.sub && grant.state(now) == GrantState::Active;
            living += usize::from(counts);
            if living >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        counted.await.map_err(IssueError::Store)?;
        if living >= most { Err(IssueError::TooMany { most }) } else { Ok(()) }
    }

    /// The entry is durable before the token exists outside this crate.
    pub(crate) async fn record_issue(&self, caller: &Caller, grant: &Grant) -> Result<(), AuditError> {
        let mut entry = caller.entry(grant.created, Phase::Single, "grant.issue");
        entry.grant = Some(grant.id.clone());
        entry.target.clone_from(&grant.target);
        grant.kind.name().clone_into(&mut entry.resource);
        grant.rights.name().clone_into(&mut entry.subresource);
        entry.reason.clone_from(&grant.reason);
        entry.query = match &grant.elevation_id {
            Some(elevation) => format!("until {} under elevation {elevation}", grant.not_after),
            None => format!("until {}", grant.not_after),
        };
        self.audit.promise(entry).await.map(drop)
    }
}

/// No kind of access is given with rights that it does not have, at any door.
fn check_rights(ask: &IssueRequest) -> Result<(), IssueError> {
    let rights = rights_of(ask.kind);
    if rights.contains(&ask.rights) {
        return Ok(());
    }
    let (least, most) = (rights.start().name(), rights.end().name());
    let allowed = if least == most { least.to_owned() } else { format!("{least} to {most}") };
    Err(IssueError::Rights { kind: ask.kind, allowed })
}
