//! Clusters that do not answer, and certificates of clusters that end soon.

use rp_base::Timestamp;
use rp_documents::{NotificationEvent, NotificationKind};

use super::{ClusterPlace, Draft};

/// A cluster has not answered since an instant. `id`: of its document.
pub(crate) fn silent(id: &str, place: &ClusterPlace, since: Timestamp) -> NotificationEvent {
    let title = format!("Cluster {} does not answer", place.name());
    Draft::new(NotificationKind::ClusterSilent, silence(id, since), since, title)
        .cluster(place)
        .fact("Since", &since.to_string())
        .advice("Check the API server, its load balancer and the control-plane machines of the cluster.")
        .page(place.key.clone(), "Open the cluster")
}

/// It answers again.
pub(crate) fn answers(id: &str, place: &ClusterPlace, since: Timestamp, now: Timestamp) -> NotificationEvent {
    let title = format!("Cluster {} answers again", place.name());
    Draft::new(NotificationKind::ClusterAnswers, silence(id, since), now, title)
        .cluster(place)
        .fact("Did not answer since", &since.to_string())
        .fact("Duration", &format!("{} min", now.since(since).as_secs().div_ceil(60)))
        .advice("Nothing is to be done.")
        .page(place.key.clone(), "Open the cluster")
}

/// One time without an answer is one subject.
fn silence(id: &str, since: Timestamp) -> String {
    format!("cluster/{id}/silent/{}", since.millis())
}

/// A certificate of a cluster ends soon.
pub(crate) fn expiring(id: &str, place: &ClusterPlace, end: Timestamp, now: Timestamp) -> NotificationEvent {
    let title = format!("A certificate of {} ends soon", place.name());
    Draft::new(NotificationKind::CertificateExpiring, certificate(id, end), now, title)
        .cluster(place)
        .fact("Ends", &end.to_string())
        .fact("Left", &format!("{} days", end.since(now).as_secs() / 86_400))
        .advice("Order the renewal of certificates on the page of the cluster before the certificate ends.")
        .page(format!("{}/operations", place.key), "Open the operations of the cluster")
}

/// The certificate that was told was renewed.
pub(crate) fn renewed(id: &str, place: &ClusterPlace, told: Timestamp, now: Timestamp) -> NotificationEvent {
    let title = format!("The certificates of {} were renewed", place.name());
    Draft::new(NotificationKind::CertificateRenewed, certificate(id, told), now, title)
        .cluster(place)
        .fact("The old one ended", &told.to_string())
        .advice("Nothing is to be done.")
        .page(place.key.clone(), "Open the cluster")
}

fn certificate(id: &str, end: Timestamp) -> String {
    format!("cluster/{id}/certificate/{}", end.millis())
}
