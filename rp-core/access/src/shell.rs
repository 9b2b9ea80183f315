//! Grants of kind terminal: a person's own shells in a cluster through the portal's pages. Their tokens are never
//! given out: the portal's session is used instead.

use std::net::IpAddr;
use std::sync::Arc;

use rp_config::Outage;
use rp_documents::grant::GrantState;
use rp_documents::{Grant, GrantKind, ResourceId};

use crate::access::{Access, REFUSE_AFTER};
use crate::active_grant::{ActiveGrant, Refusal};
use crate::grants::GrantFilter;
use crate::policy::Caller;

/// Terminals of one person for one cluster that are looked through.
const MOST: usize = 50;

impl Access {
    /// The caller's living grant of kind terminal for a cluster, the newest: for that machine, or for containers
    /// when none is named. A grant for one machine opens no other, and none for containers opens a machine.
    ///
    /// # Errors
    /// [`Refusal::Unsure`] when revocations cannot be known, [`Refusal::Unavailable`] when the store is away.
    pub async fn own_terminal(
        &self,
        caller: &Caller,
        target: &ResourceId,
        machine: Option<&str>,
    ) -> Result<Option<Arc<ActiveGrant>>, Refusal> {
        if self.age() > REFUSE_AFTER && self.policy.outage == Outage::Refuse {
            return Err(Refusal::Unsure);
        }
        let now = self.clock.now();
        let ours = |grant: &Grant| {
            grant.kind == GrantKind::Terminal
                && caller.owns(&grant.owner.sub)
                && grant.target.as_ref() == Some(target)
                && grant.machine.as_deref() == machine
        };
        let cached = {
            let cache = self.cache.read();
            let living = cache.values().filter(|live| ours(&live.grant) && live.ended(now).is_none());
            living.max_by_key(|live| live.grant.created).cloned()
        };
        let live = match cached {
            Some(live) => live,
            None => match self.newest_terminal(caller, target, &ours).await? {
                Some(grant) => self.load(grant.id.as_str()).await?,
                None => return Ok(None),
            },
        };
        if live.ended(now).is_some() {
            return Ok(None);
        }
        if let Ok(from) = caller.from.parse::<IpAddr>() {
            live.touch(now, from);
        }
        Ok(Some(live))
    }

    async fn newest_terminal(
        &self,
        caller: &Caller,
        target: &ResourceId,
        ours: &impl Fn(&Grant) -> bool,
    ) -> Result<Option<Grant>, Refusal> {
        let filter = GrantFilter {
            owner_sub: Some(caller.person.sub.clone()),
            target: Some(target.clone()),
            kind: Some(GrantKind::Terminal),
            active_only: true,
            limit: MOST,
            ..GrantFilter::default()
        };
        let now = self.clock.now();
        let page = self.list(&filter).await.map_err(|_| Refusal::Unavailable)?;
        let mut grants = page.items.into_iter().map(|view| view.grant);
        Ok(grants.find(|grant| ours(grant) && grant.state(now) == GrantState::Active))
    }
}
