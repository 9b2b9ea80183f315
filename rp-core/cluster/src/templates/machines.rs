//! Machines of the control plane and of the bootstrap (`contract/installer.md` §10): the installer's
//! deployment `resources`.

use rp_install::image::OsImage;
use serde_json::{Map, Value, json};

use super::{balancers, id, reference, resource, template};
use crate::document::Document;

/// What the template is made of beside the cluster's document.
#[derive(Debug, Clone)]
pub(crate) struct Machines {
    pub(crate) image: OsImage,
    /// Base64 of the masters' pointer ignition.
    pub(crate) master_ignition: String,
    /// The size takes accelerated networking.
    pub(crate) accelerated: bool,
    /// A password that Azure asks for and nothing ever applies.
    pub(crate) password: String,
}

/// The template of a stored document's control plane and bootstrap, with the parameters `sas`, the address of the
/// bootstrap's ignition with a signature of its own (`contract/cluster.md` "Do better" 28), and `controlPlaneZones`.
pub(crate) fn machines(cluster: &Document, of: &Machines) -> Value {
    let parameters = Map::from_iter([
        ("sas".to_owned(), json!({ "type": "securestring" })),
        ("controlPlaneZones".to_owned(), json!({ "type": "array" })),
    ]);
    let mut resources = vec![bootstrap_card(cluster)];
    resources.extend((0..3).map(|n| master_card(cluster, n, of.accelerated)));
    resources.push(bootstrap(cluster, of));
    resources.extend((0..3).map(|n| master(cluster, n, of)));
    template(parameters, resources)
}

const CARDS: &str = "Microsoft.Network/networkInterfaces";
const VMS: &str = "Microsoft.Compute/virtualMachines";

pub(crate) fn bootstrap_card_name(cluster: &Document) -> String {
    format!("{}-bootstrap-nic", cluster.infra_id())
}

pub(crate) fn bootstrap_name(cluster: &Document) -> String {
    format!("{}-bootstrap", cluster.infra_id())
}

fn bootstrap_card(cluster: &Document) -> Value {
    card(cluster, &bootstrap_card_name(cluster), "bootstrap-nic-ip-v4", &[], false)
}

fn master_card(cluster: &Document, n: usize, accelerated: bool) -> Value {
    let ssh = balancers::pool_id(&balancers::internal_id(cluster), &balancers::ssh_pool(n));
    card(cluster, &format!("{}-master{n}-nic", cluster.infra_id()), "pipConfig", &[ssh], accelerated)
}

fn card(cluster: &Document, name: &str, configuration: &str, more: &[String], accelerated: bool) -> Value {
    let (internal, public) = balancers::api_pools(cluster);
    let mut pools = vec![balancers::pool_id(&balancers::internal_id(cluster), &internal)];
    pools.extend(more.iter().cloned());
    if cluster.is_outbound_balanced() {
        pools.push(balancers::pool_id(&balancers::public_id(cluster), &public));
    }
    let pools: Vec<Value> = pools.iter().map(|id| reference(id)).collect();
    let mut properties = json!({
        "ipConfigurations": [{
            "name": configuration,
            "properties": {
                "subnet": reference(cluster.master_subnet()),
                "loadBalancerBackendAddressPools": pools,
            },
        }],
    });
    if accelerated {
        properties["enableAcceleratedNetworking"] = json!(true);
    }
    resource(CARDS, name, Some(&cluster.location()), properties)
}

fn bootstrap(cluster: &Document, of: &Machines) -> Value {
    let name = bootstrap_name(cluster);
    let data = custom_data(cluster);
    let disk = disk(cluster, &format!("{name}_OSDisk"), 100, "ReadWrite");
    machine(
        cluster,
        of,
        &Machine {
            computer: format!("{name}-vm"),
            card: bootstrap_card_name(cluster),
            zone: "[parameters('controlPlaneZones')[0]]",
            name,
            disk,
            data,
        },
    )
}

fn master(cluster: &Document, n: usize, of: &Machines) -> Value {
    let name = format!("{}-master-{n}", cluster.infra_id());
    let zone = [
        "[parameters('controlPlaneZones')[0]]",
        "[parameters('controlPlaneZones')[1]]",
        "[parameters('controlPlaneZones')[2]]",
    ];
    let disk = disk(cluster, &format!("{name}_OSDisk"), 1024, "ReadOnly");
    machine(
        cluster,
        of,
        &Machine {
            computer: name.clone(),
            card: format!("{}-master{n}-nic", cluster.infra_id()),
            zone: zone.get(n).copied().unwrap_or_default(),
            name,
            disk,
            data: of.master_ignition.clone(),
        },
    )
}

/// Ignition 3.2.0 that is replaced by what lies at the address; through the gateway where there is one.
fn custom_data(cluster: &Document) -> String {
    let proxy = match cluster.gateway_ip() {
        "" => String::new(),
        ip => format!(r#","proxy":{{"httpsProxy":"http://{ip}"}}"#),
    };
    let before = r#"{"ignition":{"version":"3.2.0","config":{"replace":{"source":""#;
    format!(r#"[base64(concat('{before}', parameters('sas'), '"}}}}{proxy}}}}}'))]"#)
}

fn disk(cluster: &Document, name: &str, size: u32, caching: &str) -> Value {
    let mut managed = json!({ "storageAccountType": "Premium_LRS" });
    if let Some(set) = cluster.master_encryption_set() {
        managed["diskEncryptionSet"] = reference(set);
    }
    json!({
        "name": name,
        "caching": caching,
        "createOption": "FromImage",
        "diskSizeGB": size,
        "managedDisk": managed,
    })
}

struct Machine<'a> {
    name: String,
    computer: String,
    card: String,
    zone: &'a str,
    disk: Value,
    data: String,
}

fn machine(cluster: &Document, of: &Machines, machine: &Machine<'_>) -> Value {
    let card = id(cluster.group_id(), CARDS, &machine.card);
    let OsImage { publisher, offer, sku, version } = &of.image;
    let mut properties = json!({
        "hardwareProfile": { "vmSize": cluster.master_size() },
        "storageProfile": {
            "imageReference": { "publisher": publisher, "offer": offer, "sku": sku, "version": version },
            "osDisk": machine.disk,
        },
        "osProfile": {
            "computerName": machine.computer,
            "adminUsername": "core",
            "adminPassword": of.password,
            "customData": machine.data,
            "linuxConfiguration": { "disablePasswordAuthentication": false },
        },
        "networkProfile": { "networkInterfaces": [reference(&card)] },
        "diagnosticsProfile": { "bootDiagnostics": { "enabled": true } },
    });
    if cluster.is_master_host_encrypted() {
        properties["securityProfile"] = json!({ "encryptionAtHost": true });
    }
    let mut body = resource(VMS, &machine.name, Some(&cluster.location()), properties);
    if !cluster.zones().is_empty() {
        body["zones"] = json!([machine.zone]);
    }
    super::after(body, &[card])
}
