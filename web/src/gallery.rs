//! All samples, for tests and for the gallery page of `aro-dev`.

use crate::view::{PageFragment, Sample};
use crate::{
    AccessDialog, AccessPage, AlertsPage, AuditPage, ClusterPage, ClustersPage, ConfirmPage, ConsentPage,
    DevicePage, ElevatePage, ElevationsPage, ExplorePage, FleetPage, GrantPage, ImportedPage, KeysPage,
    ReportPage, RobotsPage, SoloPage, StatisticsPage,
};

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
    add::<AccessDialog>("", &mut items)?;
    add::<crate::HostKeysPage>("host-keys", &mut items)?;
    add::<AccessPage>("access", &mut items)?;
    add::<GrantPage>("grant", &mut items)?;
    add::<ConfirmPage>("ask", &mut items)?;
    add::<ElevatePage>("elevate", &mut items)?;
    add::<ElevationsPage>("elevations", &mut items)?;
    add::<RobotsPage>("robots", &mut items)?;
    add::<AuditPage>("audit", &mut items)?;
    add::<ReportPage>("report", &mut items)?;
    add::<ImportedPage>("imported", &mut items)?;
    add::<KeysPage>("keys", &mut items)?;
    add::<ConsentPage>("consent", &mut items)?;
    add::<DevicePage>("device", &mut items)?;
    add::<SoloPage>("solo", &mut items)?;
    add::<crate::JumpPage>("jump", &mut items)?;
    add::<crate::GalleryPage>("gallery", &mut items)?;
    add::<crate::StatesPage>("states", &mut items)?;
    add::<crate::PodsPage>("pods", &mut items)?;
    add::<crate::PodPage>("pod", &mut items)?;
    add::<crate::LogPage>("log", &mut items)?;
    add::<crate::TerminalPage>("terminal", &mut items)?;
    add::<crate::SerialPage>("serial", &mut items)?;
    add::<crate::RecordingsPage>("recordings", &mut items)?;
    add::<crate::RecordingPage>("recording", &mut items)?;
    add::<crate::WorkloadsPage>("workloads", &mut items)?;
    add::<crate::WorkloadPage>("workload", &mut items)?;
    add::<crate::EventsPage>("events", &mut items)?;
    add::<crate::ResourcesPage>("resources", &mut items)?;
    add::<crate::ObjectsPage>("objects", &mut items)?;
    add::<crate::ObjectPage>("object", &mut items)?;
    add::<crate::NetworkPage>("network", &mut items)?;
    add::<crate::ReasonPage>("reason", &mut items)?;
    Ok(items)
}

/// Adds the samples of a page. One that shows several things names none: its states have whole names.
fn add<T: Sample>(page: &str, items: &mut Vec<GalleryItem>) -> askama::Result<()> {
    for (state, sample) in T::samples() {
        let name = if page.is_empty() { state.to_owned() } else { format!("{page}-{state}") };
        items.push(GalleryItem { name, html: sample.render(PageFragment::Page)? });
    }
    Ok(())
}
