//! `[recording]`: whether sessions are recorded, and where recordings stand.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::check::missing_once;
use rp_settings::{
    Reader, SecretFile, Section, duration, optional_file, optional_text, secret, section, switch, text, url,
    word, words,
};
use url::Url;

section! {
    /// Recordings of shells, exec and terminals.
    "recording" pub struct RecordingRules {
        /// Whether shells, exec, attach and terminals are recorded: `wanted` goes on without when it cannot, `required`
        /// refuses or cuts.
        policy: RecordingPolicy = word("off"),
        /// Keystrokes are recorded too, also those that are not shown, such as passwords.
        input: bool = switch(false),
        /// Recordings are removed so long after their begin.
        keep: Duration = duration("400d"),
    }
}

section! {
    /// Where recordings stand.
    "recording" pub(crate) struct StorageSettings {
        /// A folder of this machine for recordings, for a single replica; made with mode 0700.
        folder: Option<PathBuf> = optional_file(),
        /// The blob endpoint of a storage account for recordings, for any number of replicas.
        blob_url: Option<Url> = url(),
        /// The container; made when there is none.
        blob_container: String = text("recordings"),
        /// The tenant in which the identity of `[azure]` writes blobs.
        blob_tenant: Option<String> = optional_text(),
        /// A file with a shared access signature, in the place of the identity of `[azure]`.
        blob_sas_file: Option<SecretFile> = secret(),
    }
}

words! {
    /// Whether sessions are recorded.
    pub enum RecordingPolicy {
        Off = "off",
        /// Sessions go on without when they cannot be.
        Wanted = "wanted",
        /// Sessions are refused or cut then.
        Required = "required",
    }
}

pub(crate) const SECTION: Section = &[RecordingRules::GROUP, StorageSettings::GROUP];

#[derive(Debug, Clone)]
pub struct Recording {
    pub rules: RecordingRules,
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

pub(crate) fn read(r: &mut Reader) -> Recording {
    let (rules, storage) = (RecordingRules::read(r), StorageSettings::read(r));
    let home = home(r, storage);
    if rules.policy != RecordingPolicy::Off && home.is_none() {
        let why = "needs a place for recordings: recording.folder or recording.blob_url";
        r.mistake("recording.policy", why);
    }
    Recording { rules, home }
}

/// A folder or blobs; blobs need a right to write them.
fn home(r: &mut Reader, settings: StorageSettings) -> Option<RecordingStorage> {
    let StorageSettings { folder, blob_url, blob_container: container, blob_tenant, blob_sas_file } =
        settings;
    if folder.is_some() && blob_url.is_some() {
        r.mistake("recording.blob_url", "cannot stand beside recording.folder: recordings have one place");
    }
    let Some(url) = blob_url else { return folder.map(RecordingStorage::Folder) };
    let access = match (blob_sas_file, blob_tenant) {
        (Some(file), _) => BlobCredential::Sas(file),
        (None, Some(tenant)) => BlobCredential::Identity { tenant },
        (None, None) => {
            let why = "is needed with recording.blob_url, unless there is a recording.blob_sas_file";
            missing_once(r, "recording.blob_tenant", why);
            return None;
        }
    };
    Some(RecordingStorage::Blobs { url, container, access })
}
