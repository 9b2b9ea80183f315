//! Giving a grant.

use std::time::Duration;

use rp_audit::AuditError;
use rp_base::{Id, Secret};
use rp_database::StoreError;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, GrantKind, Phase, ResourceId, Rights, Unknown};

use crate::access::Access;
use crate::policy::Caller;

/// The longest reason, in characters.
const MOST_REASON: usize = 1000;
/// The shortest life that makes sense.
const LEAST_LIFE: Duration = Duration::from_secs(60);

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    pub kind: GrantKind,
    pub target: Option<ResourceId>,
    pub rights: Rights,
    pub reason: String,
    pub ticket: Option<String>,
    /// `None`: the policy's default.
    pub life: Option<Duration>,
}

/// A grant and its token, which is shown once.
#[derive(Debug)]
pub struct Issued {
    pub grant: Grant,
    pub token: Secret<String>,
}

/// Why no grant was given.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("your groups do not give {}", needed.name())]
    NotAllowed { needed: Rights },
    #[error("the reason must say in {least} to {most} characters what you are going to do")]
    Reason { least: usize, most: usize },
    #[error("the life must be between 1 minute and {} minutes", longest.as_secs() / 60)]
    Life { longest: Duration },
    #[error("you hold {most} living grants already; revoke some")]
    TooMany { most: usize },
    #[error("the store did not answer; nothing was given")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was given")]
    Audit(#[source] AuditError),
    #[error("the keyring has no key")]
    NoKey,
}

impl Access {
    /// Gives a grant: checked against the policy, promised to the audit trail, then stored.
    ///
    /// # Errors
    /// [`IssueError`]; then nothing was given and no token exists.
    pub async fn issue(&self, caller: &Caller, ask: Ask) -> Result<Issued, IssueError> {
        let life = self.check(caller, &ask)?;
        self.check_count(caller).await?;
        let now = self.clock.now();
        let id = Id::random(&*self.random);
        let (token, secret_sha256) =
            self.forge.load().make(ask.kind, &id, &*self.random).ok_or(IssueError::NoKey)?;
        let grant = Grant {
            id,
            kind: ask.kind,
            owner: caller.person.clone(),
            target: ask.target,
            rights: ask.rights,
            reason: ask.reason.trim().to_owned(),
            ticket: ask.ticket,
            elevation_id: None,
            parent: None,
            created: now,
            not_after: now + life,
            revoked: None,
            secret_sha256,
            unknown: Unknown::new(),
        };
        self.record(caller, &grant).await?;
        let stored = self.grants.create(grant).await.map_err(IssueError::Store)?;
        Ok(Issued { grant: stored.value, token })
    }

    fn check(&self, caller: &Caller, ask: &Ask) -> Result<Duration, IssueError> {
        let most = self.policy.most_rights(caller.roles);
        if most.is_none_or(|most| ask.rights > most) {
            return Err(IssueError::NotAllowed { needed: ask.rights });
        }
        // These are shells whatever their rights say (`design.md` §5 "Who may").
        let shell = matches!(ask.kind, GrantKind::Ssh | GrantKind::Terminal | GrantKind::Tunnel);
        if shell && most < Some(Rights::Write) {
            return Err(IssueError::NotAllowed { needed: Rights::Write });
        }
        let length = ask.reason.trim().chars().count();
        if length < self.policy.min_reason || length > MOST_REASON {
            return Err(IssueError::Reason { least: self.policy.min_reason, most: MOST_REASON });
        }
        let longest = self.policy.longest(ask.rights);
        let life = ask.life.unwrap_or_else(|| self.policy.default_life.min(longest));
        if life < LEAST_LIFE || life > longest { Err(IssueError::Life { longest }) } else { Ok(life) }
    }

    async fn check_count(&self, caller: &Caller) -> Result<(), IssueError> {
        let most = self.policy.max_grants;
        let now = self.clock.now();
        let mine = self.read_all(Some(&caller.person.sub)).await.map_err(IssueError::Store)?;
        let living = mine.iter().filter(|grant| grant.state(now) == GrantState::Active).count();
        if living >= most { Err(IssueError::TooMany { most }) } else { Ok(()) }
    }

    /// The entry is durable before the token exists outside this function.
    async fn record(&self, caller: &Caller, grant: &Grant) -> Result<(), IssueError> {
        let mut entry = caller.entry(grant.created, Phase::Single, "grant.issue");
        entry.grant = Some(grant.id.clone());
        entry.target.clone_from(&grant.target);
        grant.kind.name().clone_into(&mut entry.resource);
        grant.rights.name().clone_into(&mut entry.subresource);
        entry.reason.clone_from(&grant.reason);
        entry.query = format!("until {}", grant.not_after);
        self.audit.promise(entry).await.map(drop).map_err(IssueError::Audit)
    }
}
