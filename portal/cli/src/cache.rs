//! The token that kubectl was given last, one file a grant, so that most calls need no network.
//!
//! `grants/ID.json` is replaced atomically, so every reader finds a complete file; `grants/ID.lock` is held
//! while a new one is fetched, so that many kubectl at once fetch one. The kernel lets a dead holder's lock go.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rp_base::{Clock as _, Secret, SystemClock, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::profile::{DEFAULT, Profile};
use crate::{CliError, files, platform, progress};

/// A token with less left than this is renewed, or than half of a shorter life.
const LEAST_LEFT: Duration = Duration::from_secs(120);
/// How often to check whether another process has released the lock.
const LOOK: Duration = Duration::from_millis(20);
/// Longer than a sign-in takes, which the holder may be busy with.
const PATIENCE: Duration = Duration::from_secs(400);
/// Leftovers of killed processes and of ended grants are older than this.
const STALE: Duration = Duration::from_secs(7 * 24 * 3600);

/// A token of a grant, as the portal gave it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Cached {
    pub(crate) token: Secret<String>,
    pub(crate) not_after: Timestamp,
    pub(crate) taken: Timestamp,
}

impl Cached {
    fn is_fresh(&self, now: Timestamp) -> bool {
        let life = self.not_after.since(self.taken);
        // A clock that was set back makes no old token new.
        now >= self.taken && self.not_after.since(now) > LEAST_LEFT.min(life / 2)
    }

    /// What kubectl expects (client.authentication.k8s.io/v1, ExecCredential).
    pub(crate) fn exec_credential(&self) -> Secret<String> {
        let status = json!({
            "token": self.token.expose(),
            // kubectl wants whole seconds; it asks again when they are over.
            "expirationTimestamp": Timestamp::from_seconds(self.not_after.seconds()),
        });
        let credential = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": status,
        });
        Secret::new(format!("{credential}\n"))
    }
}

/// The place of one grant's token.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    grant: String,
}

/// Held while a token is fetched.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
    /// Whether another process held it before.
    pub(crate) waited: bool,
}

impl Cache {
    pub(crate) fn for_grant(profile: &Profile, grant: &str) -> Result<Self, CliError> {
        let sound = !grant.is_empty()
            && grant.len() <= 100
            && grant.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !sound {
            return Err(CliError::Usage("that is not a grant's id".to_owned()));
        }
        Ok(Self { folder: profile.grants(), grant: grant.to_owned() })
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.grant))
    }

    /// The token that can still be used; a damaged file counts as no token.
    ///
    /// # Errors
    /// Others can read the file, or it cannot be read.
    pub(crate) fn fresh(&self) -> Result<Option<Cached>, CliError> {
        let Some(text) = files::read_private(&self.path("json"))? else { return Ok(None) };
        let cached: Option<Cached> = serde_json::from_str(text.expose()).ok();
        Ok(cached.filter(|cached| cached.is_fresh(SystemClock.now())))
    }

    /// Waits for its turn, not forever.
    pub(crate) async fn lock(&self, profile: &Profile) -> Result<Lock, CliError> {
        profile.make(&self.folder)?;
        let path = self.path("lock");
        let failed = |cause| CliError::File { path: path.clone(), cause };
        let file = platform::private_file().create(true).truncate(false).open(&path);
        let file = file.map_err(failed)?;
        let turn = async {
            let mut waited = false;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(waited),
                    Err(TryLockError::WouldBlock) => waited = true,
                    Err(TryLockError::Error(cause)) => return Err(failed(cause)),
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let busy = CliError::Busy { path: path.clone() };
        let turn = tokio::time::timeout(PATIENCE, turn);
        let turn = progress::shown("waiting for another aro, which renews the token", turn);
        let waited = turn.await.map_err(|_| busy)??;
        Ok(Lock { _file: file, waited })
    }

    /// Keeps a token; the lock is held.
    pub(crate) fn keep(&self, _lock: &Lock, cached: &Cached) -> Result<(), CliError> {
        self.sweep();
        let text = json!({
            "token": cached.token.expose(), "not_after": cached.not_after, "taken": cached.taken,
        });
        let text = Secret::new(text.to_string());
        files::write_private(&self.path("json"), text.expose())
    }

    /// Forgets the token.
    pub(crate) fn forget(&self) {
        // If it cannot be removed, the token expires within minutes anyway.
        let _ = std::fs::remove_file(self.path("json"));
    }

    /// Half-written files of this grant, for its lock is held, and what is long over.
    fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let half_written = format!("{}.json.", self.grant);
        for entry in entries.flatten().take(10_000) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_old = || is_older(&entry.path(), STALE);
            if (name.starts_with(&half_written) && name.ends_with(".tmp")) || is_old() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = std::fs::metadata(path).and_then(|found| found.modified());
    modified.ok().and_then(|at| at.elapsed().ok()).is_some_and(|old| old > age)
}

/// Answers `aro credential …` when a good token lies ready, before anything else is started; `None` when
/// the whole way must be gone. `arguments` begin with the program's name.
pub fn cached_credential(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let arguments: Vec<String> =
        arguments.skip(1).map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    let (verb, rest) = arguments.split_first()?;
    if verb != "credential" {
        return None;
    }
    let (mut grant, mut name, mut config) = (None, DEFAULT, None);
    let mut pairs = rest.chunks_exact(2);
    for pair in pairs.by_ref() {
        match (pair[0].as_str(), pair[1].as_str()) {
            ("--grant", value) => grant = Some(value),
            ("--profile", value) => name = value,
            ("--config-dir", value) => config = Some(Path::new(value)),
            ("--portal" | "--token-file" | "--ca-file", _) => {}
            _ => return None,
        }
    }
    if !pairs.remainder().is_empty() {
        return None;
    }
    let profile = Profile::named(config, Some(name)).ok()?;
    let cached = Cache::for_grant(&profile, grant?).ok()?.fresh().ok()??;
    let text = cached.exec_credential();
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.expose().as_bytes()).and_then(|()| out.flush());
    Some(if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(taken: i64, not_after: i64) -> Cached {
        Cached {
            token: Secret::new("t".to_owned()),
            taken: Timestamp::from_seconds(taken),
            not_after: Timestamp::from_seconds(not_after),
        }
    }

    #[test]
    fn a_token_is_fresh_until_two_minutes_before_its_end() {
        let at = Timestamp::from_seconds;
        assert!(cached(0, 900).is_fresh(at(0)) && cached(0, 900).is_fresh(at(779)));
        assert!(!cached(0, 900).is_fresh(at(780)) && !cached(0, 900).is_fresh(at(901)));
        // A grant near its end gives short tokens; they are used, or every call would fetch one.
        assert!(cached(0, 60).is_fresh(at(29)) && !cached(0, 60).is_fresh(at(30)));
        assert!(!cached(100, 1000).is_fresh(at(99)), "the clock was set back");
    }

    #[test]
    fn is_written_as_kubectl_reads_it() {
        let text = cached(0, 900).exec_credential();
        let value: serde_json::Value = serde_json::from_str(text.expose()).unwrap();
        assert_eq!(value["status"]["expirationTimestamp"], "1970-01-01T00:15:00Z");
        assert_eq!(value["kind"], "ExecCredential");
    }

    #[tokio::test]
    async fn keeps_one_good_token_and_sweeps_what_was_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let profile = Profile::named(Some(folder.path()), None).unwrap();
        let cache = Cache::for_grant(&profile, "g-1").unwrap();
        assert!(cache.fresh().unwrap().is_none());
        let now = SystemClock.now();
        let lock = cache.lock(&profile).await.unwrap();
        assert!(!lock.waited);
        std::fs::write(profile.grants().join("g-1.json.abc.tmp"), "{\"tok").unwrap();
        std::fs::write(profile.grants().join("g-2.json.abc.tmp"), "{\"tok").unwrap();
        let good = Cached { taken: now, not_after: now + Duration::from_secs(900), ..cached(0, 0) };
        cache.keep(&lock, &good).unwrap();
        assert_eq!(cache.fresh().unwrap().unwrap().not_after, good.not_after);
        assert_eq!(std::fs::read_dir(profile.grants()).unwrap().count(), 3, "g-2's is not ours to sweep");

        let held = cache.lock(&profile);
        assert!(tokio::time::timeout(Duration::from_millis(50), held).await.is_err(), "one at a time");
        drop(lock);
        cache.lock(&profile).await.unwrap();
        std::fs::write(profile.grants().join("g-1.json"), "{").unwrap();
        assert!(cache.fresh().unwrap().is_none(), "half a file is none");
        cache.forget();
        assert!(cache.fresh().unwrap().is_none());
        for bad in ["", "../x", "a b"] {
            assert!(Cache::for_grant(&profile, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_plain_call_is_answered_early() {
        let call = |line: &str| cached_credential(line.split(' ').map(OsString::from));
        assert!(call("aro whoami").is_none());
        assert!(call("aro credential --help").is_none());
        assert!(call("aro credential --grant g-1 --config-dir /nonexistent").is_none());
        assert!(call("aro credential --grant=g-1").is_none());
    }
}
