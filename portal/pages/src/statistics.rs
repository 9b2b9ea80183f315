//! `{RES}/statistics`: the twelve charts of `contract/portal.md` §14 on one page; their data comes by script.

use axum::extract::{Query, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_prometheus::statistics::ALL;
use serde::Deserialize;
use web::{StatisticChart, StatisticGroup, StatisticsPage, explore_href};

use crate::answer::{answer, see_other};
use crate::cluster_path::ClusterPath;
use crate::frame::place;

/// Range and its end, from links that name them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RangeQuery {
    range: String,
    end: String,
}

/// The page; it sends no request to the cluster by itself.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(asked): Query<RangeQuery>,
) -> Result<Response, Fault> {
    let (entry, frame) = place(&state, &context, &id)?;
    let range = crate::times::range(&asked.range);
    let page = StatisticsPage {
        active: crate::cluster_head::active(&state, &user, &entry).await,
        api: format!(
            "/api/{}/{}/{}/statistics",
            web::text::encode(entry.id.subscription()),
            web::text::encode(&entry.id.resource_group().to_ascii_lowercase()),
            web::text::encode(&entry.id.name().to_ascii_lowercase())
        ),
        groups: groups(&entry, &range),
        range,
        end: asked.end.chars().take(40).collect(),
        may_ask: crate::explore::reachable(&entry),
        cluster: crate::cluster_head::cluster(&entry, &user),
        failure: None,
        frame,
    };
    answer(&context, StatusCode::OK, &page)
}

/// `{RES}/apistatistics` and the like: the tabs that were pages of their own.
pub async fn tab(ClusterPath(id): ClusterPath, uri: Uri) -> Response {
    let tab = uri.path().rsplit('/').next().unwrap_or_default();
    let known = ALL.iter().any(|one| one.tab.eq_ignore_ascii_case(tab));
    let anchor = if known { format!("#{}", tab.to_ascii_lowercase()) } else { String::new() };
    see_other(&format!("{}/statistics{anchor}", id.key()))
}

fn groups(entry: &Entry, range: &str) -> Vec<StatisticGroup> {
    let mut groups: Vec<StatisticGroup> = Vec::new();
    for one in ALL {
        let id = one.tab.to_ascii_lowercase();
        let chart = StatisticChart {
            name: one.name.to_owned(),
            title: title(one.title),
            unit: one.unit.to_owned(),
            query: one.query.to_owned(),
            href: explore_href(&entry.path(), one.query, false, range),
        };
        match groups.last_mut().filter(|group| group.id == id) {
            Some(group) => group.charts.push(chart),
            None => {
                groups.push(StatisticGroup { title: words(&id).to_owned(), id, charts: vec![chart] });
            }
        }
    }
    groups
}

/// The heading without what the heading of its group says.
fn title(text: &str) -> String {
    crate::alerts::capital(text.split_once(": ").map_or(text, |(_, rest)| rest))
}

fn words(tab: &str) -> &'static str {
    match tab {
        "apistatistics" => "API server",
        "kcmstatistics" => "Controller manager",
        "dnsstatistics" => "DNS",
        "ingressstatistics" => "Ingress",
        _ => "Others",
    }
}
