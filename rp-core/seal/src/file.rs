//! The key file: JSON `{"current": "k2", "keys": {"k1": "<base64 of 32 bytes>", …}}`, mode 0600; beside them perhaps
//! `"legacy": {"v1": ["<base64 of 32 bytes>", …], "v2": ["<base64 of 64 bytes>", …]}`.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Digest, Random, Secret, durable, sha256};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::SealError;
use crate::envelope::is_key_id;
use crate::keyring::Keys;
use crate::legacy::LegacyKeys;

/// A keyring of a thousand keys is far smaller; more is not our file.
const MOST: u64 = 256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileContent {
    current: String,
    keys: BTreeMap<String, Secret<String>>,
    legacy: Option<LegacyKeyLists<Secret<String>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LegacyKeyLists<T> {
    #[serde(default = "Vec::new")]
    v1: Vec<T>,
    #[serde(default = "Vec::new")]
    v2: Vec<T>,
}

#[derive(Serialize)]
struct KeyFileContentRef<'a> {
    current: &'a str,
    keys: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    legacy: Option<LegacyKeyLists<&'a str>>,
}

/// Whether only the process that a key file is for can read it: its owner, or, when the file is root's, one group that
/// root has put the process into. The second form is what the kubelet makes of a Secret for a process that is not root
/// (owner root, the pod's group, mode 0440), where no other owner can be had.
pub fn is_private(metadata: &Metadata) -> bool {
    private_mode(metadata.mode(), metadata.uid())
}

const fn private_mode(mode: u32, owner: u32) -> bool {
    mode & 0o077 == 0 || (owner == 0 && mode & 0o037 == 0)
}

/// Reads and checks the file.
pub(crate) fn read(path: &Path) -> Result<(Keys, Digest), SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let file = File::open(path).map_err(failed("open it"))?;
    // The metadata is read from the open file, not from the path, so that it cannot be swapped in between.
    let metadata = file.metadata().map_err(failed("look at it"))?;
    if !metadata.is_file() {
        return Err(malformed(path, "it is not a regular file"));
    }
    if !is_private(&metadata) {
        return Err(SealError::Open { path: path.to_owned(), mode: metadata.mode() & 0o777 });
    }
    if metadata.len() > MOST {
        return Err(malformed(path, "it is too large"));
    }
    // Room for all of it at once, so that no part of it stays behind in memory when a buffer grows.
    let room = usize::try_from(metadata.len()).unwrap_or(0).saturating_add(1);
    let mut text = Zeroizing::new(Vec::with_capacity(room));
    file.take(MOST).read_to_end(&mut text).map_err(failed("read it"))?;
    let keys = parse(&text).map_err(|what| malformed(path, what))?;
    Ok((keys, sha256(&text)))
}

fn parse(text: &[u8]) -> Result<Keys, &'static str> {
    let read: KeyFileContent = serde_json::from_slice(text)
        .map_err(|_| r#"it is not JSON of the form {"current": ID, "keys": {ID: BASE64}}"#)?;
    let mut keys = BTreeMap::new();
    for (id, encoded) in read.keys {
        if !is_key_id(&id) {
            return Err("a key id must be 1 to 32 lower-case letters, digits and dashes");
        }
        keys.insert(id, decode_key(&encoded, "a key is not 32 bytes long")?);
    }
    let legacy = read.legacy.unwrap_or(LegacyKeyLists { v1: Vec::new(), v2: Vec::new() });
    let v1 = legacy.v1.iter().map(|key| decode_key(key, "a legacy v1 key is not 32 bytes long"));
    let v2 = legacy.v2.iter().map(|key| decode_key(key, "a legacy v2 key is not 64 bytes long"));
    let legacy = LegacyKeys { v1: v1.collect::<Result<_, _>>()?, v2: v2.collect::<Result<_, _>>()? };
    Keys::new(read.current, keys, legacy).ok_or("its current key is not among its keys")
}

fn decode_key<const N: usize>(
    encoded: &Secret<String>,
    length: &'static str,
) -> Result<Secret<[u8; N]>, &'static str> {
    let bytes = Zeroizing::new(STANDARD.decode(encoded.expose()).map_err(|_| "a key is not base64")?);
    Ok(Secret::new(bytes.as_slice().try_into().map_err(|_| length)?))
}

/// Writes a new file with one fresh key. `Ok(false)`: somebody else made it first, read theirs: were it replaced, its
/// keys would be lost and with them what was sealed.
pub(crate) fn create(path: &Path, random: &dyn Random) -> Result<bool, SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let text = serialize(&Keys::generate(random)).map_err(|cause| failed("write it")(cause.into()))?;
    durable::create(path, &text, 0o600, random).map_err(failed("create it"))
}

/// Atomically replaces the keys in the file with the changed ones. The caller holds the lock.
pub(crate) fn replace(path: &Path, keys: &Keys, random: &dyn Random) -> Result<(), SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let text = serialize(keys).map_err(|cause| failed("write it")(cause.into()))?;
    durable::replace(path, &text, 0o600, random).map_err(failed("replace it"))
}

/// Locks the file for changes. The lock is held until it is dropped.
pub(crate) fn lock(path: &Path) -> Result<File, SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let place = path.with_added_extension("lock");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options.open(place).map_err(failed("open its lock"))?;
    lock.lock().map_err(failed("lock it"))?;
    Ok(lock)
}

fn serialize(keys: &Keys) -> Result<Zeroizing<Vec<u8>>, serde_json::Error> {
    let encoded = |bytes: &[u8]| Zeroizing::new(STANDARD.encode(bytes));
    let held: Vec<_> = keys.all().map(|(id, key)| (id, encoded(key))).collect();
    let v1: Vec<_> = keys.legacy.v1.iter().map(|key| encoded(key.expose())).collect();
    let v2: Vec<_> = keys.legacy.v2.iter().map(|key| encoded(key.expose())).collect();
    let legacy = LegacyKeyLists {
        v1: v1.iter().map(|key| key.as_str()).collect(),
        v2: v2.iter().map(|key| key.as_str()).collect(),
    };
    let written = KeyFileContentRef {
        current: &keys.current,
        keys: held.iter().map(|(id, key)| (*id, key.as_str())).collect(),
        legacy: (!keys.legacy.is_empty()).then_some(legacy),
    };
    // Room for all of it at once, as above.
    let mut text = Zeroizing::new(Vec::with_capacity(256 + 128 * (held.len() + v1.len() + v2.len())));
    serde_json::to_writer(&mut *text, &written)?;
    text.push(b'\n');
    Ok(text)
}

fn malformed(path: &Path, what: &'static str) -> SealError {
    SealError::Form { path: path.to_owned(), what }
}

#[cfg(test)]
mod tests {
    use super::private_mode;

    #[test]
    fn a_key_file_is_its_owners_or_roots_for_one_group() {
        for (mode, owner) in [(0o600, 1000), (0o400, 1000), (0o600, 0), (0o440, 0), (0o640, 0)] {
            assert!(private_mode(0o100_000 | mode, owner), "{mode:o} of {owner}");
        }
        for (mode, owner) in [(0o640, 1000), (0o440, 1000), (0o444, 0), (0o604, 0), (0o460, 0), (0o450, 0)] {
            assert!(!private_mode(0o100_000 | mode, owner), "{mode:o} of {owner}");
        }
    }
}
