//! `/keys`: the list of keys, which is also shown over any page.

use crate::filters;
use crate::frame::Frame;

/// The list of keys.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "keys.html")]
pub struct KeysPage {
    /// What is around it.
    pub frame: Frame,
}

/// The same over another page.
#[derive(Clone, Copy, Debug, Default, askama::Template)]
#[template(path = "keys_dialog.html")]
pub(crate) struct KeysDialog;

/// Keys and what they do; `scripts/keys.ts` does it.
pub const KEYS: [(&[&str], &str); 24] = [
    (&["Ctrl", "K"], "Jump to a cluster, a page, an action"),
    (&["/"], "Search this page"),
    (&["?"], "This list"),
    (&["G", "C"], "Clusters"),
    (&["G", "E"], "Fleet query"),
    (&["G", "M"], "Maintenance"),
    (&["G", "A"], "Access"),
    (&["G", "P"], "Elevations"),
    (&["G", "U"], "Audit"),
    (&["G", "I"], "Imported clusters"),
    (&["G", "R"], "Robots"),
    (&["J"], "Next row"),
    (&["K"], "Previous row"),
    (&["Enter"], "Open the row"),
    (&["X"], "Choose the row"),
    (&["[", "]"], "Previous, next tab"),
    (&["E"], "Elevate"),
    (&["F"], "Kubeconfig of the cluster or row"),
    (&["T"], "Terminal in the cluster"),
    (&["Q"], "PromQL on the cluster"),
    (&["Y"], "Copy the resource ID"),
    (&["R"], "Refresh"),
    (&["P"], "Pause refreshing, go on"),
    (&["Esc"], "Close, or leave a field"),
];
