//! All samples, for tests and for the gallery page of `aro-dev`.

use web::{
    AccessDialog, AccessPage, AlertsPage, AuditPage, ClusterPage, ClustersPage, ConfirmPage, ConsentPage,
    DevicePage, ElevatePage, ElevationsPage, ExplorePage, FleetPage, GrantPage, ImportedPage, KeysPage,
    PageFragment, ReportPage, RobotsPage, SoloPage, StatisticsPage,
};

use crate::Sample;

/// What is done with every page that has samples.
pub trait PageVisitor {
    /// Takes the samples of a page. `name`: of the page, as `clusters`.
    ///
    /// # Errors
    /// When a template fails.
    fn page<T: Sample>(&mut self, name: &str) -> askama::Result<()>;
}

/// One sample, rendered whole.
#[derive(Clone, Debug)]
pub struct GalleryItem {
    /// `page-state`, e.g. `clusters-empty`.
    pub name: String,
    /// The document.
    pub html: String,
}

/// Visits every page that has samples, in the order of the gallery.
///
/// # Errors
/// The visitor's.
pub fn visit_pages(visitor: &mut impl PageVisitor) -> askama::Result<()> {
    visitor.page::<ClustersPage>("clusters")?;
    visitor.page::<ClusterPage>("cluster")?;
    visitor.page::<ExplorePage>("explore")?;
    visitor.page::<StatisticsPage>("statistics")?;
    visitor.page::<AlertsPage>("alerts")?;
    visitor.page::<FleetPage>("fleet")?;
    visitor.page::<web::FleetAlertsPage>("fleet-alerts")?;
    visitor.page::<web::FleetOperationsPage>("fleet-operations")?;
    visitor.page::<web::MaintenancePage>("maintenance")?;
    visitor.page::<AccessDialog>("access-dialog")?;
    visitor.page::<web::HostKeysPage>("host-keys")?;
    visitor.page::<AccessPage>("access")?;
    visitor.page::<GrantPage>("grant")?;
    visitor.page::<ConfirmPage>("ask")?;
    visitor.page::<ElevatePage>("elevate")?;
    visitor.page::<ElevationsPage>("elevations")?;
    visitor.page::<RobotsPage>("robots")?;
    visitor.page::<web::NotificationsPage>("notifications")?;
    visitor.page::<AuditPage>("audit")?;
    visitor.page::<ReportPage>("report")?;
    visitor.page::<ImportedPage>("imported")?;
    visitor.page::<KeysPage>("keys")?;
    visitor.page::<ConsentPage>("consent")?;
    visitor.page::<DevicePage>("device")?;
    visitor.page::<SoloPage>("solo")?;
    visitor.page::<web::JumpPage>("jump")?;
    visitor.page::<web::GalleryPage>("gallery")?;
    visitor.page::<web::StatesPage>("states")?;
    visitor.page::<web::PodsPage>("pods")?;
    visitor.page::<web::PodPage>("pod")?;
    visitor.page::<web::LogPage>("log")?;
    visitor.page::<web::TerminalPage>("terminal")?;
    visitor.page::<web::SerialPage>("serial")?;
    visitor.page::<web::RecordingsPage>("recordings")?;
    visitor.page::<web::RecordingPage>("recording")?;
    visitor.page::<web::WorkloadsPage>("workloads")?;
    visitor.page::<web::WorkloadPage>("workload")?;
    visitor.page::<web::EventsPage>("events")?;
    visitor.page::<web::ResourcesPage>("resources")?;
    visitor.page::<web::ObjectsPage>("objects")?;
    visitor.page::<web::ObjectPage>("object")?;
    visitor.page::<web::NetworkPage>("network")?;
    visitor.page::<web::ReasonPage>("reason")?;
    Ok(())
}

/// Every sample of every page, in the order of the pages.
///
/// # Errors
/// When a template fails, which a test excludes.
pub fn gallery() -> askama::Result<Vec<GalleryItem>> {
    let mut items = Items(Vec::new());
    visit_pages(&mut items)?;
    Ok(items.0)
}

/// Renders the samples, each named by the page and its state.
struct Items(Vec<GalleryItem>);

impl PageVisitor for Items {
    fn page<T: Sample>(&mut self, name: &str) -> askama::Result<()> {
        for (state, sample) in T::samples() {
            let html = sample.render(PageFragment::Page)?;
            self.0.push(GalleryItem { name: format!("{name}-{state}"), html });
        }
        Ok(())
    }
}
