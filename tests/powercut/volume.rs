//! A model of a volume: its files, and which part of them is certainly on the disk.
//!
//! The rules are those of POSIX read strictly: `fsync` and `fdatasync` of a file make its content and length durable and
//! nothing else; a name, its removal and a rename are durable after an `fsync` of the folder. What was not synced may be
//! on the disk, wholly, in part or not at all.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result, ensure};

use crate::content::Content;
use crate::dice::Dice;
use crate::steps::Step;

/// Names with what they name.
type Names = BTreeMap<String, Node>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    /// Its place among the files.
    File(usize),
}

/// A change of names that is not on the disk for certain.
#[derive(Debug, Clone)]
enum NameChange {
    Put(String, Node),
    Take(String),
    Move { from: String, to: String, node: Node },
}

/// What a disk holds: folders (`None`) and files with their contents, by path.
pub(crate) type FolderState = BTreeMap<String, Option<Vec<u8>>>;

#[derive(Debug, Default)]
pub(crate) struct Volume {
    files: Vec<Content>,
    /// The kernel's number of each file. It may be given again when a file is gone.
    numbers: HashMap<u64, usize>,
    now: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

impl Volume {
    /// With folders that have been there for long.
    pub(crate) fn with(folders: &[&str]) -> Self {
        let names: Names = folders.iter().map(|folder| ((*folder).to_owned(), Node::Folder)).collect();
        Self { now: names.clone(), durable: names, ..Self::default() }
    }

    pub(crate) fn apply(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Create { file, path } => {
                self.files.push(Content::default());
                let place = self.files.len() - 1;
                self.numbers.insert(*file, place);
                self.name(NameChange::Put(path.clone(), Node::File(place)));
            }
            Step::Write { file, at, data } => self.file(*file)?.write(*at, data),
            Step::Length { file, length } => self.file(*file)?.resize(*length),
            Step::Sync { file } => self.file(*file)?.sync(),
            Step::SyncFolder { path } => self.sync_folder(path),
            Step::Rename { from, to } => {
                let node = self.node(from)?;
                ensure!(node != Node::Folder, "a folder is renamed, which the model does not know: {from}");
                self.name(NameChange::Move { from: from.clone(), to: to.clone(), node });
            }
            Step::Link { from, to } => {
                let node = self.node(from)?;
                self.name(NameChange::Put(to.clone(), node));
            }
            Step::MakeFolder { path } => self.name(NameChange::Put(path.clone(), Node::Folder)),
            Step::Unlink { path } | Step::RemoveFolder { path } => {
                self.node(path)?;
                self.name(NameChange::Take(path.clone()));
            }
            Step::Mark(_) => {}
        }
        Ok(())
    }

    /// Only what was synced.
    pub(crate) fn strict(&self) -> FolderState {
        self.picture(&self.durable, Content::durable)
    }

    /// Everything, in the order in which it was done.
    pub(crate) fn ordered(&self) -> FolderState {
        self.picture(&self.now, Content::now)
    }

    /// What was synced and, by chance, some of the rest: sectors, lengths, names.
    pub(crate) fn torn(&self, dice: &mut Dice) -> FolderState {
        let mut names = self.durable.clone();
        // A journal keeps the order of names, other file systems do not.
        let first = if dice.hits(50) { dice.below(self.pending.len() + 1) } else { self.pending.len() };
        let percent = if first < self.pending.len() { 100 } else { 50 };
        for naming in &self.pending[..first] {
            if dice.hits(percent) {
                rename(&mut names, naming);
            }
        }
        self.picture(&names, |content| content.torn(dice))
    }

    fn picture(&self, names: &Names, mut content: impl FnMut(&Content) -> Vec<u8>) -> FolderState {
        let mut contents: HashMap<usize, Vec<u8>> = HashMap::new();
        let mut picture = FolderState::new();
        for (path, node) in names {
            let above = parent(path);
            // A name in a folder that is not on the disk cannot be found.
            if !above.is_empty() && !matches!(picture.get(above), Some(None)) {
                continue;
            }
            let found = match node {
                Node::Folder => None,
                Node::File(place) => {
                    let made = || content(&self.files[*place]);
                    Some(contents.entry(*place).or_insert_with(made).clone())
                }
            };
            picture.insert(path.clone(), found);
        }
        picture
    }

    fn file(&mut self, number: u64) -> Result<&mut Content> {
        let place = self.numbers.get(&number).context("a file that was not made here")?;
        self.files.get_mut(*place).context("no such file")
    }

    fn node(&self, path: &str) -> Result<Node> {
        self.now.get(path).copied().with_context(|| format!("there is no {path}"))
    }

    fn name(&mut self, naming: NameChange) {
        rename(&mut self.now, &naming);
        self.pending.push(naming);
    }

    fn sync_folder(&mut self, folder: &str) {
        self.durable.retain(|path, _| parent(path) != folder || self.now.contains_key(path));
        for (path, node) in self.now.iter().filter(|(path, _)| parent(path) == folder) {
            self.durable.insert(path.clone(), *node);
        }
        let pending = std::mem::take(&mut self.pending);
        self.pending = pending.into_iter().filter_map(|naming| unsynced_part(naming, folder)).collect();
    }
}

/// The part of a change that is not durable yet after a sync of that folder.
fn unsynced_part(naming: NameChange, folder: &str) -> Option<NameChange> {
    let is_synced = |path: &str| parent(path) == folder;
    match naming {
        NameChange::Put(path, _) | NameChange::Take(path) if is_synced(&path) => None,
        NameChange::Move { from, to, node } => match (is_synced(&from), is_synced(&to)) {
            (true, true) => None,
            (true, false) => Some(NameChange::Put(to, node)),
            (false, true) => Some(NameChange::Take(from)),
            (false, false) => Some(NameChange::Move { from, to, node }),
        },
        other => Some(other),
    }
}

fn rename(names: &mut Names, naming: &NameChange) {
    match naming {
        NameChange::Put(path, node) => {
            names.insert(path.clone(), *node);
        }
        NameChange::Take(path) => {
            names.remove(path);
        }
        NameChange::Move { from, to, node } => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
    }
}

/// The folder that holds a name; "" is the recorded folder itself.
fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTOR: usize = crate::content::SECTOR;

    fn after(steps: &[Step]) -> Volume {
        let mut volume = Volume::default();
        steps.iter().for_each(|step| volume.apply(step).unwrap());
        volume
    }

    fn path(name: &str) -> String {
        name.to_owned()
    }

    fn file(content: &[u8]) -> Option<Vec<u8>> {
        Some(content.to_vec())
    }

    /// A file that is written, synced, and renamed over another that was there for long.
    fn replaced() -> Vec<Step> {
        vec![
            Step::Create { file: 1, path: path("a") },
            Step::Write { file: 1, at: 0, data: b"old".to_vec() },
            Step::Sync { file: 1 },
            Step::SyncFolder { path: path("") },
            Step::Create { file: 2, path: path("b") },
            Step::Write { file: 2, at: 0, data: b"new".to_vec() },
            Step::Sync { file: 2 },
            Step::Rename { from: path("b"), to: path("a") },
            Step::SyncFolder { path: path("") },
        ]
    }

    #[test]
    fn a_rename_holds_after_a_sync_of_its_folder() {
        let steps = replaced();
        let old = FolderState::from([(path("a"), file(b"old"))]);
        let new = FolderState::from([(path("a"), file(b"new"))]);
        assert_eq!(after(&steps[..8]).strict(), old);
        assert_eq!(after(&steps[..8]).ordered(), new);
        assert_eq!(after(&steps).strict(), new);
        let seen: Vec<FolderState> = (0..50).map(|seed| after(&steps[..8]).torn(&mut Dice(seed))).collect();
        assert!(seen.contains(&old) && seen.contains(&new), "both may be");
    }

    #[test]
    fn a_name_without_its_synced_content_is_an_empty_file() {
        let mut steps = replaced();
        steps.remove(6);
        assert_eq!(after(&steps).strict(), FolderState::from([(path("a"), file(b""))]));
    }

    #[test]
    fn what_is_in_a_folder_that_was_not_synced_cannot_be_found() {
        let mut steps = vec![
            Step::MakeFolder { path: path("f") },
            Step::Create { file: 1, path: path("f/a") },
            Step::Sync { file: 1 },
            Step::SyncFolder { path: path("f") },
        ];
        assert_eq!(after(&steps).strict(), FolderState::new());
        steps.push(Step::SyncFolder { path: path("") });
        assert_eq!(after(&steps).strict(), FolderState::from([(path("f"), None), (path("f/a"), file(b""))]));
    }

    #[test]
    fn a_write_that_was_not_synced_may_come_in_sectors() {
        let steps = [
            Step::Create { file: 1, path: path("a") },
            Step::SyncFolder { path: path("") },
            Step::Write { file: 1, at: 0, data: vec![1; SECTOR] },
            Step::Sync { file: 1 },
            Step::Write { file: 1, at: 0, data: vec![2; 3 * SECTOR] },
        ];
        let volume = after(&steps);
        assert_eq!(volume.strict()["a"], file(&[1; SECTOR]));
        assert_eq!(volume.ordered()["a"], file(&[2; 3 * SECTOR]));
        let is_whole = |sector: &[u8]| sector.iter().all(|byte| *byte == sector[0]);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let content = volume.torn(&mut Dice(seed)).remove("a").unwrap().unwrap();
            assert!(content.chunks(SECTOR).all(is_whole), "a sector is torn");
            seen.insert(content);
        }
        let hole = [vec![1; SECTOR], vec![0; SECTOR], vec![2; SECTOR]].concat();
        assert!(seen.contains(&hole) && seen.len() > 5, "{} states", seen.len());
    }
}
