//! Power and allocation of the virtual machines behind a cluster's machines, as Azure reports it. Azure is asked at
//! most once a minute for each cluster, and only while a page shows its machines; a page never waits for it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_azure::{BootDiagnostics, PowerState, VmState, VmStates};
use rp_base::{SharedClock, Timestamp, chain};
use rp_database::{SharedStore, Typed};
use rp_documents::{ClusterDocument, ResourceId};
use web::objects::Vm;

use crate::index::Entry;

/// Seconds until Azure is asked again.
const FRESH: i64 = 60;
/// Seconds for which a response is used.
const BELIEVED: i64 = 600;
/// Clusters of which answers are kept.
const MOST: usize = 300;

/// The source of states: Azure, or a fake in tests.
#[derive(Clone)]
pub struct VmSource {
    states: Arc<dyn VmStates>,
    boot: Option<Arc<dyn BootDiagnostics>>,
}

impl VmSource {
    /// A source of states without consoles.
    pub fn new(states: Arc<dyn VmStates>) -> Self {
        Self { states, boot: None }
    }

    /// The same, with serial consoles and screenshots.
    #[must_use]
    pub fn with_consoles(self, boot: Arc<dyn BootDiagnostics>) -> Self {
        Self { boot: Some(boot), ..self }
    }
}

impl std::fmt::Debug for VmSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VmSource")
    }
}

/// What is known. Cheap to clone.
#[derive(Clone)]
pub struct Vms(Arc<Inner>);

struct Inner {
    source: Option<VmSource>,
    store: SharedStore,
    clock: SharedClock,
    kept: Mutex<HashMap<ResourceId, CachedVms>>,
}

#[derive(Default)]
struct CachedVms {
    asked: Option<Timestamp>,
    known: VmQueryState,
}

#[derive(Default)]
enum VmQueryState {
    #[default]
    Awaited,
    Machines(Timestamp, HashMap<String, Vm>),
    Failed(String),
}

impl std::fmt::Debug for Vms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vms").field("asks", &self.0.source.is_some()).finish_non_exhaustive()
    }
}

impl Vms {
    pub fn new(source: Option<VmSource>, store: SharedStore, clock: SharedClock) -> Self {
        Self(Arc::new(Inner { source, store, clock, kept: Mutex::default() }))
    }

    /// Refreshes the states of a cluster's machines in the background when the last response is old. Does not wait.
    pub fn look(&self, entry: &Entry) {
        if self.0.source.is_none() || entry.imported.is_some() {
            return;
        }
        let now = self.0.clock.now();
        {
            let mut kept = self.0.kept.lock();
            let held = kept.entry(entry.id.clone()).or_default();
            if held.asked.is_some_and(|asked| now.seconds() - asked.seconds() < FRESH) {
                return;
            }
            held.asked = Some(now);
            if kept.len() > MOST
                && let Some(oldest) = kept.iter().min_by_key(|(_, kept)| kept.asked).map(|(id, _)| id.clone())
            {
                kept.remove(&oldest);
            }
        }
        let (this, id, document) = (self.clone(), entry.id.clone(), entry.document.clone());
        tokio::spawn(async move { this.ask(id, &document).await });
    }

    async fn ask(&self, id: ResourceId, document: &str) {
        let Some(source) = &self.0.source else { return };
        let known = match self.group(document).await {
            Ok(Some(group)) => match source.states.states(&group).await {
                Ok(states) => VmQueryState::Machines(self.0.clock.now(), machines(states)),
                Err(error) => {
                    tracing::warn!(error = %chain(&error), resource_id = %id, "Azure did not say how machines are");
                    VmQueryState::Failed("Azure did not say: it is asked again within a minute.".to_owned())
                }
            },
            Ok(None) => {
                VmQueryState::Failed("The document names no resource group of its machines.".to_owned())
            }
            Err(()) => VmQueryState::Failed("The store did not answer.".to_owned()),
        };
        if let Some(kept) = self.0.kept.lock().get_mut(&id) {
            kept.known = known;
        }
    }

    /// The source of serial consoles and screenshots; `None`: not available.
    pub fn boot(&self) -> Option<Arc<dyn BootDiagnostics>> {
        self.0.source.as_ref()?.boot.clone()
    }

    /// Resource id of the group that the cluster's machines are in.
    pub async fn group(&self, document: &str) -> Result<Option<String>, ()> {
        let found = Typed::<ClusterDocument>::new(Arc::clone(&self.0.store)).get(document).await;
        let document = found.map_err(|error| {
            tracing::error!(error = %chain(&error), "store");
        })?;
        let profile = document.map(|document| document.value.cluster.properties.cluster_profile);
        let group = profile.map(|profile| profile.resource_group_id.to_string());
        Ok(group.filter(|group| !group.is_empty()))
    }

    /// The machine of that name.
    pub fn state_of(&self, entry: &Entry, name: &str) -> Vm {
        let why = |text: &str| Vm::NotAsked(text.to_owned());
        if entry.imported.is_some() {
            return why("Virtual machines of imported clusters are not asked for.");
        }
        if self.0.source.is_none() {
            return why(
                "Azure is not configured here, so power and allocation of virtual machines are not known.",
            );
        }
        let kept = self.0.kept.lock();
        match kept.get(&entry.id).map(|kept| &kept.known) {
            None | Some(VmQueryState::Awaited) => why("Waiting for Azure's answer."),
            Some(VmQueryState::Failed(why)) => Vm::Failed(why.clone()),
            Some(VmQueryState::Machines(at, _)) if self.0.clock.now().seconds() - at.seconds() > BELIEVED => {
                Vm::Failed("Azure has not said for ten minutes.".to_owned())
            }
            Some(VmQueryState::Machines(_, machines)) => {
                machines.get(&name.to_ascii_lowercase()).cloned().unwrap_or_else(missing_vm)
            }
        }
    }
}

/// A machine whose virtual machine is not in the group any more.
fn missing_vm() -> Vm {
    Vm::Known {
        power: "missing".to_owned(),
        provisioning: String::new(),
        message: "There is no virtual machine of this name in the cluster's resource group.".to_owned(),
        href: String::new(),
    }
}

fn machines(states: Vec<VmState>) -> HashMap<String, Vm> {
    let vm = |state: VmState| {
        let power = if state.power == PowerState::Unknown { "" } else { state.power.name() };
        let known = Vm::Known {
            power: power.to_owned(),
            provisioning: state.provisioning_state,
            message: state.troubles.join("\n"),
            href: String::new(),
        };
        (state.name.to_ascii_lowercase(), known)
    };
    states.into_iter().map(vm).collect()
}
