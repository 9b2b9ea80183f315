//! The objects of a kind.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::look;
use portal_model::look::kinds;
use portal_model::look::refuse_secrets;
use portal_model::look::{LookAccess, table};
use portal_model::objects::names::{KindName, ObjectName, is_dns};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use web::{KindRow, Link, Notice, ObjectQuery, ObjectRow, ObjectsPage, Tone};

use super::RequestScope;
use super::kind_list::kind_row;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;

/// Objects of one part of a list.
const PART: usize = 100;
/// Bounds of a search by name: number of list pages, and objects per page.
const MOST_PARTS: usize = 5;
const SEARCHED: usize = 500;

type KindPath = Path<(String, String, String, String, String, String)>;

/// The objects of a kind.
pub async fn objects_page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path((.., group, version, plural)): KindPath,
    Query(query): Query<ObjectQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let asked = RequestScope { state: &state, context: &context, user: &user, entry: &entry };
    let name = KindName::new(&group, &version, &plural)?;
    let base = format!("{}/resources/{}", entry.path(), name.path_segment());
    let mut page = ObjectsPage {
        frame: asked.frame(),
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: asked.active().await,
        kind: KindRow {
            kind: name.plural.clone(),
            plural: name.plural.clone(),
            version: name.version.clone(),
            ..KindRow::default()
        },
        group: name.group.clone(),
        base,
        query,
        ..ObjectsPage::default()
    };
    let found = async {
        refuse_secrets(&name)?;
        let live = match look::enter(&state, &user, &headers, &id).await? {
            LookAccess::Open(live) => live,
            LookAccess::Ask { revoked } => return Ok(Some(revoked)),
        };
        // The list can be shown without discovery, only its name is less fine.
        if let Ok(kinds) = kinds::discover(&context, &state, &live, &id).await
            && let Some(kind) = kinds.find(&name)
        {
            page.kind = KindRow { version: name.version.clone(), ..kind_row(kind, &entry.path()) };
        }
        part(&asked, &live, &name, &mut page).await.map(|()| None)
    };
    match found.await {
        Ok(None) => answer(&context, StatusCode::OK, &page),
        Ok(Some(revoked)) => {
            let out = Link::new("All kinds", format!("{}/resources", entry.path()));
            asked.ask(format!("{} of this cluster", name.plural), out, revoked).await
        }
        Err(fault) => {
            page.failure = Some(fault.failure(&page.frame));
            answer(&context, fault.status, &page)
        }
    }
}

/// Fills a part of the list; a search goes on until the part is full or enough was looked through.
async fn part(
    asked: &RequestScope<'_>,
    live: &Arc<ActiveGrant>,
    name: &KindName,
    page: &mut ObjectsPage,
) -> Result<(), Fault> {
    let wanted = page.query.q.trim().to_lowercase();
    if !(page.query.namespace.is_empty() || is_dns(&page.query.namespace, 63)) {
        return Err(Fault::bad_input("That is no namespace"));
    }
    let mut next = page.query.next.clone();
    for turn in 0..MOST_PARTS {
        let mut url = web::Query::new(&name.list(&page.query.namespace));
        url.add("limit", &if wanted.is_empty() { PART } else { SEARCHED }.to_string());
        url.add("labelSelector", page.query.label.trim());
        url.add("continue", &next);
        let found = look::json(asked.context, asked.state, live, &url.done(), table::ACCEPT).await?;
        let found = table::read(&found);
        if turn == 0 {
            page.columns = found.columns;
        }
        let width = page.columns.len();
        let fits = |row: &&table::Row| wanted.is_empty() || row.name.to_lowercase().contains(&wanted);
        for row in found.rows.iter().filter(fits) {
            let rest = if row.namespace.is_empty() {
                row.name.clone()
            } else {
                format!("{}/{}", row.namespace, row.name)
            };
            let href = ObjectName::new(name.clone(), &rest)
                .map(|object| format!("{}/resources/{}", asked.entry.path(), object.path_segment()));
            let mut cells = row.cells.clone();
            cells.resize(width, String::new());
            page.rows.push(ObjectRow {
                name: row.name.clone(),
                namespace: row.namespace.clone(),
                href: href.unwrap_or_default(),
                cells,
            });
        }
        next = found.next;
        page.remaining = found.remaining.filter(|_| wanted.is_empty());
        if wanted.is_empty() || next.is_empty() || page.rows.len() >= PART {
            break;
        }
    }
    if !wanted.is_empty() && !next.is_empty() {
        let lead = format!(
            "{} objects were looked through.",
            web::text::number(u64::try_from(MOST_PARTS * SEARCHED).unwrap_or(0))
        );
        page.notices.push(Notice {
            tone: Tone::Mute,
            lead,
            text: "More may follow: go on with the next part.".to_owned(),
            action: None,
        });
    }
    page.next = next;
    Ok(())
}
