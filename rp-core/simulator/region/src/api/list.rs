//! Lists: selectors, pages, resource versions.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::{Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::objects::{Kind, View};
use rp_simulator::written::Change;
use serde_json::{Value, json};

use super::path::Resource;
use super::selector::Selector;
use super::status::Failure;
use super::{Call, json_answer, table};

/// A list as it is now. Its version is read before its objects, so that a watch from it misses nothing.
pub(super) fn answer(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Response<Body>, Failure> {
    let choice = ObjectQuery::read(call, kind, at)?;
    let current = version(call);
    let from = match call.query.get("continue") {
        Some(token) => Some(Position::read(token, current)?),
        None => None,
    };
    let version = from.as_ref().map_or_else(|| wanted_version(call, current), |from| Ok(from.version))?;
    let mut all = choice.select(kind, &call.view);
    if let Some(from) = &from {
        all.retain(|object| place(object) > (from.namespace.as_str(), from.name.as_str()));
    }
    let limit = match call.query.number("limit")? {
        Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let rest = all.len().saturating_sub(limit);
    all.truncate(limit);
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let Some(last) = all.last().filter(|_| rest > 0) {
        metadata["continue"] = json!(Position::after(last, version).token());
        // The API server does not count what a selector would leave out.
        if choice.selector.is_empty() {
            metadata["remainingItemCount"] = json!(rest);
        }
    }
    let answer = match table::wanted(&call.headers) {
        Some(version) => table::from_objects(kind, &all, &call.view, version, &metadata),
        None => json!({
            "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(), "metadata": metadata,
            "items": all,
        }),
    };
    Ok(json_answer(StatusCode::OK, &answer))
}

/// The version of a list, by `resourceVersion` and `resourceVersionMatch`.
fn wanted_version(call: &Call<'_>, current: u64) -> Result<u64, Failure> {
    let given = call
        .query
        .number("resourceVersion")
        .map_err(|_| Failure::bad("invalid resource version"))?
        .unwrap_or(0);
    let invalid = |why: &str| Err(Failure::invalid("ListOptions.meta.k8s.io", "", why));
    if given > current {
        return Err(Failure::too_new(given, current));
    }
    match call.query.get("resourceVersionMatch") {
        None => Ok(current),
        Some(_) if call.query.get("resourceVersion").is_none() => invalid(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        Some("NotOlderThan") => Ok(current),
        Some("Exact") if given == 0 => invalid(
            "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        // Only the present is kept: an older version is good while nothing was written since.
        Some("Exact")
            if is_recent(given, current) && changes_since(call, given).is_some_and(|all| all.is_empty()) =>
        {
            Ok(given)
        }
        Some("Exact") => Err(Failure::too_old(given, current)),
        Some(_) => {
            invalid("resourceVersionMatch: Unsupported value: supported values: \"Exact\", \"NotOlderThan\"")
        }
    }
}

/// Older versions are expired, milliseconds.
const HISTORY: u64 = 600_000;

/// Whether changes since that version may still be known.
pub(super) const fn is_recent(version: u64, current: u64) -> bool {
    current.saturating_sub(version) <= HISTORY
}

/// What was written after a version; `None`: that is no longer known.
pub(super) fn changes_since(call: &Call<'_>, version: u64) -> Option<Vec<Change>> {
    call.view.cluster.written().map_or_else(|| Some(Vec::new()), |written| written.since(version))
}

/// Where a list goes on: after that object.
struct Position {
    version: u64,
    namespace: String,
    name: String,
}

impl Position {
    fn after(object: &Value, version: u64) -> Self {
        let (namespace, name) = place(object);
        Self { version, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{}", self.version, self.namespace, self.name))
    }

    /// Reads a token: 400 when it is not ours, 410 when it is too old.
    fn read(token: &str, current: u64) -> Result<Self, Failure> {
        let parsed = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
            let mut parts = text.splitn(3, '/').map(str::to_owned);
            let version = parts.next()?.parse().ok()?;
            Some(Self { version, namespace: parts.next()?, name: parts.next()? })
        };
        let position = parsed().ok_or_else(|| Failure::bad("continue key is not valid"))?;
        if is_recent(position.version, current) { Ok(position) } else { Err(Failure::expired()) }
    }
}

/// Namespace (empty: none) and name, by which lists are in order.
fn place(object: &Value) -> (&str, &str) {
    let text = |member: &str| object["metadata"][member].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// The objects that a request is about.
pub(super) fn select(call: &Call<'_>, kind: &'static Kind, at: &Resource) -> Result<Vec<Value>, Failure> {
    Ok(ObjectQuery::read(call, kind, at)?.select(kind, &call.view))
}

/// Which objects of a kind a request selects.
pub(super) struct ObjectQuery {
    selector: Selector,
    namespace: Option<String>,
    name: Option<String>,
}

impl ObjectQuery {
    pub(super) fn read(call: &Call<'_>, kind: &Kind, at: &Resource) -> Result<Self, Failure> {
        let (namespace, name) = (at.namespace.clone(), at.name.clone());
        Ok(Self { selector: Selector::read(kind, &call.query)?, namespace, name })
    }

    /// The selected objects in that view, in order of namespace and name.
    pub(super) fn select(&self, kind: &Kind, view: &View<'_>) -> Vec<Value> {
        let mut all = rp_simulator::objects::all(kind, view);
        all.retain(|object| self.matches(object));
        all.sort_by(|one, other| place(one).cmp(&place(other)));
        all
    }

    /// Whether an object is selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.namespace.as_deref().is_none_or(|ns| object["metadata"]["namespace"] == ns)
            && self.name.as_deref().is_none_or(|name| object["metadata"]["name"] == name)
            && self.selector.matches(object)
    }
}

/// The cluster's resource version.
pub(super) fn version(call: &Call<'_>) -> u64 {
    call.view.cluster.version(call.view.now)
}
