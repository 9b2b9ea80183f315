//! What the dialog of metrics gives out: a token for Grafana, promtool and other tools that speak the API of Prometheus.

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
