//! `{RES}/machines/NAME/serial`: a machine's serial console, read with the viewer's own access.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::look;
use portal_model::look::LookAccess;
use portal_model::look::serial::{ConsoleQuery, Line, console};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use web::{Link, NavItem, SerialPage, SerialQuery, Tab};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::look::{LookTarget, question};

/// The page.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path((.., machine)): Path<(String, String, String, String)>,
    Query(query): Query<SerialQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let encoded = web::text::encode(&machine);
    let machine_href = format!("{}/machines/{encoded}", entry.path());
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let json = format!("/api/v1/clusters{}/machines/{encoded}", id.key());
    let mut page = SerialPage {
        frame,
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: crate::cluster_head::active(&state, &user, &entry).await,
        text: format!("{json}/serial?as=text&download=1"),
        screen: format!("{json}/screenshot"),
        query,
        ..SerialPage::default()
    };
    let opens = || {
        let what = format!("the serial console of {}", rp_base::text::clean(&machine, 100));
        LookTarget { tab: Tab::Machines, what, out: Link::new("Back to the machine", machine_href.clone()) }
    };
    let found = async {
        let wanted = ConsoleQuery::parse(&page.query)?;
        match look::enter(&state, &user, &headers, &id).await? {
            LookAccess::Open(live) => {
                let read = console(&state, &user, &live, &entry, &machine).await?;
                Ok(Ok((wanted.part(&read.text), read)))
            }
            LookAccess::Ask { revoked } => Ok(Err(revoked)),
        }
    };
    let found: Result<_, Fault> = found.await;
    page.machine_href.clone_from(&machine_href);
    page.machine.clone_from(&machine);
    match found {
        Ok(Err(revoked)) => question(&state, &context, &user, &entry, opens(), revoked).await,
        Ok(Ok((part, read))) => {
            (page.size, page.cut) = (read.size, read.cut);
            (page.total, page.matches) = (part.total, part.matches);
            (page.older, page.newer) = (part.older, part.newer);
            page.lines = part.lines.into_iter().map(|Line { n, text }| (n, text)).collect();
            answer(&context, StatusCode::OK, &page)
        }
        Err(fault) => {
            page.failure = Some(fault.failure(&page.frame));
            answer(&context, fault.status, &page)
        }
    }
}
