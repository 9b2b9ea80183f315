//! Where machines fetch their configuration (`contract/cluster.md` §6.15): the server's certificate, and its
//! address in the first words that machines are given. Repairs of clusters whose machines look for `api-int`
//! by name.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Timestamp;
use rp_install::authority::Authority;
use rp_openshift::{Machine, MachineSet, MachineSpec, Pod, SecretCertificate, Whole};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::context::Context;
use crate::errors::StepError;
use crate::graph;
use crate::kube_api::{Kube, merge_into, secrets};

const NAMESPACE: &str = "openshift-machine-config-operator";
const MACHINE_API: &str = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api";
/// On the server's secret: when its certificate was placed by us.
const ISSUED: &str = "aro.openshift.io/certificate-issued";

/// The server's certificate names the address of the internal load balancer.
pub(crate) async fn fix_mcs_cert(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let Ok(address) = document.properties.apiserver_profile.int_ip.parse::<Ipv4Addr>() else {
        return Err(StepError::other("the document has no internal address of the API server"));
    };
    let kube = Kube::connect(context)?;
    let path = format!("{}/machine-config-server-tls", secrets(NAMESPACE));
    let Some(found) = kube.get::<SecretCertificate<Whole>>(&path).await? else { return Ok(()) };
    if names_only(&found, address) {
        // Ours, and the run that placed it may have ended before the servers began again.
        return match issued_at(&found) {
            Some(issued) => restart_servers(&kube, issued).await,
            None => Ok(()),
        };
    }
    let Some(state) = graph::read(context).await? else {
        context
            .record_line("warning", "the cluster has no graph of its installation: the certificate is left");
        return Ok(());
    };
    let root = state.root().map_err(|error| StepError::other(error.to_string()))?;
    let (domain, now) = (document.domain(&context.env.domain), context.env.clock.now());
    let host = format!("api-int.{domain}");
    let pair = Authority::read("the root authority", &root)
        .and_then(|root| root.machine_config_server(&host, address, &*context.env.random, now))
        .map_err(|error| StepError::other(error.to_string()))?;
    let wanted = json!({
        "metadata": {"annotations": {ISSUED: now.to_string()}},
        "data": {"tls.crt": STANDARD.encode(&pair.certificate), "tls.key": STANDARD.encode(pair.key.expose())}
    });
    kube.change(&path, |found| merge_into(found, &wanted)).await?;
    restart_servers(&kube, now).await
}

/// When we placed the secret's certificate; `None`: it is not ours.
fn issued_at(secret: &SecretCertificate<Whole>) -> Option<Timestamp> {
    Timestamp::parse(secret.metadata.annotations.get(ISSUED)?).ok()
}

/// Servers that began before the certificate was placed are begun again.
async fn restart_servers(kube: &Kube, issued: Timestamp) -> Result<(), StepError> {
    let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    let servers: Vec<Pod<Whole>> = kube.list(&pods, "k8s-app=machine-config-server").await?;
    for pod in &servers {
        let metadata = &pod.metadata;
        let (name, began) = (metadata.name.as_str(), metadata.creation_timestamp.0);
        // Servers tell whole seconds.
        let is_old = began.is_none_or(|began| began.seconds() < issued.seconds());
        if is_old && !name.is_empty() {
            kube.delete(&format!("{pods}/{name}")).await?;
        }
    }
    Ok(())
}

/// Whether the secret has one certificate whose only address is that.
fn names_only(secret: &SecretCertificate<Whole>, address: Ipv4Addr) -> bool {
    let Ok(pem) = STANDARD.decode(secret.data.certificate.as_str()) else { return false };
    let blocks: Vec<_> = x509_parser::pem::Pem::iter_from_buffer(&pem).filter_map(Result::ok).collect();
    let [block] = &blocks[..] else { return false };
    let Ok((_, certificate)) = X509Certificate::from_der(&block.contents) else { return false };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return false };
    let addresses: Vec<&[u8]> = names
        .value
        .general_names
        .iter()
        .filter_map(|name| match name {
            GeneralName::IPAddress(bytes) => Some(*bytes),
            _ => None,
        })
        .collect();
    addresses == [&address.octets()[..]]
}

/// New machines ask the address, not the name. What fails is told and left: the machines that run need none of it.
pub(crate) async fn fix_mcs_user_data(context: &Context) -> Result<(), StepError> {
    let document = context.document();
    let address = document.properties.apiserver_profile.int_ip.to_owned();
    let host = format!("api-int.{}", document.domain(&context.env.domain));
    if address.is_empty() {
        return Ok(());
    }
    let kube = Kube::connect(context)?;
    for name in user_data_secrets(&kube).await? {
        let path = format!("/api/v1/namespaces/openshift-machine-api/secrets/{name}");
        let result = kube.change(&path, |secret| replace_source_host(secret, &host, &address)).await;
        if let Err(error) = result {
            context.record_line("warning", &rp_base::text::clean(&error.to_string(), 500));
        }
    }
    Ok(())
}

async fn user_data_secrets(kube: &Kube) -> Result<Vec<String>, StepError> {
    let machines: Vec<Machine<Whole>> = kube.list(&format!("{MACHINE_API}/machines"), "").await?;
    let sets: Vec<MachineSet<Whole>> = kube.list(&format!("{MACHINE_API}/machinesets"), "").await?;
    let specs = machines.iter().map(|machine| &machine.spec);
    let specs = specs.chain(sets.iter().map(|set| &set.spec.template.spec));
    let names: BTreeSet<&str> = specs.filter_map(user_data_secret).collect();
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn user_data_secret(spec: &MachineSpec<Whole>) -> Option<&str> {
    let name = spec.provider_spec.value.as_ref()?.user_data_secret.name.as_str();
    (!name.is_empty()).then_some(name)
}

/// Puts the address in the place of the host, the port kept; gives whether anything changed.
fn replace_source_host(secret: &mut Value, host: &str, address: &str) -> bool {
    let Some(data) = secret.pointer("/data/userData").and_then(Value::as_str) else { return false };
    let bytes = STANDARD.decode(data).unwrap_or_default();
    let Ok(mut ignition) = serde_json::from_slice::<Value>(&bytes) else { return false };
    let mut changed = false;
    for pointer in ["/ignition/config/merge", "/ignition/config/append"] {
        for part in ignition.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(rest) = part["source"].as_str().and_then(|source| source.strip_prefix("https://"))
            else {
                continue;
            };
            if let Some(rest) = rest.strip_prefix(host).filter(|rest| rest.starts_with([':', '/'])) {
                part["source"] = Value::from(format!("https://{address}{rest}"));
                changed = true;
            }
        }
    }
    if changed {
        secret["data"]["userData"] = Value::from(STANDARD.encode(ignition.to_string()));
    }
    changed
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    #[test]
    fn sources_get_the_address_and_keep_the_rest() {
        let ignition = json!({"ignition": {"version": "3.2.0", "future": 1, "config": {"merge": [
            {"source": "https://api-int.c.aroapp.io:22623/config/worker", "verification": {}},
            {"source": "https://api-int.c.aroapp.io.evil:22623/x"},
        ]}}});
        let mut secret = json!({"data": {"userData": STANDARD.encode(ignition.to_string())}});
        assert!(replace_source_host(&mut secret, "api-int.c.aroapp.io", "10.0.0.4"));
        assert!(!replace_source_host(&mut secret.clone(), "api-int.c.aroapp.io", "10.0.0.4"));
        let bytes = STANDARD.decode(secret["data"]["userData"].as_str().unwrap()).unwrap();
        let after: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(after["ignition"]["future"], 1);
        let merge = &after["ignition"]["config"]["merge"];
        assert_eq!(merge[0]["source"], "https://10.0.0.4:22623/config/worker");
        assert_eq!(merge[1]["source"], "https://api-int.c.aroapp.io.evil:22623/x");
    }

    #[test]
    fn a_certificate_for_the_address_is_known_again() {
        let root = Authority::read("root", &crate::harness::assets::authority("root-ca")).unwrap();
        let address: Ipv4Addr = "10.0.0.4".parse().unwrap();
        let now = Timestamp::from_seconds(1_790_000_000);
        let pair = root.machine_config_server("api-int.c", address, &SystemRandom, now).unwrap();
        let secret = json!({"data": {"tls.crt": STANDARD.encode(&pair.certificate)}});
        let secret: SecretCertificate<Whole> = serde_json::from_value(secret).unwrap();
        assert!(names_only(&secret, address));
        assert!(!names_only(&secret, "10.0.0.5".parse().unwrap()));
        assert!(!names_only(&SecretCertificate::default(), address));
    }
}
