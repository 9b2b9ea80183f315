//! Files that are read again when they change: certificates, keys, the keyring (`contract/rules.md` §2
//! "TLS").

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::Lifecycle;

/// Between two checks of the files.
pub const WATCH_PERIOD: Duration = Duration::from_secs(10);

/// Metadata of a file; links are followed, because mounted secrets are replaced by changing a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    size: u64,
    inode: u64,
}

impl FileState {
    fn from_metadata(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self { modified: metadata.modified().ok(), size: metadata.len(), inode: metadata.ino() }
    }
}

/// Files as they were when they were read. Create it before reading them, so that no change is missed.
#[derive(Debug)]
pub struct Watch {
    files: Vec<PathBuf>,
    /// `None`: the file was not there.
    used: Vec<Option<FileState>>,
}

impl Watch {
    /// Remembers the files as they are now.
    pub fn new(files: Vec<PathBuf>) -> Self {
        let used = files
            .iter()
            .map(|file| std::fs::metadata(file).ok().as_ref().map(FileState::from_metadata))
            .collect();
        Self { files, used }
    }

    /// Looks every `period` until the process stops, and calls `reload` once they have changed and two looks
    /// in a row agree that all of them are there: a certificate without its new key is not read. Needs a
    /// Tokio runtime.
    pub fn call(mut self, life: &Lifecycle, period: Duration, reload: impl Fn() + Send + 'static) {
        let stop = life.stopping();
        tokio::spawn(async move {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut before = self.used.clone();
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = stop.cancelled() => return,
                }
                let now = read_states(&self.files).await;
                if now != self.used && now == before && now.iter().all(Option::is_some) {
                    self.used.clone_from(&now);
                    reload();
                }
                before = now;
            }
        });
    }
}

async fn read_states(files: &[PathBuf]) -> Vec<Option<FileState>> {
    let mut states = Vec::with_capacity(files.len());
    for file in files {
        states.push(tokio::fs::metadata(file).await.ok().as_ref().map(FileState::from_metadata));
    }
    states
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(60);

    fn files(folder: &Path) -> Vec<PathBuf> {
        let files = vec![folder.join("tls.pem"), folder.join("tls.key")];
        files.iter().for_each(|file| fs::write(file, "old").unwrap());
        files
    }

    /// Puts a file in place as tools for certificates do.
    fn replace(file: &Path, text: &str) {
        let new = file.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, file).unwrap();
    }

    /// What the files held at each reload.
    fn watched(files: &[PathBuf], life: &Lifecycle) -> UnboundedReceiver<String> {
        let (told, reloads) = unbounded_channel();
        let read = files.to_vec();
        Watch::new(files.to_vec()).call(life, SOON, move || {
            let text: Vec<_> = read.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
            told.send(text.join(",")).unwrap();
        });
        reloads
    }

    /// The first reload that saw `wanted`: a slow machine may look between two writes.
    async fn until(reloads: &mut UnboundedReceiver<String>, wanted: &str) {
        let seen = async { while reloads.recv().await.expect("still watching") != wanted {} };
        timeout(LONG, seen).await.expect(wanted);
    }

    #[tokio::test]
    async fn a_file_that_is_replaced_rewritten_or_linked_anew_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let life = Lifecycle::new();
        let mut reloads = watched(&files, &life);
        replace(&files[0], "new");
        until(&mut reloads, "new,old").await;
        fs::write(&files[1], "newer").unwrap();
        until(&mut reloads, "new,newer").await;
        // As Kubernetes mounts secrets: a link to the folder of the day.
        let link = folder.path().join("new-link");
        fs::write(folder.path().join("third"), "third").unwrap();
        std::os::unix::fs::symlink("third", &link).unwrap();
        fs::rename(&link, &files[0]).unwrap();
        until(&mut reloads, "third,newer").await;
    }

    #[tokio::test]
    async fn nothing_is_read_while_a_file_is_missing_or_after_the_stop() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let life = Lifecycle::new();
        let mut reloads = watched(&files, &life);
        fs::remove_file(&files[1]).unwrap();
        replace(&files[0], "new");
        // Reading would panic in the callback, which ends the watch, and with it this channel.
        replace(&files[1], "key");
        until(&mut reloads, "new,key").await;
        life.stop();
        assert_eq!(timeout(LONG, reloads.recv()).await.expect("the watch ends"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn unchanged_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let life = Lifecycle::new();
        let mut reloads = watched(&files, &life);
        assert!(timeout(SOON * 20, reloads.recv()).await.is_err());
    }

    #[tokio::test]
    async fn what_changed_between_the_first_look_and_the_watch_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let watch = Watch::new(files.clone());
        replace(&files[0], "early");
        let (told, mut reloads) = unbounded_channel();
        watch.call(&Lifecycle::new(), SOON, move || told.send(()).unwrap());
        timeout(LONG, reloads.recv()).await.unwrap().unwrap();
    }
}
