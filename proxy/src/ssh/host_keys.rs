//! Host keys of machines, pinned for each machine by its UID (`spec/portal.md` "Do better" 21).
//!
//! A key that is not known yet is read on the machine itself, by the cluster's authenticated API: exec in the node's
//! machine-config-daemon pod. An imported cluster names the keys, or an administrator trusts what was shown first. A replaced
//! machine has another UID and is learned anew; another key on the same machine is refused until an administrator trusts it.

use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, Timestamp, chain};
use rp_database::{SharedStore, StoreError, Typed, update};
use rp_documents::host_key::{Learned, RefusedKey};
use rp_documents::{HostKey, ResourceId, Unknown};
use rp_kube::connect::{ClientError, ClientOptions, Identity, client};
use rp_kube::{Exec, ExecError, KubeError};
use rp_net::{Dialer, Source, Target};
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use super::keys::plain;
use super::machines::{Machine, Way};

const DAEMON_NAMESPACE: &str = "openshift-machine-config-operator";
const DAEMON_LABELS: &str = "k8s-app=machine-config-daemon";
const DAEMON: &str = "machine-config-daemon";
const READ: &str = "cat /rootfs/etc/ssh/ssh_host_*_key.pub";
const AUTHORITY: &str = "@cert-authority ";
/// Longest output of the command.
const MOST_OUTPUT: usize = 64 * 1024;
/// Keys of one machine.
const MOST_KEYS: usize = 16;
/// Longest stored key, in characters: RSA with 16,384 bits.
const MOST_KEY: usize = 4096;
const WITHIN: Duration = Duration::from_secs(20);
/// What was learned by the API is read there again after so long; so the store forgets machines that are gone.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);

/// Why a machine is not trusted. Each is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HostKeyError {
    #[error(
        "the machine {machine} shows another host key than the one that is known ({shown}). Somebody may be listening, \
         or its keys were made anew: compare the fingerprint on the machine's own console, then let an administrator \
         trust it on the cluster's page of host keys"
    )]
    Changed { machine: String, shown: String },
    #[error(
        "the host key of {machine} is not known yet ({shown}). An administrator can trust it on the cluster's page of \
         host keys after comparing the fingerprint"
    )]
    Untrusted { machine: String, shown: String },
    #[error("the host certificate of {machine} is not good for it: {why}")]
    Certificate { machine: String, why: &'static str },
    #[error(
        "the host key of {machine} could not be read by the cluster's API ({why}), so the machine is not trusted. It shows \
         {shown}: an administrator can trust that on the cluster's page of host keys after comparing the fingerprint"
    )]
    Unread {
        machine: String,
        shown: String,
        why: &'static str,
        #[source]
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    #[error("the store did not answer, so the machine's host key is not known")]
    Store(#[source] StoreError),
}

/// Why a key was not trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("this machine has shown no key that was refused")]
    Nothing,
    #[error("the machine has shown another key since; look at it again")]
    Another,
    #[error("the store did not answer; nothing was changed")]
    Store(#[source] StoreError),
}

/// What is pinned for a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Of the plain keys; empty: none are known.
    pub algorithms: Vec<Algorithm>,
    /// An authority is pinned: host certificates are worth asking for.
    pub certificate: bool,
}

/// The pinned keys of every cluster's machines.
#[derive(Debug)]
pub struct HostKeys {
    keys: Typed<HostKey>,
    dialer: Dialer,
    clock: SharedClock,
}

impl HostKeys {
    /// Keys in that store, read with that dialer.
    pub fn new(store: SharedStore, dialer: Dialer, clock: SharedClock) -> Arc<Self> {
        Arc::new(Self { keys: Typed::new(store), dialer, clock })
    }

    /// What is pinned, after reading it on the machine where that can be done. An error counts as nothing: the check that
    /// follows says it.
    pub async fn known(&self, target: &Arc<Target>, machine: &Machine) -> Known {
        let pinned = match self.pinned(target, machine).await {
            Ok(Some(pinned)) => pinned.keys,
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::debug!(error = %chain(&error), "host keys are not known beforehand");
                Vec::new()
            }
        };
        let mut known = Known::default();
        for line in &pinned {
            match line.strip_prefix(AUTHORITY) {
                Some(_) => known.certificate = true,
                None => known.algorithms.extend(PublicKey::from_openssh(line).map(|key| key.algorithm())),
            }
        }
        known
    }

    /// Whether the machine is who it should be; keys that are not known are learned first.
    ///
    /// # Errors
    /// [`HostKeyError`]; then nothing may be sent to the machine.
    pub async fn check(
        &self,
        target: &Arc<Target>,
        machine: &Machine,
        shown: &PublicKeyOrCertificate,
    ) -> Result<(), HostKeyError> {
        let key = shown.public_key();
        let pinned = match self.pinned(target, machine).await {
            Ok(pinned) => pinned,
            Err(HostKeyError::Unread { machine: name, why, cause, .. }) => {
                self.refuse(target, machine, &plain(&key), true).await;
                return Err(HostKeyError::Unread { machine: name, shown: fingerprint(&key), why, cause });
            }
            Err(error) => return Err(error),
        };
        let lines = pinned.as_ref().map(|pinned| pinned.keys.as_slice()).unwrap_or_default();
        let authorities = lines.iter().filter_map(|line| line.strip_prefix(AUTHORITY));
        if let Some(certificate) = shown.certificate()
            && signed_by(certificate, authorities)
        {
            return match unfit(certificate, machine, self.clock.now()) {
                None => Ok(()),
                Some(why) => Err(HostKeyError::Certificate { machine: machine.name.clone(), why }),
            };
        }
        let text = plain(&key);
        if lines.contains(&text) {
            return Ok(());
        }
        let shown = fingerprint(&key);
        self.refuse(target, machine, &text, lines.is_empty()).await;
        let machine = machine.name.clone();
        Err(if lines.is_empty() {
            HostKeyError::Untrusted { machine, shown }
        } else {
            HostKeyError::Changed { machine, shown }
        })
    }

    /// What is known of a cluster's machines, by machine name.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, target: &ResourceId) -> Result<Vec<HostKey>, StoreError> {
        let page = self.keys.list(Some(target.key()), None, 1000).await?;
        let mut all: Vec<HostKey> = page.items.into_iter().map(|versioned| versioned.value).collect();
        all.sort_by(|a, b| a.machine.cmp(&b.machine));
        Ok(all)
    }

    /// What is known of one machine.
    ///
    /// # Errors
    /// The store's.
    pub async fn get(&self, target: &ResourceId, uid: &str) -> Result<Option<HostKey>, StoreError> {
        Ok(self.keys.get(&HostKey::id_of(target, uid)).await?.map(|found| found.value))
    }

    /// Trusts the key that was refused last; it must be the one with that fingerprint. What was known before is forgotten.
    ///
    /// # Errors
    /// [`TrustError`].
    pub async fn trust(
        &self,
        target: &ResourceId,
        uid: &str,
        shown: &str,
        by: &str,
    ) -> Result<HostKey, TrustError> {
        let id = HostKey::id_of(target, uid);
        let found = self.keys.get(&id).await.map_err(TrustError::Store)?.ok_or(TrustError::Nothing)?;
        if found.value.refused.is_none() {
            return Err(TrustError::Nothing);
        }
        let mut outcome = Err(TrustError::Another);
        let now = self.clock.now();
        update(&self.keys, &id, |known: &mut HostKey| {
            let same =
                known.refused.take_if(|refused| fingerprint_of(&refused.key).as_deref() == Some(shown));
            outcome = match same {
                Some(refused) => {
                    known.keys = vec![refused.key];
                    known.learned = Learned::Person;
                    known.at = now;
                    known.by = Some(by.to_owned());
                    Ok(known.clone())
                }
                None => Err(TrustError::Another),
            };
        })
        .await
        .map_err(TrustError::Store)?;
        outcome
    }

    /// Forgets the machines of a cluster that is gone.
    ///
    /// # Errors
    /// The store's.
    pub async fn forget(&self, target: &ResourceId) -> Result<(), StoreError> {
        for known in self.list(target).await? {
            match self.keys.delete(&known.id, rp_database::Expect::Any).await {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is pinned; of a cluster of ours it is learned when it is not known. A person's word is above an import's.
    async fn pinned(&self, target: &Arc<Target>, machine: &Machine) -> Result<Option<HostKey>, HostKeyError> {
        let id = HostKey::id_of(&target.id, &machine.uid);
        let found = self.keys.get(&id).await.map_err(HostKeyError::Store)?.map(|found| found.value);
        match found {
            Some(known) if !known.keys.is_empty() => return Ok(Some(known)),
            found if target.source == Source::Imported => {
                let keys = named_by_import(target, machine);
                if keys.is_empty() {
                    return Ok(found);
                }
                return Ok(Some(self.document(target, machine, keys, Learned::Import)));
            }
            _ => {}
        }
        let keys = self.read(target, machine).await?;
        tracing::info!(
            resource_id = target.id.key(),
            machine = machine.name,
            keys = keys.len(),
            "learned the host keys of a machine"
        );
        let document = self.document(target, machine, keys, Learned::Cluster);
        let until = Some(self.clock.now() + KEPT);
        match self.keys.create_until(document.clone(), until).await {
            Ok(_) => Ok(Some(document)),
            // Somebody else was first, and what stands there counts.
            Err(StoreError::Exists { .. }) => {
                let there = self.keys.get(&id).await.map_err(HostKeyError::Store)?.map(|found| found.value);
                Ok(there.filter(|known| !known.keys.is_empty()).or(Some(document)))
            }
            Err(error) => Err(HostKeyError::Store(error)),
        }
    }

    fn document(&self, target: &Target, machine: &Machine, keys: Vec<String>, learned: Learned) -> HostKey {
        HostKey {
            id: HostKey::id_of(&target.id, &machine.uid),
            target: target.id.clone(),
            machine: machine.name.clone(),
            keys,
            learned,
            at: self.clock.now(),
            by: None,
            refused: None,
            unknown: Unknown::new(),
        }
    }

    /// Notes the key, so that somebody can look at it and trust it.
    async fn refuse(&self, target: &Target, machine: &Machine, key: &str, first: bool) {
        tracing::warn!(
            resource_id = target.id.key(),
            machine = machine.name,
            first,
            "refused the host key of a machine"
        );
        if key.is_empty() || key.len() > MOST_KEY {
            return;
        }
        let refused = Some(RefusedKey { at: self.clock.now(), key: key.to_owned() });
        let id = HostKey::id_of(&target.id, &machine.uid);
        let noted = update(&self.keys, &id, |known: &mut HostKey| known.refused.clone_from(&refused)).await;
        let noted = match noted {
            Err(StoreError::Gone { .. }) => {
                let learned = if first { Learned::Person } else { Learned::Import };
                let keys = named_by_import(target, machine);
                let document = HostKey { refused, ..self.document(target, machine, keys, learned) };
                self.keys.create(document).await.map(drop)
            }
            noted => noted.map(drop),
        };
        if let Err(error) = noted {
            tracing::warn!(error = %chain(&error), "a refused host key could not be noted");
        }
    }

    async fn read(&self, target: &Arc<Target>, machine: &Machine) -> Result<Vec<String>, HostKeyError> {
        let unread = |why, cause| {
            let (machine, shown) = (machine.name.clone(), String::new());
            HostKeyError::Unread { machine, shown, why, cause }
        };
        let options = ClientOptions { user_agent: "aro-ssh".to_owned(), ..ClientOptions::default() };
        let client = client(self.dialer.clone(), Arc::clone(target), Identity::Admin, &options)
            .map_err(|error: ClientError| unread("the stored access cannot be used", Some(error.into())))?;
        let pods = rp_kube::pods_on(&client, DAEMON_NAMESPACE, DAEMON_LABELS, &machine.name).await;
        let pods =
            pods.map_err(|error: KubeError| unread("its pods cannot be listed", Some(error.into())))?;
        let pod = pods.first().ok_or_else(|| unread("its machine-config-daemon does not run", None))?;
        let what = Exec {
            namespace: DAEMON_NAMESPACE,
            pod: &pod.name,
            container: Some(DAEMON),
            command: &["/bin/sh", "-c", READ],
            most: MOST_OUTPUT,
            within: WITHIN,
        };
        let ran = rp_kube::exec(&client, what).await;
        let ran =
            ran.map_err(|error: ExecError| unread("the command could not be run", Some(error.into())))?;
        let keys = read_keys(&String::from_utf8_lossy(&ran.out));
        if keys.is_empty() { Err(unread("the answer holds no key", None)) } else { Ok(keys) }
    }
}

/// The public keys in lines `TYPE BASE64 [comment]`, each once, without their comments.
fn read_keys(text: &str) -> Vec<String> {
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

fn named_by_import(target: &Target, machine: &Machine) -> Vec<String> {
    let machines = target.ssh.as_ref().map(|ssh| ssh.machines.as_slice()).unwrap_or_default();
    let named = machines.iter().find(|each| each.name == machine.name);
    named.map(|each| each.host_keys.iter().filter_map(|line| normal(line)).collect()).unwrap_or_default()
}

fn signed_by<'a>(certificate: &Certificate, mut authorities: impl Iterator<Item = &'a str>) -> bool {
    authorities.any(|line| {
        PublicKey::from_openssh(line).is_ok_and(|key| key.key_data() == certificate.signature_key())
    })
}

/// Why a certificate of a trusted authority is not good for this machine (OpenSSH's PROTOCOL.certkeys).
fn unfit(certificate: &Certificate, machine: &Machine, now: Timestamp) -> Option<&'static str> {
    let authority = PublicKey::new(certificate.signature_key().clone(), "").fingerprint(HashAlg::Sha256);
    let address = match &machine.way {
        Way::Master(_) => None,
        Way::Through { address, .. } => Some(address),
        Way::Direct { host, .. } => Some(host),
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

#[cfg(test)]
mod tests;
