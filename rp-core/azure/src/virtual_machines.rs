//! Virtual machines: whether they run (Microsoft.Compute).

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;

use crate::arm::{Arm, Call};
use crate::error::{AzureError, ErrorKind};
use crate::path::after;

const API_VERSION: &str = "2024-07-01";
/// Instance views that are asked for at once.
const PARALLEL: usize = 6;

/// Whether a machine runs, as its instance view says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerState {
    Starting,
    Running,
    Stopping,
    /// Stopped but still paid for.
    Stopped,
    Deallocating,
    /// Stopped, and its host is given back.
    Deallocated,
    /// Azure told none, or one that is not known here.
    Unknown,
}

impl PowerState {
    fn from_code(code: &str) -> Self {
        match code.strip_prefix("PowerState/") {
            Some("starting") => Self::Starting,
            Some("running") => Self::Running,
            Some("stopping") => Self::Stopping,
            Some("stopped") => Self::Stopped,
            Some("deallocating") => Self::Deallocating,
            Some("deallocated") => Self::Deallocated,
            _ => Self::Unknown,
        }
    }

    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Deallocating => "deallocating",
            Self::Deallocated => "deallocated",
            Self::Unknown => "unknown",
        }
    }
}

/// A virtual machine of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmState {
    pub id: String,
    /// The machine's name, which is the node's.
    pub name: String,
    pub size: String,
    /// `Succeeded`, `Failed`, `Updating` …
    pub provisioning_state: String,
    pub power: PowerState,
    /// What Azure says of the allocation or the agent when it is not well: `level: message`, cleaned and cut.
    pub troubles: Vec<String>,
}

/// Finds the tenant of a subscription.
#[async_trait]
pub trait Tenants: Send + Sync + 'static {
    /// The tenant; `None`: the subscription is not known.
    async fn tenant(&self, subscription: &str) -> Option<String>;
}

/// Reads the state of the virtual machines of a cluster.
#[async_trait]
pub trait VmStates: Send + Sync + 'static {
    /// The machines of a resource group, ordered by name. `group` is the resource id of the cluster's managed group:
    /// `/subscriptions/…/resourceGroups/…`.
    ///
    /// # Errors
    /// [`AzureError`]; also when one of the machines cannot be asked for.
    async fn states(&self, group: &str) -> Result<Vec<VmState>, AzureError>;
}

/// [`VmStates`] over the resource manager.
#[derive(Clone)]
pub(crate) struct ArmVmStates {
    arm: Arm,
    tenants: Arc<dyn Tenants>,
}

impl Arm {
    /// The machines' states, with the tenants of subscriptions from `tenants`.
    pub fn vm_states(&self, tenants: Arc<dyn Tenants>) -> Arc<dyn VmStates> {
        Arc::new(ArmVmStates { arm: self.clone(), tenants })
    }
}

#[derive(Deserialize)]
struct Machine {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    properties: Option<Properties>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Properties {
    provisioning_state: Option<String>,
    hardware_profile: Option<Hardware>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hardware {
    vm_size: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InstanceView {
    statuses: Option<Vec<Status>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    code: Option<String>,
    level: Option<String>,
    display_status: Option<String>,
    message: Option<String>,
}

#[async_trait]
impl VmStates for ArmVmStates {
    async fn states(&self, group: &str) -> Result<Vec<VmState>, AzureError> {
        const SHOWN: &str = "list virtual machines";
        let subscription = after(group, "subscriptions").unwrap_or_default().to_ascii_lowercase();
        let tenant = self.tenants.tenant(&subscription).await;
        let unknown =
            || AzureError::new(SHOWN, ErrorKind::Credential, "the subscription's tenant is not known");
        let tenant = tenant.ok_or_else(unknown)?;
        let id = format!("{group}/providers/Microsoft.Compute/virtualMachines");
        let call = Call {
            client: "virtualmachines",
            operation: "list",
            shown: SHOWN,
            tenant: &tenant,
            id: &id,
            api_version: API_VERSION,
            query: &[],
        };
        let machines: Vec<Machine> = self.arm.list(&call).await?;
        let states = stream::iter(machines).map(|machine| self.state(&tenant, &id, machine));
        let mut states: Vec<VmState> = states.buffer_unordered(PARALLEL).try_collect().await?;
        states.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(states)
    }
}

impl ArmVmStates {
    async fn state(&self, tenant: &str, list: &str, machine: Machine) -> Result<VmState, AzureError> {
        // Composed from the name, not taken from the answer: the answer must not choose the next request.
        let id = format!("{list}/{}/instanceView", machine.name);
        let call = Call {
            client: "virtualmachines",
            operation: "instance_view",
            shown: "get instance view",
            tenant,
            id: &id,
            api_version: API_VERSION,
            query: &[],
        };
        let view: InstanceView = match self.arm.get(&call).await {
            Ok(view) => view,
            // It was deleted meanwhile.
            Err(error) if error.is_missing() => InstanceView::default(),
            Err(error) => return Err(error),
        };
        let statuses = view.statuses.unwrap_or_default();
        let codes = || statuses.iter().filter_map(|status| status.code.as_deref());
        let power = codes()
            .find(|code| code.starts_with("PowerState/"))
            .map_or(PowerState::Unknown, PowerState::from_code);
        let properties = machine.properties.unwrap_or_default();
        let clean = |text: &str| rp_base::text::clean(text, 200);
        Ok(VmState {
            id: clean(&machine.id),
            name: clean(&machine.name),
            size: clean(&properties.hardware_profile.and_then(|of| of.vm_size).unwrap_or_default()),
            provisioning_state: clean(&properties.provisioning_state.unwrap_or_default()),
            power,
            troubles: statuses.iter().take(20).filter_map(trouble).collect(),
        })
    }
}

fn trouble(status: &Status) -> Option<String> {
    let level = status.level.as_deref().filter(|level| !level.eq_ignore_ascii_case("info"))?;
    let said = status.message.as_deref().or(status.display_status.as_deref()).unwrap_or_default();
    let code = status.code.as_deref().unwrap_or_default();
    Some(rp_base::text::clean(&format!("{level}: {code} {said}"), 500))
}
