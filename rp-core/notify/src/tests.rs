//! The sender over a real store and real receivers.

mod away;
mod health;
mod receiver;
mod sending;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rp_base::{Clock as _, SharedClock, SharedRandom, SystemClock, SystemRandom, Timestamp};
use rp_config::{Notify, NotifyDestination, NotifyTarget, NotifyTopic, NotifyUrl, Word as _};
use rp_database::{SharedStore, Typed, in_memory};
use rp_documents::{Elevation, Notification, NotificationState};
use rp_metrics::Registry;
use serde_json::json;
use tests_kit::{GENEROUS, until};
use url::Url;

use crate::{Destination, Endpoint, Notifications, Notifier, NotifierParts, Shape};
use receiver::{Answer, Receiver};

pub(super) const KEY: &str = "a key that both sides know";

/// Quick tries, so that tests take no longer than they must.
pub(super) fn settings() -> Notify {
    Notify {
        retry: Duration::from_millis(20),
        retry_most: Duration::from_millis(100),
        timeout: Duration::from_millis(500),
        silent_after: Duration::from_secs(60),
        ..Notify::default()
    }
}

pub(super) fn destination(name: &str, url: &str, settings: &Notify) -> Arc<Destination> {
    let secret = |text: &str| rp_base::Secret::new(text.to_owned());
    let declared = NotifyDestination {
        name: name.to_owned(),
        to: NotifyTarget::Webhook { url: NotifyUrl::Plain(Url::parse(url).unwrap()), secret_file: None },
        topics: NotifyTopic::VALUES.to_vec(),
        regions: Vec::new(),
        ca_file: None,
    };
    let read = (Shape::Webhook(Some(secret(KEY))), Endpoint::parse(&secret(url)).unwrap());
    Arc::new(Destination::new(&declared, read, None, Vec::new(), settings).unwrap())
}

/// A store, and a sender of it.
pub(super) struct Bench {
    pub(super) store: SharedStore,
    pub(super) settings: Notify,
    pub(super) destinations: Vec<Arc<Destination>>,
    pub(super) registry: Registry,
}

impl Bench {
    pub(super) fn new(urls: &[(&str, &str)], settings: Notify) -> Self {
        Self::over(in_memory(Arc::new(SystemClock)), urls, settings)
    }

    pub(super) fn over(store: SharedStore, urls: &[(&str, &str)], settings: Notify) -> Self {
        let destinations = urls.iter().map(|(name, url)| destination(name, url, &settings)).collect();
        Self { store, settings, destinations, registry: Registry::new() }
    }

    pub(super) fn start(&self) -> Notifier {
        Notifier::start(NotifierParts {
            store: Arc::clone(&self.store),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            registry: self.registry.clone(),
            settings: self.settings.clone(),
            destinations: self.destinations.clone(),
            portal: Url::parse("https://portal.example/").unwrap(),
        })
    }

    /// Begins, and waits until the sender follows what happens.
    pub(super) async fn started(&self) -> Notifier {
        let notifier = self.start();
        let begun = || async {
            self.registry.render().contains("\naro_notify_sender 1\n").then_some(()).context("not yet")
        };
        until("the sender begins", GENEROUS, begun).await.unwrap();
        notifier
    }

    pub(super) fn notifications(&self) -> Notifications {
        let (clock, random): (SharedClock, SharedRandom) = (Arc::new(SystemClock), Arc::new(SystemRandom));
        Notifications::new((&self.store, &clock, &random), self.destinations.clone(), self.settings.keep)
    }

    /// Stores a request for an elevation, as the portal does; gives its id.
    pub(super) async fn request(&self, number: u32) -> String {
        let id = rp_base::Id::random(&SystemRandom);
        let elevation: Elevation = serde_json::from_value(json!({
            "id": id, "owner": {"sub": "s", "name": format!("ada-{number}"), "groups": []}, "rights": "admin",
            "way": "approval", "reason": "etcd is full", "asked": SystemClock.now(), "life_secs": 1800,
        }))
        .unwrap();
        Typed::<Elevation>::new(Arc::clone(&self.store)).create(elevation).await.unwrap();
        id.as_str().to_owned()
    }

    /// All notifications of a destination.
    pub(super) async fn sent(&self, name: &str) -> Vec<Notification> {
        let views = self.notifications().list(100).await.unwrap();
        views.into_iter().find(|view| view.name == name).unwrap().last
    }

    /// Waits until so many notifications of a destination are in a state.
    pub(super) async fn until(
        &self,
        name: &str,
        state: NotificationState,
        count: usize,
    ) -> Vec<Notification> {
        let look = || async {
            let all = self.sent(name).await;
            let found = all.iter().filter(|one| one.state == state).count();
            let states: Vec<_> = all.iter().map(|one| (one.state, one.attempts, one.error.clone())).collect();
            if found == count { Ok(all) } else { Err(anyhow!("{states:?}")) }
        };
        until(&format!("{count} of {name} are {}", state.name()), GENEROUS, look).await.unwrap()
    }
}

/// An instant so long ago.
pub(super) fn ago(seconds: u64) -> Timestamp {
    SystemClock.now() - Duration::from_secs(seconds)
}
