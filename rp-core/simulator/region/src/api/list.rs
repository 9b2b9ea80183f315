//! Lists: selectors, pages, resource versions.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::{Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::objects::{Kind, View};
use serde_json::{Value, json};

use super::path::Resource;
use super::selector::Selector;
use super::status::Failure;
use super::{Call, json_answer, table};

/// A list as it is now.
pub(super) fn answer(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Response<Body>, Failure> {
    let all = select(call, kind, at)?;
    let start = match call.query.get("continue") {
        Some(token) => position(token).ok_or_else(Failure::expired)?,
        None => 0,
    };
    let limit = match call.query.number("limit")? {
        Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let end = start.saturating_add(limit).min(all.len());
    let page = all.get(start..end).unwrap_or_default();
    let mut metadata = json!({"resourceVersion": version(call).to_string()});
    if end < all.len() {
        metadata["continue"] = json!(URL_SAFE_NO_PAD.encode(format!("sim1:{end}")));
        metadata["remainingItemCount"] = json!(all.len() - end);
    }
    let answer = match table::wanted(&call.headers) {
        Some(version) => table::from_objects(kind, page, &call.view, version, &metadata),
        None => json!({
            "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(), "metadata": metadata,
            "items": page,
        }),
    };
    Ok(json_answer(StatusCode::OK, &answer))
}

/// The objects that a request is about.
pub(super) fn select(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Vec<Value>, Failure> {
    Ok(ObjectQuery::read(call, at)?.select(kind, &call.view))
}

/// Which objects of a kind a request selects.
pub(super) struct ObjectQuery {
    selector: Selector,
    namespace: Option<String>,
    name: Option<String>,
}

impl ObjectQuery {
    pub(super) fn read(call: &Call<'_>, at: &Resource) -> Result<Self, Failure> {
        let (namespace, name) = (at.namespace.clone(), at.name.clone());
        Ok(Self { selector: Selector::read(&call.query)?, namespace, name })
    }

    /// The selected objects in that view.
    pub(super) fn select(&self, kind: &Kind, view: &View<'_>) -> Vec<Value> {
        let mut all = rp_simulator::objects::all(kind, view);
        all.retain(|object| {
            self.namespace.as_deref().is_none_or(|ns| object["metadata"]["namespace"] == ns)
                && self.name.as_deref().is_none_or(|name| object["metadata"]["name"] == name)
                && self.selector.matches(object)
        });
        all
    }
}

/// The list's resource version: seconds, so that it only grows.
pub(super) fn version(call: &Call<'_>) -> i64 {
    call.view.now.seconds()
}

fn position(token: &str) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    text.strip_prefix("sim1:")?.parse().ok()
}
