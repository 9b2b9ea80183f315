//! `{RES}` and `{RES}/overview`, `{RES}/access`: one cluster.

use askama::Template;

use crate::audit::AuditRow;
use crate::filters;
use crate::frame::Frame;
use crate::grants::GrantRow;
use crate::live::LiveBar;
use crate::objects::Board;
use crate::parts::{Badge, Failure, Link, Notice, State, Step, Tone};
use crate::table::TableQuery;
use crate::tabs::{Tab, TabCount};

/// A page of one cluster.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "cluster.html", blocks = ["list"])]
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
    /// What is shown: panels of health, objects, operations.
    pub board: Board,
    /// The one object that the page is about.
    pub item: Option<ItemHead>,
    /// What of a table is shown.
    pub filter: Option<TableFilter>,
    /// What keeps the panels current.
    pub live: LiveBar,
    /// The cluster has not answered yet.
    pub waiting: bool,
    /// In place of everything: unknown cluster, store away, no rights. `cluster.name` and
    /// `cluster.path` are still used for the head.
    pub failure: Option<Failure>,
}

impl ClusterPage {
    /// The panels that change with the cluster: id of the element and the element.
    ///
    /// # Errors
    /// Only when formatting fails, which a `String` never does.
    pub fn fragments(&self) -> askama::Result<Vec<(String, String)>> {
        let live = self.board.panels().filter(|panel| panel.later.is_empty());
        let panels = live.map(|panel| Ok((panel.element(), panel.html(&self.frame)?)));
        let counts = COUNTED.into_iter().map(|tab| Ok((count_id(tab), self.cluster.count(tab).to_string())));
        let folded = std::iter::once(Ok((FOLDED_COUNT.to_owned(), self.cluster.folded_count().to_string())));
        let state = std::iter::once(Ok(("head-state".to_owned(), self.cluster.head_state()?)));
        panels.chain(counts).chain(folded).chain(state).collect()
    }

    pub(crate) fn panel(&self, panel: &crate::panel::Panel) -> askama::Result<askama::filters::Safe<String>> {
        panel.html(&self.frame).map(askama::filters::Safe)
    }

    /// First part of the document's title.
    pub(crate) fn name(&self) -> String {
        match (&self.item, self.tab) {
            (Some(item), _) => format!("{}, {}", item.name, self.cluster.name),
            (None, Tab::Overview) => self.cluster.name.clone(),
            (None, tab) => format!("{}, {}", tab.words(), self.cluster.name),
        }
    }

    pub(crate) fn tab(&self) -> Tab {
        self.tab
    }

    /// Active grants, where they may be seen.
    pub(crate) fn active(&self) -> u64 {
        if let Section::Rows(_, n) = &self.grants { *n } else { 0 }
    }
}

/// Tabs whose numbers follow the cluster.
const COUNTED: [Tab; 6] =
    [Tab::Operators, Tab::AroOperator, Tab::Nodes, Tab::Machines, Tab::MachineSets, Tab::ControlPlane];

/// Element of the number beside "More".
const FOLDED_COUNT: &str = "look-more";

fn count_id(tab: Tab) -> String {
    format!("look-{}", tab.segment())
}

fn counted(id: &str, count: u64, tone: Tone) -> String {
    let count = crate::text::number(count);
    format!(
        "<span class=\"count\" id=\"{id}\" data-tone=\"{tone}\">{count}<span class=\"sr\"> need attention</span></span>"
    )
}

fn uncounted(id: &str) -> String {
    format!("<span id=\"{id}\" hidden></span>")
}

/// The object that a page is about, below its cluster.
#[derive(Clone, Debug, Default)]
pub struct ItemHead {
    /// Its list.
    pub list: Link,
    /// Its name.
    pub name: String,
    /// How it is.
    pub badges: Vec<Badge>,
}

/// What of a table is shown.
#[derive(Clone, Debug, Default)]
pub struct TableFilter {
    /// The current query.
    pub query: TableQuery,
    /// What the table is of, e.g. "nodes".
    pub what: &'static str,
    /// How many need attention; none: not known.
    pub problems: Option<u64>,
    /// How many there are; none: not known.
    pub all: Option<u64>,
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

/// Whether a person may take access, and why not.
#[derive(Clone, Debug, Default)]
pub enum AccessDecision {
    /// They may.
    #[default]
    Yes,
    /// They may not; holds the sentence that states what is missing.
    No(String),
}

impl Cluster {
    /// Whether the person may take access to it.
    pub(crate) const fn may_connect(&self) -> bool {
        matches!(self.may_take, AccessDecision::Yes)
    }
}

impl AccessDecision {
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
    pub may_take: AccessDecision,
    /// About the whole page: not answering, last known.
    pub notice: Option<Notice>,
    /// Links out: Azure portal, OpenShift console.
    pub links: Vec<Link>,
    /// How many things need attention on which page.
    pub looks: Vec<TabCount>,

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

impl Verdict {
    /// Whether the operation on the cluster has failed.
    pub(crate) fn is_failed(&self) -> bool {
        self.head.starts_with("Failed")
    }
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

    /// The number beside a tab: an element that is hidden while nothing needs attention.
    pub(crate) fn count(&self, tab: impl std::borrow::Borrow<Tab>) -> askama::filters::Safe<String> {
        let (tab, id) = (*tab.borrow(), count_id(*tab.borrow()));
        let found = self.looks.iter().find(|each| each.tab == tab && each.count > 0);
        askama::filters::Safe(match found {
            Some(n) => counted(&id, n.count, n.tone),
            None if COUNTED.contains(&tab) => uncounted(&id),
            None => String::new(),
        })
    }

    /// The number beside "More": how many need attention on the pages behind it, in the colour of the worst.
    pub(crate) fn folded_count(&self) -> askama::filters::Safe<String> {
        let folded = || self.looks.iter().filter(|each| each.tab.folded() && each.count > 0);
        let worst = if folded().any(|each| each.tone == Tone::Bad) { Tone::Bad } else { Tone::Warn };
        askama::filters::Safe(match folded().map(|each| each.count).sum() {
            0 => uncounted(FOLDED_COUNT),
            sum => counted(FOLDED_COUNT, sum, worst),
        })
    }

    /// Its state beside its name, which follows it.
    ///
    /// # Errors
    /// Only when formatting fails, which a `String` never does.
    pub(crate) fn head_state(&self) -> askama::Result<String> {
        HeadState { state: self.state.badge(), also: self.also.iter().map(State::badge).collect() }.render()
    }

    /// The fields to show.
    #[must_use]
    pub fn shown_fields(&self) -> Vec<Field<'_>> {
        if self.imported.is_some() { self.imported_fields() } else { self.fields() }
    }
}

#[derive(Template)]
#[template(
    source = "<span id=\"head-state\" class=\"row\">{{ state|badge }}{% for each in also %}{{ each|badge }}{% endfor %}</span>",
    ext = "html"
)]
struct HeadState {
    state: Badge,
    also: Vec<Badge>,
}
