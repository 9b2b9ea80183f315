//! Notifications (`[notify]`): the destinations of the settings with their secrets read, and the sender where this process
//! may be it.

use std::path::PathBuf;
use std::sync::Arc;

use rp_base::Secret;
use rp_config::{NotifyDestination, NotifyTarget, NotifyUrl, SecretFile, SecretFileError, Settings};
use rp_net::tls::TlsError;
use rp_notify::{Destination, Endpoint, InvalidEndpoint, Notifications, Notifier, NotifierParts, Shape};

use crate::Services;
use crate::services::own_listeners;

/// Notifications of a process that serves the portal.
#[derive(Debug)]
pub struct NotifyRole {
    /// What pages and the API show.
    pub notifications: Notifications,
    /// `None`: the settings name no destination.
    notifier: Option<Notifier>,
}

/// Why a destination cannot be used at all. No secret is in it.
#[derive(Debug, thiserror::Error)]
#[error("the destination {destination} of notifications")]
pub struct DestinationOpenError {
    pub destination: String,
    #[source]
    pub cause: DestinationFault,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum DestinationFault {
    #[error("its secret")]
    Secret(#[from] SecretFileError),
    #[error(transparent)]
    Address(#[from] InvalidEndpoint),
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("its CA")]
    Tls(#[from] TlsError),
}

impl NotifyRole {
    /// Reads the secrets of the destinations and begins to send, or to wait until no other process sends.
    ///
    /// # Errors
    /// [`DestinationOpenError`]: the first that cannot be used. The address of the portal is not set.
    pub fn start(services: &Services) -> anyhow::Result<Self> {
        let settings = &services.settings;
        let destinations = destinations(settings)?;
        let parts = (&services.store, &services.clock, &services.random);
        let notifications = Notifications::new(parts, destinations.clone(), settings.notify.keep);
        let portal = settings.portal.url.clone();
        let portal = portal.ok_or_else(|| anyhow::anyhow!("portal.url is not set"))?;
        let notifier = (!destinations.is_empty()).then(|| {
            tracing::info!(destinations = destinations.len(), "notifying");
            Notifier::start(NotifierParts {
                store: Arc::clone(&services.store),
                clock: Arc::clone(&services.clock),
                random: Arc::clone(&services.random),
                registry: services.registry.clone(),
                settings: settings.notify.clone(),
                destinations,
                portal,
            })
        });
        Ok(Self { notifications, notifier })
    }

    /// Stops sending; what waits is sent by the next sender.
    pub async fn stop(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.stop().await;
        }
    }
}

/// The destinations of the settings. Reads addresses, keys and certificates; connects nowhere.
///
/// # Errors
/// The first destination that cannot be used.
pub fn destinations(settings: &Settings) -> Result<Vec<Arc<Destination>>, DestinationOpenError> {
    let open = |declared: &NotifyDestination| {
        let opened = open(declared, settings);
        opened
            .map(Arc::new)
            .map_err(|cause| DestinationOpenError { destination: declared.name.clone(), cause })
    };
    settings.notify.destinations.iter().map(open).collect()
}

fn open(declared: &NotifyDestination, settings: &Settings) -> Result<Destination, DestinationFault> {
    let plain = |url: &url::Url| Ok(Secret::new(url.to_string()));
    let (shape, address) = match &declared.to {
        NotifyTarget::Webhook { url, secret_file } => {
            let key = secret_file.as_ref().map(SecretFile::read).transpose()?;
            let address = match url {
                NotifyUrl::Plain(url) => plain(url),
                NotifyUrl::File(file) => file.read(),
            };
            (Shape::Webhook(key), address)
        }
        NotifyTarget::Slack(file) => (Shape::Slack, file.read()),
        NotifyTarget::Teams(file) => (Shape::Teams, file.read()),
        NotifyTarget::PagerDuty { url, key_file } => (Shape::PagerDuty(key_file.read()?), plain(url)),
    };
    let endpoint = Endpoint::parse(&address?)?;
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|cause| DestinationFault::Read { path: path.clone(), cause })
    };
    let ca = declared.ca_file.as_ref().map(read).transpose()?;
    Ok(Destination::new(
        declared,
        (shape, endpoint),
        ca.as_deref(),
        own_listeners(settings),
        &settings.notify,
    )?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    use rp_base::chain;
    use rp_config::{Input, Override};

    use super::*;

    fn opened(text: &str) -> Result<Vec<Arc<Destination>>, DestinationOpenError> {
        let overrides = [Override { key: "notify.destinations", value: text, flag: "--set" }];
        let environment = BTreeMap::new();
        let input = Input { file: None, environment: &environment, overrides: &overrides, needs: &[] };
        destinations(&rp_config::parse(&input).unwrap())
    }

    #[test]
    fn secrets_are_read_and_never_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("url");
        let keep = |text: &str| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        let slack = format!("slack:#url_file={}", file.display());
        keep("https://hooks.slack.com/services/T0/B0/hunter2\n");
        let good = opened(&slack).unwrap();
        assert!(!format!("{good:?}").contains("hunter2"));
        keep("http://hooks.slack.com/services/T0/B0/hunter2");
        let told = chain(&opened(&slack).unwrap_err()).to_string();
        assert!(told.contains("destination slack") && !told.contains("hunter2"), "{told}");
        let missing = opened("pagerduty:#key_file=/nowhere/key").unwrap_err();
        assert!(matches!(missing.cause, DestinationFault::Secret(_)));
    }
}
