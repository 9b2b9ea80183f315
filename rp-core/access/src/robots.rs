//! Robots: scripts with a name, a scope and an end (`contract/rules.md` §5.5 "Sign-in of scripts").

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rp_audit::AuditError;
use rp_base::Timestamp;
use rp_database::{StoreError, Versioned, update};
use rp_documents::grant::GrantState;
use rp_documents::robot::Scope;
use rp_documents::{Entry, Grant, GrantKind, Phase, Rights, Robot, Role, Unknown};

use rp_net::TooOften;

use crate::access::Access;
use crate::grants::AccessError;
use crate::issue::IssuedGrant;
use crate::life::length;
use crate::policy::Caller;
use crate::reason::BadReason;
use crate::revoke::{EndRequest, RevokeScope};

/// Clusters that a scope names at most.
const MOST_CLUSTERS: usize = 1000;
/// Living tokens of one robot.
const MOST_TOKENS: usize = 10;
const MOST_GRANTS: usize = 10_000;

/// A request for a robot.
#[derive(Debug, Clone)]
pub struct RobotRequest {
    /// 1 to 40 of `[a-z0-9-]`, starting with a letter.
    pub name: String,
    pub clusters: Scope,
    pub kinds: Vec<GrantKind>,
    pub rights: Rights,
    pub reason: String,
    /// `None`: as long as the policy allows.
    pub life: Option<Duration>,
    /// `None`: as many as a person.
    pub max_grants: Option<usize>,
}

/// A call on a robot that did nothing.
#[derive(Debug, thiserror::Error)]
pub enum RobotError {
    #[error("this needs the role admin")]
    NotAllowed,
    #[error("no such robot")]
    Unknown,
    #[error("a robot has this name already; names are not used twice")]
    Exists,
    #[error("the robot has ended already")]
    Ended,
    #[error("{0}")]
    Invalid(&'static str),
    #[error("the reason must say in {} to {} characters what it is for", .0.0.least, .0.0.most)]
    Reason(#[from] BadReason),
    #[error("the life must be between {} and {}", length(*shortest), length(*longest))]
    Life { shortest: Duration, longest: Duration },
    #[error("it has {most} living tokens already; let some end first")]
    TooMany { most: usize },
    #[error(transparent)]
    TooOften(TooOften),
    #[error("the store did not answer; nothing was done")]
    Store(#[source] StoreError),
    #[error("the audit entry could not be written, so nothing was done")]
    Audit(#[source] AuditError),
    #[error("the keyring has no key")]
    NoKey,
}

impl From<AccessError> for RobotError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Unknown | AccessError::Ended => Self::Ended,
            AccessError::NotYours => Self::NotAllowed,
            AccessError::Store(cause) => Self::Store(cause),
            AccessError::Audit(cause) => Self::Audit(cause),
        }
    }
}

/// A robot with its tokens.
#[derive(Debug, Clone)]
pub struct RobotView {
    pub robot: Robot,
    pub lives: bool,
    /// Newest first, without their secrets; ended ones too.
    pub tokens: Vec<Grant>,
    /// When one of them was last used.
    pub last_used: Option<Timestamp>,
    /// Streams open on this replica.
    pub streams: usize,
}

impl Access {
    /// Makes a robot and its first token. Needs the role admin.
    ///
    /// # Errors
    /// [`RobotError`]; then there is no robot and no token.
    pub async fn create_robot(
        &self,
        caller: &Caller,
        ask: RobotRequest,
    ) -> Result<(Robot, IssuedGrant), RobotError> {
        admin(caller)?;
        self.rates.issue(&caller.person.sub).map_err(RobotError::TooOften)?;
        let life = self.check_robot(&ask)?;
        if self.robot(&ask.name).await.map_err(RobotError::Store)?.is_some() {
            return Err(RobotError::Exists);
        }
        let now = self.clock.now();
        let robot = Robot {
            name: ask.name,
            clusters: ask.clusters,
            kinds: ask.kinds,
            rights: ask.rights,
            reason: ask.reason.trim().to_owned(),
            created: now,
            created_by: caller.person.clone(),
            not_after: now + life,
            max_grants: ask.max_grants.unwrap_or(self.policy.access.max_grants),
            revoked: None,
            unknown: Unknown::new(),
        };
        let issued = self.make_token(self.token_grant(&robot, now)).ok_or(RobotError::NoKey)?;
        let entry = self.record_robot(caller, &robot, &issued.grant, now, "robot.create").await?;
        let written = match self.robots.create(robot).await {
            Ok(written) => written,
            Err(StoreError::Exists { .. }) => {
                self.record_lost_race(Some(entry)).await;
                return Err(RobotError::Exists);
            }
            Err(error) => return Err(RobotError::Store(error)),
        };
        let robot = self.take_robot(written);
        self.grants.create(issued.grant.clone()).await.map_err(RobotError::Store)?;
        Ok((Robot::clone(&robot), issued))
    }

    /// A new token; the older ones end after `overlap`. Needs the role admin.
    ///
    /// # Errors
    /// [`RobotError`]; on `Store` the new token may exist, but it was given to nobody.
    pub async fn rotate_robot(
        &self,
        caller: &Caller,
        name: &str,
        overlap: Duration,
    ) -> Result<IssuedGrant, RobotError> {
        admin(caller)?;
        self.rates.issue(&caller.person.sub).map_err(RobotError::TooOften)?;
        let robot = self.robot(name).await.map_err(RobotError::Store)?.ok_or(RobotError::Unknown)?;
        let now = self.clock.now();
        if !robot.is_active(now) {
            return Err(RobotError::Ended);
        }
        let _turn = self.issue_lock(&Robot::subject(name)).await;
        let older = self.tokens_of(&robot).await.map_err(RobotError::Store)?;
        let living: Vec<_> =
            older.into_iter().filter(|read| read.value.state(now) == GrantState::Active).collect();
        if living.len() >= MOST_TOKENS {
            return Err(RobotError::TooMany { most: MOST_TOKENS });
        }
        let issued = self.make_token(self.token_grant(&robot, now)).ok_or(RobotError::NoKey)?;
        self.record_robot(caller, &robot, &issued.grant, now, "robot.rotate").await?;
        self.grants.create(issued.grant.clone()).await.map_err(RobotError::Store)?;
        let end = now + overlap;
        for Versioned { value: token, .. } in living {
            let shortened = update(&self.grants, token.id.as_str(), |token: &mut Grant| {
                token.not_after = token.not_after.min(end);
            })
            .await
            .map_err(RobotError::Store)?;
            self.apply(token.id.as_str(), Some(shortened.value));
        }
        Ok(issued)
    }

    /// Ends a robot, its tokens and the grants made with them, everywhere. Gives the number of grants. Needs the
    /// role admin.
    ///
    /// # Errors
    /// [`RobotError`].
    pub async fn revoke_robot(
        &self,
        caller: &Caller,
        name: &str,
        why: Option<String>,
    ) -> Result<u64, RobotError> {
        admin(caller)?;
        let robot = self.robot(name).await.map_err(RobotError::Store)?.ok_or(RobotError::Unknown)?;
        if robot.revoked.is_some() {
            return Err(RobotError::Ended);
        }
        let ending = EndRequest::by(caller, self.clock.now(), why);
        let mut entry = ending.entry("robot.revoke");
        entry.name.clone_from(&robot.name);
        self.audit.promise(entry).await.map_err(RobotError::Audit)?;
        let written = update(&self.robots, name, |robot: &mut Robot| {
            if robot.revoked.is_none() {
                robot.revoked = Some(ending.revocation());
            }
        });
        // From here on none of its tokens is accepted; the rest only marks each grant as ended.
        self.take_robot(written.await.map_err(RobotError::Store)?);
        let scope = RevokeScope::Person(Robot::subject(name));
        Ok(self.end_scope(&scope, &ending).await?)
    }

    /// Every robot with its tokens, by name.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn robots(&self) -> Result<Vec<RobotView>, StoreError> {
        let (now, mut views) = (self.clock.now(), Vec::new());
        for read in self.robots.all().await? {
            let robot = read.value;
            let tokens: Vec<Grant> =
                self.tokens_of(&robot).await?.into_iter().map(|read| read.value).collect();
            let mut last_used = None;
            for token in &tokens {
                let noted = self.uses.get(token.id.as_str()).await?.map(|read| read.value.last_used);
                let here = self.cache.read().get(&token.id).map(|live| live.last_use().0);
                last_used = last_used.max(noted).max(here.filter(|at| at.millis() > 0));
            }
            let streams = self.streams_of(&Robot::subject(&robot.name));
            views.push(RobotView { lives: robot.is_active(now), robot, tokens, last_used, streams });
        }
        Ok(views)
    }

    /// The living robot that a client id of the provider stands for.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn robot_by_client(&self, client_id: &str) -> Result<Option<Arc<Robot>>, StoreError> {
        let Some(name) = self.policy.robots.clients.get(client_id) else { return Ok(None) };
        let robot = self.robot(name).await?;
        Ok(robot.filter(|robot| robot.is_active(self.clock.now())))
    }

    pub(crate) fn is_client(&self, name: &str) -> bool {
        self.policy.robots.clients.values().any(|robot| robot == name)
    }

    /// A robot from the cache, or from the store when another replica has just made it.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn robot(&self, name: &str) -> Result<Option<Arc<Robot>>, StoreError> {
        if let Some(robot) = self.privileges.robot(name) {
            return Ok(Some(robot));
        }
        Ok(self.robots.get(name).await?.map(|read| self.privileges.put_robot(read)))
    }

    fn token_grant(&self, robot: &Robot, now: Timestamp) -> Grant {
        Grant {
            rights: robot.rights,
            reason: robot.reason.clone(),
            ..self.blank(GrantKind::Robot, robot.person(), now, robot.not_after)
        }
    }

    fn take_robot(&self, written: Versioned<Robot>) -> Arc<Robot> {
        let robot = self.privileges.put_robot(written);
        self.recompute(&HashSet::new(), &[robot.name.clone()].into());
        robot
    }

    async fn record_robot(
        &self,
        caller: &Caller,
        robot: &Robot,
        token: &Grant,
        now: Timestamp,
        verb: &str,
    ) -> Result<Entry, RobotError> {
        let mut entry = caller.entry(now, Phase::Single, verb);
        entry.grant = Some(token.id.clone());
        "robot".clone_into(&mut entry.resource);
        robot.rights.name().clone_into(&mut entry.subresource);
        entry.name.clone_from(&robot.name);
        entry.query = format!("until {}", token.not_after);
        entry.reason.clone_from(&robot.reason);
        self.audit.promise(entry.clone()).await.map_err(RobotError::Audit)?;
        Ok(entry)
    }

    fn check_robot(&self, ask: &RobotRequest) -> Result<Duration, RobotError> {
        let name = ask.name.as_bytes();
        let good = (1..=40).contains(&name.len())
            && name.first().is_some_and(u8::is_ascii_lowercase)
            && name.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-');
        if !good {
            return Err(RobotError::Invalid("a name is 1 to 40 of a-z, 0-9 and -, and starts with a letter"));
        }
        if ask.kinds.is_empty()
            || ask.kinds.iter().any(|kind| matches!(kind, GrantKind::Cli | GrantKind::Robot))
        {
            return Err(RobotError::Invalid(
                "a robot asks for kubeconfig, metrics, page, ssh, terminal or tunnel",
            ));
        }
        if let Scope::Only(clusters) = &ask.clusters
            && (clusters.is_empty() || clusters.len() > MOST_CLUSTERS)
        {
            return Err(RobotError::Invalid("a scope names 1 to 1000 clusters, or all"));
        }
        if ask.max_grants.is_some_and(|most| most == 0 || most > MOST_GRANTS) {
            return Err(RobotError::Invalid("a robot may hold 1 to 10000 grants at once"));
        }
        self.policy.reason_limits().check(&ask.reason)?;
        let longest = self.policy.robots.max_life;
        let life = ask.life.unwrap_or(longest);
        let shortest = self.policy.access.min_life;
        if life < shortest || life > longest {
            return Err(RobotError::Life { shortest, longest });
        }
        Ok(life)
    }
}

fn admin(caller: &Caller) -> Result<(), RobotError> {
    if caller.roles.has(Role::Admin) && caller.robot_name().is_none() {
        Ok(())
    } else {
        Err(RobotError::NotAllowed)
    }
}
