//! `{RES}`, `{RES}/overview`, `{RES}/access`: one cluster.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::{GrantFilter, GrantView};
use rp_documents::{GrantKind, Role};
use web::{AuditRow, ClusterPage, GrantRow, NavItem, Section, Tab};

use crate::answer::{answer, see_other};
use crate::cluster_head::{PageOptions, cluster};
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::{cards, objects, rows};

/// Rows of the panels.
const PANEL: usize = 20;

/// The overview: state and properties.
pub async fn overview(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let query = query.unwrap_or_default();
    if let Some(card) = PageOptions::read(&query).card {
        return cards::card(&state, &context, &user, &entry, &card).await;
    }
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let (grants, audit, page) = tokio::join!(
        grants(&state, &user, &entry, &frame),
        audit(&state, &user, &entry, &frame),
        objects::tab_page(&state, &context, &user, &entry, Tab::Overview, "", &query),
    );
    let mut page = page.page;
    (page.grants, page.ended) = grants;
    page.audit = audit;
    if entry.reachable {
        page.board.side.extend(cards::awaited(&entry));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Who has access to it, and who had.
pub async fn access(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let page = page(&state, &context, &user, &entry, Tab::Access).await;
    answer(&context, StatusCode::OK, &page)
}

/// `{RES}/clusteroperators`: the name that the tab had.
pub async fn old_operators(ClusterPath(id): ClusterPath) -> Response {
    see_other(&format!("{}/operators", id.key()))
}

async fn page(
    state: &PortalState,
    context: &portal_session::context::Context,
    user: &CurrentUser,
    entry: &Entry,
    tab: Tab,
) -> ClusterPage {
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    let (grants, ended) = grants(state, user, entry, &frame).await;
    let audit = audit(state, user, entry, &frame).await;
    ClusterPage { tab, cluster: cluster(entry, user), grants, ended, audit, frame, ..ClusterPage::default() }
}

/// Everybody's grants for auditors, one's own for others.
async fn grants(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    frame: &web::Frame,
) -> (Section<GrantRow>, Section<GrantRow>) {
    let everybody = user.has(Role::Auditor) || user.has(Role::Admin);
    let filter = GrantFilter {
        owner_sub: (!everybody).then(|| user.caller.person.sub.clone()),
        target: Some(entry.id.clone()),
        limit: 200,
        ..GrantFilter::default()
    };
    match state.session.access.list(&filter).await {
        Ok(page) => {
            let (active, ended): (Vec<GrantView>, Vec<GrantView>) = page
                .items
                .into_iter()
                .filter(|view| view.grant.kind != GrantKind::Cli)
                .partition(GrantView::is_effective);
            (section(state, &active, user), section(state, &ended, user))
        }
        Err(error) => {
            let failure = Fault::store(&error).failure(frame);
            (Section::Failed(failure.clone()), Section::Failed(failure))
        }
    }
}

fn section(state: &PortalState, views: &[GrantView], user: &CurrentUser) -> Section<GrantRow> {
    let count = u64::try_from(views.len()).unwrap_or(u64::MAX);
    Section::Rows(views.iter().take(PANEL).map(|view| crate::access::row(state, view, user)).collect(), count)
}

async fn audit(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    frame: &web::Frame,
) -> Section<AuditRow> {
    if !user.has(Role::Auditor) {
        return Section::Hidden("Auditors see what was done with a cluster.".to_owned());
    }
    let query =
        rp_audit::Query { target: Some(entry.id.clone()), limit: PANEL, ..rp_audit::Query::default() };
    match state.session.audit.search(&query).await {
        Ok(found) => {
            let count = u64::try_from(found.entries.len()).unwrap_or(u64::MAX);
            Section::Rows(found.entries.iter().map(rows::audit_row).collect(), count)
        }
        Err(error) => Section::Failed(Fault::audit(&error).failure(frame)),
    }
}
