//! What grants above reading rest on: elevations and robots, cached, following their change feeds.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rp_base::{Id, Timestamp};
use rp_database::{Span, StoreError, Version, Versioned};
use rp_documents::elevation::ElevationState;
use rp_documents::{Elevation, Grant, Robot};

use crate::access::Access;
use crate::rights::{self, CurrentRights};

/// An elevation that is over stays known for so long, so that late grants need no query to learn it.
const KEEP_OVER: Duration = Duration::from_secs(3600);

/// The two caches.
#[derive(Debug, Default)]
pub(crate) struct PrivilegeCache {
    elevations: RwLock<HashMap<Id, (Version, Arc<Elevation>)>>,
    robots: RwLock<HashMap<String, (Version, Arc<Robot>)>>,
}

impl PrivilegeCache {
    /// Takes an elevation as it was read or written; an older reading than the known one is not taken.
    pub(crate) fn put_elevation(&self, read: Versioned<Elevation>) -> Arc<Elevation> {
        let mut known = self.elevations.write();
        if let Some((version, elevation)) = known.get(&read.value.id)
            && *version >= read.version
        {
            return Arc::clone(elevation);
        }
        let elevation = Arc::new(read.value);
        known.insert(elevation.id.clone(), (read.version, Arc::clone(&elevation)));
        elevation
    }

    pub(crate) fn elevation(&self, id: &Id) -> Option<Arc<Elevation>> {
        self.elevations.read().get(id).map(|(_, elevation)| Arc::clone(elevation))
    }

    /// Forgets a deleted elevation.
    pub(crate) fn drop_elevation(&self, id: &str) {
        self.elevations.write().remove(id);
    }

    pub(crate) fn active(&self, sub: &str, now: Timestamp) -> Vec<Arc<Elevation>> {
        let known = self.elevations.read();
        let mine = known.values().map(|(_, elevation)| elevation).filter(|each| each.owner.sub == sub);
        mine.filter(|each| each.state(now) == ElevationState::Active).cloned().collect()
    }

    /// As [`PrivilegeCache::put_elevation`].
    pub(crate) fn put_robot(&self, read: Versioned<Robot>) -> Arc<Robot> {
        let mut known = self.robots.write();
        if let Some((version, robot)) = known.get(&read.value.name)
            && *version >= read.version
        {
            return Arc::clone(robot);
        }
        let robot = Arc::new(read.value);
        known.insert(robot.name.clone(), (read.version, Arc::clone(&robot)));
        robot
    }

    pub(crate) fn robot(&self, name: &str) -> Option<Arc<Robot>> {
        self.robots.read().get(name).map(|(_, robot)| Arc::clone(robot))
    }

    pub(crate) fn drop_robot(&self, name: &str) {
        self.robots.write().remove(name);
    }

    pub(crate) fn all_robots(&self) -> Vec<Arc<Robot>> {
        self.robots.read().values().map(|(_, robot)| Arc::clone(robot)).collect()
    }

    /// Forgets elevations that were over long ago.
    fn sweep(&self, now: Timestamp) {
        self.elevations.write().retain(|_, (_, elevation)| {
            let end = elevation.not_after.unwrap_or(elevation.asked + Elevation::REQUEST_LIFE);
            now < end + KEEP_OVER
        });
    }
}

impl Access {
    /// Reads what is in force: the elevations of the last hours and the robots. Their number does not grow with
    /// the age of the store.
    pub(crate) async fn load_privileges(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.walk_elevations(Span::All, now - self.elevation_window(), |read| {
            self.privileges.put_elevation(read);
            ControlFlow::Continue(())
        })
        .await?;
        for read in self.robots.all().await? {
            self.privileges.put_robot(read);
        }
        Ok(())
    }

    /// An elevation asked for longer ago than this is over, unless the policy was changed since.
    pub(crate) fn elevation_window(&self) -> Duration {
        self.policy.elevation.max_life + Elevation::REQUEST_LIFE
    }

    /// Visits elevations, newest first, until one is older than `oldest` or the visitor breaks off.
    pub(crate) async fn walk_elevations(
        &self,
        span: Span<'_>,
        oldest: Timestamp,
        mut visit: impl FnMut(Versioned<Elevation>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut after: Option<String> = None;
        loop {
            let page = self.elevations.scan(span, after.as_deref(), 200).await?;
            for read in page.items {
                if read.value.id.made().is_some_and(|made| made < oldest) || visit(read).is_break() {
                    return Ok(());
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Makes sure that the elevation or robot of a grant is cached: another replica may have made it a moment ago.
    pub(crate) async fn cache_privileges_of(&self, grant: &Grant) -> Result<(), StoreError> {
        if let Some(id) = &grant.elevation_id
            && self.privileges.elevation(id).is_none()
            && let Some(read) = self.elevations.get(id.as_str()).await?
        {
            self.privileges.put_elevation(read);
        }
        if let Some(name) = Robot::name_in(&grant.owner.sub)
            && self.privileges.robot(name).is_none()
            && let Some(read) = self.robots.get(name).await?
        {
            self.privileges.put_robot(read);
        }
        Ok(())
    }

    /// What a grant's owner holds for it now.
    pub(crate) fn current_rights(&self, grant: &Grant) -> CurrentRights {
        let now = self.clock.now();
        if let Some(name) = Robot::name_in(&grant.owner.sub) {
            return rights::for_robot(grant, self.privileges.robot(name).as_deref(), now);
        }
        if grant.owner.is_automated() {
            return rights::for_automation(grant);
        }
        let elevation = grant.elevation_id.as_ref().and_then(|id| self.privileges.elevation(id));
        let roles = self.policy.roles_of(&grant.owner.groups);
        rights::for_person(grant, roles, self.policy.most_rights(roles), elevation.as_deref(), now)
    }

    /// Computes again the rights of the cached grants that depend on these elevations and robots.
    pub(crate) fn recompute(&self, elevations: &HashSet<Id>, robots: &HashSet<String>) {
        if elevations.is_empty() && robots.is_empty() {
            return;
        }
        let mut cache = self.cache.write();
        for live in cache.values_mut() {
            let grant = &live.grant;
            let concerned = grant.elevation_id.as_ref().is_some_and(|id| elevations.contains(id))
                || Robot::name_in(&grant.owner.sub).is_some_and(|name| robots.contains(name));
            if concerned {
                self.refresh_rights(live);
            }
        }
    }

    /// Replaces a cached grant when its owner holds something else for it now.
    pub(crate) fn refresh_rights(&self, live: &mut Arc<crate::ActiveGrant>) {
        let held = self.current_rights(&live.grant);
        if held != live.held {
            *live = Arc::new(live.changed(live.grant.clone(), held));
        }
    }

    pub(crate) fn sweep_privileges(&self, now: Timestamp) {
        self.privileges.sweep(now);
    }
}
