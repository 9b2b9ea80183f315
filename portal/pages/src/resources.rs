//! `{RES}/resources…`: kinds, the objects of a kind, one object, all read with the viewer's own access.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::index::Entry;
use portal_model::look;
use portal_model::look::kinds;
use portal_model::look::refuse_secrets;
use portal_model::look::{LookAccess, describe, diff, logs, table, yaml};
use portal_model::objects::ObjectVersion;
use portal_model::objects::kinds::{Kind, Kinds};
use portal_model::objects::names::{KindName, ObjectName, is_dns, page_of};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use rp_openshift::{Event, LenientList, Whole};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use web::{
    KindGroup, KindQuery, KindRow, Link, NavItem, Notice, ObjectBody, ObjectHead, ObjectPage, ObjectQuery,
    ObjectRevision, ObjectRow, ObjectView, ObjectsPage, ResourcesPage, Tab, Tone,
};

use crate::answer::answer;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::look::{LookTarget, question};

/// Objects of one part of a list.
const PART: usize = 100;
/// Bounds of a search by name: number of list pages, and objects per page.
const MOST_PARTS: usize = 5;
const SEARCHED: usize = 500;
/// Kinds that are counted at once, and of these so many at the same time.
const MOST_COUNTED: usize = 60;
const AT_ONCE: usize = 6;
/// Objects without their content.
const NAMES_ONLY: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
/// Events of one object.
const MOST_EVENTS: usize = 50;

type KindPath = Path<(String, String, String, String, String, String)>;
type ObjectPath = Path<(String, String, String, String, String, String, String)>;

/// Caller and cluster: the common inputs of the pages of this file.
struct RequestScope<'a> {
    state: &'a PortalState,
    context: &'a Context,
    user: &'a CurrentUser,
    entry: &'a Entry,
}

impl RequestScope<'_> {
    fn frame(&self) -> web::Frame {
        let mut frame = frame(self.state, self.context);
        frame.place = NavItem::Clusters;
        frame
    }

    async fn ask(&self, what: String, out: Link, revoked: bool) -> Result<Response, Fault> {
        let opens = LookTarget { tab: Tab::Resources, what, out };
        question(self.state, self.context, self.user, self.entry, opens, revoked).await
    }

    async fn active(&self) -> u64 {
        crate::cluster_head::active(self.state, self.user, self.entry).await
    }
}

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

fn kind_row(kind: &Kind, base: &str) -> KindRow {
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

/// The objects of a kind.
pub async fn objects_page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path((.., group, version, plural)): KindPath,
    Query(query): Query<ObjectQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let asked = RequestScope { state: &state, context: &context, user: &user, entry: &entry };
    let name = KindName::new(&group, &version, &plural)?;
    let base = format!("{}/resources/{}", entry.path(), name.path_segment());
    let mut page = ObjectsPage {
        frame: asked.frame(),
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: asked.active().await,
        kind: KindRow {
            kind: name.plural.clone(),
            plural: name.plural.clone(),
            version: name.version.clone(),
            ..KindRow::default()
        },
        group: name.group.clone(),
        base,
        query,
        ..ObjectsPage::default()
    };
    let found = async {
        refuse_secrets(&name)?;
        let live = match look::enter(&state, &user, &headers, &id).await? {
            LookAccess::Open(live) => live,
            LookAccess::Ask { revoked } => return Ok(Some(revoked)),
        };
        // The list can be shown without discovery, only its name is less fine.
        if let Ok(kinds) = kinds::discover(&context, &state, &live, &id).await
            && let Some(kind) = kinds.find(&name)
        {
            page.kind = KindRow { version: name.version.clone(), ..kind_row(kind, &entry.path()) };
        }
        part(&asked, &live, &name, &mut page).await.map(|()| None)
    };
    match found.await {
        Ok(None) => answer(&context, StatusCode::OK, &page),
        Ok(Some(revoked)) => {
            let out = Link::new("All kinds", format!("{}/resources", entry.path()));
            asked.ask(format!("{} of this cluster", name.plural), out, revoked).await
        }
        Err(fault) => {
            page.failure = Some(fault.failure(&page.frame));
            answer(&context, fault.status, &page)
        }
    }
}

/// Fills a part of the list; a search goes on until the part is full or enough was looked through.
async fn part(
    asked: &RequestScope<'_>,
    live: &Arc<ActiveGrant>,
    name: &KindName,
    page: &mut ObjectsPage,
) -> Result<(), Fault> {
    let wanted = page.query.q.trim().to_lowercase();
    if !(page.query.namespace.is_empty() || is_dns(&page.query.namespace, 63)) {
        return Err(Fault::bad_input("That is no namespace"));
    }
    let mut next = page.query.next.clone();
    for turn in 0..MOST_PARTS {
        let mut url = web::Query::new(&name.list(&page.query.namespace));
        url.add("limit", &if wanted.is_empty() { PART } else { SEARCHED }.to_string());
        url.add("labelSelector", page.query.label.trim());
        url.add("continue", &next);
        let found = look::json(asked.context, asked.state, live, &url.done(), table::ACCEPT).await?;
        let found = table::read(&found);
        if turn == 0 {
            page.columns = found.columns;
        }
        let width = page.columns.len();
        let fits = |row: &&table::Row| wanted.is_empty() || row.name.to_lowercase().contains(&wanted);
        for row in found.rows.iter().filter(fits) {
            let rest = if row.namespace.is_empty() {
                row.name.clone()
            } else {
                format!("{}/{}", row.namespace, row.name)
            };
            let href = ObjectName::new(name.clone(), &rest)
                .map(|object| format!("{}/resources/{}", asked.entry.path(), object.path_segment()));
            let mut cells = row.cells.clone();
            cells.resize(width, String::new());
            page.rows.push(ObjectRow {
                name: row.name.clone(),
                namespace: row.namespace.clone(),
                href: href.unwrap_or_default(),
                cells,
            });
        }
        next = found.next;
        page.remaining = found.remaining.filter(|_| wanted.is_empty());
        if wanted.is_empty() || next.is_empty() || page.rows.len() >= PART {
            break;
        }
    }
    if !wanted.is_empty() && !next.is_empty() {
        let lead = format!(
            "{} objects were looked through.",
            web::text::number(u64::try_from(MOST_PARTS * SEARCHED).unwrap_or(0))
        );
        page.notices.push(Notice {
            tone: Tone::Mute,
            lead,
            text: "More may follow: go on with the next part.".to_owned(),
            action: None,
        });
    }
    page.next = next;
    Ok(())
}

/// How an object is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ObjectPageQuery {
    #[serde(rename = "as")]
    form: String,
    managed: String,
    with: String,
}

/// One object.
pub async fn object_page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path((.., group, version, plural, rest)): ObjectPath,
    Query(how): Query<ObjectPageQuery>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let asked = RequestScope { state: &state, context: &context, user: &user, entry: &entry };
    let name = ObjectName::new(KindName::new(&group, &version, &plural)?, &rest)?;
    let mut page = ObjectPage {
        frame: asked.frame(),
        cluster: crate::cluster_head::cluster(&entry, &user),
        active: asked.active().await,
        object: head(&name, &entry, id.key()),
        view: ObjectView::from_name(&how.form),
        managed: logs::on(&how.managed),
        read_at: state.session.clock.now().seconds(),
        ..ObjectPage::default()
    };
    let found = async {
        refuse_secrets(&name.kind)?;
        let live = match look::enter(&state, &user, &headers, &id).await? {
            LookAccess::Open(live) => live,
            LookAccess::Ask { revoked } => return Ok(Some(revoked)),
        };
        fill(&asked, &live, &name, &how, &mut page).await.map(|()| None)
    };
    match found.await {
        Ok(None) => answer(&context, StatusCode::OK, &page),
        Ok(Some(revoked)) => {
            let out = Link::new("All kinds", format!("{}/resources", entry.path()));
            asked.ask(format!("the object {}", name.name), out, revoked).await
        }
        Err(fault) => {
            page.failure = Some(fault.failure(&page.frame));
            answer(&context, fault.status, &page)
        }
    }
}

fn head(name: &ObjectName, entry: &Entry, key: &str) -> ObjectHead {
    let base = entry.path();
    ObjectHead {
        kind: name.kind.plural.clone(),
        group: name.kind.group.clone(),
        version: name.kind.version.clone(),
        name: name.name.clone(),
        namespace: name.namespace.clone(),
        path: format!("{base}/resources/{}", name.path_segment()),
        list: format!("{base}/resources/{}", name.kind.path_segment()),
        raw: format!("/api/v1/clusters{key}/objects/{}?as=yaml&download=1", name.path_segment()),
        page: None,
    }
}

async fn fill(
    asked: &RequestScope<'_>,
    live: &Arc<ActiveGrant>,
    name: &ObjectName,
    how: &ObjectPageQuery,
    page: &mut ObjectPage,
) -> Result<(), Fault> {
    let (context, state) = (asked.context, asked.state);
    let mut object: Value = look::json(context, state, live, &name.path(), "application/json").await?;
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, version) = (text("/kind"), text("/metadata/resourceVersion"));
    let base = asked.entry.path();
    if !kind.is_empty() {
        page.object.page = page_of(&kind, &name.namespace, &name.name)
            .filter(|page| !page.starts_with("resources/"))
            .map(|page| Link::new(format!("{kind} page"), format!("{base}/{page}")));
        page.object.kind = kind;
    }
    let bytes = object.to_string().len();
    let kept = ObjectVersion {
        version: version.clone(),
        at: state.session.clock.now(),
        object: Arc::new(object.clone()),
    };
    let all = state.model.moments.see(&asked.user.caller.person.sub, &asked.entry.id, name, kept, bytes);
    if !page.managed {
        yaml::without_managed(&mut object);
    }
    page.body = match page.view {
        ObjectView::Yaml | ObjectView::Json => {
            let shown = if page.view == ObjectView::Yaml {
                yaml::yaml_lines(&object)
            } else {
                yaml::json_lines(&object)
            };
            ObjectBody::Text { lines: shown.lines, folded: shown.folded }
        }
        ObjectView::Describe => {
            let kinds = kinds::discover(context, state, live, &asked.entry.id).await.ok();
            let mut it = describe::describe(&object, kinds.as_deref(), &base);
            match events(asked, live, name, &it.uid).await {
                Ok(found) => it.events = describe::events(&found, &base, MOST_EVENTS),
                Err(fault) => it.events_missing = format!("They could not be read: {}.", fault.message()),
            }
            ObjectBody::Described(Box::new(it))
        }
        ObjectView::Diff => compare(page, &all, &how.with),
    };
    Ok(())
}

async fn events(
    asked: &RequestScope<'_>,
    live: &Arc<ActiveGrant>,
    name: &ObjectName,
    uid: &str,
) -> Result<LenientList<Event<Whole>>, Fault> {
    let selector = if uid.is_empty() {
        format!("involvedObject.name={}", name.name)
    } else {
        format!("involvedObject.uid={uid}")
    };
    let namespace = if name.namespace.is_empty() { "default" } else { &name.namespace };
    let mut url = web::Query::new(&format!("/api/v1/namespaces/{namespace}/events"));
    url.add("fieldSelector", &selector);
    url.add("limit", "200");
    look::json(asked.context, asked.state, live, &url.done(), "application/json").await
}

/// Now and the moment that was chosen, or the one before.
fn compare(page: &mut ObjectPage, all: &[ObjectVersion], with: &str) -> ObjectBody {
    let Some((now, earlier)) = all.split_first().filter(|(_, earlier)| !earlier.is_empty()) else {
        return ObjectBody::OneMoment;
    };
    let Some(before) = earlier.iter().find(|seen| seen.version == with).or_else(|| earlier.first()) else {
        return ObjectBody::OneMoment;
    };
    let moment = |seen: &ObjectVersion| ObjectRevision {
        version: rp_base::text::clean(&seen.version, 60),
        at: seen.at.seconds(),
        chosen: seen.version == before.version,
    };
    page.moments = all.iter().map(moment).collect();
    let lines = |seen: &ObjectVersion| {
        let mut object = Value::clone(&seen.object);
        if !page.managed {
            yaml::without_managed(&mut object);
        }
        yaml::yaml_lines(&object).lines
    };
    let (rows, cut) = diff::diff(&lines(before), &lines(now));
    ObjectBody::Diff { before: moment(before), after: moment(now), rows, cut }
}
