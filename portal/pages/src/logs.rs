//! `{RES}/pods/NAMESPACE/NAME/log`: the log of a container, read with the viewer's own access.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::look;
use portal_model::look::{LookAccess, logs};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use web::{Link, LogPage, LogQuery, NavItem, Tab};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::look::{LookTarget, question};

/// Last lines that are shown unless others are asked for.
const TAIL: &str = "500";

/// The page.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path((.., namespace, pod)): Path<(String, String, String, String, String)>,
    Query(query): Query<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let path = logs::pod_path(&namespace, &pod)?;
    let base = entry.path();
    let pod_href = format!("{base}/pods/{namespace}/{pod}");
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let mut page = LogPage {
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: crate::cluster_head::active(&state, &user, &entry).await,
        stream: format!("/api/v1/clusters{}/pods/{namespace}/{pod}/log", id.key()),
        pod_href: pod_href.clone(),
        query: LogQuery {
            tail: if query.tail.is_empty() { TAIL.to_owned() } else { query.tail.clone() },
            ..query
        },
        pod: pod.clone(),
        namespace,
        frame,
        ..LogPage::default()
    };
    let live = match look::enter(&state, &user, &headers, &id).await {
        Ok(LookAccess::Open(live)) => live,
        Ok(LookAccess::Ask { revoked }) => {
            let out = Link::new("Back to the pod", pod_href);
            let opens = LookTarget { tab: Tab::Pods, what: format!("the log of {pod}"), out };
            return question(&state, &context, &user, &entry, opens, revoked).await;
        }
        Err(fault) => return refused(&context, page, &fault),
    };
    let found = async {
        let object = look::json(&context, &state, &live, &path, "application/json").await?;
        page.containers = logs::containers(&object);
        if page.query.container.is_empty()
            && let Some((first, _)) = page.containers.first()
        {
            page.query.container.clone_from(first);
        }
        logs::tail(&context, &state, &live, &path, &page.query).await
    };
    match found.await {
        Ok(tail) => {
            page.lines = tail.lines;
            page.cut = tail.cut;
            answer(&context, StatusCode::OK, &page)
        }
        Err(fault) => refused(&context, page, &fault),
    }
}

/// The page with the failure in place of the log: the container can still be changed.
fn refused(
    context: &portal_session::context::Context,
    mut page: LogPage,
    fault: &Fault,
) -> Result<Response, Fault> {
    page.failure = Some(fault.failure(&page.frame));
    answer(context, fault.status, &page)
}
