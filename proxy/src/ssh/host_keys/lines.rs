//! Keys as lines of text, and what a certificate is good for. Pure.

use rp_base::Timestamp;
use rp_net::Target;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey};

use crate::ssh::keys::plain;
use crate::ssh::machines::{Machine, MachineRoute};

/// Before the key of an authority.
pub(super) const AUTHORITY: &str = "@cert-authority ";
/// Keys of one machine.
pub(super) const MOST_KEYS: usize = 16;
/// Longest stored key, in characters: RSA with 16,384 bits.
pub(super) const MOST_KEY: usize = 4096;

/// The public keys in lines `TYPE BASE64 [comment]`, each once, without their comments.
pub(super) fn read_keys(text: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('@')) {
        let Some(key) = normal(line.trim()) else { continue };
        if !keys.contains(&key) && keys.len() < MOST_KEYS {
            keys.push(key);
        }
    }
    keys
}

/// A key of an algorithm that is spoken, as it is stored; `@cert-authority` before it stays.
pub fn normal(line: &str) -> Option<String> {
    let (before, key) = match line.strip_prefix(AUTHORITY) {
        Some(key) => (AUTHORITY, key.trim_start()),
        None => ("", line),
    };
    if line.len() > MOST_KEY || line.contains(['\n', '\r']) {
        return None;
    }
    let key = PublicKey::from_openssh(key).ok()?;
    let spoken =
        matches!(key.algorithm(), Algorithm::Ed25519 | Algorithm::Ecdsa { .. } | Algorithm::Rsa { .. });
    spoken.then(|| format!("{before}{}", plain(&key)))
}

/// The keys that an import names for a machine.
pub(super) fn named_by_import(target: &Target, machine: &Machine) -> Vec<String> {
    let machines = target.ssh.as_ref().map(|ssh| ssh.machines.as_slice()).unwrap_or_default();
    let named = machines.iter().find(|each| each.name == machine.name);
    named.map(|each| each.host_keys.iter().filter_map(|line| normal(line)).collect()).unwrap_or_default()
}

/// Whether one of these authorities signed it.
pub(super) fn signed_by<'a>(
    certificate: &Certificate,
    mut authorities: impl Iterator<Item = &'a str>,
) -> bool {
    authorities.any(|line| {
        PublicKey::from_openssh(line).is_ok_and(|key| key.key_data() == certificate.signature_key())
    })
}

/// Why a certificate of a trusted authority is not good for this machine (OpenSSH's PROTOCOL.certkeys).
pub(super) fn unfit(certificate: &Certificate, machine: &Machine, now: Timestamp) -> Option<&'static str> {
    let authority = PublicKey::new(certificate.signature_key().clone(), "").fingerprint(HashAlg::Sha256);
    let address = match &machine.way {
        MachineRoute::Master(_) => None,
        MachineRoute::Through { address, .. } => Some(address),
        MachineRoute::Direct { host, .. } => Some(host),
    };
    let named = |principal: &String| {
        principal.eq_ignore_ascii_case(&machine.name)
            || address.is_some_and(|at| principal.eq_ignore_ascii_case(at))
    };
    if certificate.cert_type() != CertType::Host {
        Some("it is a person's")
    } else if certificate.validate_at(now.seconds().unsigned_abs(), [&authority]).is_err() {
        Some("its signature or its time is wrong")
    } else if !certificate.critical_options().is_empty() {
        Some("it has conditions that are not known here")
    } else if !certificate.valid_principals().iter().any(named) {
        Some("it is for other names")
    } else {
        None
    }
}

/// `SHA256:…`, as `ssh-keygen -l` prints it.
pub fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// The fingerprint of a stored key, with or without `@cert-authority` before it.
pub fn fingerprint_of(line: &str) -> Option<String> {
    let key = line.strip_prefix(AUTHORITY).unwrap_or(line);
    PublicKey::from_openssh(key).ok().map(|key| fingerprint(&key))
}
