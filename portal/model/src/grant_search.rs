//! Lists of grants as people and scripts ask for them, and the people in them.

use http::StatusCode;
use portal_session::fault::Fault;
use rp_access::{GrantFilter, GrantPage, GrantView};
use rp_database::StoreError;
use rp_documents::grant::GrantState;
use rp_documents::{GrantKind, Person, ResourceId, Side};

use crate::state::PortalState;

/// Parts of a list that are looked through for one page of it.
const MOST_PARTS: usize = 5;
/// Grants that are looked through for a person's subject.
const MOST_KNOWN: usize = 500;

/// Which grant states to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GrantStateFilter {
    /// Those that open something now: a shell whose elevation is over is not among them.
    Active,
    Expired,
    Revoked,
    /// Expired, revoked, or opening nothing any more for another reason.
    Ended,
    #[default]
    Any,
}

impl GrantStateFilter {
    /// What the state of the document does not tell: what a grant opens depends on what its owner holds now.
    fn takes(self, view: &GrantView) -> bool {
        match self {
            Self::Active => view.is_effective(),
            Self::Ended => !view.is_effective(),
            Self::Expired | Self::Revoked | Self::Any => true,
        }
    }
}

/// The conditions of a search for grants.
#[derive(Debug, Clone, Default)]
pub struct Search {
    pub owner_sub: Option<String>,
    /// Subject or account of an owner, or a part of the account.
    pub person: Option<String>,
    pub target: Option<ResourceId>,
    pub kind: Option<GrantKind>,
    pub wanted: GrantStateFilter,
    pub text: Option<String>,
    pub limit: usize,
    pub continuation: Option<String>,
}

impl Search {
    /// A page of them, newest first. It may be short though more follow.
    ///
    /// # Errors
    /// The store did not answer, or the cursor was not issued by this portal.
    pub async fn run(mut self, state: &PortalState) -> Result<GrantPage, Fault> {
        let mut part_of_name = None;
        if let Some(text) = self.person.take() {
            match person(state, &text).await? {
                Some(found) => self.owner_sub = Some(found.sub),
                None => part_of_name = Some(text.to_lowercase()),
            }
        }
        let mut page = GrantPage { items: Vec::new(), next: self.continuation.clone() };
        for _ in 0..MOST_PARTS {
            let found = self.read_page(state, &page).await?;
            page.next = found.next;
            page.items.extend(found.items.into_iter().filter(|view| {
                let named = |part: &String| view.grant.owner.name.to_lowercase().contains(part);
                part_of_name.as_ref().is_none_or(named) && self.wanted.takes(view)
            }));
            if page.next.is_none() || page.items.len() >= self.limit {
                break;
            }
        }
        Ok(page)
    }

    async fn read_page(&self, state: &PortalState, page: &GrantPage) -> Result<GrantPage, Fault> {
        let filter = GrantFilter {
            owner_sub: self.owner_sub.clone(),
            target: self.target.clone(),
            active_only: false,
            state: match self.wanted {
                GrantStateFilter::Active => Some(GrantState::Active),
                GrantStateFilter::Expired => Some(GrantState::Expired),
                GrantStateFilter::Revoked => Some(GrantState::Revoked),
                GrantStateFilter::Ended | GrantStateFilter::Any => None,
            },
            kind: self.kind,
            text: self.text.clone(),
            limit: self.limit.saturating_sub(page.items.len()).max(1),
            continuation: page.next.clone(),
        };
        list(state, &filter).await
    }
}

/// A list from the store.
pub async fn list(state: &PortalState, filter: &GrantFilter) -> Result<GrantPage, Fault> {
    state.session.access.list(filter).await.map_err(|error| match error {
        StoreError::BadCall(_) => Fault::bad_cursor(),
        other => Fault::store(&other),
    })
}

/// The person with that subject or account name, taken from the newest of their grants.
pub async fn person(state: &PortalState, text: &str) -> Result<Option<Person>, Fault> {
    let text = text.trim();
    let by_sub = GrantFilter { owner_sub: Some(text.to_owned()), limit: 1, ..GrantFilter::default() };
    if let Some(view) = list(state, &by_sub).await?.items.into_iter().next() {
        return Ok(Some(view.grant.owner));
    }
    let by_name = GrantFilter { text: Some(text.to_owned()), limit: MOST_KNOWN, ..GrantFilter::default() };
    let found: Vec<GrantView> = list(state, &by_name).await?.items;
    let mut named =
        found.into_iter().map(|view| view.grant.owner).filter(|owner| owner.name.eq_ignore_ascii_case(text));
    let Some(first) = named.next() else { return Ok(None) };
    // Two subjects share the account name: the person is ambiguous.
    Ok(named.all(|other| other.sub == first.sub).then_some(first))
}

/// The error when no grant has an owner of that name.
pub fn unknown_person(text: &str) -> Fault {
    let shown = rp_base::text::clean(text, 200);
    Fault::new(StatusCode::NOT_FOUND, "person_not_found", Side::You, format!("Nobody is known as {shown}"))
        .why("People are known here by the grants that they have had: by their account or their subject.")
}
