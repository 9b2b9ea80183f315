//! `{RES}/network`: how the cluster is reached, and how its own networks are laid out.

use crate::cluster::{Cluster, Field};
use crate::code::Node;
use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Notice, Step};
use crate::resources::on_tab;
use crate::tabs::Tab;

/// The network of a cluster.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "network.html")]
pub struct NetworkPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// How we reach it: label and value.
    pub way: Vec<(&'static str, String)>,
    /// When it was last dialled, and in how many milliseconds; `Err`: what went wrong.
    pub last: Option<LastDial>,
    /// A dial for this page, step by step.
    pub check: Vec<Step>,
    /// The address that starts the check; empty where the person may not start it.
    pub check_href: String,
    /// What the document says: label and value.
    pub document: Vec<(&'static str, String)>,
    /// Subnets: whose, id.
    pub subnets: Vec<(String, String)>,
    /// Ingress controllers.
    pub ingress: Vec<IngressRow>,
    /// The cluster's own settings: title, object, fields.
    pub objects: Vec<NetworkObject>,
    /// The address that loads them; empty when they are loaded.
    pub objects_href: String,
    /// What is missing.
    pub notices: Vec<Notice>,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// The last dial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastDial {
    /// When.
    pub at: i64,
    /// How long it took.
    pub took_ms: u64,
    /// What went wrong, or empty.
    pub error: String,
}

/// One ingress controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngressRow {
    /// Name.
    pub name: String,
    /// `Public` or `Private`.
    pub visibility: String,
    /// Address.
    pub ip: String,
}

/// An object of the cluster's configuration.
#[derive(Clone, Debug)]
pub struct NetworkObject {
    /// Its kind in words.
    pub title: String,
    /// Its page.
    pub link: Link,
    /// What it says, or why it is not known.
    pub spec: Result<Node, String>,
}

impl NetworkPage {
    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn field<'a>(&self, label: &'static str, value: &'a str) -> Field<'a> {
        if value.starts_with("https://") {
            Field::Url(label, value)
        } else if value.contains('/') || value.contains("::") || value.matches('.').count() == 3 {
            Field::Code(label, value)
        } else {
            Field::Text(label, value)
        }
    }
}

on_tab!(NetworkPage, Tab::Network);
