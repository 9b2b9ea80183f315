//! A cluster as the versions of the API write it: the only place where it is a JSON value, because a version is a tree
//! of names (`rp_api::convert`).

use http::Method;
use rp_api::{Version, admin, convert, decode, repetition};
use rp_documents::cluster::MaintenanceTask;
use rp_documents::{MirroredPrincipal, OpenShiftCluster, ProvisioningState};
use serde_json::{Map, Value};

use crate::fault::Fault;

const PROFILE: &str = "servicePrincipalProfile";

/// The cluster as the version shows it in an answer; secrets are blanked.
pub(crate) fn answer(version: &Version, cluster: &OpenShiftCluster) -> Result<Value, Fault> {
    Ok(convert::to_answer(version, &json(cluster)?))
}

/// The cluster as JSON, for the record of an operation.
pub(crate) fn json(cluster: &OpenShiftCluster) -> Result<Value, Fault> {
    serde_json::to_value(cluster).map_err(|_| Fault::Stored("a cluster cannot be written as JSON"))
}

/// Boxed: a cluster is moved through many futures.
fn cluster(json: Value) -> Result<Box<OpenShiftCluster>, Fault> {
    serde_json::from_value(json).map_err(|_| Fault::Stored("a converted cluster cannot be read"))
}

/// What a PUT sends for a new cluster. `skeleton` is the cluster before it.
pub(super) struct SentCluster(Value);

impl SentCluster {
    pub(super) fn decode(version: &Version, skeleton: &OpenShiftCluster, body: &[u8]) -> Result<Self, Fault> {
        let mut sent = convert::put_base(version, &json(skeleton)?);
        // A body may repeat what the version shows of a cluster at rest.
        sent["properties"]["provisioningState"] = Value::from(ProvisioningState::Succeeded.name());
        convert::without_read_only(version, &mut sent);
        decode::decode_into(version, &mut sent, body)?;
        Ok(Self(sent))
    }

    /// Whether it says which version of OpenShift is wanted.
    pub(super) fn has_openshift_version(&self) -> bool {
        !text(&self.0["properties"]["clusterProfile"]["version"]).is_empty()
    }

    pub(super) fn set_openshift_version(&mut self, version: String) {
        self.0["properties"]["clusterProfile"]["version"] = Value::from(version);
    }

    pub(super) const fn json(&self) -> &Value {
        &self.0
    }

    /// The cluster that it makes of the skeleton.
    pub(super) fn create(
        &self,
        version: &Version,
        skeleton: &OpenShiftCluster,
    ) -> Result<Box<OpenShiftCluster>, Fault> {
        let mut created = json(skeleton)?;
        convert::create(version, &self.0, &mut created);
        cluster(created)
    }
}

/// A request on a cluster that exists: what the version shows, and what it wants instead.
pub(super) struct ChangeRequest {
    pub(super) is: Value,
    pub(super) wanted: Value,
}

impl ChangeRequest {
    /// `live`: the cluster that the caller sees. What must not be sent is cleared in both. A body that repeats what is
    /// there, or leaves out what no request can change, wants no change.
    pub(super) fn decode(
        method: &Method,
        body: &[u8],
        version: &Version,
        live: &OpenShiftCluster,
    ) -> Result<Self, Fault> {
        let live_json = json(live)?;
        let shown = convert::to_external(version, &live_json);
        let mut is = shown.clone();
        let mut wanted =
            if method == Method::PUT { convert::put_base(version, &live_json) } else { is.clone() };
        if version.name == "admin" && method == Method::PATCH {
            let mut sent = Value::Object(Map::new());
            decode::decode_into(version, &mut sent, body)?;
            admin::start_flags(text(&sent["operatorFlagsMergeStrategy"]), &mut wanted)?;
        }
        convert::without_read_only(version, &mut is);
        convert::without_read_only(version, &mut wanted);
        if method == Method::PATCH {
            replace_identity(body, live, &mut wanted)?;
        }
        decode::decode_into(version, &mut wanted, body)?;
        repetition::drop_repeated(version, &shown, &mut wanted);
        if method == Method::PUT {
            repetition::keep_left_out(version, &live_json, &is, &mut wanted);
        }
        Ok(Self { is, wanted })
    }

    /// The wanted task of maintenance; an unknown one is refused.
    pub(super) fn check_maintenance_task(&self) -> Result<(), Fault> {
        let task = text(&self.wanted["properties"]["maintenanceTask"]);
        if task.is_empty() || MaintenanceTask::named(task).is_some() {
            return Ok(());
        }
        Err(rp_api::CloudError::invalid("properties.maintenanceTask", "Invalid enum parameter.").into())
    }

    /// Whether it names another service principal with the secret of the present one.
    pub(super) fn changes_client_without_secret(&self) -> bool {
        let (was, now) = (&self.is["properties"][PROFILE], &self.wanted["properties"][PROFILE]);
        was["clientId"] != now["clientId"] && was["clientSecret"] == now["clientSecret"]
    }

    /// Whether it names that service principal.
    pub(super) fn names_client(&self, principal: &MirroredPrincipal) -> bool {
        self.wanted["properties"][PROFILE]["clientId"] == principal.client_id
    }

    pub(super) fn set_client_secret(&mut self, secret: &str) {
        self.wanted["properties"][PROFILE]["clientSecret"] = Value::from(secret);
    }

    /// The cluster with the changes.
    pub(super) fn update(
        &self,
        version: &Version,
        stored: &OpenShiftCluster,
    ) -> Result<Box<OpenShiftCluster>, Fault> {
        let mut updated = json(stored)?;
        convert::update(version, &self.is, &self.wanted, &mut updated);
        cluster(updated)
    }
}

/// A PATCH that names an identity replaces the cluster's, whatever its version (`contract/api.md` §10 step
/// 3).
fn replace_identity(body: &[u8], live: &OpenShiftCluster, wanted: &mut Value) -> Result<(), Fault> {
    let platform = live.properties.platform_workload_identity_profile.get().is_some();
    if !platform || !wanted["identity"].is_object() {
        return Ok(());
    }
    let Some(newest) = rp_api::all().last() else { return Ok(()) };
    let mut sent = Value::Object(Map::new());
    decode::decode_into(newest, &mut sent, body)?;
    let named = sent["identity"]["userAssignedIdentities"].as_object().filter(|named| !named.is_empty());
    if let Some(named) = named {
        let empty = named.keys().map(|key| (key.clone(), Value::Object(Map::new()))).collect();
        wanted["identity"]["userAssignedIdentities"] = Value::Object(empty);
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
