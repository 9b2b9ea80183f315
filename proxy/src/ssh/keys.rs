//! The service's own SSH keys: host keys, the authority of host certificates, the authority of people's certificates.
//!
//! They are made once, by whichever replica needs one first, and stand sealed in ServiceKeys: of two that make one at the same
//! time the store takes the first, and the other reads it.

mod source;

use std::path::PathBuf;

use rp_base::{Id, Secret, SharedClock, Timestamp};
use rp_database::{SharedStore, StoreError};
use rp_net::{SshKey, SshTarget};
use rp_seal::{Keyring, SealError};
use russh::keys::ssh_key;
use russh::keys::ssh_key::certificate::{Builder, CertType};
use russh::keys::{Algorithm, Certificate, EcdsaCurve, HashAlg, PrivateKey, PublicKey};
use source::{files, pem, stored};

const P256: Algorithm = Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 };
const RSA: Algorithm = Algorithm::Rsa { hash: None };
/// Certificates are good from so long ago: clocks differ.
const SKEW: u64 = 300;
/// Life of a host certificate; a server shows a new one long before.
const HOST_CERTIFICATE: u64 = 30 * 24 * 3600;

/// Longest line with a public key, in characters.
const MOST_LINE: usize = 4096;
/// Bits.
const LEAST_RSA: u32 = 2048;

/// What the keys are made and kept with.
#[derive(Debug)]
pub struct KeyParts {
    pub store: SharedStore,
    pub keyring: Keyring,
    pub clock: SharedClock,
    /// With `fips` there are RSA and ECDSA host keys and ECDSA authorities (`contract/portal.md` §16.1), else no curve of
    /// NIST.
    pub settings: rp_config::Ssh,
}

/// A key that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("the store did not answer")]
    Store(#[source] StoreError),
    #[error("the service's SSH key {0} cannot be opened")]
    Unopenable(&'static str, #[source] SealError),
    #[error("an SSH key of the service cannot be sealed")]
    Seal(#[source] SealError),
    #[error("no RSA key could be made")]
    Rsa,
    #[error("an SSH key cannot be used")]
    Key(#[source] ssh_key::Error),
    #[error("an SSH key cannot be read")]
    Read(#[source] russh::keys::Error),
    #[error("the SSH host key {path} cannot be read")]
    File {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("the SSH host key {0} is of an algorithm that is not offered")]
    Algorithm(PathBuf),
}

/// The keys, ready to sign.
pub struct ServiceKeys {
    host: Vec<PrivateKey>,
    host_ca: PrivateKey,
    user_ca: PrivateKey,
    fips: bool,
}

impl std::fmt::Debug for ServiceKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host: Vec<_> = self.host.iter().map(PrivateKey::algorithm).collect();
        f.debug_struct("ServiceKeys").field("host", &host).finish_non_exhaustive()
    }
}

impl ServiceKeys {
    /// Reads the keys, and makes those that there are not yet.
    ///
    /// # Errors
    /// [`KeysError`].
    pub async fn open(parts: &KeyParts) -> Result<Self, KeysError> {
        let settings = &parts.settings;
        let given = files(&settings.key_files, settings.fips).await?;
        let wanted: &[(&'static str, Algorithm)] = if settings.fips {
            &[("ssh-host-rsa", RSA), ("ssh-host-ecdsa", P256)]
        } else {
            &[("ssh-host-ed25519", Algorithm::Ed25519)]
        };
        let mut host = Vec::new();
        for (id, algorithm) in wanted.iter().cloned() {
            let from_file = given.iter().find(|key| same(&key.algorithm(), &algorithm));
            host.push(match from_file {
                Some(key) => key.clone(),
                None => stored(parts, id, algorithm).await?,
            });
        }
        // The key that the fleet's clients know already, as the last choice.
        let known =
            given.into_iter().filter(|key| !wanted.iter().any(|(_, each)| same(&key.algorithm(), each)));
        host.extend(known);
        let (host_ca, user_ca, algorithm) = if settings.fips {
            ("ssh-host-ca", "ssh-user-ca", P256)
        } else {
            ("ssh-host-ca-ed25519", "ssh-user-ca-ed25519", Algorithm::Ed25519)
        };
        let host_ca = stored(parts, host_ca, algorithm.clone()).await?;
        let user_ca = stored(parts, user_ca, algorithm).await?;
        Ok(Self { host, host_ca, user_ca, fips: settings.fips })
    }

    /// The host keys, the preferred one first.
    pub fn host_keys(&self) -> Vec<PrivateKey> {
        self.host.clone()
    }

    /// Whether these are the keys of FIPS mode.
    pub const fn fips(&self) -> bool {
        self.fips
    }

    /// The authority of our host certificates.
    pub fn host_ca(&self) -> &PublicKey {
        self.host_ca.public_key()
    }

    /// The authority of people's certificates.
    pub fn user_ca(&self) -> &PublicKey {
        self.user_ca.public_key()
    }

    /// A certificate of each host key for these names, good for 30 days from `now`.
    ///
    /// # Errors
    /// [`KeysError::Key`]: no name, or a name that cannot stand in a certificate.
    pub fn host_certificates(&self, names: &[String], now: Timestamp) -> Result<Vec<Certificate>, KeysError> {
        let of = |key: &PrivateKey| {
            let from = seconds(now).saturating_sub(SKEW);
            let mut builder = builder(key.public_key(), from, seconds(now) + HOST_CERTIFICATE)?;
            builder.cert_type(CertType::Host)?.key_id("aro")?;
            for name in names {
                builder.valid_principal(name)?;
            }
            builder.sign(&self.host_ca)
        };
        self.host.iter().map(of).collect::<Result<_, _>>().map_err(KeysError::Key)
    }

    /// A certificate with which somebody signs in under a grant: key id and only principal are the grant's id.
    ///
    /// # Errors
    /// [`KeysError::Key`]: the public key is of no use.
    pub fn user_certificate(
        &self,
        key: &PublicKey,
        grant: &Id,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Certificate, KeysError> {
        let make = || {
            let mut builder = builder(key, seconds(now).saturating_sub(SKEW), seconds(until))?;
            builder.cert_type(CertType::User)?.key_id(grant.as_str())?.valid_principal(grant.as_str())?;
            // Without them OpenSSH's own tools call the certificate good for nothing.
            builder.extension("permit-pty", "")?.extension("permit-port-forwarding", "")?;
            builder.extension("permit-agent-forwarding", "")?;
            builder.sign(&self.user_ca)
        };
        make().map_err(KeysError::Key)
    }

    /// The grant that a certificate is for, when we signed it and it is good at that instant. Anyone who shows it must also
    /// prove its key.
    pub fn grant_of(&self, certificate: &Certificate, now: Timestamp) -> Option<Id> {
        let ours = self.user_ca().fingerprint(HashAlg::Sha256);
        certificate.validate_at(seconds(now), [&ours]).ok()?;
        let plain = certificate.cert_type() == CertType::User
            && certificate.critical_options().is_empty()
            && certificate.valid_principals() == [certificate.key_id().to_owned()];
        plain.then(|| Id::parse(certificate.key_id()).ok()).flatten()
    }

    /// The line of a `known_hosts` file for the preferred host key.
    pub fn known_hosts_line(&self, host: &str, port: u16) -> String {
        let key = self.host.first().map(|key| plain(key.public_key())).unwrap_or_default();
        format!("{} {key}", place(host, port))
    }

    /// Every line of a `known_hosts` file: the authority of our certificates first, then each host key.
    pub fn known_hosts(&self, host: &str, port: u16) -> Vec<String> {
        let at = place(host, port);
        let mut lines = vec![format!("@cert-authority {at} {}", plain(self.host_ca()))];
        lines.extend(self.host.iter().map(|key| format!("{at} {}", plain(key.public_key()))));
        lines
    }
}

/// The key by which the machines of a cluster are signed in to.
///
/// # Errors
/// [`KeysError::Read`]: what is stored is no private key, or has a passphrase.
pub fn machine_key(ssh: &SshTarget) -> Result<PrivateKey, KeysError> {
    match &ssh.key {
        SshKey::Pkcs1Der(der) => {
            let pem = Secret::new(pem("RSA PRIVATE KEY", der.expose()));
            russh::keys::decode_secret_key(pem.expose(), None).map_err(KeysError::Read)
        }
        SshKey::Pem(pem) => russh::keys::decode_secret_key(pem.expose(), None).map_err(KeysError::Read),
    }
}

/// A person's public key, of an algorithm that is taken for signing in.
///
/// # Errors
/// A sentence that says what would be right.
pub fn person_key(line: &str, fips: bool) -> Result<PublicKey, &'static str> {
    if line.len() > MOST_LINE {
        return Err("It is too long.");
    }
    let key = PublicKey::from_openssh(line.trim()).map_err(|_| "It cannot be read.")?;
    let strong = match key.algorithm() {
        Algorithm::Ecdsa { .. } => true,
        Algorithm::Ed25519 => !fips,
        Algorithm::Rsa { .. } => key.key_data().rsa().is_some_and(|rsa| rsa.key_size() >= LEAST_RSA),
        _ => false,
    };
    if strong {
        Ok(key)
    } else {
        Err("Keys are Ed25519, ECDSA, or RSA of at least 2048 bits; in FIPS mode not Ed25519.")
    }
}

/// `TYPE BASE64`, without a comment.
pub fn plain(key: &PublicKey) -> String {
    PublicKey::new(key.key_data().clone(), "").to_openssh().unwrap_or_default().trim_end().to_owned()
}

/// As in a `known_hosts` file: the port is named unless it is 22.
fn place(host: &str, port: u16) -> String {
    if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") }
}

fn seconds(at: Timestamp) -> u64 {
    at.seconds().unsigned_abs()
}

fn builder(key: &PublicKey, from: u64, until: u64) -> Result<Builder, ssh_key::Error> {
    Builder::new_with_random_nonce(&mut russh::keys::key::safe_rng(), key.key_data().clone(), from, until)
}

/// RSA keys are the same whatever hash they sign with.
fn same(a: &Algorithm, b: &Algorithm) -> bool {
    a == b || matches!((a, b), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }))
}

#[cfg(test)]
mod tests;
