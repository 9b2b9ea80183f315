//! All clusters of the region (`contract/frontend.md` §10): whole and in pages, or flat at once.

use http::StatusCode;
use rp_base::Timestamp;
use rp_base::text::contains_ignore_case;
use rp_database::Span;
use rp_documents::cluster::{Instant, Intent};
use rp_documents::{ClusterDocument, Collection};
use serde::Serialize;

use crate::call::Call;
use crate::clusters;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::Fault;
use crate::response::{HttpResponse, json_response};

/// Documents read at once.
const AT_ONCE: u32 = 200;
/// Prefix of every key.
const EVERY: &str = "/subscriptions/";

/// All clusters as administrators see one, in pages.
pub(super) async fn list_pages(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    clusters::page(parts, call, rp_api::admin(), EVERY).await
}

/// Summary of a cluster. Every member is a string and always present.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterSummary {
    key: String,
    name: String,
    subscription: String,
    resource_group: String,
    resource_id: String,
    provisioning_state: String,
    failed_provisioning_state: String,
    version: String,
    created_at: String,
    created_by: String,
    provisioned_by: String,
    last_modified: String,
}

/// The filter of the query; strings are lower case.
struct ClusterFilter {
    name: String,
    subscription: String,
    version: String,
    created_by: String,
    provisioned_by: String,
    state: Option<String>,
}

/// All clusters that match, by resource id.
pub(super) async fn list_all(parts: &FrontendParts, call: &Call) -> Result<HttpResponse, Fault> {
    let filter = ClusterFilter::from_call(call);
    let mut lines = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let found = parts
            .store
            .scan(Collection::OpenShiftClusters, Span::Keys(EVERY), after.as_deref(), AT_ONCE)
            .await?;
        let full = found.len() == AT_ONCE as usize;
        after = found.last().and_then(|last| last.unique_key.clone()).filter(|_| full);
        for stored in found {
            let line = summarize(&document::read(&stored)?);
            lines.extend(Some(line).filter(|line| filter.matches(line)));
        }
        if after.is_none() {
            return Ok(json_response(StatusCode::OK, &lines));
        }
    }
}

impl ClusterFilter {
    fn from_call(call: &Call) -> Self {
        let text = |name| call.parameter(name).unwrap_or_default().to_lowercase();
        Self {
            name: text("name"),
            subscription: text("subscription"),
            version: text("version"),
            created_by: text("created_by"),
            provisioned_by: text("provisioned_by"),
            state: call.parameter("state").filter(|state| !state.is_empty()).map(str::to_owned),
        }
    }

    fn matches(&self, line: &ClusterSummary) -> bool {
        contains_ignore_case(&line.name, &self.name)
            && contains_ignore_case(&line.subscription, &self.subscription)
            && contains_ignore_case(&line.version, &self.version)
            && contains_ignore_case(&line.created_by, &self.created_by)
            && contains_ignore_case(&line.provisioned_by, &self.provisioned_by)
            && self.state.as_ref().is_none_or(|state| *state == line.provisioning_state)
    }
}

fn summarize(document: &ClusterDocument) -> ClusterSummary {
    let ClusterDocument { id, cluster, .. } = document;
    let properties = &cluster.properties;
    let instant = |at: &Intent<Instant>| {
        let at = at.get().map(|at| Timestamp::from_seconds(at.at().seconds()));
        at.map(|at| at.to_string()).unwrap_or_default()
    };
    let resource_id = cluster.id.to_string();
    ClusterSummary {
        key: id.clone(),
        name: cluster.name.to_string(),
        // As written.
        subscription: resource_id.split('/').nth(2).unwrap_or_default().to_owned(),
        resource_group: cluster.id.resource_group().to_owned(),
        provisioning_state: properties.provisioning_state.word().to_owned(),
        failed_provisioning_state: properties.failed_provisioning_state.word().to_owned(),
        version: properties.cluster_profile.version.to_string(),
        created_at: instant(&properties.created_at),
        created_by: properties.created_by.to_string(),
        provisioned_by: properties.provisioned_by.to_string(),
        last_modified: instant(&cluster.system_data.last_modified_at),
        resource_id,
    }
}
