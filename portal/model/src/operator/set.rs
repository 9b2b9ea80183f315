//! Flags that people set.
//!
//! The change goes into the cluster's document, where the admin API's `operatorFlags` puts it, and the maintenance task
//! `sync Cluster object` writes the document's flags to the cluster: the step of the admin API's `SyncClusterObject`.
//! It is no administrators' update ([decision 22](../../../../docs/decisions/0022-flags-by-maintenance.md)).

use std::collections::BTreeMap;
use std::sync::Arc;

use http::StatusCode;
use portal_session::elevation::require_elevation;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_base::text::clean;
use rp_database::{StoreError, Typed, Versioned, update_if};
use rp_documents::cluster::provisioning::Request;
use rp_documents::cluster::{Edge, Map, Properties, Shared};
use rp_documents::maintenance::Task;
use rp_documents::{ClusterDocument, ManifestDocument, ResourceId, Rights, Side};
use rp_operator_api::Flag;
use rp_operator_api::flags::{Fallback, SetError, checked, default_set};

use crate::cluster_document::cluster_document;
use crate::maintenance::{self, Order};
use crate::saved::{ChangeError, invalid, reason_limits, record};
use crate::state::PortalState;

/// Flags of one request.
const MOST_FLAGS: usize = 100;
/// Characters of what was set, in the audit entry.
const MOST_NAMED: usize = 1_000;

/// What a person sets.
#[derive(Debug)]
pub struct FlagChanges {
    /// By name; `None`: its default.
    pub flags: BTreeMap<String, Option<String>>,
    /// Why, for the record.
    pub reason: String,
}

/// What came of it.
#[derive(Debug)]
pub struct FlagsSet {
    /// The values of these flags in the document; `None`: the document does not have it.
    pub flags: BTreeMap<String, Option<String>>,
    /// What writes them to the cluster.
    pub manifest: ManifestDocument,
}

/// Changes flags in the document of a cluster, and orders the task that writes them to the cluster; on the record before
/// either. A second call with the same flags changes nothing in the document and orders the task again.
///
/// # Errors
/// The person has no elevation to write rights on this cluster; a flag is not known or does not take the value; there is
/// no reason; there is no such cluster, it is imported, or its state allows no change; or the store's.
pub async fn set_flags(
    state: &PortalState,
    user: &CurrentUser,
    id: &ResourceId,
    changes: FlagChanges,
) -> Result<FlagsSet, ChangeError> {
    require_elevation(&state.session, &user.caller, id, Rights::Write).await?;
    let reason = reason_limits(state).check(&changes.reason)?.to_owned();
    let found = cluster(state, id).await?;
    let wanted = wanted(changes.flags, &found.value.cluster.properties)?;
    check_state(&found.value.cluster.properties)?;
    record(state, user, "operator.flags", &named(&wanted), &reason, Some(id)).await?;
    let document = change(state, &found.value.id, &wanted).await?;
    let task = Task::SyncClusterObject.id().to_owned();
    let order = Order { task, reason, ..Order::default() };
    let manifest = maintenance::order(state, user, id, order).await.map_err(Fault::from)?;
    let stored: &Map<Shared<String>> = &document.operator_flags;
    let value = |name: &String| stored.get(name)?.get().cloned();
    let flags = wanted.keys().map(|name| (name.clone(), value(name))).collect();
    Ok(FlagsSet { flags, manifest })
}

/// The document of a cluster of ours.
async fn cluster(state: &PortalState, id: &ResourceId) -> Result<Versioned<ClusterDocument>, Fault> {
    if id.is_imported() {
        return Err(invalid("The service does not manage an imported cluster"));
    }
    cluster_document(&state.session.store, id).await
}

/// The flags as they are stored; all that are wrong are named at once.
fn wanted(
    flags: BTreeMap<String, Option<String>>,
    properties: &Properties,
) -> Result<BTreeMap<String, Option<String>>, Fault> {
    if flags.is_empty() || flags.len() > MOST_FLAGS {
        return Err(invalid(format!("Name 1 to {MOST_FLAGS} flags")));
    }
    let (mut wanted, mut wrong) = (BTreeMap::new(), Vec::new());
    for (name, value) in flags {
        let read = match &value {
            Some(value) => checked(&name, value).map(|(_, value)| Some(value)),
            // A flag that is not known can only be taken away.
            None if Flag::named(&name).is_some() || properties.operator_flags.contains_key(&name) => Ok(None),
            None => Err(SetError::Unknown { name: clean(&name, 100) }),
        };
        match read {
            Ok(value) => drop(wanted.insert(name, value)),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if wrong.is_empty() {
        return Ok(wanted);
    }
    wrong.truncate(20);
    let action = "aro operator flags lists every flag with the values that it takes.";
    Err(invalid("The flags are not set").why(format!("{}.", wrong.join("; "))).action(action))
}

/// No operation may run: it works from the document as it was when it began.
fn check_state(properties: &Properties) -> Result<(), Fault> {
    if properties.allows(Request::AdminUpdate).is_ok() {
        return Ok(());
    }
    let what = format!("The cluster cannot be changed now: it is {}", properties.provisioning_state.word());
    Err(Fault::new(StatusCode::CONFLICT, "not_at_rest", Side::You, what)
        .why("Flags change only when the last operation on the cluster has ended, and is no failed creation or deletion.")
        .action("Try again when the operation has ended: aro operations watch shows it."))
}

/// Writes the flags into the document; gives its properties afterwards.
async fn change(
    state: &PortalState,
    document: &str,
    wanted: &BTreeMap<String, Option<String>>,
) -> Result<Properties, Fault> {
    let clusters = Typed::<ClusterDocument>::new(Arc::clone(&state.session.store));
    let mut seen = Ok(Properties::default());
    let changed = update_if(&clusters, document, |mut found: Versioned<ClusterDocument>| {
        let properties = &mut found.value.cluster.properties;
        let allowed = check_state(properties);
        let changes = allowed.is_ok() && merge(properties, Edge::accepting(), wanted);
        seen = allowed.map(|()| properties.clone());
        changes.then_some(found)
    });
    match changed.await {
        Ok(_) => seen,
        Err(StoreError::Gone { .. }) => Err(Fault::no_cluster()),
        Err(error) => Err(Fault::store(&error)),
    }
}

/// Lays the flags over those of the document, or over the defaults where it has none at all (`contract/operator.md` §4).
/// A flag goes back to its default by the default's value where new clusters have it, and is removed where they do not.
/// Gives whether anything differs.
fn merge(properties: &mut Properties, by: Edge, wanted: &BTreeMap<String, Option<String>>) -> bool {
    let before = properties.operator_flags.clone();
    if properties.operator_flags.is_none() {
        let defaults: Map<_> =
            default_set().map(|(flag, value)| (flag.to_owned(), Shared::new(by, value))).collect();
        properties.operator_flags.set(by, defaults);
    }
    for (name, value) in wanted {
        let default = match Flag::named(name).map(Flag::default) {
            Some(Fallback::Set(value)) => Some(value),
            _ => None,
        };
        match value.as_deref().or(default) {
            Some(value) => properties.operator_flags.insert(by, name.as_str(), Shared::new(by, value)),
            None => properties.operator_flags.remove(by, name),
        }
    }
    properties.operator_flags != before
}

/// What was set, for the record.
fn named(wanted: &BTreeMap<String, Option<String>>) -> String {
    let one = |(name, value): (&String, &Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => format!("{name} to its default"),
    };
    clean(&wanted.iter().map(one).collect::<Vec<_>>().join(", "), MOST_NAMED)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn properties(value: &Value) -> Properties {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn flags(pairs: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect()
    }

    fn merged(of: &Value, pairs: &[(&str, Option<&str>)]) -> Value {
        let mut properties = properties(&json!({"operatorFlags": of}));
        merge(&mut properties, Edge::accepting(), &flags(pairs));
        serde_json::to_value(&properties).unwrap()["operatorFlags"].clone()
    }

    #[test]
    fn flags_are_laid_over_the_documents() {
        let of = json!({"aro.banner.enabled": "false", "own": "x", "aro.environment": "int"});
        let set = [("aro.banner.enabled", Some("true")), ("own", None), ("aro.environment", None)];
        assert_eq!(merged(&of, &set), json!({"aro.banner.enabled": "true"}));
        assert_eq!(merged(&of, &[("aro.banner.enabled", None)])["aro.banner.enabled"], "false");
    }

    #[test]
    fn a_document_without_flags_gets_the_default_set() {
        let all = merged(&Value::Null, &[("aro.banner.enabled", Some("true"))]);
        assert_eq!((all.as_object().unwrap().len(), &all["aro.banner.enabled"]), (46, &json!("true")));
        assert_eq!(merged(&json!({}), &[("aro.rbac.enabled", None)]), json!({"aro.rbac.enabled": "true"}));
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let mut properties = properties(&json!({"operatorFlags": {"aro.banner.enabled": "true"}}));
        assert!(!merge(&mut properties, Edge::accepting(), &flags(&[("aro.banner.enabled", Some("true"))])));
    }

    #[test]
    fn everything_that_is_wrong_is_named_with_what_fits() {
        let document = properties(&json!({"operatorFlags": {"typo": "true"}}));
        let set = flags(&[("aro.banner.enabled", Some("yes")), ("no.such", None), ("typo", Some("true"))]);
        let fault = wanted(set, &document).unwrap_err();
        assert_eq!(fault.status, StatusCode::UNPROCESSABLE_ENTITY);
        for part in ["aro.banner.enabled takes true or false", "\"no.such\"", "\"typo\" is not known"] {
            assert!(fault.why.contains(part), "{}", fault.why);
        }
        assert!(wanted(BTreeMap::new(), &document).is_err());
        let taken =
            wanted(flags(&[("typo", None), ("aro.banner.enabled", Some("TRUE"))]), &document).unwrap();
        assert_eq!(taken, flags(&[("typo", None), ("aro.banner.enabled", Some("true"))]));
    }

    #[test]
    fn flags_change_only_at_rest() {
        let allows = |state: &str, failed: &str| {
            let value = json!({"provisioningState": state, "failedProvisioningState": failed});
            check_state(&properties(&value)).map_err(|fault| fault.status.as_u16())
        };
        assert_eq!(allows("Succeeded", ""), Ok(()));
        assert_eq!(allows("Failed", "Updating"), Ok(()));
        assert_eq!(allows("Failed", "Creating"), Err(409));
        assert_eq!(allows("Updating", ""), Err(409));
        assert_eq!(allows("Deleting", ""), Err(409));
    }

    #[test]
    fn the_record_says_what_was_set() {
        let set = flags(&[("a", Some("b")), ("c", None)]);
        assert_eq!(named(&set), "a=b, c to its default");
    }
}
