//! File trees of simulated containers and machines, in memory: what `kubectl cp`, shells and SFTP read and write.
//!
//! A tree is made when it is first asked for. Its content lasts as long as the process, or until other trees displace it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::Timestamp;

/// Trees that are kept; the one that was opened longest ago is dropped first.
const MOST_TREES: usize = 64;
/// Files and folders of a tree.
const MOST_ENTRIES: usize = 4096;
/// Bytes of a tree's files together.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// Bytes of a path.
const LONGEST_PATH: usize = 1024;

/// Why a file operation failed; the text is POSIX's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    #[error("No such file or directory")]
    NotFound,
    #[error("File exists")]
    Exists,
    #[error("Is a directory")]
    IsFolder,
    #[error("Not a directory")]
    NotFolder,
    #[error("Directory not empty")]
    NotEmpty,
    #[error("File name too long")]
    LongName,
    #[error("No space left on device")]
    Full,
    #[error("Operation not permitted")]
    Refused,
}

/// A file or a folder.
#[derive(Debug, Clone)]
pub(crate) struct FileEntry {
    /// `None`: a folder.
    pub content: Option<Vec<u8>>,
    /// Permission bits.
    pub mode: u32,
    pub changed: Timestamp,
}

impl FileEntry {
    const fn folder(now: Timestamp) -> Self {
        Self { content: None, mode: 0o755, changed: now }
    }

    pub(crate) const fn is_folder(&self) -> bool {
        self.content.is_none()
    }

    /// Bytes of a file; 0 of a folder.
    pub(crate) fn size(&self) -> usize {
        self.content.as_ref().map_or(0, Vec::len)
    }
}

/// The files of one container or machine, by absolute path without a trailing slash; the root is `/`.
#[derive(Debug)]
pub(crate) struct FileTree {
    entries: BTreeMap<String, FileEntry>,
    bytes: usize,
}

/// The absolute path that `path` means in `folder`: without `.`, `..` and empty parts.
pub(crate) fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { folder };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The folder that a path is in.
fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// What all paths below a folder begin with.
fn prefix(path: &str) -> String {
    if path == "/" { "/".to_owned() } else { format!("{path}/") }
}

impl FileTree {
    /// A new tree: the usual folders, the name of its host and a note that it is simulated.
    pub(crate) fn new(host: &str, now: Timestamp) -> Self {
        let mut tree = Self { entries: BTreeMap::new(), bytes: 0 };
        tree.entries.insert("/".to_owned(), FileEntry::folder(now));
        let folders =
            ["/bin", "/etc", "/proc", "/simulated", "/tmp", "/usr", "/var", "/var/home", "/var/home/core"];
        for folder in folders {
            tree.entries.insert(folder.to_owned(), FileEntry::folder(now));
        }
        for (path, text) in [
            ("/etc/hostname", format!("{host}\n")),
            ("/etc/os-release", "NAME=\"Simulated\"\nID=simulated\n".to_owned()),
            ("/simulated/README", "These files are simulated and are kept in memory.\n".to_owned()),
        ] {
            tree.bytes += text.len();
            let entry = FileEntry { content: Some(text.into_bytes()), mode: 0o644, changed: now };
            tree.entries.insert(path.to_owned(), entry);
        }
        tree
    }

    pub(crate) fn get(&self, path: &str) -> Result<&FileEntry, FileError> {
        self.entries.get(path).ok_or(FileError::NotFound)
    }

    /// The content of a file.
    pub(crate) fn read(&self, path: &str) -> Result<&[u8], FileError> {
        self.get(path)?.content.as_deref().ok_or(FileError::IsFolder)
    }

    /// Names and entries of a folder, in order of name.
    pub(crate) fn children<'a>(&'a self, folder: &str) -> impl Iterator<Item = (&'a str, &'a FileEntry)> {
        let prefix = prefix(folder);
        let entries = self.entries.range(prefix.clone()..);
        entries
            .map_while(move |(path, entry)| Some((path.strip_prefix(&prefix)?, entry)))
            .filter(|(name, _)| !name.is_empty() && !name.contains('/'))
    }

    /// A path and everything below it, in order.
    pub(crate) fn below(&self, path: &str) -> Vec<(&str, &FileEntry)> {
        let prefix = prefix(path);
        let all = self.entries.iter();
        all.filter(|(found, _)| *found == path || found.starts_with(&prefix))
            .map(|(found, entry)| (found.as_str(), entry))
            .collect()
    }

    /// Whether a new entry fits there.
    fn admit(&self, path: &str) -> Result<(), FileError> {
        if path.len() > LONGEST_PATH {
            return Err(FileError::LongName);
        }
        if self.entries.len() >= MOST_ENTRIES {
            return Err(FileError::Full);
        }
        match self.get(parent(path))?.is_folder() {
            true => Ok(()),
            false => Err(FileError::NotFolder),
        }
    }

    /// Creates or replaces a file.
    pub(crate) fn write(
        &mut self,
        path: &str,
        content: Vec<u8>,
        mode: u32,
        now: Timestamp,
    ) -> Result<(), FileError> {
        let before = match self.entries.get(path) {
            Some(entry) if entry.is_folder() => return Err(FileError::IsFolder),
            Some(entry) => entry.size(),
            None => {
                self.admit(path)?;
                0
            }
        };
        let bytes = self.bytes - before + content.len();
        if bytes > MOST_BYTES {
            return Err(FileError::Full);
        }
        self.bytes = bytes;
        let entry = FileEntry { content: Some(content), mode: mode & 0o777, changed: now };
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Writes into a file that exists, from an offset; a gap before it is filled with zeros.
    pub(crate) fn write_at(
        &mut self,
        path: &str,
        offset: usize,
        data: &[u8],
        now: Timestamp,
    ) -> Result<(), FileError> {
        let before = self.read(path)?.len();
        let end = offset.checked_add(data.len()).filter(|end| *end <= MOST_BYTES).ok_or(FileError::Full)?;
        let bytes = self.bytes - before + end.max(before);
        if bytes > MOST_BYTES {
            return Err(FileError::Full);
        }
        let entry = self.entries.get_mut(path).ok_or(FileError::NotFound)?;
        let content = entry.content.as_mut().ok_or(FileError::IsFolder)?;
        content.resize(end.max(before), 0);
        content[offset..end].copy_from_slice(data);
        entry.changed = now;
        self.bytes = bytes;
        Ok(())
    }

    /// Cuts a file, or fills it with zeros, to that length.
    pub(crate) fn resize(&mut self, path: &str, length: usize) -> Result<(), FileError> {
        let before = self.read(path)?.len();
        let bytes = (self.bytes - before).checked_add(length).filter(|bytes| *bytes <= MOST_BYTES);
        self.bytes = bytes.ok_or(FileError::Full)?;
        if let Some(content) = self.entries.get_mut(path).and_then(|entry| entry.content.as_mut()) {
            content.resize(length, 0);
        }
        Ok(())
    }

    pub(crate) fn set_mode(&mut self, path: &str, mode: u32) -> Result<(), FileError> {
        self.entries.get_mut(path).ok_or(FileError::NotFound)?.mode = mode & 0o777;
        Ok(())
    }

    pub(crate) fn make_folder(&mut self, path: &str, now: Timestamp) -> Result<(), FileError> {
        if self.entries.contains_key(path) {
            return Err(FileError::Exists);
        }
        self.admit(path)?;
        self.entries.insert(path.to_owned(), FileEntry::folder(now));
        Ok(())
    }

    /// A folder and those that it is in; it may exist.
    pub(crate) fn make_folders(&mut self, path: &str, now: Timestamp) -> Result<(), FileError> {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        for end in ends {
            match self.entries.get(&path[..end]) {
                Some(entry) if entry.is_folder() => {}
                Some(_) => return Err(FileError::NotFolder),
                None => self.make_folder(&path[..end], now)?,
            }
        }
        Ok(())
    }

    /// Removes a file, or a folder: an empty one, or with everything in it.
    pub(crate) fn remove(&mut self, path: &str, recursive: bool) -> Result<(), FileError> {
        self.get(path)?;
        if path == "/" {
            return Err(FileError::Refused);
        }
        let paths: Vec<String> = self.below(path).into_iter().map(|(path, _)| path.to_owned()).collect();
        if paths.len() > 1 && !recursive {
            return Err(FileError::NotEmpty);
        }
        for path in paths {
            if let Some(entry) = self.entries.remove(&path) {
                self.bytes -= entry.size();
            }
        }
        Ok(())
    }

    /// Moves a file or folder to a path where nothing is.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), FileError> {
        self.get(from)?;
        if from == "/" || to.starts_with(&prefix(from)) {
            return Err(FileError::Refused);
        }
        if self.entries.contains_key(to) {
            return Err(FileError::Exists);
        }
        match self.get(parent(to))?.is_folder() {
            true => {}
            false => return Err(FileError::NotFolder),
        }
        let paths: Vec<String> = self.below(from).into_iter().map(|(path, _)| path.to_owned()).collect();
        if paths.iter().any(|path| to.len() + path.len() - from.len() > LONGEST_PATH) {
            return Err(FileError::LongName);
        }
        for path in paths {
            if let Some(entry) = self.entries.remove(&path) {
                self.entries.insert(format!("{to}{}", &path[from.len()..]), entry);
            }
        }
        Ok(())
    }
}

/// A tree that sessions share.
pub(crate) type SharedFileTree = Arc<Mutex<FileTree>>;

/// The trees of a region.
#[derive(Debug, Default)]
pub(crate) struct FileTrees(Mutex<Vec<(String, SharedFileTree)>>);

impl FileTrees {
    /// The tree of that key, which names cluster and container or machine; a new one when there is none.
    pub(crate) fn open(&self, key: &str, host: &str, now: Timestamp) -> SharedFileTree {
        let mut trees = self.0.lock();
        let tree = match trees.iter().position(|(found, _)| found == key) {
            Some(at) => trees.remove(at).1,
            None => Arc::new(Mutex::new(FileTree::new(host, now))),
        };
        if trees.len() >= MOST_TREES {
            trees.remove(0);
        }
        trees.push((key.to_owned(), Arc::clone(&tree)));
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(0);

    #[test]
    fn paths_never_leave_the_root() {
        assert_eq!(resolve("/tmp", "../../etc/./x//y/.."), "/etc/x");
        assert_eq!(resolve("/tmp", "/"), "/");
        assert_eq!(resolve("/", "a"), "/a");
    }

    #[test]
    fn a_tree_is_bounded_in_bytes_and_entries() {
        let mut tree = FileTree::new("host", NOW);
        assert_eq!(tree.write("/tmp/big", vec![0; MOST_BYTES], 0o644, NOW), Err(FileError::Full));
        tree.write("/tmp/a", vec![1; 1000], 0o644, NOW).unwrap();
        assert_eq!(tree.write_at("/tmp/a", MOST_BYTES, &[1], NOW), Err(FileError::Full));
        assert_eq!(tree.write_at("/tmp/a", usize::MAX, &[1], NOW), Err(FileError::Full));
        let full = (0..MOST_ENTRIES).find_map(|n| tree.make_folder(&format!("/tmp/{n}"), NOW).err());
        assert_eq!(full, Some(FileError::Full));
    }

    #[test]
    fn folders_are_listed_moved_and_removed() {
        let mut tree = FileTree::new("host", NOW);
        tree.make_folders("/tmp/a/b", NOW).unwrap();
        tree.write("/tmp/a/b/c", b"text".to_vec(), 0o600, NOW).unwrap();
        assert_eq!(tree.remove("/tmp/a", false), Err(FileError::NotEmpty));
        tree.rename("/tmp/a", "/var/a").unwrap();
        assert_eq!(tree.read("/var/a/b/c"), Ok(b"text".as_slice()));
        assert_eq!(tree.children("/var/a").map(|(name, _)| name).collect::<Vec<_>>(), ["b"]);
        tree.remove("/var/a", true).unwrap();
        assert_eq!(tree.get("/var/a/b/c").err(), Some(FileError::NotFound));
    }

    #[test]
    fn the_same_key_gives_the_same_tree_and_old_trees_go() {
        let trees = FileTrees::default();
        let first = trees.open("0", "host", NOW);
        assert!(Arc::ptr_eq(&first, &trees.open("0", "host", NOW)));
        for number in 1..=MOST_TREES {
            trees.open(&number.to_string(), "host", NOW);
        }
        assert!(!Arc::ptr_eq(&first, &trees.open("0", "host", NOW)));
    }
}
