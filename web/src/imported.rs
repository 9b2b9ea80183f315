//! `/imported`: clusters that were imported, and the form that imports one.
//!
//! The form posts `kubeconfig`, `name`, `context`, `as_groups` and the CSRF token to `/imported`;
//! removal posts to `/imported/{name}/remove`. A refused form answers 422 with this page; the pasted
//! kubeconfig is never sent back.

use serde::Deserialize;

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Notice, State, Step};

/// Imported clusters.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "imported.html", blocks = ["list"])]
pub struct ImportedPage {
    /// What is around it.
    pub frame: Frame,
    /// All of them, by name.
    pub clusters: Vec<ImportedRow>,
    /// The person may import and remove.
    pub may_import: bool,
    /// What was filled in.
    pub form: ImportForm,
    /// What is wrong with it.
    pub errors: ImportErrors,
    /// What was read from the kubeconfig and tried, after a post.
    pub steps: Vec<Step>,
    /// Contexts of the pasted kubeconfig, to choose from after a post without one.
    pub contexts: Vec<String>,
    /// Networks that an import may be in, e.g. `10.0.0.0/8`; empty when any.
    pub networks: Vec<String>,
    /// What was just done.
    pub notice: Option<Notice>,
    /// In place of the rows.
    pub failure: Option<Failure>,
}

/// One imported cluster.
#[derive(Clone, Debug, Default)]
pub struct ImportedRow {
    /// Its name.
    pub name: String,
    /// Path of its pages.
    pub path: String,
    /// Address of its API.
    pub server: String,
    /// `client certificate`, `token`.
    pub credential: String,
    /// End of the credential, where it has one.
    pub credential_ends: Option<i64>,
    /// Groups that stand for the person; none: the stored credential is shared.
    pub as_groups: Vec<String>,
    /// Its state.
    pub state: State,
    /// When it was imported.
    pub at: i64,
    /// Who imported it.
    pub by: String,
    /// Active grants on it, which a removal ends.
    pub grants: u64,
}

impl ImportedRow {
    /// Where its removal posts to.
    #[must_use]
    pub fn remove_path(&self) -> String {
        format!("/imported/{}/remove", crate::text::encode(&self.name))
    }
}

/// The form as it is posted. `kubeconfig` is a secret: it is not printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ImportForm {
    /// The file.
    pub kubeconfig: String,
    /// Name in the portal.
    pub name: String,
    /// Context, or empty for the current one.
    pub context: String,
    /// Groups, separated by commas or blanks.
    pub as_groups: String,
    /// JSON with user, private key and machines, or empty; a secret too.
    pub ssh: String,
}

impl std::fmt::Debug for ImportForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportForm").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportErrors {
    /// The file.
    pub kubeconfig: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The context.
    pub context: Option<String>,
    /// The groups.
    pub as_groups: Option<String>,
    /// The SSH section.
    pub ssh: Option<String>,
    /// About all of it.
    pub form: Option<Failure>,
}
