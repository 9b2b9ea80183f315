//! `{RES}/aro-operator`: what the operator inside a cluster reports, and its flags.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::operator::{FlagReport, document_flags, flag_reports};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_documents::Role;
use rp_observe::ClusterSnapshot;
use web::objects::{OperatorFlag, flags_panel};
use web::{Panel, Section, Tab};

use crate::answer::answer;
use crate::cluster_head;
use crate::cluster_path::ClusterPath;
use crate::objects::{self, TabPage};

/// The page.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let query = query.unwrap_or_default();
    let tab = Tab::AroOperator;
    let TabPage { mut page, snapshot, .. } =
        objects::tab_page(&state, &context, &user, &entry, tab, "", &query).await;
    page.grants = Section::Rows(Vec::new(), cluster_head::active(&state, &user, &entry).await);
    page.board.top.push(flags(&state, &user, &entry, &snapshot).await?);
    answer(&context, StatusCode::OK, &page)
}

/// The panel of the flags: they are read with the page, and do not follow the cluster.
async fn flags(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
    snapshot: &ClusterSnapshot,
) -> Result<Panel, Fault> {
    if entry.imported.is_some() {
        return Ok(flags_panel(&[], None, "The service sets no flags of an imported cluster."));
    }
    let document =
        document_flags(&state.session.store, &entry.id).await.map_err(|error| Fault::store(&error))?;
    let base = entry.path();
    let change = user.has(Role::Elevated).then_some(base.as_str());
    let document = document.unwrap_or_default();
    let cluster = snapshot.aro_cluster.items.first();
    let note = if cluster.is_some() {
        ""
    } else {
        "The cluster's own flags are not known now. The values are worked out from the cluster's document."
    };
    let flags: Vec<OperatorFlag> =
        flag_reports(&document, cluster.map(AsRef::as_ref)).into_iter().map(flag).collect();
    Ok(flags_panel(&flags, change, note))
}

fn flag(report: FlagReport) -> OperatorFlag {
    OperatorFlag {
        name: report.name,
        about: report.about.to_owned(),
        document: report.document,
        cluster: report.cluster,
        default: report.default,
        effective: report.effective,
        changed: report.changed,
        pending: report.pending,
        problem: report.problem,
    }
}
