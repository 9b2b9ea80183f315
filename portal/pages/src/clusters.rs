//! `/`: the list, and what is done with it: columns, clusters that were chosen, files.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{Query, RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use portal_model::cluster_list::{bad_filter, bad_place, export};
use portal_model::index::{Entry, Page, Selection, Snapshot, facets, jump, open, summarize, views};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::return_path::return_path;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::SavedView;
use serde::Deserialize;
use url::form_urlencoded;
use web::{ClustersPage, Column, Link, ListQuery, NavItem, PageFragment, SavedLink};

use crate::answer::{PAGE, answer, see_other, unchanged};
use crate::frame::frame;
use crate::poll::PollQuery;
use crate::rows;

/// The columns that a person has chosen, by their browser.
const COLUMNS: &str = "__Host-aro-columns";
/// Saved views that are shown as tabs.
const TABS: usize = 12;
/// Clusters that can be chosen at once: those of one page.
const MOST_CHOSEN: usize = 200;

/// Whether Enter was pressed in a search: a whole name then opens its page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct OpenQuery {
    go: String,
}

/// The list, or straight to the cluster when its resource id or address was pasted.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(query): Query<ListQuery>,
    Query(seen): Query<PollQuery>,
    Query(asked): Query<OpenQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let snapshot = state.model.index.snapshot();
    if context.wants == ResponseKind::Page
        && asked.go == "1"
        && let Some(path) = open(&query.q, &snapshot)
    {
        return Ok(see_other(&path));
    }
    if context.wants == ResponseKind::Page
        && let Some(entry) = jump(&query.q, &snapshot)
    {
        return Ok(see_other(&entry.path()));
    }
    let generation = format!("{}.{}", snapshot.generation, state.model.operations.generation());
    if context.part == PageFragment::Main && seen.seen == generation && state.model.index.stale().is_none() {
        return Ok(unchanged());
    }
    let page = found(&state, &context, &user, query, &snapshot, &headers)?;
    answer(&context, StatusCode::OK, &ClustersPage { seen: generation, ..page })
}

fn found(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    query: ListQuery,
    snapshot: &Snapshot,
    headers: &HeaderMap,
) -> Result<ClustersPage, Fault> {
    let now = state.session.clock.now();
    let selection = Selection::new(&query, now).map_err(|bad| bad_filter(&bad))?;
    let found = selection.page(snapshot, PAGE).map_err(bad_place)?;
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let nearest = if found.rows.is_empty() { nearest(&query.q, snapshot) } else { None };
    // A fragment has no summary strip: search-as-you-type requests it often.
    let whole = context.part != PageFragment::List;
    let mut frame = frame(state, context);
    frame.place = NavItem::Clusters;
    Ok(ClustersPage {
        frame,
        summary: whole.then(|| summarize(snapshot, now)),
        views: if whole { views(snapshot, now) } else { Vec::new() },
        saved: saved(snapshot, user, &query),
        facets: facets(snapshot),
        columns: columns(&query, headers),
        rows: cluster_rows(state, &found, snapshot, now),
        first: count(found.before).saturating_add(1),
        around: (found.previous, found.next),
        matched: count(found.matched),
        total: count(snapshot.entries.len()),
        nearest,
        updated: Some(state.model.index.read_at().seconds()),
        seen: String::new(),
        stale: state.model.index.stale().map(Timestamp::seconds),
        failure: None,
        query,
    })
}

/// The rows; whose name another cluster has too is picked by its resource id.
fn cluster_rows(
    state: &PortalState,
    found: &Page,
    snapshot: &Snapshot,
    now: Timestamp,
) -> Vec<web::ClusterRow> {
    let mut names: HashMap<String, u32> =
        found.rows.iter().map(|entry| (entry.id.name().to_ascii_lowercase(), 0)).collect();
    for entry in &snapshot.entries {
        let name = entry.id.key().rsplit('/').next().unwrap_or_default();
        if let Some(count) = names.get_mut(name) {
            *count += 1;
        }
    }
    let only_one = |entry: &Entry| names.get(&entry.id.name().to_ascii_lowercase()).is_none_or(|n| *n < 2);
    let row = |entry: &Entry| {
        let mut row = rows::cluster_row(entry, now, only_one(entry));
        // A running operation is shown instead of the other details.
        if let Some(doing) = state.model.operations.current(entry.id.key()) {
            row.wrong.clone_from(&doing.sentence);
        }
        row
    };
    found.rows.iter().map(|entry| row(entry)).collect()
}

/// The columns of the address, else those that the browser remembers.
fn columns(query: &ListQuery, headers: &HeaderMap) -> Vec<Column> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let kept = || pairs.find(|(name, _)| *name == COLUMNS).map(|(_, value)| value.replace('.', ","));
    let text = Some(query.columns.clone()).filter(|text| !text.is_empty()).or_else(kept);
    Column::read(&text.unwrap_or_default())
}

/// One's own views, then what others share, each newest first.
fn saved(snapshot: &Snapshot, user: &CurrentUser, query: &ListQuery) -> Vec<SavedLink> {
    let mine = |view: &SavedView| view.owner.sub == user.caller.person.sub;
    let mut seen: Vec<_> = snapshot.views.iter().filter(|view| view.shared || mine(view)).collect();
    seen.sort_by_key(|view| (!mine(view), std::cmp::Reverse(view.created)));
    let kept = query.kept();
    let link = |view: &SavedView| SavedLink {
        id: view.id.to_string(),
        name: view.name.clone(),
        href: format!("/?{}", view.query),
        current: !kept.is_empty() && kept == view.query,
        mine: mine(view),
        shared: view.shared,
        owner: view.owner.name.clone(),
    };
    let mut links: Vec<SavedLink> = seen.into_iter().map(|view| link(view)).collect();
    // The one that is shown is always among the tabs.
    let at = links.iter().position(|link| link.current).unwrap_or(0);
    if at >= TABS {
        links.swap(TABS - 1, at);
    }
    links.truncate(TABS);
    links
}

/// `POST /columns`: remembers the columns in the browser.
pub async fn choose_columns(bytes: Bytes) -> Response {
    let mut chosen: Vec<&str> = Vec::new();
    let mut back = String::new();
    let mut usual = false;
    for (name, value) in form_urlencoded::parse(&bytes).take(64) {
        match name.as_ref() {
            "column" => {
                chosen.extend(Column::EVERY.iter().map(|column| column.name()).find(|known| *known == value));
            }
            "back" => back = value.into_owned(),
            "usual" => usual = true,
            _ => {}
        }
    }
    let mut response = see_other(&without_columns(&back));
    // Lax: a link from another site shows the same columns.
    let (value, age) = if usual { (String::new(), 0) } else { (chosen.join("."), 31_536_000) };
    let cookie = format!("{COLUMNS}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}");
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
    response
}

/// The list that was shown; columns of its address would hide those that were just chosen.
fn without_columns(back: &str) -> String {
    let path = return_path(Some(back));
    let Some(query) = path.strip_prefix("/?") else { return "/".to_owned() };
    let pairs = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != "columns");
    let kept = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    if kept.is_empty() { "/".to_owned() } else { format!("/?{kept}") }
}

/// `GET /clusters/chosen`: what is to be done with the clusters that are ticked, or with all that match.
pub async fn chosen(RawQuery(query): RawQuery) -> Result<Response, Fault> {
    let mut picks: Vec<String> = Vec::new();
    let (mut all, mut what) = (String::new(), String::new());
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "pick" => picks.push(value.replace(',', "")),
            "all" => all = value.into_owned(),
            "do" => what = value.into_owned(),
            _ => {}
        }
    }
    if picks.len() > MOST_CHOSEN {
        return Err(Fault::bad_input("Too many clusters are chosen")
            .why(format!("{MOST_CHOSEN} can be chosen at once."))
            .action("Narrow the list with a filter instead, and choose none."));
    }
    let shown = list_of(&all)?;
    let list = if picks.is_empty() {
        shown
    } else {
        // In the order in which they were seen.
        let (sort, reverse) = (shown.sort, shown.reverse);
        ListQuery { names: picks.join(","), sort, reverse, ..ListQuery::default() }
    };
    match what.as_str() {
        "promql" => {
            let expression = list.expression();
            let clusters = if expression.is_empty() { "all".to_owned() } else { expression };
            Ok(see_other(&format!("/fleet?clusters={}", web::text::encode(&clusters))))
        }
        "csv" | "json" | "names" | "ids" => {
            let path = list.start().on("/clusters/export");
            let join = if path.contains('?') { '&' } else { '?' };
            Ok(see_other(&format!("{path}{join}format={what}")))
        }
        _ => Err(Fault::bad_input("It is not said what to do with the clusters").link("Go to clusters", "/")),
    }
}

fn list_of(text: &str) -> Result<ListQuery, Fault> {
    let uri: http::Uri =
        format!("/?{text}").parse().map_err(|_| Fault::bad_input("This is no list's query"))?;
    Query::try_from_uri(&uri).map(|Query(list)| list).map_err(|_| Fault::bad_input("This is no list's query"))
}

/// `GET /clusters/export?format=…`: all that match, as a file.
pub async fn download(
    State(state): State<PortalState>,
    Query(query): Query<ListQuery>,
    Query(format): Query<HashMap<String, String>>,
) -> Result<Response, Fault> {
    export(&state, &query, format.get("format").map_or("csv", String::as_str))
}

/// The cluster whose name a text that names none may mean.
pub fn nearest(text: &str, snapshot: &Snapshot) -> Option<Link> {
    let found = portal_model::index::nearest(text, snapshot, 1);
    found.first().map(|entry| Link::new(entry.id.name(), entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_a_list_of_ours_without_columns() {
        assert_eq!(without_columns("/?q=a%26b&columns=state&sort=name"), "/?q=a%26b&sort=name");
        for strange in ["", "/access", "https://evil.example/?q=x", "//evil.example/?q=x"] {
            assert_eq!(without_columns(strange), "/", "{strange}");
        }
    }
}
