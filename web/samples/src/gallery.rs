//! All samples, for tests and for the gallery page of `aro-dev`.

use web::{
    AccessDialog, AccessPage, AlertsPage, AuditPage, ClusterPage, ClustersPage, ConfirmPage, ConsentPage,
    DevicePage, ElevatePage, ElevationsPage, ExplorePage, FleetPage, GrantPage, ImportedPage, KeysPage,
    PageFragment, ReportPage, RobotsPage, SoloPage, StatisticsPage,
};

use crate::Sample;

/// One sample, rendered whole.
#[derive(Clone, Debug)]
pub struct GalleryItem {
    /// `page-state`, e.g. `clusters-empty`.
    pub name: String,
    /// The document.
    pub html: String,
}

/// Every sample of every page, in the order of the pages.
///
/// # Errors
/// When a template fails, which a test excludes.
pub fn gallery() -> askama::Result<Vec<GalleryItem>> {
    let mut items = Vec::new();
    add::<ClustersPage>("clusters", &mut items)?;
    add::<ClusterPage>("cluster", &mut items)?;
    add::<ExplorePage>("explore", &mut items)?;
    add::<StatisticsPage>("statistics", &mut items)?;
    add::<AlertsPage>("alerts", &mut items)?;
    add::<FleetPage>("fleet", &mut items)?;
    add::<web::FleetAlertsPage>("fleet-alerts", &mut items)?;
    add::<web::FleetOperationsPage>("fleet-operations", &mut items)?;
    add::<web::MaintenancePage>("maintenance", &mut items)?;
    add::<AccessDialog>("access-dialog", &mut items)?;
    add::<web::HostKeysPage>("host-keys", &mut items)?;
    add::<AccessPage>("access", &mut items)?;
    add::<GrantPage>("grant", &mut items)?;
    add::<ConfirmPage>("ask", &mut items)?;
    add::<ElevatePage>("elevate", &mut items)?;
    add::<ElevationsPage>("elevations", &mut items)?;
    add::<RobotsPage>("robots", &mut items)?;
    add::<web::NotificationsPage>("notifications", &mut items)?;
    add::<AuditPage>("audit", &mut items)?;
    add::<ReportPage>("report", &mut items)?;
    add::<ImportedPage>("imported", &mut items)?;
    add::<KeysPage>("keys", &mut items)?;
    add::<ConsentPage>("consent", &mut items)?;
    add::<DevicePage>("device", &mut items)?;
    add::<SoloPage>("solo", &mut items)?;
    add::<web::JumpPage>("jump", &mut items)?;
    add::<web::GalleryPage>("gallery", &mut items)?;
    add::<web::StatesPage>("states", &mut items)?;
    add::<web::PodsPage>("pods", &mut items)?;
    add::<web::PodPage>("pod", &mut items)?;
    add::<web::LogPage>("log", &mut items)?;
    add::<web::TerminalPage>("terminal", &mut items)?;
    add::<web::SerialPage>("serial", &mut items)?;
    add::<web::RecordingsPage>("recordings", &mut items)?;
    add::<web::RecordingPage>("recording", &mut items)?;
    add::<web::WorkloadsPage>("workloads", &mut items)?;
    add::<web::WorkloadPage>("workload", &mut items)?;
    add::<web::EventsPage>("events", &mut items)?;
    add::<web::ResourcesPage>("resources", &mut items)?;
    add::<web::ObjectsPage>("objects", &mut items)?;
    add::<web::ObjectPage>("object", &mut items)?;
    add::<web::NetworkPage>("network", &mut items)?;
    add::<web::ReasonPage>("reason", &mut items)?;
    Ok(items)
}

/// Adds the samples of a page, each named by the page and its state.
fn add<T: Sample>(page: &str, items: &mut Vec<GalleryItem>) -> askama::Result<()> {
    for (state, sample) in T::samples() {
        items.push(GalleryItem { name: format!("{page}-{state}"), html: sample.render(PageFragment::Page)? });
    }
    Ok(())
}
