//! Certificates of our listeners, and the files with keys.

use std::path::Path;

use rp_audit::CheckpointKey;
use rp_base::Clock;
use rp_config::{OidcCredential, Settings, Tls};
use rp_net::tls::{self, ClientAuth, ServerFiles, ServerTls};
use rp_seal::Keyring;
use url::Url;

use super::{Finding, causes};

const DAY: i64 = 86_400;
/// As the alerts on certificates of listeners: `deploy/monitoring/service.yaml`.
const SOON: i64 = 14;

const CERTIFICATE: &str = "certificate";
const KEYS: &str = "keys";

/// The listeners' pairs, and the certificate that we show the provider.
pub(super) fn certificates(settings: &Settings, clock: &dyn Clock) -> Vec<Finding> {
    let now = clock.now().seconds();
    let host = |url: &Option<Url>| url.as_ref().and_then(Url::host_str).map(str::to_owned);
    let mut web: Vec<String> = host(&settings.portal.url).into_iter().collect();
    web.extend(settings.proxy.hosts.iter().cloned());
    let mut findings = match &settings.tls {
        Some(tls) => pair("tls.cert_file", tls, &web, now),
        None => vec![Finding::skipped(CERTIFICATE, "tls.cert_file is not set: no listener for browsers")],
    };
    if let Some(own) = &settings.rp.tls
        && settings.rp.api.cert_file.is_some()
    {
        findings.extend(pair(
            "rp.cert_file",
            own,
            &host(&settings.rp.api.url).into_iter().collect::<Vec<_>>(),
            now,
        ));
    }
    let shown = settings.oidc.as_ref().and_then(|oidc| match &oidc.credential {
        OidcCredential::Key { cert_file, .. } => cert_file.as_deref(),
        OidcCredential::Secret(_) => None,
    });
    findings.extend(shown.map(|file| end("oidc.client_cert_file", file, now)));
    findings
}

/// A certificate that fits its key, in its time, with these names.
fn pair(setting: &str, pair: &Tls, hosts: &[String], now: i64) -> Vec<Finding> {
    let files = ServerFiles { certificate: pair.cert_file.clone(), key: pair.key_file.path().to_owned() };
    let place = format!("{setting} ({})", pair.cert_file.display());
    if let Err(error) = ServerTls::load(files, &[], ClientAuth::None) {
        let action = "Put a certificate and its private key in place, PEM, readable by the service's user.";
        return vec![Finding::failed(CERTIFICATE, format!("{place}: {}", causes(&error)), action)];
    }
    let mut findings = vec![end(setting, &pair.cert_file, now)];
    let chain = std::fs::read_to_string(&pair.cert_file).ok();
    let leaf = chain.and_then(|pem| tls::certificates(&pem, setting).ok()?.into_iter().next());
    let missing: Vec<&str> = leaf
        .iter()
        .flat_map(|leaf| hosts.iter().map(String::as_str).filter(|host| !tls::carries_name(leaf, host)))
        .collect();
    findings.push(if missing.is_empty() {
        Finding::ok(CERTIFICATE, format!("{place}: carries {}", hosts.join(", ")))
    } else {
        let action = "Have a certificate issued with these names among its subject alternative names.";
        Finding::failed(CERTIFICATE, format!("{place}: does not carry {}", missing.join(", ")), action)
    });
    findings
}

/// When a certificate and its chain end.
fn end(setting: &str, file: &Path, now: i64) -> Finding {
    let place = format!("{setting} ({})", file.display());
    let read = || {
        let pem = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let chain = tls::certificates(&pem, setting).map_err(|error| causes(&error))?;
        tls::first_end(&chain).ok_or_else(|| "a certificate of it cannot be read".to_owned())
    };
    let days = match read() {
        Ok(end) => (end - now).div_euclid(DAY),
        Err(why) => {
            return Finding::failed(
                CERTIFICATE,
                format!("{place}: {why}"),
                "Put a PEM certificate in place.",
            );
        }
    };
    let renew = "Put a new certificate and key in place with a rename; a running process reads them within half a minute.";
    match days {
        ..0 => Finding::failed(CERTIFICATE, format!("{place}: ended {} days ago", -days), renew),
        0..SOON => Finding::warning(CERTIFICATE, format!("{place}: ends in {days} days"), renew),
        _ => Finding::ok(CERTIFICATE, format!("{place}: ends in {days} days")),
    }
}

/// The keyring and the key of checkpoints. `empty`: nothing is stored yet, so that both may still be made; `None`: it is
/// not known.
pub(super) fn keys(settings: &Settings, empty: Option<bool>) -> Vec<Finding> {
    let file = &settings.keys.keyring_file;
    let place = format!("keys.keyring_file ({})", file.display());
    let keyring = if file.exists() {
        match Keyring::open_file(file) {
            Ok(keyring) => {
                let ids = keyring.ids();
                Finding::ok(KEYS, format!("{place}: {} keys, {} seals", ids.all.len(), ids.current))
            }
            Err(error) => Finding::failed(
                KEYS,
                format!("{place}: {}", causes(&error)),
                "Bring back the file from its copy: owner the service's user, mode 0600.",
            ),
        }
    } else {
        absent(
            &place,
            empty,
            "Bring back the file from its copy; without it nothing that was sealed can be opened.",
        )
    };
    let file = &settings.audit.checkpoint_key_file;
    let place = format!("audit.checkpoint_key_file ({})", file.display());
    let checkpoints = match CheckpointKey::open(file) {
        Ok(key) => Finding::ok(KEYS, format!("{place}: key {}", key.id())),
        Err(_) if !file.exists() => absent(
            &place,
            empty,
            "Bring back the file from its copy; a new key cannot vouch for the old log.",
        ),
        Err(error) => Finding::failed(
            KEYS,
            format!("{place}: {}", causes(&error)),
            "Bring back the file from its copy: owner the service's user, mode 0600.",
        ),
    };
    vec![keyring, checkpoints]
}

/// A file that the first start makes, and that must be there later.
fn absent(place: &str, empty: Option<bool>, action: &str) -> Finding {
    match empty {
        Some(true) => {
            Finding::ok(KEYS, format!("{place}: made on the first start, for nothing is stored yet"))
        }
        Some(false) => {
            Finding::failed(KEYS, format!("{place}: is not there, and the store is not empty"), action)
        }
        None => Finding::warning(KEYS, format!("{place}: is not there"), action),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn a_certificate_that_ended_fails_and_one_that_ends_soon_warns() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tls.pem");
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2030, 2, 1);
        let last = params.not_after.unix_timestamp();
        let key = rcgen::KeyPair::generate().unwrap();
        std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
        let verdict = |now: i64| end("tls.cert_file", &file, now).verdict;
        assert_eq!(verdict(last - 20 * DAY), Verdict::Ok);
        assert_eq!(verdict(last - 3 * DAY), Verdict::Warning);
        assert_eq!(verdict(last + 1), Verdict::Failed);
        assert_eq!(end("tls.cert_file", &folder.path().join("none"), last).verdict, Verdict::Failed);
    }

    #[test]
    fn keys_may_be_absent_only_while_nothing_is_stored() {
        for (empty, verdict) in
            [(Some(true), Verdict::Ok), (None, Verdict::Warning), (Some(false), Verdict::Failed)]
        {
            assert_eq!(absent("keyring", empty, "Bring it back.").verdict, verdict);
        }
    }
}
