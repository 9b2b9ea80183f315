//! Certificates of API and ingress, ordered by the region's vault (`contract/cluster.md` §6.9).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, merge_into, secret, secrets};
use crate::vault::{CertificateVault, Order};

/// Time limit for one certificate.
const ISSUED_WITHIN: Duration = Duration::from_mins(15);
/// A common name that X.509 can hold (RFC 5280, `ub-common-name`).
const MOST_NAME: usize = 64;

/// One of a cluster's two certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Certificate {
    /// In the vault, and of the secrets in the cluster.
    name: String,
    dns: String,
}

/// The vault, and API's and ingress's.
type OrderedCertificates<'a> = (&'a dyn CertificateVault, [Certificate; 2]);

/// Whether this cluster's certificates are ordered: in a region that does so, and for a domain that is ours.
pub(crate) fn are_signed(context: &Context) -> bool {
    let managed = context.document().managed_prefix(&context.env.domain).is_ok_and(|prefix| prefix.is_some());
    managed && context.env.certificates.is_some() && !context.env.features.disable_signed_certificates
}

/// The vault and the cluster's certificates; `None`: no certificates are ordered for this cluster.
fn ordered_certificates(context: &Context) -> Result<Option<OrderedCertificates<'_>>, StepError> {
    let Some(vault) = context.env.certificates.as_deref().filter(|_| are_signed(context)) else {
        return Ok(None);
    };
    let document = context.document();
    let domain = document.domain(&context.env.domain);
    let (id, certificate) = (document.id(), |name, dns| Certificate { name, dns });
    Ok(Some((
        vault,
        [
            certificate(format!("{id}-apiserver"), format!("api.{domain}")),
            certificate(format!("{id}-ingress"), format!("*.apps.{domain}")),
        ],
    )))
}

/// The policy of an order.
fn policy(issuer: &str, dns: &str) -> Value {
    json!({
        "issuer": {"name": issuer},
        "key_props": {"exportable": true, "kty": "RSA", "key_size": 2048},
        "secret_props": {"contentType": "application/x-pem-file"},
        "x509_props": {
            "subject": format!("CN={}", common_name(dns)),
            "sans": {"dns_names": [dns]},
            "ekus": ["1.3.6.1.5.5.7.3.1"],
            "key_usage": ["digitalSignature", "keyEncipherment"],
            "validity_months": 3
        },
        "lifetime_actions": [
            {"trigger": {"days_before_expiry": 30}, "action": {"action_type": "AutoRenew"}}
        ]
    })
}

fn common_name(dns: &str) -> String {
    match dns.find("aroapp") {
        Some(at) if dns.len() > MOST_NAME => format!("reserved.{}", &dns[at..]),
        _ => dns.to_owned(),
    }
}

/// Orders both, unless they were ordered before, and waits for them.
pub(crate) async fn create_certificates(context: &Context) -> Result<(), StepError> {
    let Some((vault, certificates)) = ordered_certificates(context)? else { return Ok(()) };
    for certificate in &certificates {
        if vault.order_state(&certificate.name).await? == Order::None {
            vault
                .order(&certificate.name, &policy(&context.env.certificate_issuer, &certificate.dns))
                .await?;
        }
    }
    for certificate in &certificates {
        wait_until_issued(context, vault, certificate).await?;
    }
    Ok(())
}

async fn wait_until_issued(
    context: &Context,
    vault: &dyn CertificateVault,
    certificate: &Certificate,
) -> Result<(), StepError> {
    let end = Instant::now() + ISSUED_WITHIN;
    loop {
        let seen = match vault.order_state(&certificate.name).await? {
            Order::Done => return Ok(()),
            Order::Failed(why) => {
                return Err(StepError::other(format!("the certificate of {}: {why}", certificate.dns)));
            }
            Order::InProgress(seen) => seen,
            Order::None => "it is not ordered".to_owned(),
        };
        context.waiting(&format!("certificate of {}: {seen}", certificate.dns));
        if Instant::now() >= end {
            return Err(StepError::other(format!(
                "the certificate of {} did not come: {seen}",
                certificate.dns
            )));
        }
        context.sleep(context.env.periods.poll).await?;
    }
}

/// The API server shows the ordered one under its public name.
pub(crate) async fn configure_api_server_certificate(context: &Context) -> Result<(), StepError> {
    let Some((vault, [api, _])) = ordered_certificates(context)? else { return Ok(()) };
    let kube = Kube::connect(context)?;
    write_tls_secrets(&kube, vault, &api, "openshift-config").await?;
    let wanted = json!({"spec": {"servingCerts": {"namedCertificates": [
        {"names": [api.dns], "servingCertificate": {"name": api.name}}
    ]}}});
    let path = "/apis/config.openshift.io/v1/apiservers/cluster";
    if kube.change(path, |found| merge_into(found, &wanted)).await? {
        Ok(())
    } else {
        Err(StepError::other("the cluster has no APIServer configuration"))
    }
}

/// The default ingress shows the ordered one.
pub(crate) async fn configure_ingress_certificate(context: &Context) -> Result<(), StepError> {
    let Some((vault, [_, ingress])) = ordered_certificates(context)? else { return Ok(()) };
    let kube = Kube::connect(context)?;
    write_tls_secrets(&kube, vault, &ingress, "openshift-ingress").await?;
    let wanted = json!({"spec": {"defaultCertificate": {"name": ingress.name}}});
    let path =
        "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers/default";
    if kube.change(path, |found| merge_into(found, &wanted)).await? {
        Ok(())
    } else {
        Err(StepError::other("the cluster has no default ingress"))
    }
}

/// Puts key and chain into the namespace, and into the operator's where it is.
async fn write_tls_secrets(
    kube: &Kube,
    vault: &dyn CertificateVault,
    certificate: &Certificate,
    namespace: &str,
) -> Result<(), StepError> {
    let missing = || StepError::other(format!("the vault has no certificate of {}", certificate.dns));
    let pem = vault.secret(&certificate.name).await?.ok_or_else(missing)?;
    let (key, chain) = key_and_chain(pem.expose()).ok_or_else(|| {
        StepError::other(format!("the certificate of {} has an unknown form", certificate.dns))
    })?;
    let texts = [("tls.crt", chain.as_str()), ("tls.key", key.as_str())];
    let object = |namespace| secret(namespace, &certificate.name, "kubernetes.io/tls", &texts);
    kube.ensure(&secrets(namespace), &object(namespace)).await?;
    let operator = "openshift-azure-operator";
    if kube.exists(&format!("/api/v1/namespaces/{operator}")).await? {
        kube.ensure(&secrets(operator), &object(operator)).await?;
    }
    Ok(())
}

/// PKCS#8 key, and the certificates in their order.
fn key_and_chain(pem: &str) -> Option<(String, String)> {
    let (mut key, mut chain) = (String::new(), String::new());
    let mut rest = pem;
    while let Some(at) = rest.find("-----BEGIN ") {
        let block = &rest[at..];
        let label = block["-----BEGIN ".len()..].split("-----").next()?;
        let end = format!("-----END {label}-----");
        let length = block.find(&end)? + end.len();
        let text = format!("{}\n", &block[..length]);
        match label {
            "PRIVATE KEY" => key = text,
            "CERTIFICATE" => chain.push_str(&text),
            _ => return None,
        }
        rest = &block[length..];
    }
    (!key.is_empty() && !chain.is_empty()).then_some((key, chain))
}

/// Certificates of another issuer than the region's are ordered anew from it.
pub(crate) async fn correct_certificate_issuer(context: &Context) -> Result<(), StepError> {
    let Some((vault, certificates)) = ordered_certificates(context)? else { return Ok(()) };
    let issuer = &context.env.certificate_issuer;
    for certificate in &certificates {
        let Some(mut found) = vault.policy(&certificate.name).await? else { continue };
        if found.pointer("/issuer/name").and_then(Value::as_str) == Some(issuer.as_str()) {
            // An earlier run may have ended while it waited for what it ordered.
            match vault.order_state(&certificate.name).await? {
                Order::None | Order::Done => continue,
                Order::InProgress(_) => {}
                Order::Failed(why) => {
                    context.record_line(
                        "warning",
                        &format!("the certificate of {} is ordered again: {why}", certificate.dns),
                    );
                    vault.order(&certificate.name, &found).await?;
                }
            }
            wait_until_issued(context, vault, certificate).await?;
            continue;
        }
        merge_into(&mut found, &json!({"issuer": {"name": issuer}}));
        // Ordered before the policy is kept: an end between the two leaves the old issuer to be seen again.
        vault.order(&certificate.name, &found).await?;
        vault.set_policy(&certificate.name, &found).await?;
        // The steps that place it must not take the old one (`contract/cluster.md` "Do better" 19).
        wait_until_issued(context, vault, certificate).await?;
    }
    Ok(())
}

/// Deletes the certificates of a cluster.
pub(crate) async fn delete_certificates(context: &Context) -> Result<(), StepError> {
    let Some((vault, certificates)) = ordered_certificates(context)? else { return Ok(()) };
    for certificate in &certificates {
        vault.delete(&certificate.name).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_the_domain() {
        assert_eq!(common_name("api.c.eastus.aroapp.io"), "api.c.eastus.aroapp.io");
        let long = format!("*.apps.{}.eastus.aroapp.io", "c".repeat(60));
        assert_eq!(common_name(&long), "reserved.aroapp.io");
        assert_eq!(policy("I", &long)["x509_props"]["sans"]["dns_names"], json!([long]));
    }

    #[test]
    fn key_and_chain_come_apart_in_order() {
        let block =
            |label: &str, text: &str| format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n");
        let (key, a, b) = (block("PRIVATE KEY", "k"), block("CERTIFICATE", "a"), block("CERTIFICATE", "b"));
        assert_eq!(key_and_chain(&format!("{a}{key}{b}")), Some((key.clone(), format!("{a}{b}"))));
        assert_eq!(key_and_chain(&key), None);
        assert_eq!(key_and_chain(&a), None);
        assert_eq!(key_and_chain("-----BEGIN CERTIFICATE-----\n"), None);
        assert_eq!(key_and_chain(&format!("{}{a}", block("RSA PRIVATE KEY", "k"))), None);
    }
}
