//! One cluster as lists and pages need it.

use std::sync::Arc;

use rp_base::Timestamp;
use rp_documents::cluster::{Instant, ProvisioningState};
use rp_documents::{ClusterDocument, ImportedCluster, ResourceId, Standing};
use web::State;

use super::health::Health;

/// A cluster, ours or imported.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The document's id.
    pub document: String,
    pub id: ResourceId,
    pub location: String,
    pub state: Option<ProvisioningState>,
    pub failed: Option<ProvisioningState>,
    pub last_state: Option<ProvisioningState>,
    pub version: String,
    /// The version that the document names; an import's last look may know better.
    own_version: String,
    pub created: Option<Timestamp>,
    pub modified: Option<Timestamp>,
    pub modified_by: String,
    pub created_by: String,
    pub provisioned_by: String,
    pub architecture: u32,
    pub admin_error: String,
    pub infra_id: String,
    /// `Public`, `Private` or empty.
    pub visibility: String,
    /// Phase of an installation that goes on.
    pub install: Option<String>,
    pub maintenance: String,
    pub api_url: String,
    pub console_url: String,
    /// Whether it can be dialled at all.
    pub reachable: bool,
    pub imported: Option<Imported>,
    pub health: Option<Arc<Health>>,
    /// Why its newest operation failed, as the operation's log has it.
    pub cause: Option<Arc<str>>,
    /// When it was looked at last; what that look saw is `health`.
    pub look: Option<CheckTime>,
    /// Since when it is in the state that is shown, where known: a document has the time of its last change, the monitor
    /// stores since when checks find the same. Where an earlier version of it did not, changes are known since this
    /// process started.
    pub since: Option<Timestamp>,
    shown: State,
    wrong: Box<str>,
    /// Lower case: what search looks through.
    text: Box<str>,
}

/// Time and duration of the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckTime {
    pub at: Timestamp,
    pub took_ms: u64,
}

/// What an import adds.
#[derive(Debug, Clone)]
pub struct Imported {
    pub by: String,
    pub at: Timestamp,
    pub credential: &'static str,
    pub as_groups: Vec<String>,
}

fn name(state: Option<ProvisioningState>) -> &'static str {
    state.map_or("", ProvisioningState::name)
}

/// The number of InstallPhase (`contract/portal.md` §8.5), or the name itself.
fn phase(text: &str) -> String {
    match text {
        "0" | "Bootstrap" | "InstallPhaseBootstrap" => "InstallPhaseBootstrap".to_owned(),
        "1" | "RemoveBootstrap" | "InstallPhaseRemoveBootstrap" => "InstallPhaseRemoveBootstrap".to_owned(),
        other => other.to_owned(),
    }
}

impl Entry {
    pub(super) fn from_cluster(document: &ClusterDocument) -> Self {
        let cluster = &document.cluster;
        let properties = &cluster.properties;
        Self {
            document: document.id.clone(),
            id: cluster.id.clone(),
            location: cluster.location.to_string(),
            state: properties.provisioning_state.get().copied(),
            failed: properties.failed_provisioning_state.get().copied(),
            last_state: properties.last_provisioning_state.get().copied(),
            version: String::new(),
            own_version: properties.cluster_profile.version.to_string(),
            created: properties.created_at.get().map(Instant::at),
            modified: cluster.system_data.last_modified_at.get().map(Instant::at),
            modified_by: cluster.system_data.last_modified_by.to_string(),
            created_by: properties.created_by.to_string(),
            provisioned_by: properties.provisioned_by.to_string(),
            architecture: u32::try_from(*properties.architecture_version).unwrap_or_default(),
            admin_error: properties.last_admin_update_error.to_string(),
            infra_id: properties.infra_id.to_string(),
            visibility: properties.apiserver_profile.visibility.to_string(),
            install: properties.install.get().map(|install| phase(&install.phase)),
            maintenance: properties.maintenance_state.word().to_owned(),
            api_url: properties.apiserver_profile.url.to_string(),
            console_url: properties.console_profile.url.to_string(),
            reachable: !properties.network_profile.private_endpoint_ip.is_empty(),
            imported: None,
            health: None,
            cause: None,
            look: None,
            since: None,
            shown: State::Unknown,
            wrong: Box::default(),
            text: Box::default(),
        }
    }

    pub(super) fn from_import(document: &ImportedCluster) -> Self {
        use rp_documents::imported::CredentialKind;
        Self {
            document: document.id.clone(),
            id: document.resource_id.clone(),
            location: String::new(),
            state: None,
            failed: None,
            last_state: None,
            version: String::new(),
            own_version: document.version.clone(),
            created: Some(document.imported_at),
            modified: Some(document.imported_at),
            modified_by: document.imported_by.clone(),
            created_by: String::new(),
            provisioned_by: String::new(),
            architecture: 0,
            admin_error: String::new(),
            infra_id: String::new(),
            visibility: String::new(),
            install: None,
            maintenance: String::new(),
            api_url: document.server.clone(),
            console_url: String::new(),
            reachable: true,
            imported: Some(Imported {
                by: document.imported_by.clone(),
                at: document.imported_at,
                credential: match document.credential {
                    CredentialKind::Certificate => "client certificate",
                    CredentialKind::Token => "token",
                },
                as_groups: document.as_groups.clone(),
            }),
            health: None,
            cause: None,
            look: None,
            since: None,
            shown: State::Unknown,
            wrong: Box::default(),
            text: Box::default(),
        }
    }

    /// The same with the last check, or without one, and with the cause of its failed operation; only now it can be found
    /// by its text. `before` is what it was.
    pub(super) fn finished(
        mut self,
        health: Option<&Arc<Health>>,
        cause: Option<&Arc<str>>,
        look: Option<CheckTime>,
        before: Option<&Self>,
    ) -> Self {
        let seen =
            health.map(|health| &health.version).filter(|seen| !seen.is_empty() && self.imported.is_some());
        self.version = seen.unwrap_or(&self.own_version).clone();
        self.health = health.cloned();
        self.cause = cause.cloned();
        self.look = look;
        self.shown = self.worst();
        self.wrong = self.words().into();
        self.since = self.began(before);
        self.text = self.searched();
        self
    }

    /// Since when the cluster is in the shown state.
    fn began(&self, before: Option<&Self>) -> Option<Timestamp> {
        let seen = matches!(self.shown, State::Degraded | State::NoAnswer);
        // What the monitor stored is the same after a restart, and on every replica.
        let stored = self.health.as_ref().and_then(|health| health.since);
        if (seen || self.shown == State::Healthy) && stored.is_some() {
            return stored;
        }
        match before {
            Some(before) if before.shown == self.shown && seen => before.since,
            // This process observed the change, with a check.
            Some(before) if before.shown != self.shown && before.modified == self.modified => {
                self.looked_at().or(self.modified)
            }
            Some(before) if before.shown == self.shown && before.modified == self.modified => before.since,
            // The state comes from a check before this process started: its begin is unknown.
            _ if seen || self.imported.is_some() => None,
            _ => self.modified,
        }
    }

    /// When it was looked at last.
    pub fn looked_at(&self) -> Option<Timestamp> {
        self.look.map(|look| look.at).or_else(|| self.health.as_ref().map(|health| health.looked_at))
    }

    /// The last look, for pages; none: nobody has looked. It is overdue after three of the monitor's intervals, and
    /// where only a change is written after three of those writes.
    pub fn last_look(&self, now: Timestamp) -> Option<web::LastLook> {
        let health = self.health.as_deref();
        let at = self.looked_at()?;
        let patience = if self.look.is_some() { 3 * 60 } else { 15 * 60 };
        let failed = health.map(|health| health.failed.as_slice()).unwrap_or_default();
        let missing =
            |(what, why): &(String, String)| web::MissingPart { what: what.clone(), why: why.clone() };
        Some(web::LastLook {
            at: at.seconds(),
            took_ms: self.look.map(|look| look.took_ms).or(health.map(|health| health.took_ms)).unwrap_or(0),
            failed: failed.iter().map(missing).collect(),
            overdue: now.seconds() - at.seconds() > patience,
        })
    }

    /// The last segment of its key.
    pub(super) fn lower_name(&self) -> &str {
        self.id.key().rsplit('/').next().unwrap_or_default()
    }

    /// As [`Self::shown_state`], not copied.
    pub(super) const fn state_shown(&self) -> &State {
        &self.shown
    }

    /// As [`Self::wrong`], not copied.
    pub(super) fn wrong_words(&self) -> &str {
        &self.wrong
    }

    fn searched(&self) -> Box<str> {
        let health = self
            .health
            .as_ref()
            .map(|health| [health.operators.join(" "), health.alert_names.join(" ")].join(" "))
            .unwrap_or_default();
        let source = if self.imported.is_some() { "imported" } else { "" };
        [
            self.id.key(),
            name(self.state),
            name(self.failed),
            &self.version,
            &self.infra_id,
            &self.admin_error,
            &self.wrong,
            &self.api_url,
            &self.console_url,
            &self.location,
            &health,
            source,
        ]
        .join("\n")
        .to_lowercase()
        .into()
    }

    /// Whether every word (lower case) is somewhere in it.
    pub(super) fn has_words(&self, words: &[String]) -> bool {
        words.iter().all(|word| self.text.contains(word.as_str()))
    }

    /// Our page of it, without a tab.
    pub fn path(&self) -> String {
        // A key has only characters that a path may have as they are.
        self.id.key().to_owned()
    }

    /// `provisioningState`, or empty.
    pub fn state_name(&self) -> &'static str {
        name(self.state)
    }

    /// `failedProvisioningState`, or empty.
    pub fn failed_name(&self) -> &'static str {
        name(self.failed)
    }

    /// `lastProvisioningState`, or empty.
    pub fn last_state_name(&self) -> &'static str {
        name(self.last_state)
    }

    /// The worst that is known: the document's state, then what the last look saw.
    pub fn shown_state(&self) -> State {
        self.shown.clone()
    }

    /// What is wrong, in a sentence; empty when nothing is known to be.
    pub fn wrong(&self) -> String {
        self.wrong.as_ref().to_owned()
    }

    fn worst(&self) -> State {
        let own = match self.state {
            Some(state) => State::from_provisioning(state.name(), name(self.failed)),
            None => State::Imported,
        };
        match (&self.health, own) {
            (Some(health), State::Succeeded | State::Imported) => match health.standing {
                Standing::NoAnswer => State::NoAnswer,
                Standing::Degraded => State::Degraded,
                Standing::Healthy => State::Healthy,
            },
            (_, own) => own,
        }
    }

    fn words(&self) -> String {
        let health = self.health.as_ref();
        match self.shown {
            State::NoAnswer => "The API server did not answer the last check".to_owned(),
            State::Degraded => health.map(|health| health.words()).unwrap_or_default(),
            State::Failed(_) if !self.admin_error.is_empty() => self.admin_error.clone(),
            State::Failed(_) => match &self.cause {
                Some(cause) => cause.as_ref().to_owned(),
                None => health.map(|health| health.failure()).unwrap_or_default(),
            },
            State::Creating => self.install.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }
}
