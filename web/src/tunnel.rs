//! What the dialog of a tunnel alone offers, and the commands that it gives out. They carry what was filled in; no token
//! passes through the page.

/// Where a tunnel may lead.
#[derive(Clone, Debug, Default)]
pub struct TunnelChoices {
    /// `host:port` of the console and what it needs, or all that an import names.
    pub usual: Vec<String>,
    /// Every name below it may be named too, at 443; empty: none.
    pub domain: String,
}

/// The commands to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelCommands {
    /// The command that opens a browser on the web console; empty: the cluster has no console.
    pub console: String,
    /// The command that opens a proxy.
    pub tunnel: String,
    /// The destinations that the proxy may connect to.
    pub places: Vec<String>,
}
