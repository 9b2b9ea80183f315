//! Recorded sessions: which of them a person may see, and search in what was shown.

use std::time::Duration;

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_base::chain;
use rp_documents::{Recording, Role, Side};
use rp_recording::{Hit, ReadError, RecordingQuery, SearchQuery};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::named_cluster::cluster;
use crate::state::PortalState;
use crate::time_range::Range;

/// Longest search for one answer; the portal answers every request within 30 s.
const SEARCH_WITHIN: Duration = Duration::from_secs(10);
/// Recordings that one search reads.
const SEARCHED: usize = 500;
/// Characters of a text that is searched for.
const MOST_TEXT: usize = 200;

/// The filter of a list of recordings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordingFilter {
    /// A part of a person's name; auditors only.
    pub person: String,
    /// A resource id, or the name of one cluster.
    pub cluster: String,
    /// Id of a grant that sessions were opened with.
    pub grant: String,
    /// Begun at or after: RFC 3339 or a day.
    pub from: String,
    /// Begun before; a day is taken whole.
    pub to: String,
    /// Text that was shown; the answer has the lines.
    pub q: String,
    /// Rows, 1 to 500; 100 without.
    pub limit: Option<usize>,
    /// Where the answer before ended.
    #[serde(rename = "continue")]
    pub next: String,
}

/// The recordings that match.
#[derive(Debug, Default)]
pub struct RecordingMatches {
    pub recordings: Vec<(Recording, Vec<Hit>)>,
    /// Number of recordings that were searched, and of those that could not be read.
    pub searched: Option<(usize, usize)>,
    pub next: Option<String>,
}

/// Whether this person sees everybody's.
pub fn sees_all(user: &CurrentUser) -> bool {
    user.has(Role::Auditor)
}

impl RecordingFilter {
    /// The recordings that this person may see of what is asked.
    pub async fn find(
        &self,
        state: &PortalState,
        user: &CurrentUser,
        limit: usize,
    ) -> Result<RecordingMatches, Fault> {
        let some = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let target = match some(&self.cluster) {
            None => None,
            Some(text) => Some(cluster(state, &text).ok_or_else(Fault::no_cluster)?),
        };
        let range = Range::read(&self.from, &self.to).map_err(Fault::bad_input)?;
        let all = sees_all(user);
        let listing = RecordingQuery {
            owner: (!all).then(|| user.caller.person.sub.clone()),
            person: some(&self.person).map(|name| name.to_lowercase()),
            target,
            grant: some(&self.grant),
            since: range.from,
            until: range.to,
            after: some(&self.next),
            limit,
        };
        let recordings = &state.model.clusters.recordings;
        let Some(text) = some(&self.q) else {
            let listed = recordings.list(&listing).await.map_err(|error| refusal(&error))?;
            let recordings = listed.recordings.into_iter().map(|recording| (recording, Vec::new()));
            return Ok(RecordingMatches {
                recordings: recordings.collect(),
                searched: None,
                next: listed.next,
            });
        };
        if text.chars().count() > MOST_TEXT {
            return Err(Fault::bad_input("The text to search for is too long"));
        }
        searches(state, user, &text).await?;
        let search = SearchQuery {
            listing: RecordingQuery { limit: SEARCHED, ..listing },
            text,
            within: SEARCH_WITHIN,
        };
        let found = recordings.search(&search).await.map_err(|error| refusal(&error))?;
        Ok(RecordingMatches {
            recordings: found.found,
            searched: Some((found.read, found.unreadable)),
            next: found.next,
        })
    }
}

/// A search reveals what was on people's screens: its text is audited before anything is read.
async fn searches(state: &PortalState, user: &CurrentUser, text: &str) -> Result<(), Fault> {
    let promised = state.session.promise(&user.caller, "recording.search", |entry| {
        entry.resource = "recordings".to_owned();
        entry.query = format!("q={}", rp_base::text::clean(text, MOST_TEXT));
    });
    promised.await.map_err(|error| Fault::audit(&error))
}

/// Maps an error of the recordings to an HTTP error.
pub fn refusal(error: &ReadError) -> Fault {
    match error {
        ReadError::Unknown => unknown(),
        ReadError::NotKept => unknown().why("Recording is off: no storage is configured."),
        ReadError::Store(error) => Fault::store(error),
        ReadError::Continuation => {
            Fault::bad_input("There is nothing to go on from there").action("Start the list again.")
        }
        ReadError::Seal(_) | ReadError::Storage(_) => {
            tracing::error!(error = %chain(error), "a recording cannot be read");
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Fault::new(status, "recording_away", Side::Us, "The recording cannot be read now")
                .why("The place where recordings are kept does not give it.")
                .action("Try again; if it stays, tell the team that runs this service.")
        }
    }
}

fn unknown() -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "recording_unknown", Side::You, "There is no such recording")
        .why("It was removed when its time was over, it is another person's, or it never was.")
}

/// A recording that this person may watch. Other recordings count as not found.
pub async fn one(state: &PortalState, user: &CurrentUser, id: &str) -> Result<Recording, Fault> {
    let found = match rp_base::Id::parse(id) {
        Ok(id) => state.model.clusters.recordings.find(id.as_str()).await.map_err(|error| refusal(&error))?,
        Err(_) => None,
    };
    let own = |recording: &Recording| recording.owner.sub == user.caller.person.sub && user.has(Role::Sre);
    found.filter(|recording| sees_all(user) || own(recording)).ok_or_else(unknown)
}
