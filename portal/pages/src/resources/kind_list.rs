//! The kinds that a cluster serves.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::look;
use portal_model::look::LookAccess;
use portal_model::look::kinds;
use portal_model::objects::kinds::{Kind, Kinds};
use portal_model::objects::names::KindName;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use rp_openshift::LenientList;
use serde::de::IgnoredAny;
use web::{KindGroup, KindQuery, KindRow, Link, Notice, ResourcesPage, Tone};

use super::RequestScope;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;

/// Kinds that are counted at once, and of these so many at the same time.
const MOST_COUNTED: usize = 60;
const AT_ONCE: usize = 6;
/// Objects without their content.
const NAMES_ONLY: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/// The kinds that the cluster serves.
pub async fn kinds_page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Query(query): Query<KindQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let asked = RequestScope { state: &state, context: &context, user: &user, entry: &entry };
    let mut page = ResourcesPage {
        frame: asked.frame(),
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: asked.active().await,
        query,
        ..ResourcesPage::default()
    };
    let found = async {
        let live = match look::enter(&state, &user, &headers, &id).await? {
            LookAccess::Open(live) => live,
            LookAccess::Ask { revoked } => return Ok(Err(revoked)),
        };
        let kinds = kinds::discover(&context, &state, &live, &id).await?;
        Ok(Ok((live, kinds)))
    };
    let (live, kinds) = match found.await {
        Ok(Ok(found)) => found,
        Ok(Err(revoked)) => {
            let out = Link::new("Back to the cluster", entry.path());
            return asked.ask("the objects of this cluster".to_owned(), out, revoked).await;
        }
        Err(fault) => {
            page.failure = Some(Fault::failure(&fault, &page.frame));
            return answer(&context, fault.status, &page);
        }
    };
    page.total = u64::try_from(kinds.kinds.len()).unwrap_or(0);
    page.groups = groups(&kinds, &page.query.q, &entry.path());
    page.notices = kinds.missing.iter().take(10).map(|name| missing_group(name)).collect();
    if page.query.count == "1" {
        count(&asked, &live, &mut page).await;
    }
    answer(&context, StatusCode::OK, &page)
}

fn missing_group(name: &str) -> Notice {
    let lead = format!("{} did not answer.", rp_base::text::clean(name, 100));
    Notice { tone: Tone::Warn, lead, text: "Its kinds may be missing here.".to_owned(), action: None }
}

fn groups(kinds: &Kinds, wanted: &str, base: &str) -> Vec<KindGroup> {
    let wanted = wanted.trim().to_lowercase();
    let fits = |kind: &&Kind| {
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        wanted.is_empty()
            || has(&kind.kind)
            || has(&kind.name.plural)
            || has(&kind.name.group)
            || kind.short.contains(&wanted)
    };
    let mut groups: Vec<KindGroup> = Vec::new();
    for kind in kinds.kinds.iter().filter(fits) {
        if groups.last().is_none_or(|group| group.name != kind.name.group) {
            groups.push(KindGroup { name: kind.name.group.clone(), kinds: Vec::new() });
        }
        if let Some(group) = groups.last_mut() {
            group.kinds.push(kind_row(kind, base));
        }
    }
    groups
}

pub(super) fn kind_row(kind: &Kind, base: &str) -> KindRow {
    let locked = kind.name.is_secret();
    KindRow {
        kind: kind.kind.clone(),
        plural: kind.name.plural.clone(),
        version: kind.name.version.clone(),
        short: kind.short.clone(),
        namespaced: kind.namespaced,
        href: if kind.listable && !locked {
            format!("{base}/resources/{}", kind.name.path_segment())
        } else {
            String::new()
        },
        locked,
        count: None,
    }
}

/// Counts the kinds that are shown: one small request each, bounded.
async fn count(asked: &RequestScope<'_>, live: &Arc<ActiveGrant>, page: &mut ResourcesPage) {
    let mut names = Vec::new();
    for group in &page.groups {
        for row in group.kinds.iter().filter(|row| !row.href.is_empty()) {
            let (group, version, plural) = (group.name.clone(), row.version.clone(), row.plural.clone());
            names.push(KindName { group, version, plural });
        }
    }
    names.truncate(MOST_COUNTED);
    let mut counts = Vec::new();
    for part in names.chunks(AT_ONCE) {
        counts.extend(
            futures_util::future::join_all(part.iter().map(|name| count_one(asked, live, name))).await,
        );
    }
    let rows = page.groups.iter_mut().flat_map(|group| &mut group.kinds);
    for (row, count) in rows.filter(|row| !row.href.is_empty()).zip(counts) {
        row.count = Some(count);
    }
}

async fn count_one(asked: &RequestScope<'_>, live: &Arc<ActiveGrant>, name: &KindName) -> String {
    let path = format!("{}?limit=1", name.list(""));
    match look::json(asked.context, asked.state, live, &path, NAMES_ONLY).await {
        Ok(list) => number_of(&list),
        Err(fault) if fault.status == StatusCode::FORBIDDEN => "not allowed".to_owned(),
        Err(_) => "no answer".to_owned(),
    }
}

fn number_of(list: &LenientList<IgnoredAny>) -> String {
    let (here, more) = (list.items.len(), list.metadata.remaining_item_count.0);
    match more.and_then(|more| u64::try_from(more).ok()) {
        Some(more) => web::text::number(more + u64::try_from(here).unwrap_or(0)),
        None if list.metadata.token.is_empty() => here.to_string(),
        None => "more than 1".to_owned(),
    }
}
