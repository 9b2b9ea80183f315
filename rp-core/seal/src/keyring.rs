//! Keys by id: the current one seals, every one opens.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use aws_lc_rs::hkdf;
use parking_lot::Mutex;
use rp_base::{Digest, Random, Secret};
use rp_documents::Sealed;

use crate::envelope::{self, Envelope};
use crate::legacy::{LegacyKeys, SealVersion};
use crate::{SealError, file};

/// How often an unknown key id may cause a reload: invalid input must not cause disk load.
const LEAST_BETWEEN_RELOADS: Duration = Duration::from_secs(1);

/// The keys of a process. Cheap to clone; clones share reloads.
#[derive(Clone)]
pub struct Keyring(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    keys: ArcSwap<Keys>,
    pub(crate) file: Option<KeyFile>,
}

pub(crate) struct KeyFile {
    pub(crate) path: PathBuf,
    read: Mutex<LastRead>,
}

struct LastRead {
    digest: Digest,
    at: Instant,
}

/// One state of the key file.
pub(crate) struct Keys {
    pub(crate) current: String,
    pub(crate) keys: BTreeMap<String, Secret<[u8; 32]>>,
    pub(crate) legacy: LegacyKeys,
}

impl Keys {
    /// `None` when the current key is not among the keys.
    pub(crate) fn new(
        current: String,
        keys: BTreeMap<String, Secret<[u8; 32]>>,
        legacy: LegacyKeys,
    ) -> Option<Self> {
        keys.contains_key(&current).then_some(Self { current, keys, legacy })
    }

    /// One fresh key named `k1`.
    pub(crate) fn generate(random: &dyn Random) -> Self {
        let current = "k1".to_owned();
        let keys = BTreeMap::from([(current.clone(), fresh(random))]);
        Self { current, keys, legacy: LegacyKeys::default() }
    }

    /// Every key with its id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &[u8; 32])> {
        self.keys.iter().map(|(id, key)| (id.as_str(), key.expose()))
    }

    /// An id that comes after all of the form `k1`, `k2`, ….
    pub(crate) fn next_id(&self) -> String {
        let numbers = self.keys.keys().filter_map(|id| id.strip_prefix('k')?.parse::<u32>().ok());
        format!("k{}", numbers.max().unwrap_or(0).saturating_add(1))
    }

    /// The sealing key.
    pub(crate) fn current(&self) -> (&str, &[u8; 32]) {
        // `new` has checked that it exists.
        (&self.current, self.keys[&self.current].expose())
    }
}

pub(crate) fn fresh(random: &dyn Random) -> Secret<[u8; 32]> {
    let mut key = [0u8; 32];
    random.fill(&mut key);
    let secret = Secret::new(key);
    zeroize::Zeroize::zeroize(&mut key);
    secret
}

/// The ids of a keyring's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyIds {
    /// Seals.
    pub current: String,
    /// Open, in the order of their names; the current one is among them.
    pub all: Vec<String>,
}

/// A key made from one of the keyring's keys for one purpose.
#[derive(Debug, Clone)]
pub struct DerivedKey {
    /// The key it was derived from.
    pub key_id: String,
    pub bytes: Secret<[u8; 32]>,
}

impl Keyring {
    /// One fresh key, in memory only: what it sealed is lost with the process.
    pub fn generate(random: &dyn Random) -> Self {
        Self(Arc::new(Inner { keys: ArcSwap::from_pointee(Keys::generate(random)), file: None }))
    }

    /// Reads a key file: JSON `{"current": "k2", "keys": {"k1": "<base64 of 32 bytes>", …}}`.
    ///
    /// # Errors
    /// The file cannot be read, is open to others than its owner, or has another form.
    pub fn open_file(path: &Path) -> Result<Self, SealError> {
        let (keys, digest) = file::read(path)?;
        let read = Mutex::new(LastRead { digest, at: Instant::now() });
        let file = Some(KeyFile { path: path.to_owned(), read });
        Ok(Self(Arc::new(Inner { keys: ArcSwap::from_pointee(keys), file })))
    }

    /// Reads the key file; creates one atomically (mode 0600) when there is none.
    /// Processes that start together agree on one file.
    ///
    /// # Errors
    /// As [`Keyring::open_file`], and when the file cannot be made.
    pub fn open_or_create(path: &Path, random: &dyn Random) -> Result<Self, SealError> {
        match Self::open_file(path) {
            Err(SealError::File { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                file::create(path, random)?;
                Self::open_file(path)
            }
            opened => opened,
        }
    }

    /// Reads the file again; gives whether it changed. When it cannot be read, the keys stay as they are.
    /// A keyring without a file never changes.
    ///
    /// # Errors
    /// As [`Keyring::open_file`].
    pub fn reload(&self) -> Result<bool, SealError> {
        let Some(file) = &self.0.file else { return Ok(false) };
        self.reload_locked(file, &mut file.read.lock())
    }

    fn reload_locked(&self, file: &KeyFile, last: &mut LastRead) -> Result<bool, SealError> {
        last.at = Instant::now();
        let (keys, digest) = file::read(&file.path)?;
        if digest == last.digest {
            return Ok(false);
        }
        tracing::info!(current = %keys.current, keys = keys.keys.len(), "key file changed");
        last.digest = digest;
        self.0.keys.store(Arc::new(keys));
        Ok(true)
    }

    /// The ids of its keys.
    pub fn ids(&self) -> KeyIds {
        let keys = self.0.keys.load();
        KeyIds { current: keys.current.clone(), all: keys.keys.keys().cloned().collect() }
    }

    /// The key that a sealed text names; `None` for the contract's older forms, which name none, and for other text.
    pub fn key_of(text: &str) -> Option<&str> {
        Envelope::parse(text).ok().map(|envelope| envelope.key_id)
    }

    /// Opens a value of any form and says which: ours for its place, or, when the file has legacy keys, one of the
    /// contract's two older forms, which know no place.
    ///
    /// # Errors
    /// As [`Keyring::open`].
    pub fn open_any(&self, sealed: &Sealed, aad: &str) -> Result<(Secret<Vec<u8>>, SealVersion), SealError> {
        // The older forms are base64, which has no dot.
        if sealed.0.contains('.') {
            return self.open(sealed, aad).map(|plain| (plain, SealVersion::V3));
        }
        let keys = self.0.keys.load();
        if keys.legacy.is_empty() { Err(SealError::Unopenable) } else { keys.legacy.open(&sealed.0) }
    }

    /// Seals with the current key and a random nonce. `aad` names the value's place: `Collection/id/field`.
    ///
    /// # Errors
    /// [`SealError::Unsealable`]: the value is too large for the cipher.
    pub fn seal(&self, plain: &[u8], aad: &str) -> Result<Sealed, SealError> {
        let keys = self.0.keys.load();
        let (id, key) = keys.current();
        envelope::seal(id, key, plain, aad)
    }

    /// Opens what was sealed with any of the keys for the same place. An unknown key id makes it read the
    /// file again, at most once a second. A value of one of the contract's older forms opens when the file has legacy
    /// keys: see [`Keyring::open_any`].
    ///
    /// # Errors
    /// [`SealError::UnknownKey`], or [`SealError::Unopenable`] for damage and another place alike.
    pub fn open(&self, sealed: &Sealed, aad: &str) -> Result<Secret<Vec<u8>>, SealError> {
        if !sealed.0.contains('.') {
            return self.open_any(sealed, aad).map(|(plain, _)| plain);
        }
        let envelope = Envelope::parse(&sealed.0)?;
        if let Some(key) = self.0.keys.load().keys.get(envelope.key_id) {
            return envelope.open(key.expose(), aad);
        }
        self.look_again();
        match self.0.keys.load().keys.get(envelope.key_id) {
            Some(key) => envelope.open(key.expose(), aad),
            None => Err(SealError::UnknownKey(envelope.key_id.to_owned())),
        }
    }

    fn look_again(&self) {
        let Some(file) = &self.0.file else { return };
        // After waiting for the lock, the file may have just been read by another thread.
        let mut last = file.read.lock();
        if last.at.elapsed() < LEAST_BETWEEN_RELOADS {
            return;
        }
        if let Err(error) = self.reload_locked(file, &mut last) {
            tracing::warn!(error = %rp_base::chain(&error), "key file cannot be read again");
        }
    }

    /// Keys for another purpose (MACs, cookies), by HKDF-SHA256 (RFC 5869) from every key, the current one
    /// first. The same purpose gives the same keys; keys of different purposes tell nothing of each other.
    pub fn derive(&self, purpose: &str) -> Vec<DerivedKey> {
        let keys = self.0.keys.load();
        let (current, key) = keys.current();
        let others = keys.keys.iter().rev().filter(|(id, _)| *id != current);
        std::iter::once((current, key))
            .chain(others.map(|(id, key)| (id.as_str(), key.expose())))
            .filter_map(|(id, key)| {
                let bytes = expand(key, purpose)?;
                Some(DerivedKey { key_id: id.to_owned(), bytes })
            })
            .collect()
    }
}

/// `None` never happens: 32 bytes are within what HKDF gives.
fn expand(key: &[u8; 32], purpose: &str) -> Option<Secret<[u8; 32]>> {
    let mut out = [0u8; 32];
    let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"aro keyring");
    salt.extract(key).expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256).ok()?.fill(&mut out).ok()?;
    let bytes = Secret::new(out);
    zeroize::Zeroize::zeroize(&mut out);
    Some(bytes)
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.0.keys.load();
        f.debug_struct("Keyring").field("current", &keys.current).finish_non_exhaustive()
    }
}
