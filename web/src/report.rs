//! `{RES}/report`: who had access to a cluster, why, and what they did. Made to be printed and handed over.

use serde::Deserialize;

use crate::audit::Chain;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Rights};
use crate::query::Query;

/// The report.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "report.html")]
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
    /// The people who had access or acted, by name.
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
    /// Addresses they came from.
    pub from: Vec<String>,
    /// Their elevations, oldest first: when, what happened, which rights, by whom, why.
    pub elevations: Vec<ReportElevation>,
    /// Their grants, oldest first; one without an id is what they did on pages of the portal.
    pub grants: Vec<ReportGrant>,
}

/// A step in the life of an elevation.
#[derive(Clone, Debug, Default)]
pub struct ReportElevation {
    /// When.
    pub at: i64,
    /// `asked for`, `approved`, `taken by break-glass`.
    pub what: String,
    /// `write`, `admin`.
    pub rights: String,
    /// Who did it.
    pub by: String,
    /// With what words.
    pub reason: String,
}

/// One grant and what was done with it.
#[derive(Clone, Debug, Default)]
pub struct ReportGrant {
    /// Its id, or empty.
    pub id: String,
    /// Kind, e.g. `kubeconfig`.
    pub kind: String,
    /// Rights as given.
    pub rights: Option<Rights>,
    /// Reason given.
    pub reason: String,
    /// When it was given, where that is in the range that was read.
    pub issued: Option<i64>,
    /// Its end as given, in words.
    pub until: String,
    /// Who ended it before that: when, by whom, why.
    pub ended: Option<(i64, String, String)>,
    /// What was done, oldest first; equal ones are one line.
    pub actions: Vec<ReportAction>,
}

/// What was done, once or many times.
#[derive(Clone, Debug, Default)]
pub struct ReportAction {
    /// The first of them.
    pub first: i64,
    /// The last of them.
    pub last: i64,
    /// Verb.
    pub verb: String,
    /// On what, in one line.
    pub what: String,
    /// Names and commands, as many as are listed.
    pub details: Vec<String>,
    /// How often it went well.
    pub ok: u64,
    /// How often it was refused.
    pub refused: u64,
    /// How often it failed.
    pub failed: u64,
    /// It changed something, ran something or read a secret.
    pub weighty: bool,
}

impl ReportAction {
    /// How often in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ok.saturating_add(self.refused).saturating_add(self.failed)
    }
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
        let held =
            |person: &ReportPerson| person.grants.iter().filter(|grant| !grant.id.is_empty()).count() as u64;
        self.people.iter().map(held).fold(0, u64::saturating_add)
    }

    /// Actions that changed something or read a secret, and went well.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let grants = self.people.iter().flat_map(|person| &person.grants);
        let weighty = grants.flat_map(|grant| &grant.actions).filter(|action| action.weighty);
        weighty.map(|action| action.ok).fold(0, u64::saturating_add)
    }
}
