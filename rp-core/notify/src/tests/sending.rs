//! What receivers get, and what answers do.

use std::collections::HashSet;
use std::time::Instant;

use super::*;
use crate::{ID, SIGNATURE, TIMESTAMP, signature};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_arrives_signed_with_a_link_to_its_decision() {
    let receiver = Receiver::start().await;
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let notifier = bench.started().await;
    let id = bench.request(1).await;
    let sent = bench.until("hub", NotificationState::Delivered, 1).await;
    notifier.stop().await;
    let got = receiver.got();
    assert_eq!(got.len(), 1);
    let (headers, body) = (&got[0].headers, got[0].json());
    assert_eq!(body["link"]["url"], format!("https://portal.example/elevations/{id}/approve"));
    assert_eq!(
        (body["event"].as_str(), body["id"].as_str()),
        (Some("elevation.requested"), Some(&*sent[0].id))
    );
    assert_eq!(headers[ID], sent[0].id);
    let at = Timestamp::from_seconds(headers[TIMESTAMP].parse().unwrap());
    let key = |text: &str| rp_base::Secret::new(text.to_owned());
    assert_eq!(headers[SIGNATURE], signature(&key(KEY), at, &got[0].body));
    assert_ne!(headers[SIGNATURE], signature(&key("another"), at, &got[0].body));
    // Neither store nor metrics nor debug output has the key.
    let shown = format!("{:?} {}", bench.destinations, bench.registry.render());
    assert!(!shown.contains(KEY) && !serde_json::to_string(&sent).unwrap().contains(KEY));
    assert!(shown.contains("aro_notify_notifications_total{destination=\"hub\",result=\"delivered\"} 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_tried_again_with_the_same_id_and_a_refusal_is_not() {
    let receiver = Receiver::start().await;
    receiver.next(&[Answer::Status(500), Answer::Status(503), Answer::Status(200), Answer::Status(400)]);
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let notifier = bench.started().await;
    bench.request(1).await;
    let sent = bench.until("hub", NotificationState::Delivered, 1).await;
    assert_eq!((sent[0].attempts, sent[0].error.as_str()), (3, ""));
    let ids: Vec<String> = receiver.got().iter().map(|got| got.headers[ID].clone()).collect();
    assert_eq!(ids, [&*sent[0].id; 3]);
    bench.request(2).await;
    let failed = bench.until("hub", NotificationState::Failed, 1).await;
    let failed = failed.iter().find(|one| one.state == NotificationState::Failed).unwrap();
    assert_eq!((failed.attempts, failed.error.as_str()), (1, "the receiver answered 400"));
    notifier.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_end_after_their_number() {
    let receiver = Receiver::start().await;
    receiver.always(Some(Answer::Status(410)));
    let bench = Bench::new(&[("hub", &receiver.url())], Notify { attempts: 3, ..settings() });
    let notifier = bench.started().await;
    bench.request(1).await;
    let failed = bench.until("hub", NotificationState::Failed, 1).await;
    notifier.stop().await;
    assert_eq!((failed[0].attempts, receiver.got().len()), (3, 3));
    assert!(failed[0].retry_after.is_none() && failed[0].ended.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_keeps_no_other_waiting() {
    let (hanging, good) = (Receiver::start().await, Receiver::start().await);
    hanging.always(Some(Answer::Hang));
    let bench = Bench::new(&[("slow", &hanging.url()), ("good", &good.url())], settings());
    let notifier = bench.started().await;
    for number in 0..5 {
        bench.request(number).await;
    }
    bench.until("good", NotificationState::Delivered, 5).await;
    let waiting = bench.until("slow", NotificationState::Waiting, 5).await;
    // The order of events is the order of messages.
    let names: Vec<String> =
        good.got().iter().map(|got| got.json()["title"].as_str().unwrap().to_owned()).collect();
    assert!(names.is_sorted() && names.len() == 5, "{names:?}");
    let tried = || async {
        let tried = bench.sent("slow").await.into_iter().find(|one| one.attempts > 0);
        tried.map(|one| one.error).context("none was tried")
    };
    let error = until("an attempt takes too long", GENEROUS, tried).await.unwrap();
    assert_eq!((error.as_str(), waiting.len()), ("the receiver took too long", 5));
    hanging.always(None);
    bench.until("slow", NotificationState::Delivered, 5).await;
    notifier.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_end_is_not_read() {
    let receiver = Receiver::start().await;
    receiver.always(Some(Answer::Endless));
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let notifier = bench.started().await;
    bench.request(1).await;
    let sent = bench.until("hub", NotificationState::Delivered, 1).await;
    notifier.stop().await;
    assert_eq!(sent[0].attempts, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed() {
    let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
    receiver.always(Some(Answer::Redirect(elsewhere.url())));
    let bench = Bench::new(&[("hub", &receiver.url())], Notify { attempts: 2, ..settings() });
    let notifier = bench.started().await;
    bench.request(1).await;
    let failed = bench.until("hub", NotificationState::Failed, 1).await;
    notifier.stop().await;
    assert_eq!(failed[0].error, "the receiver answered 307, a redirect, which is not followed");
    assert_eq!((receiver.got().len(), elsewhere.got().len()), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_public_is_not_dialled() {
    // By address, and by a name that this machine resolves to itself.
    let receiver = Receiver::start().await;
    let port = receiver.url().rsplit_once(':').unwrap().1.to_owned();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let urls =
        [("address", "https://10.255.0.1/hook".to_owned()), ("name", format!("https://{name}:{port}"))];
    let urls: Vec<(&str, &str)> = urls.iter().map(|(name, url)| (*name, url.as_str())).collect();
    let bench = Bench::new(&urls, settings());
    let notifier = bench.started().await;
    bench.request(1).await;
    for (destination, _) in urls {
        let tried = || async {
            let tried = bench.sent(destination).await.into_iter().find(|one| one.attempts > 0);
            tried.map(|one| one.error).context("none was tried")
        };
        let error = until("an attempt is refused", GENEROUS, tried).await.unwrap();
        assert!(error.contains("the address is"), "{destination}: {error}");
    }
    notifier.stop().await;
    assert_eq!(receiver.got().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_read_while_notifications_are_sent_shows_each_once() {
    let receiver = Receiver::start().await;
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let notifier = bench.started().await;
    for number in 0..60 {
        bench.request(number).await;
    }
    let begun = Instant::now();
    let mut delivered = 0;
    while delivered < 60 {
        assert!(begun.elapsed() < GENEROUS, "{delivered} of 60 are delivered");
        let sent = bench.sent("hub").await;
        let ids: HashSet<&str> = sent.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids.len(), sent.len(), "each once");
        delivered = sent.iter().filter(|one| one.state == NotificationState::Delivered).count();
        tokio::task::yield_now().await;
    }
    notifier.stop().await;
}
