//! Who pays for which cluster (`contract/frontend.md` §10). Read only.

use rp_api::CloudError;
use rp_base::text::clean;
use rp_database::{Span, Stored};
use rp_documents::Collection;
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::fault::Fault;
use crate::paging::{self, PAGE};
use crate::response::{HttpResponse, compact_json};

const LIST: paging::PagedList = paging::PagedList { place: "api/skipToken/billing", prefix: "" };

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BillingListResponse {
    value: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_link: Option<String>,
}

pub(super) async fn list(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let after = LIST.after(parts, call)?;
    let found = parts.store.scan(Collection::Billing, Span::All, after.as_deref(), PAGE + 1).await?;
    let last =
        found.get(PAGE as usize - 1).map(|last| last.id.clone()).filter(|_| found.len() > PAGE as usize);
    let next_link = last.map(|last| LIST.next(parts, call, &last)).transpose()?;
    let value = found.iter().take(PAGE as usize).filter_map(|one| billing_view(one).transpose());
    Ok(compact_json(&BillingListResponse { value: value.collect::<Result<_, _>>()?, next_link }))
}

pub(super) async fn get(parts: &FrontendParts, id: &str) -> Result<HttpResponse, Fault> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let known = (1..=64).contains(&id.len()) && id.bytes().all(plain);
    let found = if known { parts.store.get(Collection::Billing, id).await? } else { None };
    match found {
        Some(found) => Ok(compact_json(&billing_view(&found)?)),
        None => {
            let message = format!("billing document not found: {}", clean(id, 128));
            Err(CloudError::new(404, "NotFound", "", message).into())
        }
    }
}

/// The record as it is shown; `None`: it has no billing data.
fn billing_view(stored: &Stored) -> Result<Option<Value>, Fault> {
    let document: Value =
        serde_json::from_str(&stored.body).map_err(|_| Fault::Stored("a bill is no JSON"))?;
    let billing = &document["billing"];
    if !billing.is_object() {
        return Ok(None);
    }
    let mut told = serde_json::Map::new();
    for name in ["creationTime", "deletionTime", "lastBillingTime", "location", "tenantID"] {
        if let Some(value) = billing.get(name).filter(|value| !value.is_null()) {
            told.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Some(json!({
        "id": stored.id,
        "key": document["key"],
        "clusterResourceGroupIDKey": document["clusterResourceGroupIDKey"],
        "infraId": document["infraId"],
        "billing": told,
    })))
}
