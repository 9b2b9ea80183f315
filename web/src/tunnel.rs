//! `{RES}/tunnel`: the dialog that puts together the commands for the web console and for a tunnel.
//!
//! The access is given to the command, on the person's own machine: no token passes through the page. So the form is a
//! question (GET) that changes nothing, and the commands carry what was filled in.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link};

/// The dialog.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "tunnel.html", blocks = ["title", "main", "dialog"])]
pub struct TunnelPage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// `host:port` of the console and what it needs, or all that an import names.
    pub usual: Vec<String>,
    /// Every name below it may be named too, at 443; empty: none.
    pub domain: String,
    /// There is a web console.
    pub console: bool,
    /// Why the person may not have a tunnel now, and the way to one.
    pub barred: Option<(String, Option<Link>)>,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// What was filled in.
    pub form: TunnelForm,
    /// What is wrong with it.
    pub errors: TunnelErrors,
    /// The commands.
    pub given: Option<TunnelCommands>,
    /// In place of the form.
    pub failure: Option<Failure>,
}

/// The form, as in the URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TunnelForm {
    /// Further `host:port`, separated by blanks or commas.
    pub to: String,
    /// Seconds; empty means the default.
    pub life: String,
    pub reason: String,
    pub ticket: String,
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunnelErrors {
    pub to: Option<String>,
    pub life: Option<String>,
    pub reason: Option<String>,
    pub ticket: Option<String>,
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

impl TunnelPage {
    pub(crate) fn chosen(&self, life: &u64) -> bool {
        crate::durations::is_chosen(&self.lives, &self.form.life, *life)
    }

    pub(crate) fn life_words(&self, life: &u64) -> String {
        crate::durations::words(&self.lives, *life)
    }
}
