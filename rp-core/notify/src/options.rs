//! What a destination is told, and in which shape.

use std::net::SocketAddr;
use std::sync::Arc;

use rp_base::Secret;
use rp_config::{Notify, NotifyDestination, NotifyTopic, Word as _};
use rp_documents::{NotificationEvent, NotificationKind};
use rp_net::tls::TlsError;

use crate::Endpoint;
use crate::addresses::{self, Addresses};

/// Groups of events, as the settings name them.
pub const TOPICS: &[&str] = NotifyTopic::WORDS;

/// A receiver, with its secrets read.
#[derive(Debug)]
pub struct Destination {
    /// Its name in the settings.
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) endpoint: Endpoint,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) client: reqwest::Client,
    topics: Vec<NotifyTopic>,
    regions: Vec<String>,
}

/// What a receiver understands.
#[derive(Debug)]
pub enum Shape {
    /// Our own JSON; signed where there is a key.
    Webhook(Option<Secret<String>>),
    /// An incoming webhook of Slack.
    Slack,
    /// An Adaptive Card for Microsoft Teams.
    Teams,
    /// Events API v2, with the integration key.
    PagerDuty(Secret<String>),
}

impl Shape {
    /// The word of the settings and of pages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::PagerDuty(_) => "pagerduty",
        }
    }
}

impl Destination {
    /// A receiver of the settings with what was read for it: its shape, its address, and the PEM of its authority.
    /// `own`: listeners of this process, which are no receivers.
    ///
    /// # Errors
    /// The authority cannot be used.
    pub fn new(
        declared: &NotifyDestination,
        (shape, endpoint): (Shape, Endpoint),
        ca_pem: Option<&str>,
        own: Vec<SocketAddr>,
        settings: &Notify,
    ) -> Result<Self, TlsError> {
        let addresses = Arc::new(Addresses::new(&endpoint, &settings.allow, own));
        Ok(Self {
            // Leaked on purpose: destinations are few, they live as long as the process, and labels are `&'static str`.
            name: declared.name.clone().leak(),
            client: addresses::client(&addresses, ca_pem, settings.timeout)?,
            shape,
            endpoint,
            addresses,
            topics: declared.topics.clone(),
            regions: declared.regions.clone(),
        })
    }

    /// What it is told, as the settings name it.
    pub(crate) fn topics(&self) -> impl Iterator<Item = &'static str> {
        self.topics.iter().map(|topic| topic.word())
    }

    /// Azure regions; empty: all.
    pub(crate) fn regions(&self) -> &[String] {
        &self.regions
    }

    /// Whether it is told of an event. One of which no region is known concerns every region.
    pub(crate) fn wants(&self, event: &NotificationEvent) -> bool {
        let here = self.regions.is_empty() || event.region.is_empty() || self.regions.contains(&event.region);
        here && topic(event.kind).is_none_or(|topic| self.topics.contains(&topic))
    }
}

/// The group of an event; `None`: a test, for any destination.
const fn topic(kind: NotificationKind) -> Option<NotifyTopic> {
    Some(match kind {
        NotificationKind::ElevationRequested
        | NotificationKind::ElevationApproved
        | NotificationKind::ElevationRefused
        | NotificationKind::ElevationWithdrawn => NotifyTopic::Elevations,
        NotificationKind::BreakGlass | NotificationKind::BreakGlassReviewed => NotifyTopic::BreakGlass,
        NotificationKind::OperationFailed => NotifyTopic::Operations,
        NotificationKind::MaintenanceFailed => NotifyTopic::Maintenance,
        NotificationKind::CertificateExpiring | NotificationKind::CertificateRenewed => {
            NotifyTopic::Certificates
        }
        NotificationKind::ClusterSilent | NotificationKind::ClusterAnswers => NotifyTopic::Clusters,
        NotificationKind::Test => return None,
    })
}
