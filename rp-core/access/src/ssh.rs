//! Signing in to machines (`contract/portal.md` §9, §16.2): one-time passwords, and grants that a certificate
//! names.
//!
//! The password of an SSH grant is its token. It opens a shell once, within a few minutes of the grant's making: beside
//! the grant there is a document in LoginCodes, and the request that deletes it has used the password.

use std::net::IpAddr;
use std::sync::Arc;

use rp_base::{Digest, Id, Timestamp};
use rp_config::Outage;
use rp_database::{Expect, StoreError};
use rp_documents::login::{LoginCode, LoginFlow};
use rp_documents::{Collection, Grant, GrantKind, Phase, Unknown};

use crate::access::{Access, REFUSE_AFTER};
use crate::active_grant::{ActiveGrant, Refusal};
use crate::issue::{IssueError, RenewError};
use crate::policy::Caller;

/// The longest name of an SSH user that is looked at, in bytes.
const MOST_USER: usize = 256;

/// The SSH user of a person: the part of the name before the first `@` (`contract/portal.md` §15).
pub fn ssh_user(name: &str) -> &str {
    name.split('@').next().unwrap_or_default()
}

/// The machine that somebody signs in to: the grant's own, else what the SSH user names as `MACHINE`,
/// `MACHINE+anything` or `PERSON+MACHINE`. `None`: neither names a machine.
pub fn ssh_machine<'a>(grant: &'a Grant, user: &'a str) -> Option<&'a str> {
    if let Some(machine) = &grant.machine {
        return Some(machine);
    }
    let person = ssh_user(&grant.owner.name);
    if user == person {
        return None;
    }
    let after = user.strip_prefix(person).and_then(|rest| rest.strip_prefix('+'));
    let name = after.unwrap_or_else(|| user.split('+').next().unwrap_or_default());
    Some(name).filter(|name| !name.is_empty())
}

fn code_id(secret: &Digest) -> String {
    format!("ssh-{secret}")
}

impl Access {
    /// Redeems a one-time password. With a wrong SSH user the password stays valid.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Spent`] when it was used or is too old. Misses are limited by address.
    pub async fn redeem_ssh(
        &self,
        password: &str,
        user: &str,
        from: IpAddr,
    ) -> Result<Arc<ActiveGrant>, Refusal> {
        match self.redeem(password, user).await {
            Err(missed @ (Refusal::Malformed | Refusal::Unknown | Refusal::Spent)) => {
                Err(self.rates.miss(from).err().map_or(missed, Refusal::TooOften))
            }
            Err(refusal) => Err(refusal),
            Ok(live) => {
                live.touch(self.clock.now(), from);
                Ok(live)
            }
        }
    }

    async fn redeem(&self, password: &str, user: &str) -> Result<Arc<ActiveGrant>, Refusal> {
        let live = self.open(password).await?;
        let grant = &live.grant;
        let person = ssh_user(&grant.owner.name);
        let named = user.len() <= MOST_USER
            && !person.is_empty()
            && user.strip_prefix(person).is_some_and(|rest| {
                rest.is_empty() || grant.machine.is_none() && rest.len() > 1 && rest.starts_with('+')
            });
        if grant.kind != GrantKind::Ssh || !named {
            return Err(Refusal::Unknown);
        }
        let id = code_id(&grant.secret_sha256);
        let found = self.codes.get(&id).await.map_err(|_| Refusal::Unavailable)?.ok_or(Refusal::Spent)?;
        if found.value.flow != LoginFlow::Password || found.value.not_after <= self.clock.now() {
            return Err(Refusal::Spent);
        }
        match self.codes.delete(&id, Expect::Version(found.version)).await {
            Ok(()) => Ok(live),
            Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => Err(Refusal::Spent),
            Err(_) => Err(Refusal::Unavailable),
        }
    }

    /// Opens a grant that was named by something of ours that is proved: the key id of a certificate whose owner has
    /// signed with its key. Never call it with an id alone that somebody sent.
    ///
    /// # Errors
    /// [`Refusal`], as [`Access::authenticate`].
    pub async fn live_by_id(&self, id: &str, from: IpAddr) -> Result<Arc<ActiveGrant>, Refusal> {
        if Id::parse(id).is_err() {
            return Err(Refusal::Malformed);
        }
        let sure = self.age() <= REFUSE_AFTER;
        if !sure && self.policy.outage == Outage::Refuse {
            return Err(Refusal::Unsure);
        }
        let cached = self.cache.read().get(id).cloned();
        let live = match cached {
            Some(live) => live,
            None if !sure => return Err(Refusal::Unsure),
            None => Box::pin(self.load(id)).await?,
        };
        let live = self.current(live)?;
        live.touch(self.clock.now(), from);
        Ok(live)
    }

    /// The caller's own SSH grant, for which a certificate is about to be signed, and when that ends: after the
    /// policy's `renew_life`, never after the grant. The trail has `key`, the certified key's fingerprint.
    ///
    /// # Errors
    /// [`RenewError`]; then nothing may be signed.
    pub async fn certify(
        &self,
        id: &Id,
        caller: &Caller,
        key: &str,
    ) -> Result<(Arc<ActiveGrant>, Timestamp), RenewError> {
        self.rates.renew(&caller.person.sub).map_err(RenewError::TooOften)?;
        let found = self.grants.get(id.as_str()).await.map_err(RenewError::Store)?;
        let grant = found.ok_or(RenewError::Unknown)?.value;
        if !caller.owns(&grant.owner.sub) {
            return Err(RenewError::NotYours);
        }
        if grant.kind != GrantKind::Ssh {
            return Err(RenewError::Kind);
        }
        let now = self.clock.now();
        let live = self.live_of(grant).await.map_err(RenewError::Store)?;
        if live.ended(now).is_some() {
            return Err(RenewError::Ended);
        }
        let not_after = (now + self.policy.access.renew_life).min(live.grant.not_after);
        let mut entry = caller.entry(now, Phase::Single, "grant.certificate");
        entry.grant = Some(id.clone());
        entry.target.clone_from(&live.grant.target);
        entry.query = format!("{key} until {not_after}");
        self.audit.promise(entry).await.map_err(RenewError::Audit)?;
        Ok((live, not_after))
    }

    /// Written before the grant: without the grant it opens nothing, and it forgets itself.
    pub(crate) async fn keep_password(&self, grant: &Grant) -> Result<(), IssueError> {
        let id = code_id(&grant.secret_sha256);
        let not_after = (grant.created + self.policy.access.password_life).min(grant.not_after);
        let place = format!("{}/{id}/sealed", Collection::LoginCodes.name());
        let sealed =
            self.keyring.seal(grant.id.as_str().as_bytes(), &place).map_err(|_| IssueError::NoKey)?;
        let code = LoginCode {
            id,
            flow: LoginFlow::Password,
            created: grant.created,
            not_after,
            sealed,
            second: None,
            unknown: Unknown::new(),
        };
        self.codes.create_until(code, Some(not_after)).await.map(drop).map_err(IssueError::Store)
    }
}
