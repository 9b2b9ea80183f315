//! Clusters of a subscription, of a group or of the region, in pages (`contract/frontend.md` §6.2, §10).

use futures_util::future::join_all;
use http::StatusCode;
use rp_api::Version;
use rp_api::response::ClusterResponse;
use rp_database::Span;
use rp_documents::Collection;
use serde::Serialize;

use super::{enriched, version_json};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::paging::{PAGE, PagedList};
use crate::path::KIND;
use crate::response::{HttpResponse, json_response};

/// The purpose for which skip tokens are sealed.
const PLACE: &str = "api/skipToken";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterListResponse<'a> {
    value: Vec<ClusterResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_link: Option<String>,
}

pub(crate) async fn list(
    parts: &FrontendParts,
    call: &Call,
    subscription: &str,
    group: Option<&str>,
) -> Result<HttpResponse, Fault> {
    let version = call.version(KIND)?;
    let prefix = match group {
        None => format!("/subscriptions/{subscription}/"),
        Some(group) => format!("/subscriptions/{subscription}/resourcegroups/{group}/"),
    };
    page(parts, call, version, &prefix).await
}

/// A page of the clusters whose keys have that prefix.
pub(crate) async fn page(
    parts: &FrontendParts,
    call: &Call,
    version: &Version,
    prefix: &str,
) -> Result<HttpResponse, Fault> {
    let list = PagedList { place: PLACE, prefix };
    let after = list.after(parts, call)?;
    let found = parts
        .store
        .scan(Collection::OpenShiftClusters, Span::Keys(prefix), after.as_deref(), PAGE + 1)
        .await?;
    let more = found.len() > PAGE as usize;
    let mut last = None;
    let mut documents = Vec::with_capacity(PAGE as usize);
    for stored in found.into_iter().take(PAGE as usize) {
        documents.push(document::read(&stored)?);
        last = stored.unique_key;
    }
    let clusters = join_all(documents.into_iter().map(|document| enriched(parts, document))).await;
    let shown = clusters.iter().map(|cluster| version_json::answer(version, cluster));
    let shown = shown.collect::<Result<Vec<_>, _>>()?;
    let next_link = last.filter(|_| more).map(|last| list.next(parts, call, &last)).transpose()?;
    let value = shown.iter().map(|shown| ClusterResponse { version, shown }).collect();
    Ok(json_response(StatusCode::OK, &ClusterListResponse { value, next_link }))
}
