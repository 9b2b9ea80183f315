//! Clusters that stop to answer, and certificates: told once, whatever restarts.

use rp_database::Expect;
use rp_documents::{ClusterHealth, ImportedCluster};

use super::*;

async fn import(bench: &Bench, name: &str) {
    let cluster: ImportedCluster = serde_json::from_value(json!({
        "id": name,
        "resource_id": format!("/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters/{name}"),
        "server": "https://10.0.0.1:6443", "ca_pem": "", "credential": "token", "sealed": "x",
        "imported_by": "ada", "imported_at": SystemClock.now(),
    }))
    .unwrap();
    Typed::<ImportedCluster>::new(Arc::clone(&bench.store)).create(cluster).await.unwrap();
}

async fn found(bench: &Bench, name: &str, healthz: u16, since: Timestamp, certificate: Timestamp) {
    let health: ClusterHealth = serde_json::from_value(json!({
        "id": name, "looked_at": SystemClock.now(), "healthz": healthz, "since": since,
        "certificate_expiry": certificate,
    }))
    .unwrap();
    Typed::<ClusterHealth>::new(Arc::clone(&bench.store)).put(health, Expect::Any).await.unwrap();
}

fn kinds(sent: &[Notification]) -> Vec<&'static str> {
    let mut kinds: Vec<&str> = sent.iter().map(|one| one.event.kind.name()).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_and_its_end_are_told_once() {
    let receiver = Receiver::start().await;
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let far = SystemClock.now() + Duration::from_hours(24 * 300);
    for name in ["harbor", "osprey"] {
        import(&bench, name).await;
    }
    // One for long, one for a moment.
    found(&bench, "harbor", 0, ago(600), far).await;
    found(&bench, "osprey", 0, ago(1), far).await;
    let notifier = bench.started().await;
    bench.until("hub", NotificationState::Delivered, 1).await;
    notifier.stop().await;
    let again = bench.started().await;
    found(&bench, "harbor", 200, ago(0), far).await;
    let sent = bench.until("hub", NotificationState::Delivered, 2).await;
    again.stop().await;
    assert_eq!(kinds(&sent), ["cluster.answers", "cluster.silent"]);
    assert_eq!(sent[0].event.subject, sent[1].event.subject);
    assert!(sent.iter().all(|one| one.event.cluster.ends_with("/harbor")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_told_before_its_end_and_when_it_was_renewed() {
    let receiver = Receiver::start().await;
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    import(&bench, "harbor").await;
    let in_days = |days: u64| SystemClock.now() + Duration::from_hours(24 * days);
    found(&bench, "harbor", 200, ago(600), in_days(3)).await;
    let notifier = bench.started().await;
    let sent = bench.until("hub", NotificationState::Delivered, 1).await;
    assert_eq!(kinds(&sent), ["certificate.expiring"]);
    found(&bench, "harbor", 200, ago(600), in_days(90)).await;
    let sent = bench.until("hub", NotificationState::Delivered, 2).await;
    assert_eq!(kinds(&sent), ["certificate.expiring", "certificate.renewed"]);
    notifier.stop().await;
}
