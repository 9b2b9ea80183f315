//! The question for a reason, before a person's own look at a cluster: once per session.

use crate::cluster::Cluster;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link};
use crate::tabs::Tab;

/// The question, in place of what it opens.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "reason.html")]
pub struct ReasonPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// The tab of the cluster's pages that it is shown on.
    pub tab: Tab,
    /// What it opens, e.g. `the log of etcd-0`.
    pub what: String,
    /// Where to go then.
    pub back: String,
    /// The page that the person came from.
    pub out: Link,
    /// An earlier one was revoked.
    pub revoked: bool,
    /// What was typed.
    pub reason: String,
    /// What was typed.
    pub ticket: String,
    /// What is wrong with the reason.
    pub reason_error: Option<String>,
    /// What is wrong with the ticket.
    pub ticket_error: Option<String>,
    /// In place of the question.
    pub failure: Option<Failure>,
}

impl ReasonPage {
    pub(crate) fn active(&self) -> u64 {
        self.active
    }

    pub(crate) fn tab(&self) -> Tab {
        self.tab
    }
}
