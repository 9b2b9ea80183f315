//! Receivers that are away, senders that are killed, queues that are full.

use rp_database::{PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};
use tests_kit::Postgres;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_was_away_gets_it_later_and_once() {
    let receiver = Receiver::start().await;
    let url = receiver.url();
    let address = receiver.leave();
    let bench = Bench::new(&[("hub", &url)], settings());
    let notifier = bench.started().await;
    bench.request(1).await;
    bench.request(2).await;
    let tried = || async {
        let tried = bench.sent("hub").await.into_iter().find(|one| one.attempts > 1);
        tried.map(|one| one.error).context("none was tried twice")
    };
    let error = until("it is tried again", GENEROUS, tried).await.unwrap();
    assert!(error.starts_with("the receiver could not be reached"), "{error}");
    assert!(!error.contains("/hook"), "{error}");
    let back = Receiver::at(address).await;
    bench.until("hub", NotificationState::Delivered, 2).await;
    notifier.stop().await;
    assert_eq!(back.got().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SqliteStore::open(SqliteOptions::new(folder.path().join("aro.db"), Arc::new(SystemClock)));
    let receiver = Receiver::start().await;
    let url = receiver.url();
    let address = receiver.leave();
    let store: SharedStore = Arc::new(open().await.unwrap());
    let bench = Bench::over(Arc::clone(&store), &[("hub", &url)], settings());
    let notifier = bench.started().await;
    bench.request(1).await;
    bench.until("hub", NotificationState::Waiting, 1).await;
    // Dropped without a stop: no lease is given back.
    drop(notifier);
    // It happens while nobody sends.
    bench.request(2).await;
    store.close().await;
    drop((bench, store));
    let back = Receiver::at(address).await;
    let reopened: SharedStore = Arc::new(open().await.unwrap());
    let bench = Bench::over(reopened, &[("hub", &url)], settings());
    let notifier = bench.started().await;
    let sent = bench.until("hub", NotificationState::Delivered, 2).await;
    notifier.stop().await;
    // And once more: nothing is sent again.
    let again = bench.started().await;
    bench.request(3).await;
    bench.until("hub", NotificationState::Delivered, 3).await;
    again.stop().await;
    assert_eq!((sent.len(), back.got().len()), (2, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_on_postgresql_one_sends_and_the_other_takes_over() {
    let postgres = Postgres::start().await.unwrap();
    let url = postgres.database().await.unwrap();
    let open = async || {
        let options = PostgresOptions::from_url(&url).unwrap();
        let store: SharedStore = Arc::new(PostgresStore::connect(options).await.unwrap());
        store
    };
    let receiver = Receiver::start().await;
    let hook = receiver.url();
    let first = Bench::over(open().await, &[("hub", &hook)], settings());
    let second = Bench::over(open().await, &[("hub", &hook)], settings());
    let (sender, other) = (first.started().await, second.start());
    first.request(1).await;
    second.request(2).await;
    first.until("hub", NotificationState::Delivered, 2).await;
    let sends = |bench: &Bench| bench.registry.render().contains("\naro_notify_sender 1\n");
    assert!(sends(&first) && !sends(&second), "one of them sends");
    // Without its store it cannot give its lease back.
    first.store.close().await;
    drop(sender);
    second.request(3).await;
    let takes_over = || async { sends(&second).then_some(()).context("not yet") };
    until("the other takes over", GENEROUS, takes_over).await.unwrap();
    second.until("hub", NotificationState::Delivered, 3).await;
    other.stop().await;
    assert_eq!(receiver.got().len(), 3, "none was sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_drops_what_comes_beside_it() {
    let receiver = Receiver::start().await;
    receiver.always(Some(Answer::Status(503)));
    let bench = Bench::new(&[("hub", &receiver.url())], Notify { waiting: 2, ..settings() });
    let notifier = bench.started().await;
    for number in 0..4 {
        bench.request(number).await;
    }
    let all = bench.until("hub", NotificationState::Dropped, 2).await;
    assert_eq!(all.iter().filter(|one| one.state == NotificationState::Waiting).count(), 2);
    let metrics = bench.registry.render();
    assert!(metrics.contains("aro_notify_notifications_total{destination=\"hub\",result=\"dropped\"} 2"));
    receiver.always(None);
    bench.until("hub", NotificationState::Delivered, 2).await;
    bench.request(9).await;
    bench.until("hub", NotificationState::Delivered, 3).await;
    notifier.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_sent_and_an_unknown_name_is_refused() {
    let receiver = Receiver::start().await;
    let bench = Bench::new(&[("hub", &receiver.url())], settings());
    let notifier = bench.started().await;
    let id = bench.notifications().test("hub", "ada").await.unwrap();
    let sent = bench.until("hub", NotificationState::Delivered, 1).await;
    notifier.stop().await;
    assert_eq!(
        (sent[0].id.as_str(), receiver.got()[0].json()["event"].as_str()),
        (id.as_str(), Some("test"))
    );
    let refused = bench.notifications().test("other", "ada").await;
    assert!(matches!(refused, Err(crate::UnknownDestination::Name)));
}
