//! Views of the list of clusters that people keep under a name, and share.

use axum::extract::Query;
use http::{StatusCode, Uri};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_base::Id;
use rp_database::{Draft, Expect, StoreError};
use rp_documents::{Collection, Role, SavedView, Side, Unknown};
use schemars::JsonSchema;
use serde::Deserialize;
use web::ListQuery;

use crate::cluster_list::bad_filter;
use crate::index::Selection;
use crate::saved::{invalid, name, record};
use crate::state::PortalState;

/// Views that one person may keep.
const MOST_OWN: usize = 100;
const MOST_QUERY: usize = 8 * 1024;

/// The body of a request to save a view.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "NewView",
    extend("required" = ["name", "query"]),
    example = serde_json::json!({"name": "Old and failed", "query": "state=failed&version=<4.16", "shared": true})
)]
pub struct SaveViewRequest {
    pub name: String,
    /// Query string of the list, without `?`.
    pub query: String,
    /// Others see it too.
    pub shared: bool,
}

/// Keeps a view; it is in the list when this ends.
pub async fn keep(
    state: &PortalState,
    user: &CurrentUser,
    wanted: SaveViewRequest,
) -> Result<SavedView, Fault> {
    let person = &user.caller.person;
    let own = state.model.index.snapshot().views.iter().filter(|view| view.owner.sub == person.sub).count();
    if own >= MOST_OWN {
        let what = format!("You keep {MOST_OWN} views already");
        return Err(
            Fault::new(StatusCode::CONFLICT, "too_many_views", Side::You, what).action("Remove one first.")
        );
    }
    let saved = SavedView {
        id: Id::random(&*state.session.random),
        owner: person.clone(),
        name: name(&wanted.name)?,
        query: query(state, &wanted.query)?,
        shared: wanted.shared,
        created: state.session.clock.now(),
        unknown: Unknown::new(),
    };
    record(state, user, "view.save", &saved.name, &saved.query, None).await?;
    let draft = Draft {
        id: saved.id.to_string(),
        partition: person.sub.clone(),
        unique_key: None,
        body: serde_json::to_string(&saved).map_err(|_| Fault::internal())?,
        expires_at: None,
    };
    state.session.store.create(Collection::SavedViews, draft).await.map_err(|error| Fault::store(&error))?;
    state.model.index.settle(|snapshot| snapshot.views.iter().any(|view| view.id == saved.id)).await;
    Ok(saved)
}

/// Removes a view; it is out of the list when this ends.
pub async fn drop_view(state: &PortalState, user: &CurrentUser, id: &str) -> Result<SavedView, Fault> {
    let unknown = || {
        Fault::new(StatusCode::NOT_FOUND, "view_not_found", Side::You, "No such view")
            .why("It may have been removed.")
            .link("Go to clusters", "/")
    };
    let id = Id::parse(id).map_err(|_| unknown())?;
    let stored = state.session.store.get(Collection::SavedViews, id.as_str()).await;
    let stored = stored.map_err(|error| Fault::store(&error))?.ok_or_else(unknown)?;
    let saved: SavedView = serde_json::from_str(&stored.body).map_err(|_| unknown())?;
    let mine = saved.owner.sub == user.caller.person.sub;
    if !mine && !saved.shared {
        return Err(unknown());
    }
    if !mine && !user.has(Role::Admin) {
        return Err(Fault::new(
            StatusCode::FORBIDDEN,
            "not_yours",
            Side::You,
            "This view is somebody else's",
        ));
    }
    record(state, user, "view.remove", &saved.name, &saved.query, None).await?;
    // A concurrent removal counts as success.
    match state
        .session
        .store
        .delete(Collection::SavedViews, id.as_str(), Expect::Version(stored.version))
        .await
    {
        Ok(()) | Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => {}
        Err(error) => return Err(Fault::store(&error)),
    }
    state.model.index.settle(|snapshot| snapshot.views.iter().all(|view| view.id != saved.id)).await;
    Ok(saved)
}

/// The query as the list reads it: unknown parameters are dropped, filters must be valid, cursors are not kept.
fn query(state: &PortalState, text: &str) -> Result<String, Fault> {
    if text.len() > MOST_QUERY {
        return Err(invalid(format!("A view's query has {MOST_QUERY} bytes at most")));
    }
    let wrong = |_| invalid("This is no query of the list of clusters");
    let uri: Uri = format!("/?{}", text.trim_start_matches('?'))
        .parse()
        .map_err(|_| invalid("This is no query of the list of clusters"))?;
    let Query(list) = Query::<ListQuery>::try_from_uri(&uri).map_err(wrong)?;
    Selection::new(&list, state.session.clock.now()).map_err(|bad| bad_filter(&bad))?;
    Ok(list.kept())
}
