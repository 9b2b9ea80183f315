//! `[recording]`: whether sessions are recorded, and where recordings stand.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use crate::check;
use crate::reader::Reader;
use crate::secret_file::SecretFile;

#[derive(Debug, Clone)]
pub struct Recording {
    /// `off`, `wanted` or `required`.
    pub policy: String,
    /// Keystrokes too.
    pub input: bool,
    /// How long recordings are kept.
    pub keep: Duration,
    /// `None`: there are none to be made or read.
    pub home: Option<RecordingStorage>,
}

/// Where recordings stand.
#[derive(Debug, Clone)]
pub enum RecordingStorage {
    /// A folder of this machine.
    Folder(PathBuf),
    /// Append blobs of a storage account.
    Blobs { url: Url, container: String, access: BlobCredential },
}

/// By what right blobs are written.
#[derive(Debug, Clone)]
pub enum BlobCredential {
    /// The identity of `[azure]`, in that tenant.
    Identity { tenant: String },
    /// A shared access signature.
    Sas(SecretFile),
}

pub(crate) fn recording(r: &mut Reader<'_>) -> Recording {
    let policy = r.word("recording.policy");
    let home = home(r);
    if policy != "off" && home.is_none() {
        let why = "needs a place for recordings: recording.folder or recording.blob_url";
        r.mistake("recording.policy", why);
    }
    Recording { policy, input: r.switch("recording.input"), keep: r.duration("recording.keep"), home }
}

fn home(r: &mut Reader<'_>) -> Option<RecordingStorage> {
    let (folder, url) = (r.file("recording.folder"), r.url("recording.blob_url"));
    let (container, tenant) = (r.text("recording.blob_container"), r.text("recording.blob_tenant"));
    let sas = r.secret("recording.blob_sas_file");
    if folder.is_some() && url.is_some() {
        r.mistake("recording.blob_url", "cannot stand beside recording.folder: recordings have one place");
    }
    let Some(url) = url else { return folder.map(RecordingStorage::Folder) };
    let access = match (sas, tenant) {
        (Some(file), _) => BlobCredential::Sas(file),
        (None, Some(tenant)) => BlobCredential::Identity { tenant },
        (None, None) => {
            let why = "is needed with recording.blob_url, unless there is a recording.blob_sas_file";
            check::missing_once(r, "recording.blob_tenant", why);
            return None;
        }
    };
    Some(RecordingStorage::Blobs { url, container: container.unwrap_or_default(), access })
}
