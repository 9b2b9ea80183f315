//! Grants of kind page: a person's own view of a cluster through the portal's pages
//! (`contract/rules.md` §3.6). Their tokens are never given out: the portal's session, or the token of the command
//! line, is used instead.

use std::net::IpAddr;
use std::sync::Arc;

use rp_base::Timestamp;
use rp_config::Outage;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, GrantKind, ResourceId};

use crate::access::{Access, REFUSE_AFTER};
use crate::active_grant::{ActiveGrant, Refusal};
use crate::grants::GrantFilter;
use crate::policy::Caller;

/// What a person holds for looking at a cluster.
#[derive(Debug)]
pub enum OwnPage {
    /// An active grant, now in the cache.
    Open(Arc<ActiveGrant>),
    /// The last grant was revoked by a person: a new one needs a new decision of the caller.
    Revoked,
    /// None, or the last one has reached its end.
    None,
}

impl Access {
    /// The caller's grant of kind page for a cluster, the newest that was given at or after `since`.
    ///
    /// # Errors
    /// [`Refusal::Unsure`] when revocations cannot be known, [`Refusal::Unavailable`] when the store is away.
    pub async fn own_page(
        &self,
        caller: &Caller,
        target: &ResourceId,
        since: Timestamp,
    ) -> Result<OwnPage, Refusal> {
        if self.age() > REFUSE_AFTER && self.policy.outage == Outage::Refuse {
            return Err(Refusal::Unsure);
        }
        let now = self.clock.now();
        let ours = |grant: &Grant| {
            grant.kind == GrantKind::Page
                && caller.owns(&grant.owner.sub)
                && grant.target.as_ref() == Some(target)
                && grant.created >= since
        };
        let cached = {
            let cache = self.cache.read();
            let living = cache.values().filter(|live| ours(&live.grant) && live.ended(now).is_none());
            living.max_by_key(|live| live.grant.created).cloned()
        };
        let live = match cached {
            Some(live) => live,
            None => match self.newest_page(caller, target, &ours).await? {
                Some(grant) if grant.state(now) == GrantState::Active => self.load(grant.id.as_str()).await?,
                Some(grant) if grant.revoked.is_some() => return Ok(OwnPage::Revoked),
                _ => return Ok(OwnPage::None),
            },
        };
        match live.ended(now) {
            None => {
                if let Ok(from) = caller.from.parse::<IpAddr>() {
                    live.touch(now, from);
                }
                Ok(OwnPage::Open(live))
            }
            Some(crate::EndReason::Expired) => Ok(OwnPage::None),
            Some(_) => Ok(OwnPage::Revoked),
        }
    }

    async fn newest_page(
        &self,
        caller: &Caller,
        target: &ResourceId,
        ours: &impl Fn(&Grant) -> bool,
    ) -> Result<Option<Grant>, Refusal> {
        let filter = GrantFilter {
            owner_sub: Some(caller.person.sub.clone()),
            target: Some(target.clone()),
            kind: Some(GrantKind::Page),
            limit: 1,
            ..GrantFilter::default()
        };
        let page = self.list(&filter).await.map_err(|_| Refusal::Unavailable)?;
        Ok(page.items.into_iter().map(|view| view.grant).find(|grant| ours(grant)))
    }
}
