//! One object: as text, described, or compared with an earlier moment.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use portal_model::index::Entry;
use portal_model::look;
use portal_model::look::kinds;
use portal_model::look::refuse_secrets;
use portal_model::look::{LookAccess, describe, diff, logs, yaml};
use portal_model::objects::ObjectVersion;
use portal_model::objects::names::{KindName, ObjectName, page_of};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_access::ActiveGrant;
use rp_openshift::{Event, LenientList, Whole};
use serde::Deserialize;
use serde_json::Value;
use web::{Link, ObjectBody, ObjectHead, ObjectPage, ObjectRevision, ObjectView};

use super::RequestScope;
use crate::act_words::csr_acts;
use crate::answer::answer;
use crate::cluster_path::ClusterPath;

/// Events of one object.
const MOST_EVENTS: usize = 50;

type ObjectPath = Path<(String, String, String, String, String, String, String)>;

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
    if (name.kind.group.as_str(), name.kind.plural.as_str())
        == ("certificates.k8s.io", "certificatesigningrequests")
    {
        page.object.acts = csr_acts(&user, &entry, &name.name);
    }
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
        acts: Vec::new(),
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
