//! Preflight validation of a template's clusters (`contract/frontend.md` §8.4). Nothing is written, Azure is not
//! queried.

use rp_api::{CloudError, find};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::call::Call;
use crate::clusters::validate_put;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::path::{PROVIDER, Route, route};
use crate::response::{HttpResponse, compact_json};

#[derive(Deserialize)]
struct PreflightRequest<'a> {
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceHeader {
    #[serde(default)]
    id: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    api_version: String,
}

pub(crate) async fn check(
    parts: &FrontendParts,
    call: &Call,
    subscription: &str,
) -> Result<HttpResponse, Fault> {
    if find(&call.api_version).is_none() {
        let message = format!(
            "Api version {:?} is invalid for preflight validation in resource provider {PROVIDER:?}.",
            call.api_version
        );
        return Err(CloudError::bad("InvalidResourceType", "", message).into());
    }
    match all(parts, call, subscription).await {
        Ok(()) => Ok(compact_json(&json!({"status": "Succeeded"}))),
        Err(Fault::Refused(error)) => {
            let mut told = json!({"message": error.to_string()});
            // Errors of schema validation have no code.
            let of_form = error.body.code == "InvalidParameter" && !error.body.target.is_empty();
            if !of_form || error.body.target == "properties.clusterProfile.version" {
                told["code"] = Value::from(error.body.code);
            }
            Ok(compact_json(&json!({"status": "Failed", "error": told})))
        }
        Err(other) => Err(other),
    }
}

async fn all(parts: &FrontendParts, call: &Call, subscription: &str) -> Result<(), Fault> {
    let bad = |error: serde_json::Error| rp_api::decode::unreadable(&error.to_string());
    let asked: PreflightRequest<'_> = serde_json::from_slice(&call.body).map_err(bad)?;
    for resource in asked.resources {
        let named: ResourceHeader = serde_json::from_str(resource.get()).map_err(bad)?;
        if !named.kind.eq_ignore_ascii_case(rp_api::RESOURCE_TYPE) {
            continue;
        }
        // Authorization covered the version of the request, not the version of this resource.
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
        validate_put(parts, &path, version, resource.get().as_bytes()).await?;
    }
    Ok(())
}
