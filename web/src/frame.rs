//! What every page has around its content.

use askama::filters::Safe;

use crate::filters;
use crate::parts::{Link, Notice, Rights};
use crate::when::{TimeFormat, When};

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
    pub place: NavItem,
    /// Clusters of the region, beside the navigation's item.
    pub clusters: Option<u64>,
    /// Active grants of the person, beside the navigation's item.
    pub grants: Option<u64>,
    /// Other regions; `href` is their portal.
    pub regions: Vec<Link>,
    /// The region is a simulation: said on every page.
    pub simulated: bool,
    /// The person's elevations that are in force, the one that gives most first.
    pub elevations: Vec<Elevation>,
    /// Elevations that wait for this person's decision, beside the navigation's item.
    pub waiting: Option<u64>,
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
    /// May elevate, or ask for it.
    pub may_elevate: bool,
    /// Decides on other people's elevations.
    pub may_approve: bool,
    /// Sees and ends everybody's access; makes robots.
    pub may_admin: bool,
}

impl Person {
    /// Whether elevations are anything to them.
    #[must_use]
    pub fn sees_elevations(&self) -> bool {
        self.may_elevate || self.may_approve || self.may_audit || self.may_admin
    }

    /// Whether they see what is not their own.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.may_audit || self.may_admin
    }
}

/// The banner alone, as every page has it, and the number of requests beside the navigation's item: for the question
/// whether an elevation has begun or ended, or a request waits.
///
/// # Errors
/// Only when formatting fails, which a `String` never does.
pub fn banner(frame: &Frame) -> askama::Result<String> {
    use askama::Template as _;
    Banner { frame }.render()
}

#[derive(askama::Template)]
#[template(path = "parts/banner_answer.html")]
struct Banner<'a> {
    frame: &'a Frame,
}

/// Items of the navigation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NavItem {
    /// Cluster list and the pages of a cluster.
    Clusters,
    /// Alerts of all clusters.
    Alerts,
    /// Operations of all clusters.
    Operations,
    /// One query on many clusters.
    Fleet,
    /// Maintenance of all clusters.
    Maintenance,
    /// Grants.
    Access,
    /// Elevations.
    Elevations,
    /// Robots.
    Robots,
    /// Audit.
    Audit,
    /// Recorded sessions.
    Recordings,
    /// Imported clusters.
    Imported,
    /// Notifications.
    Notifications,
    /// None of them.
    #[default]
    Elsewhere,
}

/// Rights above read-only that are in force, as a banner on every page.
#[derive(Clone, Debug, Default)]
pub struct Elevation {
    /// Its id.
    pub id: String,
    /// Write or admin.
    pub rights: Rights,
    /// The one cluster it is for; none: every cluster.
    pub cluster: Option<Link>,
    /// Taken without an approver.
    pub break_glass: bool,
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
    /// Its shape.
    #[must_use]
    pub fn icon(&self) -> &'static str {
        if self.break_glass { "degraded" } else { "power" }
    }

    /// Time left in thousandths of the whole, for the bar.
    #[must_use]
    pub fn left(&self, now: &i64) -> i64 {
        let whole = self.until.saturating_sub(self.since).max(1);
        let left = self.until.saturating_sub(*now).clamp(0, whole);
        left.saturating_mul(1000) / whole
    }
}

impl Frame {
    /// Which elevations are in force and how many requests wait, for the question whether that has changed.
    #[must_use]
    pub fn elevated(&self) -> String {
        let ids = self.elevations.iter().map(|e| e.id.as_str()).collect::<Vec<_>>().join(".");
        match self.waiting {
            Some(waiting) => format!("{ids}~{waiting}"),
            None => ids,
        }
    }

    /// Whether the person may take grants.
    #[must_use]
    pub fn may_take(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.may_take)
    }

    /// What the title of every page begins with while requests wait for this person: "(2) ", else nothing.
    #[must_use]
    pub fn waiting_lead(&self) -> String {
        self.waiting.filter(|waiting| *waiting > 0).map(|waiting| format!("({waiting}) ")).unwrap_or_default()
    }

    /// "3 h ago".
    #[must_use]
    pub fn ago(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Past)
    }

    /// "47 min", of something that lasts.
    #[must_use]
    pub fn lasting(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Lasting)
    }

    /// "in 24 min".
    #[must_use]
    pub fn coming(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Coming)
    }

    /// "2026-11-21 03:12:00 UTC".
    #[must_use]
    pub fn exact(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Exact)
    }

    /// "3 h ago, 2026-11-21 03:12:00 UTC": for the page of the thing itself.
    #[must_use]
    pub fn either(&self, at: &i64) -> Safe<String> {
        let (past, exact) =
            (When::new(*at, self.now, TimeFormat::Past), When::new(*at, self.now, TimeFormat::Exact));
        Safe(format!("{past} <span class=\"mute\">{exact}</span>"))
    }

    /// "2026-11-21 03:12:09" of a log line; UTC is said in the title.
    #[must_use]
    pub fn moment(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Moment)
    }

    /// "03:12 UTC".
    #[must_use]
    pub fn clock(&self, at: &i64) -> Safe<When> {
        When::new(*at, self.now, TimeFormat::Clock)
    }

    /// Whether a navigation item is the current one.
    #[must_use]
    pub fn at(&self, place: NavItem) -> bool {
        self.place == place
    }
}
