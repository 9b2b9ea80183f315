//! Who had access to a cluster, why, and what they did: made of the log alone, so that it also tells of grants that
//! are long gone.

mod gather;

use std::time::Duration;

use rp_base::{Id, Timestamp};
use rp_documents::ResourceId;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use crate::cursor::SearchPosition;
use crate::index::Index;
use crate::proof::Proof;
use crate::search::search;
use crate::{AuditError, Query};
use gather::Gather;

/// Entries that a report is made of, at most.
const MOST_ENTRIES: u64 = 200_000;
/// How long making it may take.
const LONGEST: Duration = Duration::from_secs(20);
/// Entries that are read at once.
const PAGE: usize = 500;
/// One step of the search.
const STEP: Duration = Duration::from_secs(1);

/// What a report is about.
#[derive(Debug, Clone, Default)]
pub struct ReportQuery {
    /// `None`: every cluster.
    pub target: Option<ResourceId>,
    /// Subject or name; `None`: everybody.
    pub person: Option<String>,
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
}

/// Who had access, why, and what they did.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "AccessReport")]
pub struct Report {
    pub target: Option<ResourceId>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Who acted last comes first.
    pub people: Vec<PersonReport>,
    /// Entries that it was made of.
    pub entries: u64,
    /// There was more than fits: narrow the time.
    pub truncated: bool,
    /// When truncated: nothing before this was looked at.
    pub looked_back_to: Option<Timestamp>,
    pub proof: Proof,
}

/// One person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PersonReport {
    pub sub: String,
    pub name: String,
    /// Addresses, at most 10.
    pub from: Vec<String>,
    pub first: Timestamp,
    pub last: Timestamp,
    /// Newest first. Without an id: what was done without a grant, on the pages.
    pub grants: Vec<GrantReport>,
    pub elevations: Vec<ElevationReport>,
}

/// A grant and what was done with it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct GrantReport {
    pub id: Option<Id>,
    /// Empty when it was given before `from`.
    pub kind: String,
    pub rights: String,
    pub reason: String,
    pub issued: Option<Timestamp>,
    pub until: Option<String>,
    pub ended: Option<EndReport>,
    pub first: Timestamp,
    pub last: Timestamp,
    /// At most 200.
    pub actions: Vec<ActionReport>,
}

/// How a grant was ended before its time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndReport {
    pub at: Timestamp,
    pub by: String,
    pub why: String,
}

/// Actions of one kind.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ActionReport {
    pub verb: String,
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub count: u64,
    pub first: Timestamp,
    pub last: Timestamp,
    pub ok: u64,
    pub refused: u64,
    /// Failed, or cut off.
    pub failed: u64,
    /// At most 10.
    pub names: Vec<String>,
    /// At most 10.
    pub commands: Vec<String>,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A step of an elevation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ElevationReport {
    pub at: Timestamp,
    pub verb: String,
    pub reason: String,
    pub rights: String,
    /// Who took the step.
    pub by: String,
    pub outcome: String,
    /// As the entry has it: which elevation, whose, how long.
    pub what: String,
}

pub(crate) async fn report(index: &Index, asked: &ReportQuery, proof: Proof) -> Result<Report, AuditError> {
    let ReportQuery { target, person, from, to } = asked.clone();
    let query = Query { person, target: target.clone(), from, to, limit: PAGE, ..Query::default() };
    let (mut gather, mut place, mut entries) = (Gather::default(), SearchPosition::START, 0);
    let until = Instant::now() + LONGEST;
    let looked_back_to = loop {
        let found = search(index, &query, place, STEP).await?;
        for hit in &found.hits {
            entries += 1;
            gather.take(&hit.entry);
        }
        match found.place {
            None => break None,
            Some(_) if entries >= MOST_ENTRIES || Instant::now() >= until => break found.searched_to,
            Some(next) => place = next,
        }
    };
    let truncated = looked_back_to.is_some() || gather.is_cut();
    Ok(Report { target, from, to, people: gather.people(), entries, truncated, looked_back_to, proof })
}
