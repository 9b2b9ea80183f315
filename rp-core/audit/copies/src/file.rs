//! Lines into a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rp_base::{SharedClock, Timestamp, durable};

use crate::outlet::{DeliveryError, Line};

#[derive(Debug)]
pub(crate) struct FileOutlet {
    rules: Rules,
    clock: SharedClock,
    open: Option<OpenFile>,
}

#[derive(Debug, Clone)]
struct Rules {
    path: PathBuf,
    rotate: u64,
    keep: usize,
    sync: bool,
}

/// The file at hand, up to its last whole line.
#[derive(Debug)]
struct OpenFile {
    file: File,
    size: u64,
    inode: u64,
}

impl FileOutlet {
    pub(crate) const fn new(path: PathBuf, rotate: u64, keep: usize, sync: bool, clock: SharedClock) -> Self {
        Self { rules: Rules { path, rotate, keep, sync }, clock, open: None }
    }

    pub(crate) async fn send(&mut self, lines: &[Line]) -> Result<(), DeliveryError> {
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
        for line in lines {
            bytes.extend_from_slice(line.text.as_bytes());
            bytes.push(b'\n');
        }
        let (rules, open, now) = (self.rules.clone(), self.open.take(), self.clock.now());
        let work = move || write(&rules, open, &bytes, now);
        let outcome = match tokio::task::spawn_blocking(work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::Error::other("the writing thread ended")),
        };
        // After a failure the file is opened anew, which also takes torn lines off its end.
        self.open = Some(outcome.map_err(|error| DeliveryError::new(error_text(&self.rules.path, &error)))?);
        Ok(())
    }
}

fn error_text(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("no space for {}", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    }
}

/// Appends, beginning a new file before when this one would become too large.
fn write(rules: &Rules, open: Option<OpenFile>, bytes: &[u8], now: Timestamp) -> io::Result<OpenFile> {
    let mut open = match open.filter(|open| is_at(&rules.path, open.inode)) {
        Some(open) => open,
        // The first time, or somebody took the file away.
        None => OpenFile::at(&rules.path)?,
    };
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if open.size > 0 && open.size.saturating_add(length) > rules.rotate {
        open.file.sync_all()?;
        set_aside(rules, now)?;
        open = OpenFile::at(&rules.path)?;
    }
    let written =
        open.file.write_all(bytes).and_then(|()| if rules.sync { open.file.sync_data() } else { Ok(()) });
    if let Err(error) = written {
        // Half a line must not stand before the whole one that comes later.
        let _ = open.file.set_len(open.size);
        return Err(error);
    }
    open.size = open.size.saturating_add(length);
    Ok(open)
}

fn is_at(path: &Path, inode: u64) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.ino() == inode)
}

impl OpenFile {
    fn at(path: &Path) -> io::Result<Self> {
        let options = || {
            let mut options = OpenOptions::new();
            options.read(true).append(true).mode(0o600);
            options
        };
        let mut file = match options().create_new(true).open(path) {
            Ok(file) => {
                durable::sync_name(path)?;
                file
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options().open(path)?,
            Err(error) => return Err(error),
        };
        let size = whole_lines(&mut file)?;
        if size < file.metadata()?.len() {
            file.set_len(size)?;
        }
        let inode = file.metadata()?.ino();
        Ok(Self { file, size, inode })
    }
}

/// How long the file is up to the end of its last whole line.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = [0u8; 64 * 1024];
    while end > 0 {
        let length = end.min(piece.len() as u64);
        let piece = &mut piece[..usize::try_from(length).unwrap_or(0)];
        file.seek(SeekFrom::Start(end - length))?;
        file.read_exact(piece)?;
        if let Some(at) = memchr::memrchr(b'\n', piece) {
            return Ok(end - length + at as u64 + 1);
        }
        end -= length;
    }
    Ok(0)
}

/// Renames the file to one with the time in its name, and removes former ones beyond those to keep.
fn set_aside(rules: &Rules, now: Timestamp) -> io::Result<()> {
    let at = now.to_datetime();
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second, millis) = at.to_hms_milli();
    // Names sort by time.
    let stamp =
        format!("{year:04}{:02}{day:02}T{hour:02}{minute:02}{second:02}{millis:03}Z", u8::from(month));
    let mut aside = rules.path.with_added_extension(&stamp);
    let mut n = 1;
    while aside.exists() {
        aside = rules.path.with_added_extension(format!("{stamp}-{n:04}"));
        n += 1;
    }
    std::fs::rename(&rules.path, &aside)?;
    durable::sync_name(&rules.path)?;
    if rules.keep == 0 {
        return Ok(());
    }
    let mut former = former(&rules.path)?;
    former.sort();
    let spare = former.len().saturating_sub(rules.keep);
    former.iter().take(spare).try_for_each(std::fs::remove_file)
}

/// Files that were set aside, in any order.
fn former(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(durable::folder(path))? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(|other| {
            let stamp = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
            stamp.is_some_and(|stamp| stamp.starts_with(|c: char| c.is_ascii_digit()) && stamp.contains('Z'))
        });
        if ours {
            found.push(entry.path());
        }
    }
    Ok(found)
}
