//! SFTP version 3 of simulated machines, over their file trees.

use std::collections::HashMap;

use rp_base::SharedClock;
use russh_sftp::protocol::{
    Attrs, Data, File, FileAttributes, FileMode, Handle, Name, OpenFlags, Status, StatusCode,
};
use russh_sftp::server::{Handler, StatusReply};

use super::shell::HOME;
use crate::files::{FileEntry, FileError, SharedFileTree, resolve};

/// Files and folders that a client has open.
const MOST_HANDLES: usize = 64;
/// Bytes of one answer.
const MOST_DATA: usize = 256 * 1024;
/// Names of one answer.
const MOST_NAMES: usize = 128;
/// The user `core`.
const USER: u32 = 1000;

/// What a handle stands for.
enum Opened {
    File {
        path: String,
        append: bool,
    },
    /// Names that were not sent yet.
    Folder(Vec<File>),
}

/// One SFTP session.
pub(super) struct SftpSession {
    files: SharedFileTree,
    clock: SharedClock,
    opened: HashMap<String, Opened>,
    next: u64,
}

fn code(error: FileError) -> StatusReply {
    let code = match error {
        FileError::NotFound => StatusCode::NoSuchFile,
        FileError::Refused => StatusCode::PermissionDenied,
        FileError::Exists
        | FileError::IsFolder
        | FileError::NotFolder
        | FileError::NotEmpty
        | FileError::LongName
        | FileError::Full => StatusCode::Failure,
    };
    code.with_message(error.to_string())
}

fn attributes(entry: &FileEntry) -> FileAttributes {
    let changed = u32::try_from(entry.changed.seconds()).unwrap_or(0);
    let kind = if entry.is_folder() { FileMode::DIR } else { FileMode::REG };
    FileAttributes {
        size: Some(entry.size() as u64),
        uid: Some(USER),
        gid: Some(USER),
        permissions: Some(entry.mode | kind.bits()),
        atime: Some(changed),
        mtime: Some(changed),
        ..FileAttributes::default()
    }
}

fn done(id: u32) -> Status {
    let (error_message, language_tag) = ("Ok".to_owned(), "en-US".to_owned());
    Status { id, status_code: StatusCode::Ok, error_message, language_tag }
}

impl SftpSession {
    pub(super) fn new(files: SharedFileTree, clock: SharedClock) -> Self {
        Self { files, clock, opened: HashMap::new(), next: 0 }
    }

    fn hold(&mut self, id: u32, opened: Opened) -> Result<Handle, StatusReply> {
        if self.opened.len() >= MOST_HANDLES {
            return Err(StatusCode::Failure.with_message("too many open files"));
        }
        self.next += 1;
        let handle = self.next.to_string();
        self.opened.insert(handle.clone(), opened);
        Ok(Handle { id, handle })
    }

    /// The path of an open file, and whether everything is written to its end.
    fn file(&self, handle: &str) -> Result<(&str, bool), StatusReply> {
        match self.opened.get(handle) {
            Some(Opened::File { path, append }) => Ok((path, *append)),
            _ => Err(StatusCode::Failure.with_message("no such handle")),
        }
    }

    fn attributes(&self, id: u32, path: &str) -> Result<Attrs, StatusReply> {
        let files = self.files.lock();
        files.get(path).map(|entry| Attrs { id, attrs: attributes(entry) }).map_err(code)
    }

    fn change(&self, id: u32, path: &str, wanted: &FileAttributes) -> Result<Status, StatusReply> {
        let mut files = self.files.lock();
        files.get(path).map_err(code)?;
        if let Some(size) = wanted.size {
            files.resize(path, usize::try_from(size).unwrap_or(usize::MAX)).map_err(code)?;
        }
        if let Some(mode) = wanted.permissions {
            files.set_mode(path, mode).map_err(code)?;
        }
        Ok(done(id))
    }

    fn begin(&self, path: &str, flags: OpenFlags, attrs: &FileAttributes) -> Result<(), FileError> {
        let mut files = self.files.lock();
        let now = self.clock.now();
        let mode = attrs.permissions.unwrap_or(0o644);
        let found = files.get(path).map(FileEntry::is_folder);
        match found {
            Ok(true) => Err(FileError::IsFolder),
            Ok(false) if flags.contains(OpenFlags::EXCLUDE) => Err(FileError::Exists),
            Ok(false) if flags.contains(OpenFlags::TRUNCATE) => files.resize(path, 0),
            Ok(false) => Ok(()),
            Err(_) if flags.contains(OpenFlags::CREATE) => files.write(path, Vec::new(), mode, now),
            Err(error) => Err(error),
        }
    }
}

impl Handler for SftpSession {
    type Error = StatusReply;

    fn unimplemented(&self) -> StatusReply {
        StatusCode::OpUnsupported.into()
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, StatusReply> {
        Ok(Name { id, files: vec![File::dummy(resolve(HOME, &path))] })
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusReply> {
        self.attributes(id, &resolve(HOME, &path))
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, StatusReply> {
        self.attributes(id, &resolve(HOME, &path))
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, StatusReply> {
        let (path, _) = self.file(&handle)?;
        self.attributes(id, path)
    }

    async fn setstat(&mut self, id: u32, path: String, attrs: FileAttributes) -> Result<Status, StatusReply> {
        self.change(id, &resolve(HOME, &path), &attrs)
    }

    async fn fsetstat(
        &mut self,
        id: u32,
        handle: String,
        attrs: FileAttributes,
    ) -> Result<Status, StatusReply> {
        let (path, _) = self.file(&handle)?;
        self.change(id, path, &attrs)
    }

    async fn open(
        &mut self,
        id: u32,
        filename: String,
        pflags: OpenFlags,
        attrs: FileAttributes,
    ) -> Result<Handle, StatusReply> {
        let path = resolve(HOME, &filename);
        self.begin(&path, pflags, &attrs).map_err(code)?;
        let append = pflags.contains(OpenFlags::APPEND);
        self.hold(id, Opened::File { path, append })
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusReply> {
        self.opened.remove(&handle);
        Ok(done(id))
    }

    async fn read(&mut self, id: u32, handle: String, offset: u64, len: u32) -> Result<Data, StatusReply> {
        let (path, _) = self.file(&handle)?;
        let files = self.files.lock();
        let content = files.read(path).map_err(code)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = content.get(start..).filter(|rest| !rest.is_empty());
        let rest = rest.ok_or_else(|| StatusReply::new(StatusCode::Eof))?;
        let length = usize::try_from(len).unwrap_or(MOST_DATA).min(MOST_DATA).min(rest.len());
        Ok(Data { id, data: rest[..length].to_vec() })
    }

    async fn write(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<Status, StatusReply> {
        let (path, append) = self.file(&handle)?;
        let mut files = self.files.lock();
        let end = files.get(path).map_err(code)?.size();
        let at = if append { end } else { usize::try_from(offset).unwrap_or(usize::MAX) };
        files.write_at(path, at, &data, self.clock.now()).map_err(code)?;
        Ok(done(id))
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, StatusReply> {
        let path = resolve(HOME, &path);
        let names = {
            let files = self.files.lock();
            let folder = files.get(&path).map_err(code)?;
            if !folder.is_folder() {
                return Err(code(FileError::NotFolder));
            }
            let own = [".", ".."].map(|name| File::new(name, attributes(folder)));
            let children = files.children(&path).map(|(name, entry)| File::new(name, attributes(entry)));
            own.into_iter().chain(children).collect()
        };
        self.hold(id, Opened::Folder(names))
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, StatusReply> {
        match self.opened.get_mut(&handle) {
            Some(Opened::Folder(names)) if names.is_empty() => Err(StatusCode::Eof.into()),
            Some(Opened::Folder(names)) => {
                let rest = names.split_off(names.len().min(MOST_NAMES));
                Ok(Name { id, files: std::mem::replace(names, rest) })
            }
            _ => Err(StatusCode::Failure.with_message("no such handle")),
        }
    }

    async fn remove(&mut self, id: u32, filename: String) -> Result<Status, StatusReply> {
        let path = resolve(HOME, &filename);
        let mut files = self.files.lock();
        if files.get(&path).map_err(code)?.is_folder() {
            return Err(code(FileError::IsFolder));
        }
        files.remove(&path, false).map_err(code)?;
        Ok(done(id))
    }

    async fn rmdir(&mut self, id: u32, path: String) -> Result<Status, StatusReply> {
        let path = resolve(HOME, &path);
        let mut files = self.files.lock();
        if !files.get(&path).map_err(code)?.is_folder() {
            return Err(code(FileError::NotFolder));
        }
        files.remove(&path, false).map_err(code)?;
        Ok(done(id))
    }

    async fn mkdir(&mut self, id: u32, path: String, _: FileAttributes) -> Result<Status, StatusReply> {
        let now = self.clock.now();
        self.files.lock().make_folder(&resolve(HOME, &path), now).map_err(code)?;
        Ok(done(id))
    }

    async fn rename(&mut self, id: u32, oldpath: String, newpath: String) -> Result<Status, StatusReply> {
        let (from, to) = (resolve(HOME, &oldpath), resolve(HOME, &newpath));
        self.files.lock().rename(&from, &to).map_err(code)?;
        Ok(done(id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use rp_base::{ManualClock, Timestamp};

    use super::*;
    use crate::files::FileTree;

    fn session() -> SftpSession {
        let now = Timestamp::from_seconds(1_795_000_000);
        SftpSession::new(Arc::new(Mutex::new(FileTree::new("host", now))), Arc::new(ManualClock::at(now)))
    }

    #[tokio::test]
    async fn a_file_is_written_listed_and_read() {
        let mut sftp = session();
        assert_eq!(sftp.realpath(1, ".".to_owned()).await.unwrap().files[0].filename, HOME);
        let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::TRUNCATE;
        let opened = sftp.open(2, "notes".to_owned(), flags, FileAttributes::default()).await.unwrap();
        sftp.write(3, opened.handle.clone(), 0, b"some text".to_vec()).await.unwrap();
        assert_eq!(sftp.fstat(4, opened.handle.clone()).await.unwrap().attrs.size, Some(9));
        let read = sftp.read(5, opened.handle.clone(), 5, 1000).await.unwrap();
        assert_eq!(read.data, b"text");
        assert_eq!(sftp.read(6, opened.handle, 9, 1).await.unwrap_err().status_code, StatusCode::Eof);
        let folder = sftp.opendir(7, HOME.to_owned()).await.unwrap();
        let names = sftp.readdir(8, folder.handle.clone()).await.unwrap();
        assert!(names.files.iter().any(|file| file.filename == "notes"));
        assert_eq!(sftp.readdir(9, folder.handle).await.unwrap_err().status_code, StatusCode::Eof);
    }

    #[tokio::test]
    async fn a_session_holds_few_files_and_none_beyond_the_bound() {
        let mut sftp = session();
        let flags = OpenFlags::WRITE | OpenFlags::CREATE;
        let mut last = None;
        for number in 0..=MOST_HANDLES {
            last = Some(sftp.open(1, format!("f{number}"), flags, FileAttributes::default()).await);
        }
        assert!(last.unwrap().is_err());
        assert!(sftp.write(2, "1".to_owned(), u64::MAX, vec![1]).await.is_err());
    }
}
