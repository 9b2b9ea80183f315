//! Notifications on the page and in JSON: who sees them, and a test of a destination.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Secret, SharedRandom, SystemRandom};
use rp_config::{Notify, NotifyDestination, NotifyTarget, NotifyTopic, NotifyUrl, Word as _};
use rp_database::Typed;
use rp_documents::{Notification, NotificationState, Role};
use rp_notify::{Destination, Endpoint, Notifications, Shape};

use super::kit::Kit;

const URL: &str = "https://hub.example/hook/hunter2";

async fn kit() -> Kit {
    Kit::with(|parts| {
        let url = Secret::new(URL.to_owned());
        let declared = NotifyDestination {
            name: "hub".to_owned(),
            to: NotifyTarget::Webhook { url: NotifyUrl::Plain(URL.parse().unwrap()), secret_file: None },
            topics: NotifyTopic::VALUES.to_vec(),
            regions: vec!["westeurope".to_owned()],
            ca_file: None,
        };
        let read = (Shape::Webhook(None), Endpoint::parse(&url).unwrap());
        let hub = Destination::new(&declared, read, None, Vec::new(), &Notify::default()).unwrap();
        let random: SharedRandom = Arc::new(SystemRandom);
        let store = (&parts.store, &parts.clock, &random);
        parts.notifications = Notifications::new(store, vec![Arc::new(hub)], Duration::from_secs(3600));
    })
    .await
}

#[tokio::test]
async fn an_administrator_sees_destinations_and_sends_a_test() {
    let kit = kit().await;
    assert_eq!(kit.page(Role::Sre, "/notifications").await.status, 403);
    let page = kit.page(Role::Admin, "/notifications").await;
    assert!(page.body.contains("https://hub.example") && page.body.contains("Nothing sent"), "{}", page.body);
    let sent = kit.form(Role::Admin, "/notifications/hub/test", &[]).await;
    assert_eq!((sent.status.as_u16(), sent.header("location")), (303, "/notifications"));
    assert_eq!(kit.audited("notification.test").await.name, "hub");
    let all = Typed::<Notification>::new(kit.store.clone()).all().await.unwrap();
    assert_eq!((all.len(), all[0].value.state), (1, NotificationState::Waiting));
    let page = kit.page(Role::Admin, "/notifications").await;
    assert!(page.body.contains("Test notification") && page.body.contains("Waiting"), "{}", page.body);
    let list = kit.page(Role::Admin, "/api/v1/notifications?limit=1").await;
    let hub = &list.json()["items"][0];
    assert_eq!((hub["name"].as_str(), hub["waiting"].as_u64()), (Some("hub"), Some(1)));
    assert_eq!(hub["notifications"][0]["event"], "test");
    assert!(!page.body.contains("hunter2") && !list.body.contains("hunter2"));
}

#[tokio::test]
async fn a_name_that_is_in_no_setting_is_refused() {
    let kit = kit().await;
    let refused = kit.unsafe_call(Role::Admin, "POST", "/api/v1/notifications/other/test", "").await;
    assert_eq!(
        (refused.status.as_u16(), refused.json()["code"].as_str()),
        (404, Some("destination_not_found"))
    );
    let made = kit.unsafe_call(Role::Admin, "POST", "/api/v1/notifications/hub/test", "").await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", "/api/v1/notifications/hub/test", "").await.status, 403);
}
