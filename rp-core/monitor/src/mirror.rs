//! Properties that the API shows and that only the cluster itself knows (`contract/api.md` §14).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use rp_documents::{MirroredIngress, MirroredWorkers};

use crate::cluster_objects::{ClusterObjects, Resource};
use crate::objects::{Credentials, IngressController, MachineSet, Service};

/// The owner of a router's service.
const OWNER: &str = "ingresscontroller.operator.openshift.io/owning-ingresscontroller";

/// What a look knows of the mirror; `None`: it was not read, and the stored value stays.
#[derive(Debug, Clone, Default)]
pub struct MirrorDraft {
    pub version: Option<String>,
    /// By name.
    pub ingress_profiles: Option<Vec<MirroredIngress>>,
    /// By name.
    pub worker_profiles: Option<Vec<MirroredWorkers>>,
    pub principal: PrincipalDraft,
}

/// The service principal in the cluster.
#[derive(Clone, Default)]
pub enum PrincipalDraft {
    /// Not read.
    #[default]
    Unseen,
    /// The cluster has none: it uses workload identity.
    None,
    Some {
        client_id: String,
        client_secret: Secret<String>,
    },
}

impl fmt::Debug for PrincipalDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen => f.write_str("Unseen"),
            Self::None => f.write_str("None"),
            Self::Some { client_id, .. } => write!(f, "Some({client_id}, [REDACTED])"),
        }
    }
}

/// The resources that the mirror reads; none for an imported cluster.
pub fn needs(seen: &ClusterObjects) -> Vec<Resource> {
    if seen.is_imported() {
        return Vec::new();
    }
    let mut needs = vec![
        Resource::ClusterVersion,
        Resource::IngressControllers,
        Resource::RouterServices,
        Resource::MachineSets,
    ];
    if !has_identity(seen) {
        needs.push(Resource::Credentials);
    }
    needs
}

fn has_identity(seen: &ClusterObjects) -> bool {
    seen.cluster().workload_identity && !seen.cluster().service_principal
}

/// What was read, in the form of the API.
pub fn draft(seen: &ClusterObjects) -> MirrorDraft {
    let version = seen.version().ok().flatten();
    let version = version.map(|version| version.status.desired.version.as_str().to_owned());
    let ingress = seen.ingress_controllers().and_then(|controllers| {
        let services = seen.router_services()?;
        Ok(ingress_profiles(&controllers, &services))
    });
    let credentials = seen.credentials().ok().flatten();
    let subscription = seen.cluster().id.subscription();
    MirrorDraft {
        version: version.filter(|version| !version.is_empty()),
        ingress_profiles: ingress.ok(),
        worker_profiles: seen.machine_sets().ok().map(|sets| worker_profiles(&sets, subscription)),
        principal: match credentials {
            _ if has_identity(seen) => PrincipalDraft::None,
            Some(credentials) => principal(&credentials).unwrap_or_default(),
            None => PrincipalDraft::Unseen,
        },
    }
}

fn ingress_profiles(controllers: &[IngressController], services: &[Service]) -> Vec<MirroredIngress> {
    let ip_of = |name: &str| {
        let service = services.iter().find(|service| service.metadata.labels.get(OWNER) == Some(name))?;
        service.address().map(str::to_owned)
    };
    let visibility = |controller: &IngressController| {
        let Some(strategy) = &controller.spec.endpoint_publishing_strategy else { return "Public" };
        match strategy.load_balancer.as_ref().map(|balancer| balancer.scope.as_str()) {
            Some("Internal") => "Private",
            Some("External") => "Public",
            _ => "",
        }
    };
    let profile = |controller: &IngressController| MirroredIngress {
        name: controller.metadata.name.as_str().to_owned(),
        visibility: visibility(controller).to_owned(),
        ip: ip_of(controller.metadata.name.as_str()).unwrap_or_default(),
    };
    let mut profiles: Vec<_> = controllers.iter().map(profile).collect();
    profiles.sort_by(|a, b| a.name.cmp(&b.name));
    profiles
}

fn worker_profiles(sets: &[MachineSet], subscription: &str) -> Vec<MirroredWorkers> {
    let mut profiles: Vec<_> = sets.iter().map(|set| worker_profile(set, subscription)).collect();
    profiles.sort_by(|a, b| a.name.cmp(&b.name));
    profiles
}

fn worker_profile(set: &MachineSet, subscription: &str) -> MirroredWorkers {
    let mut profile = MirroredWorkers {
        name: set.metadata.name.as_str().to_owned(),
        count: set.desired(),
        ..MirroredWorkers::default()
    };
    let provider = set.spec.template.spec.provider_spec.value.as_ref();
    // Without ready machines the spec may be a configuration that Azure refused.
    let Some(provider) = provider.filter(|_| set.status.ready_replicas.or_zero() != 0) else {
        return profile;
    };
    let (group, vnet) = (provider.network_resource_group.as_str(), provider.vnet.as_str());
    let subnet = provider.subnet.as_str();
    profile.vm_size = provider.vm_size.as_str().to_owned();
    profile.disk_size_gb = provider.os_disk.size_gb.0;
    profile.subnet_id = format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{vnet}/subnets/{subnet}"
    );
    let encrypted = provider.security_profile.encryption_at_host;
    profile.encryption_at_host = if encrypted { "Enabled" } else { "Disabled" }.to_owned();
    profile.disk_encryption_set_id = provider.os_disk.managed_disk.disk_encryption_set.id.as_str().to_owned();
    profile
}

/// `None`: a member is missing, or is not text.
fn principal(credentials: &Credentials) -> Option<PrincipalDraft> {
    let text = |data: &Option<Secret<String>>| {
        let bytes = STANDARD.decode(data.as_ref()?.expose()).ok()?;
        String::from_utf8(bytes).ok().filter(|text| !text.is_empty() && text.len() <= 4096)
    };
    let client_id = text(&credentials.data.azure_client_id)?;
    let client_secret = Secret::new(text(&credentials.data.azure_client_secret)?);
    Some(PrincipalDraft::Some { client_id, client_secret })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::collect::tests::{CollectorBench, aro};

    #[test]
    fn ingress_profiles_join_controllers_and_services() {
        let strategy = |value| json!({"endpointPublishingStrategy": value});
        let controllers = json!([
            {"metadata": {"name": "private"}, "spec": strategy(json!({"loadBalancer": {"scope": "Internal"}}))},
            {"metadata": {"name": "default"}, "spec": {}},
            {"metadata": {"name": "host"}, "spec": strategy(json!({"type": "HostNetwork"}))},
            {"metadata": {"name": "open"}, "spec": strategy(json!({"loadBalancer": {"scope": "External"}}))},
        ]);
        let service = |owner: &str, ips: &[&str]| {
            let ingress: Vec<_> = ips.iter().map(|ip| json!({"ip": ip})).collect();
            json!({"metadata": {"labels": {OWNER: owner}}, "status": {"loadBalancer": {"ingress": ingress}}})
        };
        let fed =
            CollectorBench::new(aro()).with_items(&Resource::IngressControllers, controllers).with_items(
                &Resource::RouterServices,
                json!([service("default", &["20.1.2.3", "20.1.2.4"]), service("private", &[])]),
            );
        let profiles = draft(&fed.seen).ingress_profiles.unwrap();
        let shown: Vec<_> =
            profiles.iter().map(|p| (p.name.as_str(), p.visibility.as_str(), p.ip.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("default", "Public", "20.1.2.3"),
                ("host", "", ""),
                ("open", "Public", ""),
                ("private", "Private", "")
            ]
        );
    }

    #[test]
    fn worker_profiles_are_read_from_ready_sets() {
        let set = |name: &str, ready: i64, value| {
            json!({"metadata": {"name": name}, "spec": {"replicas": 3, "template": {"spec": {"providerSpec": {"value": value}}}},
                "status": {"readyReplicas": ready}})
        };
        let spec = json!({"vmSize": "Standard_D4s_v5", "networkResourceGroup": "net", "vnet": "v", "subnet": "s", "zone": 1,
            "tags": {"a": 2}, "osDisk": {"diskSizeGB": 128, "managedDisk": {"diskEncryptionSet": {"id": "/des"}}},
            "securityProfile": {"encryptionAtHost": true}});
        let fed = CollectorBench::new(aro()).with_items(&Resource::MachineSets, json!([
            set("b", 3, spec.clone()), set("a", 0, spec), set("c", 1, json!("broken")), {"metadata": {"name": "d"}},
        ]));
        let profiles = draft(&fed.seen).worker_profiles.unwrap();
        assert_eq!(
            profiles.iter().map(|p| (p.name.as_str(), p.count)).collect::<Vec<_>>(),
            [("a", 3), ("b", 3), ("c", 3), ("d", 1)]
        );
        assert_eq!((profiles[0].vm_size.as_str(), profiles[2].subnet_id.as_str()), ("", ""));
        let full = &profiles[1];
        assert_eq!(
            (full.vm_size.as_str(), full.disk_size_gb, full.encryption_at_host.as_str()),
            ("Standard_D4s_v5", Some(128), "Enabled")
        );
        assert_eq!(full.disk_encryption_set_id, "/des");
        assert_eq!(
            full.subnet_id,
            "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
        );
    }

    #[test]
    fn the_principal_is_opened_and_never_shown() {
        let data =
            json!({"data": {"azure_client_id": "aWQ=", "azure_client_secret": "aHVudGVyMg==", "other": 1}});
        let fed = CollectorBench::new(aro()).with(&Resource::Credentials, data);
        let draft = draft(&fed.seen);
        assert!(!format!("{draft:?} {:?}", fed.seen).contains("hunter2"));
        assert!(!format!("{:?}", fed.seen).contains("aHVudGVyMg"));
        let PrincipalDraft::Some { client_id, client_secret } = draft.principal else { panic!() };
        assert_eq!((client_id.as_str(), client_secret.expose().as_str()), ("id", "hunter2"));
    }

    #[test]
    fn workload_identity_has_none_and_an_unread_secret_changes_nothing() {
        let mut cluster = aro();
        (cluster.workload_identity, cluster.service_principal) = (true, false);
        let fed = CollectorBench::new(cluster);
        assert!(!needs(&fed.seen).contains(&Resource::Credentials));
        assert!(matches!(draft(&fed.seen).principal, PrincipalDraft::None));
        let fed = CollectorBench::new(aro()).failed(&Resource::Credentials, 403);
        assert!(needs(&fed.seen).contains(&Resource::Credentials));
        assert!(matches!(draft(&fed.seen).principal, PrincipalDraft::Unseen));
        assert!(draft(&fed.seen).worker_profiles.is_none() && draft(&fed.seen).ingress_profiles.is_none());
    }
}
