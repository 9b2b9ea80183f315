//! `{RES}` and `{RES}/overview`, `{RES}/access`: one cluster.

use crate::audit::AuditRow;
use crate::filters;
use crate::frame::Frame;
use crate::grants::GrantRow;
use crate::parts::{Failure, Link, Notice, State, Step, Tone};

/// A page of one cluster.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "cluster.html", blocks = ["title", "main"])]
pub struct ClusterPage {
    /// What is around it.
    pub frame: Frame,
    /// Which page of the cluster.
    pub tab: Tab,
    /// The cluster.
    pub cluster: Cluster,
    /// Who has access to it now.
    pub grants: Section<GrantRow>,
    /// Who had it lately (page `access` only).
    pub ended: Section<GrantRow>,
    /// What was done with it lately, newest first.
    pub audit: Section<AuditRow>,
    /// In place of everything: unknown cluster, store away, no rights. `cluster.name` and
    /// `cluster.path` are still used for the head.
    pub failure: Option<Failure>,
}

/// Pages of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Overview.
    #[default]
    Overview,
    /// What fires.
    Alerts,
    /// Charts of its control plane.
    Statistics,
    /// PromQL.
    Explore,
    /// Who has access.
    Access,
}

impl Tab {
    /// Its page has a script of its own, so that it is loaded and left whole.
    #[must_use]
    pub fn scripted(self) -> bool {
        matches!(self, Self::Statistics | Self::Explore)
    }
}

impl ClusterPage {
    pub(crate) fn tab(&self) -> Tab {
        self.tab
    }

    /// Active grants, where they may be seen.
    pub(crate) fn active(&self) -> u64 {
        if let Section::Rows(_, n) = &self.grants { *n } else { 0 }
    }
}

/// The rows of a panel, or why there are none to see.
#[derive(Clone, Debug)]
pub enum Section<T> {
    /// Rows, perhaps none, and how many there are in all.
    Rows(Vec<T>, u64),
    /// The person may not see them: what would be needed.
    Hidden(String),
    /// They could not be read.
    Failed(Failure),
}

impl<T> Default for Section<T> {
    fn default() -> Self {
        Self::Rows(Vec::new(), 0)
    }
}

/// Why a person may not take access, or that they may.
#[derive(Clone, Debug, Default)]
pub enum May {
    /// They may.
    #[default]
    Yes,
    /// They may not: the sentence that says what is missing.
    No(String),
}

impl May {
    /// Whether they may.
    #[must_use]
    pub fn yes(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

/// One cluster with every field of its document that people ask for; times in seconds since 1970
/// UTC, empty text where the document has nothing.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Its name, as it was written.
    pub name: String,
    /// Path of its pages: the resource id in lower case, each segment percent-encoded.
    pub path: String,
    /// Resource id.
    pub resource_id: String,
    /// Subscription id.
    pub subscription: String,
    /// Resource group.
    pub group: String,
    /// Imported, not ours.
    pub imported: Option<ImportedFrom>,
    /// Its state.
    pub state: State,
    /// Since when.
    pub since: Option<i64>,
    /// Further states, e.g. maintenance beside failed.
    pub also: Vec<State>,
    /// What is going on, in one sentence.
    pub verdict: Verdict,
    /// The installation, while it runs or where it stopped.
    pub install: Vec<Step>,
    /// Whether the person may take a kubeconfig.
    pub may_take: May,
    /// About the whole page: not answering, last known.
    pub notice: Option<Notice>,
    /// Links out: Azure portal, OpenShift console.
    pub links: Vec<Link>,

    /// `Public` or `Private`.
    pub api_visibility: String,
    /// URL of the API.
    pub api_url: String,
    /// Architecture version, decimal.
    pub architecture_version: String,
    /// URL of the console.
    pub console_url: String,
    /// `createdAt`.
    pub created_at: Option<i64>,
    /// Commit of the resource provider that created it.
    pub created_by: String,
    /// Commit of the resource provider that last provisioned it.
    pub provisioned_by: String,
    /// `failedProvisioningState`.
    pub failed_provisioning_state: String,
    /// Infrastructure id.
    pub infra_id: String,
    /// `lastAdminUpdateError`, unedited.
    pub last_admin_update_error: String,
    /// `systemData.lastModifiedAt`.
    pub last_modified_at: Option<i64>,
    /// `systemData.lastModifiedBy`.
    pub last_modified_by: String,
    /// `lastProvisioningState`.
    pub last_provisioning_state: String,
    /// Azure region.
    pub location: String,
    /// `provisioningState`.
    pub provisioning_state: String,
    /// Version.
    pub version: String,
    /// `Installed`, or the phase of the installation.
    pub install_status: String,
    /// `maintenanceState`.
    pub maintenance_state: String,
    /// Any more, in this order: label and value.
    pub more: Vec<(String, String)>,
}

/// What an import adds.
#[derive(Clone, Debug, Default)]
pub struct ImportedFrom {
    /// Who imported it.
    pub by: String,
    /// When.
    pub at: i64,
    /// `client certificate`, `token`.
    pub credential: String,
    /// End of the credential, where it has one.
    pub credential_ends: Option<i64>,
    /// Groups that stand for the person in the cluster; none: the stored credential is shared.
    pub as_groups: Vec<String>,
}

/// The answer first: what is wrong and since when.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Its colour.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// E.g. "Failed: Creating".
    pub head: String,
    /// Since when.
    pub since: Option<i64>,
    /// One or two sentences.
    pub text: String,
}

/// A line of the key-values.
#[derive(Clone, Debug)]
pub enum Field<'a> {
    /// Words.
    Text(&'static str, &'a str),
    /// Something to paste, with a copy button.
    Code(&'static str, &'a str),
    /// A link to an address of the cluster.
    Url(&'static str, &'a str),
    /// An instant.
    Time(&'static str, Option<i64>),
    /// An instant that is to come.
    End(&'static str, Option<i64>),
    /// Something long to paste, over the whole width.
    Path(&'static str, &'a str),
    /// Long text over the whole width.
    Long(&'static str, &'a str),
}

impl Cluster {
    /// Fields by use: identity, state, addresses, life, makers.
    #[must_use]
    pub fn fields(&self) -> Vec<Field<'_>> {
        use Field::{Code, Long, Path, Text, Time, Url};
        vec![
            Text("Name", &self.name),
            Code("Infra ID", &self.infra_id),
            Code("Subscription", &self.subscription),
            Code("Resource group", &self.group),
            Text("Location", &self.location),
            Text("Version", &self.version),
            Text("Provisioning state", &self.provisioning_state),
            Text("Failed state", &self.failed_provisioning_state),
            Text("State before", &self.last_provisioning_state),
            Text("Installation", &self.install_status),
            Text("Maintenance", &self.maintenance_state),
            Text("Architecture version", &self.architecture_version),
            Text("API visibility", &self.api_visibility),
            Time("Created", self.created_at),
            Code("Created by", &self.created_by),
            Code("Provisioned by", &self.provisioned_by),
            Time("Last modified", self.last_modified_at),
            Text("Last modified by", &self.last_modified_by),
            Url("API URL", &self.api_url),
            Url("Console", &self.console_url),
            Path("Resource ID", &self.resource_id),
            Long("Last admin update error", &self.last_admin_update_error),
        ]
    }

    /// Fields of an imported cluster: those that an import has.
    #[must_use]
    pub fn imported_fields(&self) -> Vec<Field<'_>> {
        use Field::{End, Path, Text, Time, Url};
        let at = self.imported.as_ref().map(|i| i.at);
        let by = self.imported.as_ref().map_or("", |i| i.by.as_str());
        let credential = self.imported.as_ref().map_or("", |i| i.credential.as_str());
        let ends = self.imported.as_ref().and_then(|i| i.credential_ends);
        vec![
            Text("Name", &self.name),
            Text("Version", &self.version),
            Text("Imported by", by),
            Time("Imported", at),
            Text("Credential", credential),
            End("Credential ends", ends),
            Time("Last modified", self.last_modified_at),
            Url("API URL", &self.api_url),
            Path("Resource ID", &self.resource_id),
        ]
    }

    /// The fields to show.
    #[must_use]
    pub fn shown_fields(&self) -> Vec<Field<'_>> {
        if self.imported.is_some() { self.imported_fields() } else { self.fields() }
    }
}
