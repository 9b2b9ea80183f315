//! `{RES}`, `{RES}/overview`, `{RES}/access`: one cluster.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use rp_access::{GrantFilter, GrantView};
use rp_base::Timestamp;
use rp_documents::{GrantKind, Role};
use web::{
    AccessDecision, AuditRow, Cluster, ClusterPage, GrantRow, ImportedFrom, Link, NavItem, Section, Step,
    StepState, Tab, Verdict,
};

use super::{ClusterPath, answer, cards, frame, objects, rows};
use crate::context::Ctx;
use crate::fault::Fault;
use crate::index::Entry;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Rows of the panels.
const PANEL: usize = 20;

/// Options of a page besides its table's query.
pub(super) struct PageOptions {
    /// Wait for the cluster's answer.
    pub(super) wait: bool,
    /// One part that is fetched later.
    card: Option<String>,
}

impl PageOptions {
    pub(super) fn read(query: &str) -> Self {
        let find = |wanted: &str| {
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == wanted).map(|(_, value)| value.into_owned())
        };
        Self { wait: find("wait").as_deref() == Some("1"), card: find("card") }
    }
}

/// The overview: state and properties.
pub(crate) async fn overview(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
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
    let (mut page, _) = page;
    (page.grants, page.ended) = grants;
    page.audit = audit;
    if entry.reachable {
        page.board.side.extend(cards::awaited(&entry));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Who has access to it, and who had.
pub(crate) async fn access(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
) -> Result<Response, Fault> {
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let page = page(&state, &context, &user, &entry, Tab::Access).await;
    answer(&context, StatusCode::OK, &page)
}

/// `{RES}/clusteroperators`: the name that the tab had.
pub(crate) async fn old_operators(ClusterPath(id): ClusterPath) -> Response {
    super::see_other(&format!("{}/operators", id.key()))
}

async fn page(
    state: &PortalState,
    context: &crate::context::Context,
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
    match state.0.access.list(&filter).await {
        Ok(page) => {
            let (active, ended): (Vec<GrantView>, Vec<GrantView>) =
                page.items.into_iter().filter(|view| view.grant.kind != GrantKind::Cli).partition(|view| {
                    view.grant.state(state.0.clock.now()) == rp_documents::grant::GrantState::Active
                });
            (section(&active, user), section(&ended, user))
        }
        Err(error) => {
            let failure = Fault::store(&error).failure(frame);
            (Section::Failed(failure.clone()), Section::Failed(failure))
        }
    }
}

fn section(views: &[GrantView], user: &CurrentUser) -> Section<GrantRow> {
    let count = u64::try_from(views.len()).unwrap_or(u64::MAX);
    Section::Rows(views.iter().take(PANEL).map(|view| rows::grant_row(view, user)).collect(), count)
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
    match state.0.audit.search(&query).await {
        Ok(found) => {
            let count = u64::try_from(found.entries.len()).unwrap_or(u64::MAX);
            Section::Rows(found.entries.iter().map(rows::audit_row).collect(), count)
        }
        Err(error) => Section::Failed(Fault::audit(&error).failure(frame)),
    }
}

/// How many active grants for it the person may see; none when the store is away.
pub(super) async fn active(state: &PortalState, user: &CurrentUser, entry: &Entry) -> u64 {
    let everybody = user.has(Role::Auditor) || user.has(Role::Admin);
    let filter = GrantFilter {
        owner_sub: (!everybody).then(|| user.caller.person.sub.clone()),
        target: Some(entry.id.clone()),
        active_only: true,
        limit: 200,
        ..GrantFilter::default()
    };
    let found = state.0.access.list(&filter).await;
    found.map_or(0, |page| u64::try_from(page.items.len()).unwrap_or(0))
}

/// Whether the person may take a kubeconfig for it now, and why not.
pub(super) fn may_take(entry: &Entry, user: &CurrentUser) -> AccessDecision {
    if !user.has(Role::Sre) {
        AccessDecision::No("Your groups let you look, not connect: the role sre is needed.".to_owned())
    } else if entry.reachable {
        AccessDecision::Yes
    } else {
        AccessDecision::No("It has no private endpoint yet, so nothing can reach its API.".to_owned())
    }
}

pub(super) fn cluster(entry: &Entry, user: &CurrentUser) -> Cluster {
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::seconds);
    let state = entry.shown_state();
    let maintenance = !entry.maintenance.is_empty() && entry.maintenance != "None";
    Cluster {
        name: entry.id.name().to_owned(),
        path: entry.path(),
        resource_id: entry.id.to_string(),
        subscription: entry.id.subscription().to_owned(),
        group: entry.id.resource_group().to_owned(),
        imported: entry.imported.as_ref().map(|imported| ImportedFrom {
            by: imported.by.clone(),
            at: imported.at.seconds(),
            credential: imported.credential.to_owned(),
            credential_ends: None,
            as_groups: imported.as_groups.clone(),
        }),
        since: entry.imported.is_none().then(|| seconds(entry.modified)).flatten(),
        also: if maintenance { vec![web::State::Maintenance] } else { Vec::new() },
        verdict: verdict(entry, &state),
        state,
        install: install(entry),
        may_take: may_take(entry, user),
        notice: None,
        links: links(entry),
        looks: Vec::new(),
        api_visibility: entry.visibility.clone(),
        api_url: entry.api_url.clone(),
        architecture_version: entry.architecture.to_string(),
        console_url: entry.console_url.clone(),
        created_at: seconds(entry.created),
        created_by: entry.created_by.clone(),
        provisioned_by: entry.provisioned_by.clone(),
        failed_provisioning_state: entry.failed_name().to_owned(),
        infra_id: entry.infra_id.clone(),
        last_admin_update_error: entry.admin_error.clone(),
        last_modified_at: seconds(entry.modified),
        last_modified_by: entry.modified_by.clone(),
        last_provisioning_state: entry.last_state_name().to_owned(),
        location: entry.location.clone(),
        provisioning_state: entry.state_name().to_owned(),
        version: entry.version.clone(),
        install_status: entry.install.clone().unwrap_or_else(|| "Installed".to_owned()),
        maintenance_state: entry.maintenance.clone(),
        more: health(entry),
    }
}

/// The verdict from the document and the last check.
pub(super) fn state_badge(entry: &Entry) -> web::Badge {
    entry.shown_state().badge()
}

fn verdict(entry: &Entry, state: &web::State) -> Verdict {
    let badge = state.badge();
    let looked = entry.health.is_some();
    let text = match (entry.wrong(), looked) {
        (wrong, _) if !wrong.is_empty() => wrong,
        (_, true) if matches!(state, web::State::Failed(_)) => {
            "The operation failed; the last look at the cluster found nothing wrong.".to_owned()
        }
        (_, true) => "The last look found nothing wrong.".to_owned(),
        (_, false) => "Nobody has looked at its health; this is what its document says.".to_owned(),
    };
    let since = entry.imported.is_none().then(|| entry.modified.map(Timestamp::seconds)).flatten();
    Verdict { tone: badge.tone, icon: badge.icon, head: badge.word, since, text }
}

/// The two phases of an installation (`contract/portal.md` §8.5).
fn install(entry: &Entry) -> Vec<Step> {
    let Some(phase) = &entry.install else { return Vec::new() };
    let failed = matches!(entry.shown_state(), web::State::Failed(_));
    let here = if failed { StepState::Failed } else { StepState::Now };
    let second = phase == "InstallPhaseRemoveBootstrap";
    let step = |state, text: &str| Step { state, text: text.to_owned(), ..Step::default() };
    vec![
        step(if second { StepState::Done } else { here }, "Bootstrap"),
        step(if second { here } else { StepState::Waiting }, "Remove bootstrap"),
    ]
}

/// Links out; only to plain `https` addresses.
fn links(entry: &Entry) -> Vec<Link> {
    let mut links = Vec::new();
    if entry.console_url.starts_with("https://") {
        links.push(Link::new("OpenShift console", &entry.console_url));
    }
    links
}

fn health(entry: &Entry) -> Vec<(String, String)> {
    let Some(health) = &entry.health else { return Vec::new() };
    let mut more = vec![("Last look".to_owned(), instant(health.looked_at))];
    if health.nodes > 0 {
        let ready = health.nodes.saturating_sub(health.nodes_not_ready);
        more.push(("Nodes ready".to_owned(), format!("{ready} of {}", health.nodes)));
    }
    more.push(("Alerts".to_owned(), health.alerts.to_string()));
    if let Some(end) = health.certificate {
        more.push(("Certificate ends".to_owned(), instant(end)));
    }
    more
}

/// An instant as pages write it: to the second, UTC.
fn instant(at: Timestamp) -> String {
    let text = Timestamp::from_seconds(at.seconds()).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}
