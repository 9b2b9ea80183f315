//! `/jump`: straight to a cluster, a page of it, an action. The palette of the script shows the same over any page.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Link, Tone};

/// Search for a place to go.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "jump.html")]
pub struct JumpPage {
    /// What is around it.
    pub frame: Frame,
    /// What was typed.
    pub q: String,
    /// What was found, in groups.
    pub groups: Vec<JumpGroup>,
    /// The same search in the portals of other regions.
    pub elsewhere: Vec<Link>,
}

/// Places of one kind.
#[derive(Clone, Debug, Default)]
pub struct JumpGroup {
    /// Its head.
    pub words: &'static str,
    /// Best first.
    pub items: Vec<JumpItem>,
}

/// A place to go.
#[derive(Clone, Debug, Default)]
pub struct JumpItem {
    /// Its words.
    pub text: String,
    /// What is worth knowing before going there, e.g. the state of the cluster.
    pub note: String,
    /// How bad that is.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// Where it is.
    pub href: String,
}
