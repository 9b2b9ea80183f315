//! `{RES}/report`: who had access to a cluster, why, and what they did. Made to be printed and handed over.

use serde::Deserialize;

use crate::audit::{AuditRow, Chain};
use crate::filters;
use crate::frame::Frame;
use crate::grants::GrantRow;
use crate::parts::Failure;
use crate::query::Query;

/// The report.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "report.html", blocks = ["title", "main"])]
pub struct ReportPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// Its resource id.
    pub resource_id: String,
    /// What is asked.
    pub query: ReportQuery,
    /// What is wrong with the range.
    pub range_error: Option<String>,
    /// The range as it was understood.
    pub from: i64,
    /// Its end.
    pub to: i64,
    /// Whoever had access or acted, by name.
    pub people: Vec<ReportPerson>,
    /// Entries that were read for it.
    pub entries: u64,
    /// There is more in that range than fits: the report says up to where it is whole.
    pub cut_at: Option<i64>,
    /// State of the chain.
    pub chain: Chain,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// The range, as in the URL: `2026-11-21` or RFC 3339; times without a zone are UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ReportQuery {
    /// From.
    pub from: String,
    /// To, exclusive; a day is taken whole.
    pub to: String,
}

/// One person, or robot.
#[derive(Clone, Debug, Default)]
pub struct ReportPerson {
    /// Name or account.
    pub name: String,
    /// Subject at the provider.
    pub subject: String,
    /// Grants they held in the range, oldest first.
    pub grants: Vec<ReportGrant>,
    /// What they did without a grant: on pages of the portal.
    pub beside: Vec<ReportAction>,
}

/// One grant and what was done with it.
#[derive(Clone, Debug, Default)]
pub struct ReportGrant {
    /// The grant.
    pub grant: GrantRow,
    /// Who approved the elevation behind it, or how it was come by; empty for read-only.
    pub elevation: String,
    /// What was done, oldest first; equal ones are one line.
    pub actions: Vec<ReportAction>,
}

/// What was done, once or many times.
#[derive(Clone, Debug, Default)]
pub struct ReportAction {
    /// The first of them.
    pub entry: AuditRow,
    /// The last one's time.
    pub last: i64,
    /// How often.
    pub count: u64,
    /// It changed something, or read a secret.
    pub weighty: bool,
}

impl ReportPage {
    /// Where it is downloaded as `json` or `csv`.
    #[must_use]
    pub fn download(&self, format: &str) -> String {
        let mut url = Query::new("/api/v1/audit/report");
        url.add("target", &self.resource_id);
        url.add("from", &crate::when::iso(self.from));
        url.add("to", &crate::when::iso(self.to));
        url.add("format", format);
        url.done()
    }

    /// Grants in it.
    #[must_use]
    pub fn grants(&self) -> u64 {
        self.people.iter().map(|person| person.grants.len() as u64).fold(0, u64::saturating_add)
    }

    /// Actions that changed something or read a secret.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let of = |actions: &[ReportAction]| -> u64 {
            actions
                .iter()
                .filter(|action| action.weighty)
                .map(|action| action.count)
                .fold(0, u64::saturating_add)
        };
        let person = |person: &ReportPerson| {
            let grants: u64 =
                person.grants.iter().map(|grant| of(&grant.actions)).fold(0, u64::saturating_add);
            grants.saturating_add(of(&person.beside))
        };
        self.people.iter().map(person).fold(0, u64::saturating_add)
    }
}
