//! One look at one cluster of the store, for `aro monitor once`: by the running process, or by the command itself.

use std::sync::Arc;

use rp_core::{Services, monitor};
use rp_database::{SharedStore, Typed};
use rp_documents::{Collection, ImportedCluster, ResourceId};
use rp_monitor::ClusterView;
use rp_monitor::check::{CheckOptions, SideMonitor};
use rp_monitor::nsg::NsgMonitor;
use rp_monitor::once::{Once, Report};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// Documents read at once.
const PAGE: u32 = 500;

/// A request to inspect one cluster, also the body sent over the control socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InspectionRequest {
    /// Name or resource id.
    pub(crate) cluster: String,
    pub(crate) collectors: Vec<String>,
    pub(crate) hourly: bool,
    pub(crate) page: u16,
}

/// No cluster, or more than one, has that name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotFound {
    #[error("no cluster is called {0}")]
    None(String),
    #[error("several clusters are called {name}; give the resource id: {}", ids.join(", "))]
    Many { name: String, ids: Vec<String> },
}

/// A look over this process's store.
///
/// # Errors
/// [`NotFound`], or the store or the settings cannot be used.
pub(crate) async fn look(wanted: &InspectionRequest, services: &Services) -> anyhow::Result<Report> {
    let view = find(&services.store, &wanted.cluster).await?;
    // These calls are not counted in metrics: the look is not part of the service.
    let subnets = monitor::subnets(services, Arc::new(|_| {}));
    let mut beside: Vec<Arc<dyn SideMonitor>> = Vec::new();
    if let Some(subnets) = &subnets {
        beside.push(Arc::new(NsgMonitor::new(Arc::clone(subnets))));
    }
    let once = Once {
        directory: services.directory().await?,
        dialer: services.dialer.clone(),
        clock: Arc::clone(&services.clock),
        view,
        options: options(&wanted.collectors, wanted.page, monitor::check_options(&services.settings)),
        beside,
        subnets: subnets.map(|subnets| subnets as _),
        hourly: wanted.hourly,
    };
    Ok(once.look(CancellationToken::new()).await)
}

/// Settings of a look with only these collectors, if any are named.
pub(crate) fn options(collectors: &[String], page: u16, mut options: CheckOptions) -> CheckOptions {
    options.fetch.page = usize::from(page);
    let only = (!collectors.is_empty()).then(|| collectors.to_vec());
    CheckOptions { only, commit: rp_core::VERSION, keep: 0, ..options }
}

/// The cluster of that name or resource id, in any case.
async fn find(store: &SharedStore, wanted: &str) -> anyhow::Result<ClusterView> {
    let imported = Typed::<ImportedCluster>::new(Arc::clone(store));
    if let Ok(id) = ResourceId::parse(wanted) {
        if id.is_imported() {
            let found = imported.get(&id.name().to_ascii_lowercase()).await?;
            let found = found.ok_or_else(|| NotFound::None(wanted.to_owned()))?;
            return Ok(ClusterView::from_imported(&found.value));
        }
        let found = store.get_by_key(Collection::OpenShiftClusters, id.key()).await?;
        let found = found.ok_or_else(|| NotFound::None(wanted.to_owned()))?;
        return Ok(ClusterView::from_body(&found.body)?);
    }
    let mut views: Vec<ClusterView> = Vec::new();
    if let Some(found) = imported.get(&wanted.to_ascii_lowercase()).await? {
        views.push(ClusterView::from_imported(&found.value));
    }
    let mut from = None;
    loop {
        let page = store.list(Collection::OpenShiftClusters, None, from.as_deref(), PAGE).await?;
        let read = page.items.iter().filter_map(|stored| ClusterView::from_body(&stored.body).ok());
        views.extend(read.filter(|view| view.id.name().eq_ignore_ascii_case(wanted)));
        from = page.continuation;
        if from.is_none() {
            break;
        }
    }
    let mut views = views.into_iter();
    let first = views.next().ok_or_else(|| NotFound::None(wanted.to_owned()))?;
    let others: Vec<ClusterView> = views.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let ids = std::iter::once(&first).chain(&others).map(|view| view.id.original().to_owned()).collect();
    Err(NotFound::Many { name: wanted.to_owned(), ids }.into())
}
