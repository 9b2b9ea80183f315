//! What would become of a template's clusters (`contract/frontend.md` §8.4). Nothing is written, Azure is not
//! asked.

use rp_api::{CloudError, find};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::answer::{Answer, compact};
use crate::call::Call;
use crate::clusters::would;
use crate::fault::Fault;
use crate::parts::FrontendParts;
use crate::path::{PROVIDER, Route, route};

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    #[serde(default)]
    id: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    api_version: String,
}

pub(crate) async fn check(parts: &FrontendParts, call: &Call, subscription: &str) -> Result<Answer, Fault> {
    if find(&call.api_version).is_none() {
        let message = format!(
            "Api version {:?} is invalid for preflight validation in resource provider {PROVIDER:?}.",
            call.api_version
        );
        return Err(CloudError::bad("InvalidResourceType", "", message).into());
    }
    match all(parts, call, subscription).await {
        Ok(()) => Ok(compact(&json!({"status": "Succeeded"}))),
        Err(Fault::Refused(error)) => {
            let mut told = json!({"message": error.to_string()});
            // What the validation of the form says has none.
            let of_form = error.body.code == "InvalidParameter" && !error.body.target.is_empty();
            if !of_form || error.body.target == "properties.clusterProfile.version" {
                told["code"] = Value::from(error.body.code);
            }
            Ok(compact(&json!({"status": "Failed", "error": told})))
        }
        Err(other) => Err(other),
    }
}

async fn all(parts: &FrontendParts, call: &Call, subscription: &str) -> Result<(), Fault> {
    let bad = |error: serde_json::Error| rp_api::decode::unreadable(&error.to_string());
    let asked: Asked<'_> = serde_json::from_slice(&call.body).map_err(bad)?;
    for resource in asked.resources {
        let named: Named = serde_json::from_str(resource.get()).map_err(bad)?;
        if !named.kind.eq_ignore_ascii_case(rp_api::RESOURCE_TYPE) {
            continue;
        }
        // Who may speak the administrators' version was asked for the request's, not for this one.
        let version =
            find(&named.api_version).filter(|version| version.name != "admin").ok_or_else(|| {
                let message = format!("The api version '{}' of the resource is invalid.", named.api_version);
                CloudError::invalid("apiVersion", message)
            })?;
        let path = match route(&named.id, &parts.region, &named.api_version) {
            Ok(Route::Cluster(path)) if path.subscription == subscription => path,
            _ => {
                let message = format!("The provided resource ID '{}' is invalid.", named.id);
                return Err(CloudError::invalid("id", message).into());
            }
        };
        would(parts, &path, version, resource.get().as_bytes()).await?;
    }
    Ok(())
}
