//! The key file: JSON `{"current": "k2", "keys": {"k1": "<base64 of 32 bytes>", …}}`, mode 0600.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Digest, Random, Secret, sha256};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::SealError;
use crate::envelope::is_key_id;
use crate::keyring::Keys;

/// A keyring of a thousand keys is far smaller; more is not our file.
const MOST: u64 = 256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    current: String,
    keys: BTreeMap<String, Secret<String>>,
}

#[derive(Serialize)]
struct Written<'a> {
    current: &'a str,
    keys: BTreeMap<&'a str, &'a str>,
}

/// Reads and checks the file.
pub(crate) fn read(path: &Path) -> Result<(Keys, Digest), SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let file = File::open(path).map_err(failed("open it"))?;
    // The open file is asked, not the path: nobody can swap it in between.
    let about = file.metadata().map_err(failed("look at it"))?;
    if !about.is_file() {
        return Err(form(path, "it is not a regular file"));
    }
    let mode = about.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SealError::Open { path: path.to_owned(), mode });
    }
    if about.len() > MOST {
        return Err(form(path, "it is too large"));
    }
    // Room for all of it at once, so that no part of it stays behind in memory when a buffer grows.
    let room = usize::try_from(about.len()).unwrap_or(0).saturating_add(1);
    let mut text = Zeroizing::new(Vec::with_capacity(room));
    file.take(MOST).read_to_end(&mut text).map_err(failed("read it"))?;
    let keys = parse(&text).map_err(|what| form(path, what))?;
    Ok((keys, sha256(&text)))
}

fn parse(text: &[u8]) -> Result<Keys, &'static str> {
    let read: Read = serde_json::from_slice(text)
        .map_err(|_| r#"it is not JSON of the form {"current": ID, "keys": {ID: BASE64}}"#)?;
    let mut keys = BTreeMap::new();
    for (id, encoded) in read.keys {
        if !is_key_id(&id) {
            return Err("a key id must be 1 to 32 lower-case letters, digits and dashes");
        }
        let bytes = Zeroizing::new(STANDARD.decode(encoded.expose()).map_err(|_| "a key is not base64")?);
        let key: [u8; 32] = bytes.as_slice().try_into().map_err(|_| "a key is not 32 bytes long")?;
        keys.insert(id, Secret::new(key));
    }
    Keys::new(read.current, keys).ok_or("its current key is not among its keys")
}

/// Writes a new file with one fresh key. `Ok(false)`: somebody else made it first, read theirs.
pub(crate) fn create(path: &Path, random: &dyn Random) -> Result<bool, SealError> {
    let failed = |what| move |cause| SealError::File { path: path.to_owned(), what, cause };
    let keys = Keys::generate(random);
    let mut encoded = Secret::new(STANDARD.encode(keys.current().1));
    let text = written(&keys.current, encoded.expose());
    encoded = Secret::new(String::new());
    drop(encoded);
    let text = Zeroizing::new(text.map_err(|cause| failed("write it")(cause.into()))?);

    let mut suffix = [0u8; 8];
    random.fill(&mut suffix);
    let temporary = path.with_added_extension(format!("{:016x}.new", u64::from_le_bytes(suffix)));
    let outcome = write_synced(&temporary, &text).and_then(|()| link_new(&temporary, path));
    // Gone already, or never there: nothing to do about it.
    let _ = fs::remove_file(&temporary);
    let made = outcome.map_err(failed("create it"))?;
    sync_folder(path).map_err(failed("make it durable"))?;
    Ok(made)
}

fn written(id: &str, key: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::with_capacity(256);
    serde_json::to_writer(&mut text, &Written { current: id, keys: BTreeMap::from([(id, key)]) })?;
    text.push(b'\n');
    Ok(text)
}

fn write_synced(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// A hard link, unlike a rename, never replaces a key file that another process made meanwhile:
/// its keys would be lost and with them what was sealed.
fn link_new(from: &Path, to: &Path) -> io::Result<bool> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn form(path: &Path, what: &'static str) -> SealError {
    SealError::Form { path: path.to_owned(), what }
}
