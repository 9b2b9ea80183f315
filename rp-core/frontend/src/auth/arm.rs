//! ARM's certificates, as it publishes them (`contract/frontend.md` §3 ARM 2): read at the start and every
//! hour, kept when a refresh fails, matched byte for byte.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{SharedClock, Timestamp, chain};
use rp_metrics::{Kind, Registry, Spec};
use rp_net::http::client;
use rp_net::tls::{ClientChain, TlsError};
use serde::Deserialize;
use url::Url;

use super::CertificateCheck;
use super::tokens::{FetchError, fetch};
use crate::not_ready::NotReady;

/// The list is older than this: not ready (`contract/frontend.md` §3).
const STALE: Duration = Duration::from_secs(24 * 3600);
const TIME: Duration = Duration::from_secs(30);
/// After a failure.
const SOON: Duration = Duration::from_secs(10);

/// Why the published list was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("a certificate is no base64")]
    NoBase64,
    #[error("no entry is valid now")]
    NoneValid,
}

/// Where ARM publishes.
#[derive(Debug, Clone)]
pub struct ArmOptions {
    /// Its origin, such as `https://admin.management.azure.com`.
    pub endpoint: Url,
    /// PEM of a CA to trust beside the host's.
    pub ca_pem: Option<String>,
    pub refresh: Duration,
    pub clock: SharedClock,
}

/// The published certificates.
#[derive(Debug)]
pub struct ArmCertificates {
    options: ArmOptions,
    http: reqwest::Client,
    published: ArcSwapOption<Published>,
}

#[derive(Debug)]
struct Published {
    read: Timestamp,
    entries: Vec<Entry>,
}

#[derive(Debug, PartialEq)]
struct Entry {
    not_before: Timestamp,
    not_after: Timestamp,
    /// DER.
    certificate: Vec<u8>,
}

impl Entry {
    fn is_valid(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CertificateListResponse {
    client_certificates: Vec<CertificateEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CertificateEntry {
    not_before: Timestamp,
    not_after: Timestamp,
    certificate: String,
}

impl ArmCertificates {
    /// Reads nothing yet.
    ///
    /// # Errors
    /// The CA cannot be used.
    pub fn new(options: ArmOptions) -> Result<Arc<Self>, TlsError> {
        let http = client(options.ca_pem.as_deref(), TIME)?;
        Ok(Arc::new(Self { options, http, published: ArcSwapOption::empty() }))
    }

    /// Reads the list anew.
    ///
    /// # Errors
    /// It cannot be fetched or parsed, or none of its entries is valid now: the old list stays.
    pub async fn refresh(&self) -> Result<(), ArmError> {
        let now = self.options.clock.now();
        let mut url = self.options.endpoint.clone();
        url.set_path("/metadata/authentication");
        url.set_query(Some("api-version=2015-01-01"));
        let told: CertificateListResponse = fetch(&self.http, url).await?;
        let mut entries = Vec::new();
        for entry in told.client_certificates {
            let certificate = STANDARD.decode(entry.certificate.trim()).map_err(|_| ArmError::NoBase64)?;
            let (not_before, not_after) = (entry.not_before, entry.not_after);
            entries.push(Entry { not_before, not_after, certificate });
        }
        if !entries.iter().any(|entry| entry.is_valid(now)) {
            return Err(ArmError::NoneValid);
        }
        self.published.store(Some(Arc::new(Published { read: now, entries })));
        Ok(())
    }

    /// Refreshes the list at once and then periodically, for as long as the future is polled.
    pub async fn follow(&self) {
        loop {
            let wait = match self.refresh().await {
                Ok(()) => self.options.refresh,
                Err(error) => {
                    tracing::error!(error = %chain(&error), "ARM's certificates cannot be read, the old ones stay");
                    SOON.min(self.options.refresh)
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    /// Shows how old the list is and when its last entry ends (`contract/frontend.md` "Do better" 34).
    pub fn register(self: &Arc<Self>, registry: &Registry) {
        let age = Arc::clone(self);
        let help = "Seconds since ARM's certificates were last read.";
        let spec = Spec { name: "aro_frontend_arm_certificates_age_seconds", help, buckets: &[] };
        registry.callback(Kind::Gauge, spec, move || {
            let read = age.published.load().as_ref()?.read;
            Some(seconds(age.options.clock.now().seconds() - read.seconds()))
        });
        let end = Arc::clone(self);
        let help = "When the last of ARM's certificates ends, in seconds since the Unix epoch.";
        let spec = Spec { name: "aro_frontend_arm_certificates_end_timestamp_seconds", help, buckets: &[] };
        registry.callback(Kind::Gauge, spec, move || {
            let published = end.published.load();
            let last = published.as_ref()?.entries.iter().map(|entry| entry.not_after).max()?;
            Some(seconds(last.seconds()))
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double exactly")]
const fn seconds(value: i64) -> f64 {
    value as f64
}

impl CertificateCheck for ArmCertificates {
    fn trusts(&self, chain: &ClientChain, now: Timestamp) -> bool {
        let published = self.published.load();
        let (Some(published), Some(leaf)) = (published.as_ref(), chain.leaf()) else { return false };
        published.entries.iter().any(|entry| entry.certificate == leaf.as_ref() && entry.is_valid(now))
    }

    fn ready(&self, now: Timestamp) -> Result<(), NotReady> {
        let published = self.published.load();
        let Some(published) = published.as_ref() else {
            return Err(NotReady::ArmUnread);
        };
        if now > published.read + STALE {
            return Err(NotReady::ArmStale);
        }
        match published.entries.iter().any(|entry| entry.is_valid(now)) {
            true => Ok(()),
            false => Err(NotReady::ArmExpired),
        }
    }
}
