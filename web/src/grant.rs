//! `/access/{id}`: one grant, what it is used for and what was done with it.

use crate::audit::AuditRow;
use crate::cluster::Section;
use crate::elevations::ElevationRow;
use crate::filters;
use crate::frame::Frame;
use crate::grants::GrantRow;
use crate::parts::{Failure, Link};

/// One grant.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "grant.html", blocks = ["list"])]
pub struct GrantPage {
    /// What is around it.
    pub frame: Frame,
    /// The grant.
    pub grant: GrantRow,
    /// The owner's subject at the provider, or a robot's.
    pub subject: String,
    /// From where it was last used, or empty.
    pub last_from: String,
    /// The elevation that its rights come from.
    pub elevation: Option<ElevationRow>,
    /// The grant that it is a child of.
    pub parent: Option<Link>,
    /// Where a tunnel or shell may go.
    pub destinations: Vec<String>,
    /// Where the recordings of its sessions are listed; empty: there are none, or they are not for this person.
    pub recordings: String,
    /// Streams that are open now, by replica.
    pub streams: Vec<StreamRow>,
    /// Its entries in the audit, newest first.
    pub audit: Section<AuditRow>,
    /// Where the page asks whether anything has changed; empty: it does not.
    pub live: String,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// Open streams of a grant on one replica.
#[derive(Clone, Debug, Default)]
pub struct StreamRow {
    /// The replica that carries them.
    pub replica: String,
    /// How many.
    pub count: u64,
    /// The oldest one's start.
    pub since: i64,
    /// What they are, e.g. `watch pods openshift-etcd`; not always all of them.
    pub what: Vec<String>,
}

impl StreamRow {
    /// How many are not listed one by one.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.count.saturating_sub(u64::try_from(self.what.len()).unwrap_or(u64::MAX))
    }
}

impl GrantPage {
    /// Streams on all replicas.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.streams.iter().map(|row| row.count).fold(0, u64::saturating_add)
    }
}
