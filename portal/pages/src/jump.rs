//! `/jump` and `/api/v1/jump`: from a few letters to a cluster, a page, an action.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::{Entry, Selection, Snapshot, jump, nearest, open};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_documents::{ResourceId, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use web::{JumpGroup, JumpItem, JumpPage, Link, ListQuery, Tab};

use crate::answer::answer;
use crate::frame::frame;

/// Clusters, and places of each other kind, that are shown.
const CLUSTERS: usize = 8;
const OTHERS: usize = 8;
/// Clusters whose pages and actions are offered.
const NEAR: usize = 2;
/// Clusters that are offered for a name that no cluster has.
const NEAREST: usize = 3;
/// Words that are looked at.
const WORDS: usize = 8;
const MOST_TEXT: usize = 500;

/// What is asked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JumpQuery {
    /// Letters of a cluster, a page, an action.
    q: String,
    /// Path of the page that asks: its cluster comes first.
    from: String,
}

/// The page, for those without scripts and for links.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(asked): Query<JumpQuery>,
) -> Result<Response, Fault> {
    let q: String = asked.q.chars().take(MOST_TEXT).collect();
    let found = groups(&state, &user, &q, &asked.from);
    let elsewhere = state.session.site.regions.iter().map(|region| elsewhere(region, &q)).collect();
    let page = JumpPage { frame: frame(&state, &context), q, groups: found, elsewhere };
    answer(&context, StatusCode::OK, &page)
}

/// The list of another region's portal, with the same search.
fn elsewhere(region: &portal_session::site::Link, q: &str) -> Link {
    let base = region.url.trim_end_matches('/');
    let query = if q.trim().is_empty() { String::new() } else { format!("?q={}", web::text::encode(q)) };
    Link::new(&region.text, format!("{base}/{query}"))
}

/// Places to go, as the palette shows them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JumpResponse {
    groups: Vec<GroupView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "JumpGroup")]
struct GroupView {
    words: &'static str,
    items: Vec<ItemView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "JumpItem")]
struct ItemView {
    text: String,
    note: String,
    tone: String,
    icon: &'static str,
    href: String,
}

/// The same for the palette.
pub async fn json(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(asked): Query<JumpQuery>,
) -> Result<Response, Fault> {
    let q: String = asked.q.chars().take(MOST_TEXT).collect();
    let mut found = groups(&state, &user, &q, &asked.from);
    let others = state.session.site.regions.iter().take(OTHERS).map(|region| {
        let link = elsewhere(region, &q);
        JumpItem { icon: "region", note: "another portal".to_owned(), ..item(&link.text, link.href) }
    });
    let others: Vec<JumpItem> = if q.trim().is_empty() { Vec::new() } else { others.collect() };
    push(&mut found, "Other regions", others);
    let shown = |item: JumpItem| ItemView {
        text: rp_base::text::clean(&item.text, 300),
        note: rp_base::text::clean(&item.note, 100),
        tone: item.tone.to_string(),
        icon: item.icon,
        href: item.href,
    };
    let groups = found
        .into_iter()
        .map(|group| GroupView { words: group.words, items: group.items.into_iter().map(shown).collect() });
    portal_session::json::json(&JumpResponse { groups: groups.collect() })
}

fn item(text: &str, href: impl Into<String>) -> JumpItem {
    JumpItem { text: text.to_owned(), href: href.into(), icon: "right", ..JumpItem::default() }
}

fn push(groups: &mut Vec<JumpGroup>, words: &'static str, items: Vec<JumpItem>) {
    if !items.is_empty() {
        groups.push(JumpGroup { words, items });
    }
}

fn groups(state: &PortalState, user: &CurrentUser, q: &str, from: &str) -> Vec<JumpGroup> {
    let snapshot = state.model.index.snapshot();
    let here = ResourceId::parse_prefix(from).ok().and_then(|(id, _)| snapshot.get(&id).cloned());
    let words: Vec<String> = q.to_lowercase().split_whitespace().take(WORDS).map(str::to_owned).collect();
    let mut groups = Vec::new();
    let found = clusters(state, &snapshot, q, &words);
    push(&mut groups, "Clusters", found.iter().take(CLUSTERS).map(|entry| cluster(entry)).collect());
    // A node's name from an alert: its page, where no cluster has that name.
    if found.is_empty()
        && let Some(path) = open(q, &snapshot)
    {
        push(&mut groups, "Nodes", vec![JumpItem { icon: "node", ..item(q.trim(), path) }]);
    }
    if found.is_empty() && groups.is_empty() {
        let near = nearest(words.first().map_or("", String::as_str), &snapshot, NEAREST);
        push(&mut groups, "Nearest names", near.iter().map(|entry| cluster(entry)).collect());
    }
    push(&mut groups, "Pages of a cluster", tabs(state, &snapshot, &words, here.as_ref()));
    push(&mut groups, "Pages", pages(user, &words));
    let near: Vec<&Arc<Entry>> = here.iter().chain(found.iter().take(NEAR)).collect();
    push(&mut groups, "Actions", actions(user, &words, &near));
    groups
}

fn cluster(entry: &Entry) -> JumpItem {
    let badge = entry.shown_state().badge();
    JumpItem { note: badge.word, tone: badge.tone, icon: "clusters", ..item(entry.id.name(), entry.path()) }
}

/// Those that have every word, names that begin with the first before others.
fn clusters(state: &PortalState, snapshot: &Snapshot, q: &str, words: &[String]) -> Vec<Arc<Entry>> {
    if let Some(entry) = jump(q, snapshot) {
        return vec![entry];
    }
    let Some(first) = words.first() else { return Vec::new() };
    let mut found = search(state, snapshot, &words.join(" "));
    found.sort_by_key(|entry| !entry.id.name().to_ascii_lowercase().starts_with(first.as_str()));
    found
}

/// The best of those that have the words.
fn search(state: &PortalState, snapshot: &Snapshot, text: &str) -> Vec<Arc<Entry>> {
    let query = ListQuery { q: text.to_owned(), sort: web::Column::Name, ..ListQuery::default() };
    let page =
        Selection::new(&query, state.session.clock.now()).ok().and_then(|s| s.page(snapshot, 200).ok());
    page.map(|page| page.rows).unwrap_or_default()
}

/// Pages of this cluster whose name begins with the words; of others where one word names a page and the rest the
/// cluster.
fn tabs(
    state: &PortalState,
    snapshot: &Snapshot,
    words: &[String],
    here: Option<&Arc<Entry>>,
) -> Vec<JumpItem> {
    let named = |tab: &Tab, word: &str| {
        tab.words().to_lowercase().starts_with(word) || tab.segment().starts_with(word)
    };
    let to = |entry: &Entry, tab: Tab| {
        let text = format!("{} / {}", entry.id.name(), tab.words());
        item(&text, format!("{}/{}", entry.path(), tab.segment()))
    };
    let mut found = Vec::new();
    if let Some(entry) = here {
        let text = words.join(" ");
        found.extend(Tab::ALL.into_iter().filter(|tab| named(tab, &text)).map(|tab| to(entry, tab)));
    }
    if let [rest @ .., last] = words
        && !rest.is_empty()
    {
        for tab in Tab::ALL.into_iter().filter(|tab| named(tab, last)) {
            found.extend(
                search(state, snapshot, &rest.join(" ")).iter().take(NEAR).map(|entry| to(entry, tab)),
            );
        }
    }
    found.truncate(if here.is_some() && words.is_empty() { Tab::ALL.len() } else { OTHERS });
    found
}

fn pages(user: &CurrentUser, words: &[String]) -> Vec<JumpItem> {
    let all = [
        ("Clusters", "/", "clusters", true),
        ("Alerts", "/alerts", "bell", true),
        ("Operations", "/operations", "pulse", true),
        ("Fleet query", "/fleet", "chart", true),
        ("Maintenance", "/maintenance", "wrench", true),
        ("Access", "/access", "key", true),
        ("Elevations", "/elevations", "power", user.has(Role::Elevated) || user.has(Role::Approver)),
        ("Audit", "/audit", "list", user.has(Role::Auditor)),
        ("Recordings", "/recordings", "film", user.has(Role::Sre) || user.has(Role::Auditor)),
        ("Imported clusters", "/imported", "import", user.has(Role::Admin)),
        ("Robots", "/robots", "robot", user.has(Role::Admin)),
        ("Keys", "/keys", "keyboard", true),
    ];
    let has = |text: &str| words.iter().all(|word| text.to_lowercase().contains(word.as_str()));
    let mine = all.into_iter().filter(|(text, _, _, may)| *may && has(text));
    mine.map(|(text, href, icon, _)| JumpItem { icon, ..item(text, href) }).collect()
}

fn actions(user: &CurrentUser, words: &[String], near: &[&Arc<Entry>]) -> Vec<JumpItem> {
    let mut found = Vec::new();
    for entry in near {
        let (name, path) = (entry.id.name(), entry.path());
        if user.has(Role::Sre) {
            found.push(JumpItem {
                icon: "key",
                ..item(&format!("Kubeconfig for {name}"), format!("{path}/kubeconfig"))
            });
            found.push(JumpItem {
                icon: "chart",
                ..item(&format!("PromQL on {name}"), format!("{path}/explore"))
            });
        }
    }
    if user.has(Role::Elevated) {
        found.push(JumpItem { icon: "power", ..item("Elevate", "/elevate") });
    }
    if user.has(Role::Sre) {
        found.push(JumpItem { icon: "revoke", ..item("Revoke my access", "/access/revoke") });
    }
    // Words that name the cluster need not be in the action's words too: it is offered for that cluster.
    let has = |item: &JumpItem| {
        words.iter().all(|word| {
            item.text.to_lowercase().contains(word.as_str())
                || item.href.to_lowercase().contains(word.as_str())
        })
    };
    found.retain(has);
    let mut hrefs = std::collections::HashSet::new();
    found.retain(|item| hrefs.insert(item.href.clone()));
    found.truncate(OTHERS);
    found
}
