//! Follows the grants' change feed, ends what expired, notes what was used.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rp_base::{Timestamp, chain};
use rp_database::Expect;
use rp_documents::{Collection, Grant, GrantUse};
use tokio::time::Instant;

use crate::access::Access;
use crate::live::{Ended, Live};

/// The poll behind the notifications (`design.md` §3 Freshness).
const POLL: Duration = Duration::from_millis(250);
/// Older than this: live streams are cut.
const CUT_AFTER: Duration = Duration::from_secs(15);
/// A look at the feed that takes longer has failed.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(2);
/// An unused grant leaves the cache.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// How often uses are written down.
const NOTE_USES_EVERY: Duration = Duration::from_secs(30);

pub(crate) async fn run(access: Weak<Access>, mut cursor: i64) {
    let Some(mut wake) = access.upgrade().map(|access| access.store.subscribe(Collection::Grants)) else {
        return;
    };
    tokio::spawn(note(Weak::clone(&access)));
    loop {
        // A notification, the poll, or the end of the store: each leads to a read.
        let _ = tokio::time::timeout(POLL, wake.changed()).await;
        let Some(access) = access.upgrade() else { return };
        let began = Instant::now();
        // Bounded: a store that hangs must not keep us from ending what expired.
        match tokio::time::timeout(CATCH_UP_WITHIN, catch_up(&access, &mut cursor)).await {
            Ok(Ok(())) => access.mark_fresh(began),
            Ok(Err(error)) => {
                tracing::warn!(error = %chain(&error), "cannot follow grants");
                // A closed notification channel must not make this a busy loop.
                tokio::time::sleep(POLL).await;
            }
            Err(_) => tracing::warn!("cannot follow grants: the store takes long to answer"),
        }
        sweep(&access);
    }
}

/// Notes uses apart from the feed: many writes must not make it old.
async fn note(access: Weak<Access>) {
    let mut last = Timestamp::default();
    loop {
        tokio::time::sleep(NOTE_USES_EVERY).await;
        let Some(access) = access.upgrade() else { return };
        last = note_uses(&access, last).await;
    }
}

/// Applies what changed after the cursor and moves it, page by page: what was done stays done when cancelled.
async fn catch_up(access: &Access, cursor: &mut i64) -> Result<(), rp_database::StoreError> {
    loop {
        let changes = access.store.changes(Collection::Grants, *cursor, 500).await?;
        // Before they are applied: a read that began earlier and is not in the cache yet must be repeated.
        if !changes.items.is_empty() {
            access.epoch.fetch_add(1, Ordering::AcqRel);
        }
        for change in &changes.items {
            let grant =
                change.document.as_ref().and_then(|stored| serde_json::from_str::<Grant>(&stored.body).ok());
            apply(access, &change.id, grant);
        }
        *cursor = changes.cursor;
        if !changes.more {
            return Ok(());
        }
    }
}

/// A changed grant replaces the cached one; streams live on only when nothing but the end moved later.
fn apply(access: &Access, id: &str, grant: Option<Grant>) {
    let Some(old) = access.cache.read().get(id).cloned() else { return };
    match grant {
        None => {
            access.cache.write().remove(id);
            old.end(Ended::Revoked);
        }
        Some(grant) if grant == old.grant => {}
        Some(grant) => {
            let revoked = grant.revoked.is_some();
            let held = access.held(&grant);
            let live = Arc::new(old.changed(grant, held));
            if revoked {
                live.end(Ended::Revoked);
            } else if live.rights < old.rights {
                live.end(Ended::RightsLost);
            }
            access.cache.write().insert(live.grant.id.clone(), live);
        }
    }
}

fn sweep(access: &Access) {
    let now = access.clock.now();
    let unsure = access.age() > CUT_AFTER;
    access.cache.write().retain(|_, live| {
        if unsure {
            live.end(Ended::Unsure);
            return false;
        }
        if let Some(why) = live.ended(now) {
            live.end(why);
        }
        // An ended grant stays a while, so that late requests learn why without a query.
        let (used, _) = live.last_use();
        let idle = now.since(used.max(live.grant.created)) > FORGET_AFTER;
        // What is still used could not be ended any more.
        !idle || Live::is_held(live)
    });
}

/// Writes down the last use of every grant used since `since`. The last writer wins: only the newest use matters.
async fn note_uses(access: &Access, since: Timestamp) -> Timestamp {
    let used: Vec<GrantUse> = {
        let cache = access.cache.read();
        let recent = cache.values().map(|live| (live, live.last_use())).filter(|(_, (at, _))| *at > since);
        recent
            .map(|(live, (at, from))| GrantUse {
                id: live.grant.id.clone(),
                last_used: at,
                from: from.map(|ip| ip.to_string()).unwrap_or_default(),
            })
            .collect()
    };
    let mut newest = since;
    for grant_use in used {
        let at = grant_use.last_used;
        let written = access.uses.put(grant_use, Expect::Any).await;
        match written {
            Ok(_) => newest = newest.max(at),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "cannot note the use of a grant");
                return since;
            }
        }
    }
    newest
}
