//! `{RES}/network`: how the cluster is reached from here, and how its networks are laid out.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::look::describe;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use proxy::api::{DialRecord, ReachReport};
use rp_database::Typed;
use rp_documents::{ClusterDocument, ClusterMirror, Role};
use rp_observe::{ClusterSnapshot, Kind, Slice, SliceState};
use serde::{Deserialize, Serialize};
use web::{IngressRow, LastDial, Link, NetworkObject, NetworkPage, Notice, Step, StepState, Tone};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::place;

/// What the page shows of the cluster's own settings.
const KINDS: [Kind; 4] = [Kind::Network, Kind::Proxy, Kind::IngressControllers, Kind::Infrastructure];
/// How long a page without scripts waits for them.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Values of one object.
const MOST_VALUES: usize = 400;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReachQuery {
    /// `1`: dial it now.
    reach: String,
}

/// The page.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(asked): Query<ReachQuery>,
) -> Result<Response, Fault> {
    let (entry, frame) = place(&state, &context, &id)?;
    let base = entry.path();
    let mut page = NetworkPage {
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: crate::cluster_head::active(&state, &user, &entry).await,
        check_href: if user.has(Role::Sre) && entry.reachable {
            format!("{base}/network?reach=1")
        } else {
            String::new()
        },
        frame,
        ..NetworkPage::default()
    };
    if asked.reach == "1" && !page.check_href.is_empty() {
        page.check = steps(&state.model.clusters.api.reach(&id).await);
    }
    match state.model.clusters.api.way(&id).await {
        Ok(way) => page.way = way,
        Err(_) => page.notices.push(unknown_way()),
    }
    page.last = state.model.clusters.api.last_dial(&id).map(|dialled| last(&dialled));
    if let Err(fault) = document(&state, &entry, &mut page).await {
        page.failure = Some(fault.failure(&page.frame));
    }
    if entry.reachable {
        let viewing = state.model.clusters.observer.watch(&id, &KINDS);
        page.objects = objects(&*viewing.settled(PATIENCE).await, &base);
    }
    answer(&context, StatusCode::OK, &page)
}

fn unknown_way() -> Notice {
    Notice {
        tone: Tone::Warn,
        lead: "There is no way to this cluster.".to_owned(),
        text: "It has no private endpoint yet, or what is stored about its access cannot be used.".to_owned(),
        action: None,
    }
}

fn last(dialled: &DialRecord) -> LastDial {
    LastDial {
        at: dialled.at.seconds(),
        took_ms: u64::try_from(dialled.took.as_millis()).unwrap_or(u64::MAX),
        error: dialled.error.clone(),
    }
}

/// A dial, step by step.
fn steps(reach: &ReachReport) -> Vec<Step> {
    let step = |state, text: &str, note: String, hint: &str| Step {
        state,
        text: text.to_owned(),
        note,
        hint: hint.to_owned(),
        since: None,
    };
    let mut steps = Vec::new();
    for (name, took) in &reach.done {
        steps.push(step(StepState::Done, name, format!("{} ms", took.as_millis()), ""));
    }
    if let Some((name, took, why)) = &reach.failed {
        steps.push(step(StepState::Failed, name, format!("{} ms", took.as_millis()), why));
    }
    for name in &reach.left {
        steps.push(step(StepState::Waiting, name, String::new(), ""));
    }
    steps
}

/// The rows from the document and its mirror.
async fn document(state: &PortalState, entry: &Entry, page: &mut NetworkPage) -> Result<(), Fault> {
    let mut fields = vec![("API visibility", entry.visibility.clone()), ("API URL", entry.api_url.clone())];
    if entry.imported.is_some() {
        page.document = fields;
        return Ok(());
    }
    let store = || Arc::clone(&state.session.store);
    let found = Typed::<ClusterDocument>::new(store())
        .get_by_key(entry.id.key())
        .await
        .map_err(|error| Fault::store(&error))?;
    let Some(found) = found else { return Ok(()) };
    let id = found.value.id.clone();
    let properties = &found.value.cluster.properties;
    let (api, network) = (&properties.apiserver_profile, &properties.network_profile);
    fields.extend([
        ("API address", display_text(&api.ip)),
        ("Internal API address", display_text(&api.int_ip)),
        ("Private endpoint", display_text(&network.private_endpoint_ip)),
        ("Domain", display_text(&properties.cluster_profile.domain)),
        ("Pod network", display_text(&network.pod_cidr)),
        ("Service network", display_text(&network.service_cidr)),
        ("Outbound", display_text(&network.outbound_type)),
        ("Own network security groups", display_text(&network.preconfigured_nsg)),
        ("Gateway domains", display_text(&network.gateway_private_link_id)),
    ]);
    fields.retain(|(label, value)| {
        !value.is_empty() || !label.starts_with("Gateway") && !label.starts_with("Internal")
    });
    page.document = fields;
    page.subnets = vec![("Masters' subnet".to_owned(), display_text(&properties.master_profile.subnet_id))];
    for worker in properties.workers().iter().take(50) {
        page.subnets
            .push((format!("Subnet of {}", display_text(&worker.name)), display_text(&worker.subnet_id)));
    }
    let mirror = Typed::<ClusterMirror>::new(store()).get(&id).await.map_err(|error| Fault::store(&error))?;
    let mirrored = mirror.and_then(|read| read.value.ingress_profiles);
    page.ingress = match mirrored {
        Some(all) => all
            .into_iter()
            .map(|each| IngressRow { name: each.name, visibility: each.visibility, ip: each.ip })
            .collect(),
        None => properties
            .ingress_profiles
            .iter()
            .take(50)
            .map(|each| IngressRow {
                name: display_text(&each.name),
                visibility: display_text(&each.visibility),
                ip: display_text(&each.ip),
            })
            .collect(),
    };
    Ok(())
}

fn display_text(text: &str) -> String {
    rp_base::text::clean(text, 1_000)
}

/// The cluster's own settings, as the watches have them.
fn objects(snapshot: &ClusterSnapshot, base: &str) -> Vec<NetworkObject> {
    let config = |plural: &str| {
        Link::new("object", format!("{base}/resources/config.openshift.io/v1/{plural}/cluster"))
    };
    let ingress =
        Link::new("objects", format!("{base}/resources/operator.openshift.io/v1/ingresscontrollers"));
    let mut all = vec![
        object("Network", config("networks"), &snapshot.network),
        object("Ingress controllers", ingress, &snapshot.ingress_controllers),
        object("Cluster-wide proxy", config("proxies"), &snapshot.proxy),
        object("Infrastructure", config("infrastructures"), &snapshot.infrastructure),
    ];
    let dns = "Read it with an access of your own.".to_owned();
    all.push(NetworkObject { title: "DNS".to_owned(), link: config("dnses"), spec: Err(dns) });
    all
}

fn object<T: Serialize>(title: &str, link: Link, slice: &Slice<T>) -> NetworkObject {
    let spec = match &slice.state {
        SliceState::Missing => Err("The cluster does not serve this kind.".to_owned()),
        SliceState::Forbidden(why) | SliceState::Failed(why) => Err(why.to_string()),
        SliceState::NotAsked | SliceState::Loading if slice.items.is_empty() => {
            Err("The cluster has not answered yet.".to_owned())
        }
        _ if slice.items.is_empty() => Err("There is none.".to_owned()),
        _ => {
            let value = match slice.items.len() {
                1 => slice.first().and_then(|each| serde_json::to_value(each).ok()),
                _ => serde_json::to_value(slice.iter().collect::<Vec<_>>()).ok(),
            };
            let mut budget = MOST_VALUES;
            value
                .map(|value| describe::node(&value, &mut budget))
                .ok_or_else(|| "It cannot be shown.".to_owned())
        }
    };
    NetworkObject { title: title.to_owned(), link, spec }
}
