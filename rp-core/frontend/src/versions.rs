//! What can be installed (`contract/frontend.md` §8.1, §8.2).

use http::StatusCode;
use rp_api::{CloudError, Version, text};
use serde_json::{Value, json};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::path::PROVIDER;
use crate::response::{HttpResponse, json_response};

/// Versions of OpenShift: all, or one.
pub(crate) fn openshift(
    parts: &FrontendParts,
    call: &Call,
    one: Option<&str>,
) -> Result<HttpResponse, Fault> {
    let version = call.version("")?;
    check_available(call, version.openshift_versions)?;
    let versions = parts.offers.versions();
    let Some(one) = one else {
        let mut versions = versions;
        versions.sort_by_key(|version| text::version(version));
        let value: Vec<Value> = versions.iter().map(|name| version_view(version, name)).collect();
        return Ok(json_response(StatusCode::OK, &json!({"value": value})));
    };
    match versions.iter().find(|offered| *offered == one) {
        Some(found) => Ok(json_response(StatusCode::OK, &version_view(version, found))),
        None => Err(unknown("openShiftVersion", call, one).into()),
    }
}

fn version_view(version: &Version, name: &str) -> Value {
    let mut shown = json!({"properties": {"version": name}});
    if version.named_versions {
        shown["name"] = Value::from(name);
        shown["type"] = Value::from("Microsoft.RedHatOpenShift/OpenShiftVersion");
    }
    shown
}

/// Roles of platform operators: all minor versions, or one.
pub(crate) fn role_sets(
    parts: &FrontendParts,
    call: &Call,
    one: Option<&str>,
) -> Result<HttpResponse, Fault> {
    let version = call.version("")?;
    check_available(call, version.role_sets)?;
    let mut sets = parts.offers.role_sets();
    sets.sort_by_key(|set| text::version(&format!("{}.0", set.open_shift_version)));
    let shown = |set: &crate::RoleSet| {
        json!({
            "name": set.open_shift_version,
            "type": "Microsoft.RedHatOpenShift/PlatformWorkloadIdentityRoleSet",
            "properties": set,
        })
    };
    let Some(one) = one else {
        let value: Vec<Value> = sets.iter().map(shown).collect();
        return Ok(json_response(StatusCode::OK, &json!({"value": value})));
    };
    match sets.iter().find(|set| set.open_shift_version == one) {
        Some(found) => Ok(json_response(StatusCode::OK, &shown(found))),
        None => Err(unknown("platformWorkloadIdentityRoleSet", call, one).into()),
    }
}

fn check_available(call: &Call, yes: bool) -> Result<(), CloudError> {
    if yes {
        return Ok(());
    }
    let message = format!(
        "The endpoint could not be found in the namespace '{PROVIDER}' for api version '{}'.",
        call.api_version
    );
    Err(CloudError::bad("InvalidResourceType", "", message))
}

/// 400, not 404: clients of all versions see it so.
fn unknown(kind: &str, call: &Call, one: &str) -> CloudError {
    let message = format!(
        "The Resource {kind} with version '{one}' was not found in the namespace '{PROVIDER}' for api version '{}'.",
        call.api_version
    );
    CloudError::bad("ResourceNotFound", "", message)
}
