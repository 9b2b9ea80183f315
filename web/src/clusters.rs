//! `/`: the list of clusters.

use crate::filters;
use crate::frame::Frame;
use crate::list_query::{ListQuery, ListView};
use crate::parts::{Failure, State};

/// The list: what is asked, what there is.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "clusters.html", blocks = ["title", "main", "list"])]
pub struct ClustersPage {
    /// What is around it.
    pub frame: Frame,
    /// What is asked, as in the URL.
    pub query: ListQuery,
    /// The fleet in four looks; none leaves the strip out.
    pub summary: Option<Summary>,
    /// Clusters in each saved view, where known.
    pub views: Vec<(ListView, Option<u64>)>,
    /// The rows of this page.
    pub rows: Vec<ClusterRow>,
    /// How many match the query.
    pub matched: u64,
    /// How many there are.
    pub total: u64,
    /// Rows of a full page.
    pub page_size: u64,
    /// Nearest name and its path, when nothing is found.
    pub nearest: Option<crate::parts::Link>,
    /// When the data was read.
    pub updated: Option<i64>,
    /// The data is older than it should be: since when.
    pub stale: Option<i64>,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// The fleet in numbers. What nobody measures is none, and its line is left out.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Failed.
    pub failed: u64,
    /// Without an answer.
    pub no_answer: Option<u64>,
    /// Degraded.
    pub degraded: Option<u64>,
    /// With a certificate near its end.
    pub certificates: Option<u64>,
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
    pub longest: Vec<Broken>,
    /// Others that are broken for more than a day.
    pub longest_more: u64,
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

/// A cluster that has been broken for long.
#[derive(Clone, Debug, Default)]
pub struct Broken {
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
pub struct Tally {
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

/// A piece of a meter of thousandths.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its colour.
    pub tone: &'static str,
    /// Its start.
    pub x: u64,
    /// Its width.
    pub width: u64,
}

impl Summary {
    /// Lines of "Need a look".
    #[must_use]
    pub fn looks(&self) -> Vec<Tally> {
        let line = |words, count: Option<u64>, tone, icon, href| {
            count.map(|count| Tally { words, count, tone, icon, href })
        };
        [
            line("Failed", Some(self.failed), "bad", "failed", "/?view=failed"),
            line("No answer", self.no_answer, "bad", "away", "/?state=noanswer"),
            line("Degraded", self.degraded, "warn", "degraded", "/?state=degraded"),
            line("Certificates", self.certificates, "warn", "cert", "/?state=certificate"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Lines of "In progress".
    #[must_use]
    pub fn work(&self) -> Vec<Tally> {
        let line = |words, count, icon, href| Tally { words, count, tone: "busy", icon, href };
        vec![
            line("Installing", self.creating, "busy", "/?state=creating"),
            line("Updating", self.updating, "busy", "/?state=updating"),
            line("Admin update", self.admin_updating, "wrench", "/?state=adminupdating"),
            line("Deleting", self.deleting, "trash", "/?state=deleting"),
        ]
    }

    /// Their sum.
    #[must_use]
    pub fn sum(tallies: &[Tally]) -> u64 {
        tallies.iter().map(|t| t.count).sum()
    }

    /// Shares of the lines in a meter of 1000, four apart; each that is there is at least eight wide.
    #[must_use]
    pub fn pieces(tallies: &[Tally]) -> Vec<Piece> {
        let sum = Self::sum(tallies).max(1);
        let mut x = 0;
        let mut pieces = Vec::new();
        for t in tallies.iter().filter(|t| t.count > 0) {
            let width = (t.count.saturating_mul(1000) / sum).max(12).saturating_sub(4);
            pieces.push(Piece { tone: t.tone, x, width: width.min(1000_u64.saturating_sub(x)) });
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

impl ClustersPage {
    /// First row of this page, from 1.
    #[must_use]
    pub fn first(&self) -> u64 {
        (self.query.page() - 1).saturating_mul(self.page_size) + 1
    }

    /// Last row of this page.
    #[must_use]
    pub fn last(&self) -> u64 {
        let shown = u64::try_from(self.rows.len()).unwrap_or(u64::MAX);
        self.first().saturating_add(shown).saturating_sub(1)
    }

    /// The page after this, if any.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        (self.last() < self.matched).then(|| self.query.at_page(self.query.page().saturating_add(1)).href())
    }

    /// The page before this, if any.
    #[must_use]
    pub fn previous(&self) -> Option<String> {
        (self.query.page() > 1).then(|| self.query.at_page(self.query.page() - 1).href())
    }

    /// "1–50 of 10,214".
    #[must_use]
    pub fn count(&self) -> String {
        use crate::text::number;
        if self.rows.is_empty() {
            format!("0 of {}", number(self.total))
        } else if self.rows.len() == 1 {
            format!("{} of {}", number(self.first()), number(self.matched))
        } else {
            format!("{}–{} of {}", number(self.first()), number(self.last()), number(self.matched))
        }
    }
}
