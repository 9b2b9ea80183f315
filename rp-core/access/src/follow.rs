//! Follows the change feeds of grants, elevations and robots, ends what expired, notes what was used.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use rp_base::{Id, Timestamp, chain};
use rp_config::Outage;
use rp_database::{Expect, StoreError};
use rp_documents::{Collection, Grant, GrantUse};
use tokio::time::Instant;

use crate::access::Access;
use crate::active_grant::{ActiveGrant, EndReason};

/// The poll behind the notifications (`contract/rules.md` §3.7).
const POLL: Duration = Duration::from_millis(250);
/// Older than this: live streams are cut.
const CUT_AFTER: Duration = Duration::from_secs(15);
/// Reading the feeds fails after this time.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(2);
/// An unused grant leaves the cache.
const FORGET_AFTER: Duration = Duration::from_secs(600);
/// How often uses are written down.
const NOTE_USES_EVERY: Duration = Duration::from_secs(30);
/// Writing them down fails after this time.
const NOTE_USES_WITHIN: Duration = Duration::from_secs(5);
/// Changes read at once.
const PAGE: u32 = 500;
/// Uses written at once.
const AT_ONCE: usize = 64;

/// How far each feed was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursors {
    pub(crate) grants: i64,
    pub(crate) elevations: i64,
    pub(crate) robots: i64,
}

pub(crate) async fn run(access: Weak<Access>, mut cursors: Cursors) {
    let Some(store) = access.upgrade().map(|access| Arc::clone(&access.store)) else { return };
    let mut grants = store.subscribe(Collection::Grants);
    let mut elevations = store.subscribe(Collection::Elevations);
    let mut robots = store.subscribe(Collection::Robots);
    drop(store);
    tokio::spawn(note(Weak::clone(&access)));
    loop {
        // A notification, the poll, or the end of the store: each leads to a read.
        tokio::select! {
            _ = grants.changed() => {}
            _ = elevations.changed() => {}
            _ = robots.changed() => {}
            () = tokio::time::sleep(POLL) => {}
        }
        let Some(access) = access.upgrade() else { return };
        let began = Instant::now();
        // Bounded: a store that hangs must not keep us from ending what expired.
        match tokio::time::timeout(CATCH_UP_WITHIN, catch_up(&access, &mut cursors)).await {
            Ok(Ok(())) => access.mark_fresh(began),
            Ok(Err(error)) => {
                tracing::warn!(error = %chain(&error), "cannot follow grants");
                // A closed notification channel must not make this a busy loop.
                tokio::time::sleep(POLL).await;
            }
            Err(_) => tracing::warn!("cannot follow grants: the store takes long to answer"),
        }
        sweep(&access);
        access.rounds.ended(access.clock.now());
    }
}

/// Notes uses apart from the feed: many writes must not make it old.
async fn note(access: Weak<Access>) {
    loop {
        tokio::time::sleep(NOTE_USES_EVERY).await;
        let Some(access) = access.upgrade() else { return };
        access.note_uses().await;
    }
}

/// Applies what changed after the cursors and moves them, page by page: what was done stays done when cancelled.
async fn catch_up(access: &Access, cursors: &mut Cursors) -> Result<(), StoreError> {
    catch_up_robots(access, &mut cursors.robots).await?;
    catch_up_elevations(access, &mut cursors.elevations).await?;
    loop {
        let changes = access.store.changes(Collection::Grants, cursors.grants, PAGE).await?;
        // Before they are applied: a read that began earlier and is not in the cache yet must be repeated.
        if !changes.items.is_empty() {
            access.epoch.fetch_add(1, Ordering::AcqRel);
        }
        for change in &changes.items {
            let grant =
                change.document.as_ref().and_then(|stored| serde_json::from_str::<Grant>(&stored.body).ok());
            access.apply(&change.id, grant);
        }
        cursors.grants = changes.cursor;
        if !changes.more {
            return Ok(());
        }
    }
}

async fn catch_up_elevations(access: &Access, cursor: &mut i64) -> Result<(), StoreError> {
    loop {
        let changes = access.elevations.changes(*cursor, PAGE).await?;
        let mut touched = HashSet::new();
        for change in changes.items {
            match change.document {
                Some(read) => {
                    touched.insert(access.privileges.put_elevation(read).id.clone());
                }
                None => {
                    access.privileges.drop_elevation(&change.id);
                    touched.extend(Id::parse(&change.id));
                }
            }
        }
        access.recompute(&touched, &HashSet::new());
        *cursor = changes.cursor;
        if !changes.more {
            return Ok(());
        }
    }
}

async fn catch_up_robots(access: &Access, cursor: &mut i64) -> Result<(), StoreError> {
    loop {
        let changes = access.robots.changes(*cursor, PAGE).await?;
        let mut touched = HashSet::new();
        for change in changes.items {
            match change.document {
                Some(read) => {
                    access.privileges.put_robot(read);
                }
                None => access.privileges.drop_robot(&change.id),
            }
            touched.insert(change.id);
        }
        access.recompute(&HashSet::new(), &touched);
        *cursor = changes.cursor;
        if !changes.more {
            return Ok(());
        }
    }
}

impl Access {
    /// A changed grant replaces the cached one. Streams live on while the grant still has the rights that they
    /// were opened with.
    pub(crate) fn apply(&self, id: &str, grant: Option<Grant>) {
        let mut cache = self.cache.write();
        let Some(old) = cache.get(id).cloned() else {
            if grant.is_none_or(|grant| grant.revoked.is_some()) {
                self.forgotten.lock().remove(id);
            }
            return;
        };
        match grant {
            None => {
                cache.remove(id);
                old.end(EndReason::Revoked);
            }
            Some(grant) if grant == old.grant => {}
            Some(grant) => {
                let revoked = grant.revoked.is_some();
                let live = Arc::new(old.changed(grant.clone(), self.current_rights(&grant)));
                if revoked {
                    live.end(EndReason::Revoked);
                    self.measure_revocation(&live.grant);
                }
                cache.insert(live.grant.id.clone(), live);
            }
        }
    }
}

impl Access {
    /// How long after its revocation a grant in use ended here: what used it was just cancelled.
    fn measure_revocation(&self, grant: &Grant) {
        if let Some(revocation) = &grant.revoked {
            self.metrics.revocation.observe_duration(self.clock.now().since(revocation.at));
        }
    }

    /// Writes down the last use of every grant that was used since it was last done. A process that ends does so, too.
    pub async fn note_uses(&self) {
        let since = *self.uses_noted.lock();
        // Bounded: a store that hangs must not keep the process from its end.
        match tokio::time::timeout(NOTE_USES_WITHIN, note_uses(self, since)).await {
            Ok(noted) => *self.uses_noted.lock() = noted,
            Err(_) => tracing::warn!("cannot note the uses of grants: the store takes long to answer"),
        }
    }

    /// Alarms once when accesses begin to live on unseen, and once when that is over.
    fn report_staleness(&self, blind: bool) {
        if self.blind.swap(blind, Ordering::Relaxed) == blind {
            return;
        }
        self.metrics.blind.set_count(usize::from(blind));
        if blind {
            tracing::error!("the store is away: accesses in use live on, revocations elsewhere are not seen");
        } else {
            tracing::info!("the store is back: revocations are seen again");
        }
    }
}

fn sweep(access: &Access) {
    let now = access.clock.now();
    let away = access.age() > CUT_AFTER;
    let unsure = away && access.policy.outage == Outage::Refuse;
    access.report_staleness(away && !unsure);
    let mut cache = access.cache.write();
    let mut forgotten = access.forgotten.lock();
    cache.retain(|_, live| {
        if unsure {
            forgotten.insert(live);
            live.end(EndReason::Unsure);
            return false;
        }
        if live.is_due(now) {
            access.refresh_rights(live);
        }
        if let Some(why) = live.ended(now) {
            live.end(why);
        }
        // An ended grant stays a while, so that late requests learn why without a query.
        let (used, _) = live.last_use();
        let idle = now.since(used.max(live.grant.created)) > FORGET_AFTER;
        // A grant that is still in use must stay in the cache, or it could not be ended any more.
        let stays = !idle || ActiveGrant::is_held(live);
        if !stays {
            forgotten.insert(live);
        }
        stays
    });
    drop(cache);
    forgotten.prune(now);
    drop(forgotten);
    access.sweep_privileges(now);
}

/// Writes down the last use of every grant used since `since`. The last writer wins: only the newest use matters.
async fn note_uses(access: &Access, since: Timestamp) -> Timestamp {
    let used: Vec<GrantUse> = {
        let cache = access.cache.read();
        // A renewal's uses are its parent's.
        let known = cache.values().filter(|live| !live.grant.renewal);
        let recent = known.map(|live| (live, live.last_use())).filter(|(_, (at, _))| *at > since);
        recent
            .map(|(live, (at, from))| GrantUse {
                id: live.grant.id.clone(),
                last_used: at,
                from: from.map(|ip| ip.to_string()).unwrap_or_default(),
            })
            .collect()
    };
    let mut newest = since;
    // Many at once, for the store writes what comes together in one go.
    let writes = used.into_iter().map(|grant_use| async move {
        let at = grant_use.last_used;
        access.uses.put(grant_use, Expect::Any).await.map(|_| at)
    });
    let mut writes = futures_util::stream::iter(writes).buffer_unordered(AT_ONCE);
    while let Some(written) = writes.next().await {
        match written {
            Ok(at) => newest = newest.max(at),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "cannot note the use of a grant");
                return since;
            }
        }
    }
    newest
}
