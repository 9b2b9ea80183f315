//! Host keys of machines, pinned for each machine by its UID (`contract/portal.md` "Do better" 21).
//!
//! A key that is not known yet is read on the machine itself, by the cluster's authenticated API: exec in the node's
//! machine-config-daemon pod. An imported cluster names the keys, or an administrator trusts what was shown first. A replaced
//! machine has another UID and is learned anew; another key on the same machine is refused until an administrator trusts it.

mod error;
mod lines;

use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, chain};
use rp_database::{SharedStore, StoreError, Typed, update};
use rp_documents::host_key::{HostKeySource, RefusedKey};
use rp_documents::{HostKey, ResourceId, Unknown};
use rp_kube::connect::{ClientError, ClientOptions, Identity, client};
use rp_kube::{ExecError, ExecRequest, KubeError};
use rp_net::{Dialer, Source, Target};
use russh::keys::{Algorithm, PublicKey, PublicKeyOrCertificate};

use super::keys::plain;
use super::machines::Machine;
pub use error::{HostKeyError, TrustError};
use lines::{AUTHORITY, MOST_KEY, named_by_import, read_keys, signed_by, unfit};
pub use lines::{fingerprint, fingerprint_of, normal};

const DAEMON_NAMESPACE: &str = "openshift-machine-config-operator";
const DAEMON_LABELS: &str = "k8s-app=machine-config-daemon";
const DAEMON: &str = "machine-config-daemon";
const READ: &str = "cat /rootfs/etc/ssh/ssh_host_*_key.pub";
/// Longest output of the command.
const MOST_OUTPUT: usize = 64 * 1024;
const WITHIN: Duration = Duration::from_secs(20);
/// What was learned by the API is read there again after so long; so the store forgets machines that are gone.
const KEPT: Duration = Duration::from_secs(90 * 24 * 3600);

/// What is pinned for a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownKeys {
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

    /// The pinned keys, read from the machine first where that is possible. An error counts as no keys: the check that
    /// follows reports it.
    pub async fn known(&self, target: &Arc<Target>, machine: &Machine) -> KnownKeys {
        let pinned = match self.pinned(target, machine).await {
            Ok(Some(pinned)) => pinned.keys,
            Ok(None) => Vec::new(),
            Err(error) => {
                tracing::debug!(error = %chain(&error), "host keys are not known beforehand");
                Vec::new()
            }
        };
        let mut known = KnownKeys::default();
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
                    known.learned = HostKeySource::Person;
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

    /// The pinned keys; those of an ARO cluster's machine are learned if unknown. A person's choice overrides an import.
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
                return Ok(Some(self.document(target, machine, keys, HostKeySource::Import)));
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
        let document = self.document(target, machine, keys, HostKeySource::Cluster);
        let until = Some(self.clock.now() + KEPT);
        match self.keys.create_until(document.clone(), until).await {
            Ok(_) => Ok(Some(document)),
            // Another replica stored a key first; that one counts.
            Err(StoreError::Exists { .. }) => {
                let there = self.keys.get(&id).await.map_err(HostKeyError::Store)?.map(|found| found.value);
                Ok(there.filter(|known| !known.keys.is_empty()).or(Some(document)))
            }
            Err(error) => Err(HostKeyError::Store(error)),
        }
    }

    fn document(
        &self,
        target: &Target,
        machine: &Machine,
        keys: Vec<String>,
        learned: HostKeySource,
    ) -> HostKey {
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

    /// Stores the refused key, so that an administrator can inspect and trust it.
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
                let learned = if first { HostKeySource::Person } else { HostKeySource::Import };
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
        let what = ExecRequest {
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

#[cfg(test)]
mod tests;
