//! The bootstrap machine goes (`contract/cluster.md` §6.12).

use rp_azure::Resources;

use crate::context::Context;
use crate::errors::StepError;
use crate::templates::{id, machines, storage, versions};

/// Deletes machine, disk and network interface; what is gone is as good.
pub(crate) async fn remove_bootstrap(context: &Context) -> Result<(), StepError> {
    remove_bootstrap_machine(context).await?;
    let document = context.document();
    let card = machines::bootstrap_card_name(&document);
    let card = id(document.group_id(), "Microsoft.Network/networkInterfaces", &card);
    Ok(context.customer().delete(&card, versions::NETWORK).await?)
}

/// Deletes machine and disk, so that another may have their names.
pub(crate) async fn remove_bootstrap_machine(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let client = context.customer();
    let group = document.group_id();
    let machine = machines::bootstrap_name(&document);
    let machine_id = id(group, "Microsoft.Compute/virtualMachines", &machine);
    let disk_id = id(group, "Microsoft.Compute/disks", &format!("{machine}_OSDisk"));
    client.delete(&machine_id, versions::COMPUTE).await?;
    Ok(client.delete(&disk_id, versions::DISKS).await?)
}

/// Deletes what the bootstrap machine was told, secrets among it. By the resource manager: the account's own firewall
/// and keys do not matter.
pub(crate) async fn remove_bootstrap_ignition(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let account = storage::account_id(&document, &document.state_account());
    let container = format!("{account}/blobServices/default/containers/ignition");
    Ok(context.customer().delete(&container, versions::STORAGE).await?)
}
