//! `{RES}/metrics`: the dialog that gives a token for Grafana, promtool and other tools that speak the
//! API of Prometheus. `POST {RES}/metrics/new` answers the same dialog with the token, once.

use crate::filters;
use crate::frame::Frame;
use crate::kubeconfig::{KubeconfigErrors, KubeconfigForm};
use crate::parts::Failure;

/// The dialog.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "metrics.html", blocks = ["title", "main", "dialog"])]
pub struct MetricsPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// What was filled in.
    pub form: KubeconfigForm,
    /// What is wrong with it.
    pub errors: KubeconfigErrors,
    /// The token, shown once.
    pub given: Option<MetricsToken>,
    /// In place of the form.
    pub failure: Option<Failure>,
}

/// A token and the address that it is valid for.
#[derive(Clone)]
pub struct MetricsToken {
    /// The bearer token.
    pub token: String,
    /// The address that tools take as that of Prometheus.
    pub address: String,
    /// Its end.
    pub ends: i64,
    /// The address has a certificate of an own CA.
    pub own_ca: bool,
}

// The token is for the page alone.
impl std::fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsToken").field("address", &self.address).finish_non_exhaustive()
    }
}

impl MetricsPage {
    /// Whether a length of life is the chosen one: tools are set up for long, so the longest is first.
    pub(crate) fn chosen(&self, life: &u64) -> bool {
        let posted = self.form.life.parse::<u64>().ok().filter(|l| self.lives.contains(l));
        posted.or(self.lives.last().copied()) == Some(*life)
    }

    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn life_words(&self, life: &u64) -> String {
        crate::when::span(i64::try_from(*life).unwrap_or(i64::MAX))
    }
}
