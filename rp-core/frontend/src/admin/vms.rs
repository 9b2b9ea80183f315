//! Machines of a cluster: started, stopped, moved to another host, resized (`contract/frontend.md` §11.7).

use http::StatusCode;
use rp_api::{CloudError, vm_sizes};
use rp_azure::vm_body;
use serde_json::{Value, json};

use super::azure::{COMPUTE, ManagedGroup, changed, read};
use super::context::ActionContext;
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

pub(super) const VIRTUAL_MACHINE: &str = "Microsoft.Compute/virtualMachines";

/// A machine as Azure has it.
struct Machine {
    managed: ManagedGroup,
    id: String,
    body: Value,
}

impl Machine {
    /// The machine of that checked name.
    async fn find(of: &ActionContext<'_>, name: &str) -> Result<Self, Fault> {
        let managed = ManagedGroup::find(of).await?;
        let id = managed.id(VIRTUAL_MACHINE, name);
        let found = read(managed.azure.get_with(&id, COMPUTE, &[("$expand", "instanceView")])).await?;
        match found {
            Some(body) => Ok(Self { managed, id, body }),
            None => Err(CloudError::new(404, "NotFound", "", missing(name, managed.name())).into()),
        }
    }

    /// `running`, `deallocated` …; empty: Azure does not say.
    fn power(&self) -> &str {
        vm_body::power(&self.body["properties"]["instanceView"])
    }

    fn size(&self) -> &str {
        vm_body::size(&self.body)
    }

    /// Runs one of Azure's actions on it, and waits.
    async fn act(self, of: &ActionContext<'_>, action: &str, after: &str) -> Result<HttpResponse, Fault> {
        let _signal = of.signal();
        let place = format!("{}/{action}", self.id);
        changed(self.managed.azure.post(&place, COMPUTE, None)).await?;
        Ok(with_change(self.power(), after))
    }
}

fn missing(name: &str, group: &str) -> String {
    format!("The VirtualMachine '{name}' under resource group '{group}' was not found.")
}

fn with_change(before: &str, after: &str) -> HttpResponse {
    let mut answer = empty(StatusCode::OK);
    answer.extensions_mut().insert(Change::new(before, after));
    answer
}

/// Starts a machine.
pub(super) async fn start(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    Machine::find(&of, of.machine()?).await?.act(&of, "start", "running").await
}

/// Stops a machine; `deallocateVM=true` also gives its host back.
pub(super) async fn stop(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let machine = Machine::find(&of, of.machine()?).await?;
    match of.text("deallocateVM") == "true" {
        true => machine.act(&of, "deallocate", "deallocated").await,
        false => machine.act(&of, "powerOff", "stopped").await,
    }
}

/// Moves a machine to another host.
pub(super) async fn redeploy(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let name = of.machine()?;
    let machine = Machine::find(&of, name).await?;
    if vm_body::has_ephemeral_disk(&machine.body) {
        let message = format!("VM '{name}' has an Ephemeral Disk OS and cannot be redeployed.");
        return Err(CloudError::new(403, "Forbidden", "", message).into());
    }
    machine.act(&of, "redeploy", "redeployed").await
}

/// Gives a machine another size.
pub(super) async fn resize(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    let name = of.machine()?;
    let size = master_size(of.text("vmSize"))?;
    let machine = match Machine::find(&of, name).await {
        // The contract's text has quotes here.
        Err(Fault::Refused(error)) if error.status == 404 && error.body.code == "NotFound" => {
            let message = format!("\"{}\"", error.body.message);
            return Err(CloudError::new(404, "NotFound", "", message).into());
        }
        found => found?,
    };
    let _signal = of.signal();
    let body = json!({"properties": {"hardwareProfile": {"vmSize": size}}});
    changed(machine.managed.azure.patch(&machine.id, COMPUTE, &body)).await?;
    Ok(with_change(machine.size(), &size))
}

/// A size of the control plane, in any case (`contract/frontend.md` §11.3); as Azure writes it.
pub(super) fn master_size(wanted: &str) -> Result<String, CloudError> {
    let mut sizes = vm_sizes::for_role(vm_sizes::Role::Master).into_keys();
    sizes.find(|size| size.eq_ignore_ascii_case(wanted)).ok_or_else(|| {
        CloudError::invalid("", format!("The provided vmSize '{wanted}' is unsupported for master."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_masters() {
        assert_eq!(master_size("standard_d8S_V3").as_deref(), Ok("Standard_D8s_v3"));
        for bad in ["", "Standard_D2s_v3", "x/../y"] {
            let told = master_size(bad).unwrap_err();
            assert_eq!(
                (told.status, told.body.message),
                (400, format!("The provided vmSize '{bad}' is unsupported for master."))
            );
        }
    }
}
