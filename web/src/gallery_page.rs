//! The list of all samples.

use crate::filters;
use crate::frame::Frame;

/// Every sample of every page, to be opened: of development only.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "gallery.html")]
pub struct GalleryPage {
    /// What is around it.
    pub frame: Frame,
    /// Names of samples, `page-state`, in the order of the pages.
    pub names: Vec<String>,
}
