//! Expiry of certificates (`contract/monitor.md` §9.8).

use std::borrow::Cow;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Timestamp;
use x509_parser::pem::parse_x509_pem;

use super::no_proxy::host_of;
use super::output::owned_text;
use super::{CollectError, CollectorOutput};
use crate::cluster_objects::{ClusterObjects, OPERATOR_NAMESPACE, Resource};
use crate::names::cluster;
use crate::objects::SecretCertificate;
use crate::sample::Sample;

const DAY: i64 = 24 * 60 * 60;

/// The reported properties of one certificate.
#[derive(Debug, PartialEq, Eq)]
struct Certificate {
    subject: String,
    not_after: Timestamp,
    /// SHA-1, upper-case hex: how Azure and OpenSSL print it.
    thumbprint: String,
}

/// Whether we manage the certificates: only if the cluster's domain is ours.
fn is_managed(seen: &ClusterObjects) -> bool {
    let host = host_of(&seen.cluster().api_url);
    [".aroapp.io", ".aroapp.azure.us"].iter().any(|end| host.ends_with(end))
}

/// Names of the secrets of ingress and API server. `None` before the ingress controller was read.
fn secrets(seen: &ClusterObjects) -> Result<[String; 2], CollectError> {
    const NO_NAME: CollectError = CollectError::Object(Cow::Borrowed(
        "ingress controller spec invalid, default certificate name not found",
    ));
    let controllers = seen.ingress_controllers()?;
    let default = controllers.iter().find(|controller| controller.metadata.name.as_str() == "default");
    let name = default.and_then(|controller| controller.spec.default_certificate.as_ref());
    let name =
        name.map(|reference| reference.name.as_str()).filter(|name| !name.is_empty()).ok_or(NO_NAME)?;
    // The name becomes part of a path, so it must be a valid object name.
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    if !name.bytes().all(fits) || name.starts_with('.') {
        return Err(CollectError::Object(
            "the name of the default certificate is no name of a secret".into(),
        ));
    }
    Ok([name.to_owned(), name.replacen("-ingress", "-apiserver", 1)])
}

pub(super) fn needs(seen: &ClusterObjects) -> Vec<Resource> {
    if !is_managed(seen) {
        return Vec::new();
    }
    let secrets = secrets(seen).into_iter().flatten().map(Resource::Certificate);
    std::iter::once(Resource::IngressControllers).chain(secrets).collect()
}

pub(super) fn managed(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    if !is_managed(seen) {
        return Ok(());
    }
    let mut failed = None;
    for name in secrets(seen)? {
        let secret = match seen.certificate(&name) {
            Ok(secret) => secret,
            Err(error) => {
                failed = failed.or(Some(error));
                continue;
            }
        };
        let result = tell(seen, told, OPERATOR_NAMESPACE, &name, secret.as_deref());
        failed = failed.or(result.err());
    }
    failed.map_or(Ok(()), Err)
}

pub(super) fn etcd_needs(seen: &ClusterObjects) -> Vec<Resource> {
    // From 4.9 on the platform renews them by itself.
    let old = seen.versions().actual.is_some_and(|version| (version.major, version.minor) < (4, 9));
    if old { vec![Resource::EtcdCertificates] } else { Vec::new() }
}

pub(super) fn etcd(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    if etcd_needs(seen).is_empty() {
        return Ok(());
    }
    let secrets = seen.etcd_certificates()?;
    let mut failed = None;
    for secret in secrets.iter() {
        let name = secret.metadata.name.as_str();
        if name.contains("etcd-peer") || name.contains("etcd-serving") {
            failed = failed.or(tell(seen, told, "openshift-etcd", name, Some(secret)).err());
        }
    }
    failed.map_or(Ok(()), Err)
}

fn tell(
    seen: &ClusterObjects,
    told: &mut CollectorOutput,
    namespace: &'static str,
    name: &str,
    secret: Option<&SecretCertificate>,
) -> Result<(), CollectError> {
    let Some(data) = secret.map(|secret| secret.data.certificate.as_str()).filter(|data| !data.is_empty())
    else {
        told.one(&cluster::CERTIFICATE_MISSING, [namespace.into(), owned_text(name)]);
        return Ok(());
    };
    let unreadable =
        || CollectError::Object(format!("the certificate in {namespace}/{name} cannot be read").into());
    let certificate = read(data).ok_or_else(unreadable)?;
    let (end, now) = (certificate.not_after, seen.now());
    let days = end.seconds().saturating_sub(now.seconds()) / DAY;
    let dims =
        [namespace.into(), owned_text(name), certificate.subject.into(), certificate.thumbprint.into()];
    let mut sample = Sample::int(&cluster::CERTIFICATE_EXPIRATION, days, dims);
    #[expect(clippy::cast_precision_loss, reason = "seconds of any certificate are below 2^53")]
    let seconds = end.seconds() as f64;
    sample.exact = Some(seconds);
    told.push(sample);
    Ok(())
}

/// The expiry of the certificate that expires first, of those that were read.
pub(crate) fn earliest(seen: &ClusterObjects) -> Option<Timestamp> {
    let managed = is_managed(seen).then(|| secrets(seen).ok()).flatten().into_iter().flatten();
    let managed = managed.filter_map(|name| seen.certificate(&name).ok().flatten());
    managed.filter_map(|secret| Some(read(secret.data.certificate.as_str())?.not_after)).min()
}

/// The first certificate of base64 of PEM.
fn read(data: &str) -> Option<Certificate> {
    let pem = STANDARD.decode(data).ok()?;
    let mut rest = pem.as_slice();
    loop {
        let (after, block) = parse_x509_pem(rest).ok()?;
        if block.label != "CERTIFICATE" {
            rest = after;
            continue;
        }
        let certificate = block.parse_x509().ok()?;
        let name = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        let mut thumbprint = String::with_capacity(40);
        for byte in digest(&SHA1_FOR_LEGACY_USE_ONLY, &block.contents).as_ref() {
            write!(thumbprint, "{byte:02X}").ok()?;
        }
        return Some(Certificate {
            subject: name.unwrap_or_default().chars().take(256).collect(),
            not_after: Timestamp::from_seconds(certificate.validity().not_after.timestamp()),
            thumbprint,
        });
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};
    use serde_json::{Value, json};
    use time::OffsetDateTime;

    use super::super::tests::{CollectorBench, NOW, aro, named};
    use super::*;

    fn pem(name: &str, seconds_left: i64) -> (String, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = OffsetDateTime::from_unix_timestamp(NOW.seconds() + seconds_left).unwrap();
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let thumbprint = digest(&SHA1_FOR_LEGACY_USE_ONLY, certificate.der())
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        (STANDARD.encode(certificate.pem()), thumbprint)
    }

    fn secret(name: &str, data: &str) -> Value {
        json!({"metadata": {"name": name}, "data": {"tls.crt": data, "tls.key": "c2VjcmV0"}})
    }

    fn managed() -> CollectorBench {
        let controller =
            json!([{"metadata": {"name": "default"}, "spec": {"defaultCertificate": {"name": "x-ingress"}}}]);
        CollectorBench::new(aro()).with_items(&Resource::IngressControllers, controller)
    }

    const NAME: &str = "emitIngressAndAPIServerCertificateExpiry";

    #[test]
    fn ingress_and_api_server_tell_whole_days() {
        let (ingress, one) = pem("*.apps.x.eastus.aroapp.io", 30 * DAY + 5);
        let (api, two) = pem("api.x.eastus.aroapp.io", -DAY - 5);
        let fed = managed()
            .with(&Resource::Certificate("x-ingress".to_owned()), secret("x-ingress", &ingress))
            .with(&Resource::Certificate("x-apiserver".to_owned()), secret("x-apiserver", &api));
        let mut expected = [
            format!(
                "certificate.expirationdate 30 namespace=openshift-azure-operator name=x-ingress subject=*.apps.x.eastus.aroapp.io thumbprint={one}"
            ),
            format!(
                "certificate.expirationdate -1 namespace=openshift-azure-operator name=x-apiserver subject=api.x.eastus.aroapp.io thumbprint={two}"
            ),
        ];
        expected.sort();
        assert_eq!(fed.run(named(NAME)), expected);
        let samples = fed.told(named(NAME)).unwrap().samples;
        assert_eq!(samples[0].exact, Some((NOW.seconds() + 30 * DAY + 5) as f64));
        assert_eq!(earliest(&fed.seen), Some(Timestamp::from_seconds(NOW.seconds() - DAY - 5)));
    }

    #[test]
    fn days_are_truncated_toward_zero() {
        let (almost, _) = pem("a", -DAY + 60);
        let fed = managed()
            .with(&Resource::Certificate("x-ingress".to_owned()), secret("x-ingress", &almost))
            .failed(&Resource::Certificate("x-apiserver".to_owned()), 404);
        let told = fed.run(named(NAME));
        assert!(told[0].starts_with("certificate.expirationdate 0 "), "{told:?}");
        assert_eq!(
            told[1],
            "certificate.secretnotfound 1 namespace=openshift-azure-operator name=x-apiserver"
        );
    }

    #[test]
    fn a_secret_without_the_key_is_missing_and_one_that_is_no_certificate_an_error() {
        let fed = managed()
            .with(&Resource::Certificate("x-ingress".to_owned()), json!({"data": {}}))
            .with(&Resource::Certificate("x-apiserver".to_owned()), secret("x-apiserver", "bm9uc2Vuc2U="));
        assert_eq!(
            fed.run(named(NAME)),
            [
                "certificate.secretnotfound 1 namespace=openshift-azure-operator name=x-ingress",
                "the certificate in openshift-azure-operator/x-apiserver cannot be read"
            ]
        );
    }

    #[test]
    fn only_domains_of_ours_are_looked_at() {
        for (url, looked) in [
            ("https://api.x.eastus.aroapp.io:6443/", true),
            ("https://api.x.aroapp.azure.us:6443/", true),
            ("https://api.contoso.com:6443/", false),
            ("https://aroapp.io.evil.com", false),
            ("", false),
        ] {
            let mut cluster = aro();
            cluster.api_url = url.to_owned();
            let fed = CollectorBench::new(cluster);
            assert_eq!((named(NAME).needs)(&fed.seen).is_empty(), !looked, "{url}");
            assert_eq!(fed.told(named(NAME)).is_ok(), !looked, "{url}");
        }
    }

    #[test]
    fn needs_grow_when_the_name_is_known() {
        let first = (named(NAME).needs)(&CollectorBench::new(aro()).seen);
        assert_eq!(first, [Resource::IngressControllers]);
        let second = (named(NAME).needs)(&managed().seen);
        let secrets = ["x-ingress", "x-apiserver"].map(|name| Resource::Certificate(name.to_owned()));
        assert_eq!(second[1..], secrets);
    }

    #[test]
    fn without_a_name_it_is_an_error() {
        for spec in
            [json!({}), json!({"defaultCertificate": null}), json!({"defaultCertificate": {"name": "../x"}})]
        {
            let fed = CollectorBench::new(aro()).with_items(
                &Resource::IngressControllers,
                json!([{"metadata": {"name": "default"}, "spec": spec}]),
            );
            assert!(fed.told(named(NAME)).is_err());
            assert_eq!((named(NAME).needs)(&fed.seen).len(), 1, "no path is made of it");
        }
    }

    fn version(text: &str) -> CollectorBench {
        CollectorBench::new(aro()).with(
            &Resource::ClusterVersion,
            json!({"status": {"history": [{"state": "Completed", "version": text}]}}),
        )
    }

    #[test]
    fn etcd_is_looked_at_below_4_9() {
        for (text, looked) in
            [("4.8.57", true), ("4.9.0", false), ("4.10.1", false), ("5.0.0", false), ("none", false)]
        {
            assert_eq!(
                !(named("emitEtcdCertificateExpiry").needs)(&version(text).seen).is_empty(),
                looked,
                "{text}"
            );
        }
        let (data, thumbprint) = pem("etcd", 2 * DAY);
        let items =
            json!([secret("etcd-peer-m0", &data), secret("etcd-serving-m0", ""), secret("other", &data)]);
        let fed = version("4.8.57").with_items(&Resource::EtcdCertificates, items);
        assert_eq!(
            fed.run(named("emitEtcdCertificateExpiry")),
            [
                format!(
                    "certificate.expirationdate 2 namespace=openshift-etcd name=etcd-peer-m0 subject=etcd thumbprint={thumbprint}"
                ),
                "certificate.secretnotfound 1 namespace=openshift-etcd name=etcd-serving-m0".to_owned()
            ]
        );
    }
}
