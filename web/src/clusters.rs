//! `/`: the list of clusters.

use crate::columns::Column;
use crate::components::LastLook;
use crate::filters;
use crate::frame::Frame;
use crate::list_query::{ListQuery, ListView};
use crate::parts::{Failure, State};

/// The list: what is asked, what there is.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "clusters.html", blocks = ["list"])]
pub struct ClustersPage {
    /// What is around it.
    pub frame: Frame,
    /// What is asked, as in the URL.
    pub query: ListQuery,
    /// The fleet in four looks; none leaves the strip out.
    pub summary: Option<Summary>,
    /// Clusters in each view that everybody has, where known.
    pub views: Vec<(ListView, Option<u64>)>,
    /// Saved views: the person's own, then shared ones.
    pub saved: Vec<SavedLink>,
    /// What can be chosen in the filters.
    pub facets: Facets,
    /// Columns that are shown, beside the name.
    pub columns: Vec<Column>,
    /// The rows of this page.
    pub rows: Vec<ClusterRow>,
    /// Place of the first row among all that match, from 1.
    pub first: u64,
    /// Where the rows before and after these are.
    pub around: (Option<String>, Option<String>),
    /// How many match the query.
    pub matched: u64,
    /// How many there are.
    pub total: u64,
    /// Nearest name and its path, when nothing is found.
    pub nearest: Option<crate::parts::Link>,
    /// When the data was read.
    pub updated: Option<i64>,
    /// Which state of the fleet this is, for the question whether it has changed.
    pub seen: String,
    /// The data is older than it should be: since when.
    pub stale: Option<i64>,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// A kept view, as a tab.
#[derive(Clone, Debug, Default)]
pub struct SavedLink {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The list in it.
    pub href: String,
    /// Whether it is the one that is shown.
    pub current: bool,
    /// Whether the person may remove it.
    pub mine: bool,
    /// Whether everybody sees it.
    pub shared: bool,
    /// Who keeps it.
    pub owner: String,
}

/// Values that occur, with how often; the most frequent first.
#[derive(Clone, Debug, Default)]
pub struct Facets {
    /// Degraded operators.
    pub operators: Vec<(String, u64)>,
    /// Firing alerts.
    pub alerts: Vec<(String, u64)>,
    /// Parts of looks that failed.
    pub collectors: Vec<(String, u64)>,
    /// Regions.
    pub regions: Vec<(String, u64)>,
}

/// The fleet in numbers: each cluster is counted once, so that failed, without an answer, degraded, canceled, with a
/// certificate near its end, unchecked, in progress (four numbers), healthy and other ones add up to all.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Failed.
    pub failed: u64,
    /// Without an answer.
    pub no_answer: u64,
    /// Degraded.
    pub degraded: u64,
    /// Whose last operation was cancelled.
    pub canceled: u64,
    /// Well, with a certificate near its end.
    pub certificates: u64,
    /// Being installed.
    pub creating: u64,
    /// Being updated.
    pub updating: u64,
    /// Being updated by us.
    pub admin_updating: u64,
    /// Being deleted.
    pub deleting: u64,
    /// Start of the oldest operation that runs.
    pub oldest: Option<i64>,
    /// Clusters of each minor version, oldest first; at most six.
    pub versions: Vec<VersionCount>,
    /// Longest broken first; at most three.
    pub longest: Vec<BrokenCluster>,
    /// All that are broken for more than a day: what [`Self::LONG_BROKEN`] lists.
    pub long_broken: u64,
    /// Installations that run, by their phase.
    pub phases: Vec<(String, u64)>,
    /// Checked lately, and well.
    pub healthy: u64,
    /// Not checked for a quarter of an hour, or never.
    pub unchecked: u64,
    /// Of none of these, e.g. in maintenance.
    pub other: u64,
}

/// One bar of the histogram.
#[derive(Clone, Debug, Default)]
pub struct VersionCount {
    /// `4.18`, or `≤ 4.15`.
    pub label: String,
    /// Value of the version filter, e.g. `4.18` or `<4.16`.
    pub filter: String,
    /// How many.
    pub count: u64,
    /// No longer supported.
    pub old: bool,
}

/// A cluster that has been broken for a long time.
#[derive(Clone, Debug, Default)]
pub struct BrokenCluster {
    /// Its name.
    pub name: String,
    /// Its page.
    pub href: String,
    /// Its state.
    pub state: State,
    /// Since when.
    pub since: i64,
}

/// One line of the strip: words, count, tone, icon, address.
#[derive(Clone, Debug)]
pub struct SummaryLine {
    /// Its words.
    pub words: &'static str,
    /// How many.
    pub count: u64,
    /// Its colour.
    pub tone: &'static str,
    /// Its shape.
    pub icon: &'static str,
    /// The filtered list.
    pub href: &'static str,
}

/// A segment of a meter that is 1000 units wide.
#[derive(Clone, Copy, Debug)]
pub struct MeterSegment {
    /// Its colour.
    pub tone: &'static str,
    /// Its start.
    pub x: u64,
    /// Its width.
    pub width: u64,
}

impl Summary {
    /// The list of those that are broken for more than a day, longest first.
    pub const LONG_BROKEN: &str = "/?state=failed%2Cnoanswer%2Cdegraded&age=24h&sort=age";

    /// Lines of "Needs attention"; each opens a list of as many clusters.
    #[must_use]
    pub fn looks(&self) -> Vec<SummaryLine> {
        let line = |words, count, tone, icon, href| SummaryLine { words, count, tone, icon, href };
        let mut lines = vec![
            line("Failed", self.failed, "bad", "failed", "/?view=failed"),
            line("No answer", self.no_answer, "bad", "away", "/?state=noanswer"),
            line("Degraded", self.degraded, "warn", "degraded", "/?state=degraded"),
            line("Certificates", self.certificates, "warn", "cert", "/?view=certificates"),
            line("Not checked", self.unchecked, "warn", "eye", "/?view=unchecked"),
        ];
        if self.canceled > 0 {
            lines.push(line("Canceled", self.canceled, "warn", "revoke", "/?state=canceled"));
        }
        lines
    }

    /// Lines of "In progress".
    #[must_use]
    pub fn work(&self) -> Vec<SummaryLine> {
        let line = |words, count, icon, href| SummaryLine { words, count, tone: "busy", icon, href };
        vec![
            line("Installing", self.creating, "busy", "/?state=creating"),
            line("Updating", self.updating, "busy", "/?state=updating"),
            line("Admin update", self.admin_updating, "wrench", "/?state=adminupdating"),
            line("Deleting", self.deleting, "trash", "/?state=deleting"),
        ]
    }

    /// Their sum.
    #[must_use]
    pub fn sum(tallies: &[SummaryLine]) -> u64 {
        tallies.iter().map(|t| t.count).sum()
    }

    /// Shares of the lines in a meter of 1000, four apart; each that is there is at least eight wide.
    #[must_use]
    pub fn pieces(tallies: &[SummaryLine]) -> Vec<MeterSegment> {
        let sum = Self::sum(tallies).max(1);
        let mut x = 0;
        let mut pieces = Vec::new();
        for t in tallies.iter().filter(|t| t.count > 0) {
            let width = (t.count.saturating_mul(1000) / sum).max(12).saturating_sub(4);
            pieces.push(MeterSegment { tone: t.tone, x, width: width.min(1000_u64.saturating_sub(x)) });
            x = (x + width + 4).min(1000);
        }
        pieces
    }

    /// Height of a bar in hundredths of the highest, at least 2 when there is one.
    #[must_use]
    pub fn height(&self, count: &u64) -> u64 {
        let most = self.versions.iter().map(|v| v.count).max().unwrap_or(0).max(1);
        let height = count.saturating_mul(98) / most;
        if *count > 0 { height.max(2) } else { 0 }
    }
}

/// One cluster in the list.
#[derive(Clone, Debug, Default)]
pub struct ClusterRow {
    /// Its name, as it was written.
    pub name: String,
    /// Path of its page: the resource id in lower case, each segment percent-encoded.
    pub path: String,
    /// Resource id, to be copied.
    pub resource_id: String,
    /// Resource group.
    pub group: String,
    /// Subscription id.
    pub subscription: String,
    /// Its state.
    pub state: State,
    /// Since when it is in it, where known.
    pub since: Option<i64>,
    /// What is wrong or goes on, in one sentence; empty when nothing is.
    pub wrong: String,
    /// OpenShift or Kubernetes version.
    pub version: String,
    /// Second line of the version, e.g. `to 4.19.9, 62 %` or `Kubernetes`.
    pub version_note: String,
    /// When it was created.
    pub created: Option<i64>,
    /// When its document last changed.
    pub modified: Option<i64>,
    /// Imported, not ours.
    pub imported: bool,
    /// Who imported it.
    pub imported_by: String,
    /// What picks it: its name, or its resource id where another has the same name.
    pub pick: String,
    /// Azure region.
    pub region: String,
    /// Degraded operators.
    pub operators: Vec<String>,
    /// Nodes that are ready, and all of them.
    pub nodes: Option<(u64, u64)>,
    /// Firing alerts.
    pub alerts: Vec<String>,
    /// End of the first certificate to end.
    pub certificate: Option<i64>,
    /// The monitor's last look; none: there was none yet.
    pub look: Option<LastLook>,
    /// Visibility of the API.
    pub api: String,
    /// Architecture version.
    pub architecture: String,
    /// Maintenance.
    pub maintenance: String,
    /// Phase of an installation.
    pub phase: String,
    /// Infrastructure id.
    pub infra: String,
    /// Commit of the service that provisioned it.
    pub provisioned: String,
}

impl ClusterRow {
    /// Second line of the name.
    #[must_use]
    pub fn under(&self) -> String {
        if !self.imported {
            self.group.clone()
        } else if self.imported_by.is_empty() {
            "imported".to_owned()
        } else {
            format!("imported by {}", self.imported_by)
        }
    }
}

impl ClusterRow {
    /// The first of some names, and how many more there are.
    #[must_use]
    pub fn few(&self, names: &[String]) -> String {
        let shown = names.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(", ");
        match names.len() {
            0..=2 => shown,
            many => format!("{shown} and {} more", many - 2),
        }
    }

    /// The certificate ends within 30 days, or has ended.
    #[must_use]
    pub fn certificate_soon(&self, now: &i64) -> bool {
        self.certificate.is_some_and(|end| end < now.saturating_add(30 * 86_400))
    }
}

impl ClustersPage {
    /// Last row of this page.
    #[must_use]
    pub fn last(&self) -> u64 {
        let shown = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(shown).saturating_sub(1)
    }

    /// The page after this, if any.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        self.around.1.as_ref().map(|place| self.query.after(place).href())
    }

    /// The page before this, if any.
    #[must_use]
    pub fn previous(&self) -> Option<String> {
        self.around.0.as_ref().map(|place| self.query.before(place).href())
    }

    /// States to filter by: value and words.
    pub(crate) fn states(&self) -> [(&'static str, &'static str); 12] {
        [
            ("failed", "Failed"),
            ("noanswer", "No answer"),
            ("degraded", "Degraded"),
            ("creating", "Creating"),
            ("updating", "Updating"),
            ("adminupdating", "Admin update"),
            ("deleting", "Deleting"),
            ("canceled", "Canceled"),
            ("maintenance", "Maintenance"),
            ("healthy", "Healthy"),
            ("succeeded", "Succeeded"),
            ("imported", "Imported, not checked"),
        ]
    }

    /// Whether a column is shown.
    #[must_use]
    pub fn has(&self, column: impl std::borrow::Borrow<Column>) -> bool {
        self.columns.contains(column.borrow())
    }

    /// Where the list asks whether it has changed.
    #[must_use]
    pub fn live(&self) -> String {
        let href = self.query.href();
        let join = if href.contains('?') { '&' } else { '?' };
        format!("{href}{join}seen={}", self.seen)
    }

    /// A kept view is shown: its name.
    #[must_use]
    pub fn view_words(&self) -> String {
        let saved = self.saved.iter().find(|saved| saved.current);
        saved.map_or_else(|| self.query.view.words().to_owned(), |saved| saved.name.clone())
    }

    /// Whether one of the tabs of everybody is current: a kept view is not shown.
    #[must_use]
    pub fn in_view(&self, view: &ListView) -> bool {
        self.query.view == *view && !self.saved.iter().any(|saved| saved.current)
    }

    /// "1–50 of 10,214".
    #[must_use]
    pub fn count(&self) -> String {
        use crate::text::number;
        if self.rows.is_empty() {
            format!("0 of {}", number(self.total))
        } else if self.rows.len() == 1 {
            format!("{} of {}", number(self.first), number(self.matched))
        } else {
            format!("{}–{} of {}", number(self.first), number(self.last()), number(self.matched))
        }
    }
}
