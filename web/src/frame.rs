//! What every page has around its content.

use askama::filters::Safe;

use crate::parts::{Link, Notice, Rights};
use crate::when::{Told, When};

/// Name of the hidden form field that carries the CSRF token. htmx and our script send the same
/// token as `X-CSRF-Token`.
pub const CSRF_FIELD: &str = "csrf_token";

/// Header, navigation and what every page must know.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Region of this service, e.g. `westeurope`.
    pub region: String,
    /// The server's clock, seconds since 1970 UTC.
    pub now: i64,
    /// Who is signed in; none on pages before sign-in.
    pub person: Option<Person>,
    /// Token for forms.
    pub csrf: String,
    /// Id of this request.
    pub request_id: String,
    /// Path and query of this page: where sign-in comes back to.
    pub path: String,
    /// Which item of the navigation is current.
    pub place: Place,
    /// Clusters of the region, beside the navigation's item.
    pub clusters: Option<u64>,
    /// Active grants of the person, beside the navigation's item.
    pub grants: Option<u64>,
    /// Other regions; `href` is their portal.
    pub regions: Vec<Link>,
    /// The region is a simulation: said on every page.
    pub simulated: bool,
    /// The elevation that is in force.
    pub elevation: Option<Elevation>,
    /// Of the service itself: store read-only, changes late. Under the header of every page.
    pub notices: Vec<Notice>,
    /// What the person just did; shown once.
    pub toasts: Vec<Notice>,
    /// The session is over: the dialog lies over the page.
    pub session_ended: bool,
}

/// The person at the screen.
#[derive(Clone, Debug, Default)]
pub struct Person {
    /// Name as the provider gives it, else the account.
    pub name: String,
    /// Account, e.g. `juno.aaltonen@example.com`.
    pub account: String,
    /// Roles held now: `viewer`, `sre`, `elevated`, `approver`, `auditor`, `admin`.
    pub roles: Vec<String>,
    /// May take grants.
    pub may_take: bool,
    /// May read the audit.
    pub may_audit: bool,
    /// May import clusters.
    pub may_import: bool,
}

/// Items of the navigation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Cluster list and the pages of a cluster.
    Clusters,
    /// My access.
    Access,
    /// Audit.
    Audit,
    /// Imported clusters.
    Imported,
    /// None of them.
    #[default]
    Elsewhere,
}

/// Rights above read-only that are in force, as a banner on every page.
#[derive(Clone, Debug, Default)]
pub struct Elevation {
    /// Write or admin.
    pub rights: Rights,
    /// Cluster.
    pub cluster: Link,
    /// Reason given.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
    /// Who approved it, or empty.
    pub approved_by: String,
    /// Its start.
    pub since: i64,
    /// Its end.
    pub until: i64,
}

impl Elevation {
    /// Time left in thousandths of the whole, for the bar.
    #[must_use]
    pub fn left(&self, now: &i64) -> i64 {
        let whole = self.until.saturating_sub(self.since).max(1);
        let left = self.until.saturating_sub(*now).clamp(0, whole);
        left.saturating_mul(1000) / whole
    }
}

impl Frame {
    /// "3 h ago".
    #[must_use]
    pub fn ago(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Past)
    }

    /// "47 min", of something that lasts.
    #[must_use]
    pub fn lasting(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Lasting)
    }

    /// "in 24 min".
    #[must_use]
    pub fn coming(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Coming)
    }

    /// "2026-11-21 03:12:00 UTC".
    #[must_use]
    pub fn exact(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Exact)
    }

    /// "3 h ago, 2026-11-21 03:12:00 UTC": for the page of the thing itself.
    #[must_use]
    pub fn either(&self, at: &i64) -> Safe<String> {
        let (past, exact) = (When::new(*at, self.now, Told::Past), When::new(*at, self.now, Told::Exact));
        Safe(format!("{past} <span class=\"mute\">{exact}</span>"))
    }

    /// "2026-11-21 03:12:09" of a log line; UTC is said in the title.
    #[must_use]
    pub fn moment(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Moment)
    }

    /// "03:12 UTC".
    #[must_use]
    pub fn clock(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, Told::Clock)
    }

    /// Whether a navigation item is the current one.
    #[must_use]
    pub fn at(&self, place: Place) -> bool {
        self.place == place
    }
}
