//! What every page of a cluster begins with.

use portal_model::access_offer::cluster_refusal;
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::user::CurrentUser;
use rp_access::GrantFilter;
use rp_base::Timestamp;
use rp_documents::Role;
use web::{AccessDecision, Cluster, ImportedFrom, Link, Step, StepState, Verdict};

/// Options of a page besides its table's query.
#[derive(Debug)]
pub(crate) struct PageOptions {
    /// Wait for the cluster's answer.
    pub(crate) wait: bool,
    /// One part that is fetched later.
    pub(crate) card: Option<String>,
}

impl PageOptions {
    pub(crate) fn read(query: &str) -> Self {
        let find = |wanted: &str| {
            let mut pairs = url::form_urlencoded::parse(query.as_bytes());
            pairs.find(|(key, _)| key == wanted).map(|(_, value)| value.into_owned())
        };
        Self { wait: find("wait").as_deref() == Some("1"), card: find("card") }
    }
}

/// How many active grants for it the person may see; none when the store is away.
pub(crate) async fn active(state: &PortalState, user: &CurrentUser, entry: &Entry) -> u64 {
    let everybody = user.has(Role::Auditor) || user.has(Role::Admin);
    let filter = GrantFilter {
        owner_sub: (!everybody).then(|| user.caller.person.sub.clone()),
        target: Some(entry.id.clone()),
        active_only: true,
        limit: 200,
        ..GrantFilter::default()
    };
    let found = state.session.access.list(&filter).await;
    found.map_or(0, |page| u64::try_from(page.items.len()).unwrap_or(0))
}

/// Whether the person may take access to it now, and why not.
fn may_take(entry: &Entry, user: &CurrentUser) -> AccessDecision {
    match cluster_refusal(user, entry) {
        None => AccessDecision::Yes,
        Some(refusal) => AccessDecision::No(refusal.sentence().to_owned()),
    }
}

/// The cluster as a page names it.
pub(crate) fn cluster(entry: &Entry, user: &CurrentUser) -> Cluster {
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
        since: seconds(entry.since),
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

/// The badge of the state that is shown.
pub(crate) fn state_badge(entry: &Entry) -> web::Badge {
    entry.shown_state().badge()
}

/// The verdict from the document and the last check.
fn verdict(entry: &Entry, state: &web::State) -> Verdict {
    let badge = state.badge();
    let looked = entry.health.is_some();
    let text = match (entry.wrong(), looked) {
        (wrong, _) if !wrong.is_empty() => wrong,
        (_, true) if matches!(state, web::State::Failed(_)) => {
            "The operation failed; the last check of the cluster found nothing wrong.".to_owned()
        }
        (_, true) => "The last check found nothing wrong.".to_owned(),
        (_, false) => "No health check yet. The state is from the resource record.".to_owned(),
    };
    let since = entry.since.map(Timestamp::seconds);
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
    let checked = entry.looked_at().unwrap_or(health.looked_at);
    let mut more = vec![("Last checked".to_owned(), instant(checked))];
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
