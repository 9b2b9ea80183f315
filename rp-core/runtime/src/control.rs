//! The control socket: commands of an operator of this machine to a running process, such as a backup. A Unix socket of
//! mode 0600; the peer must also be the process's own user or root, according to the kernel
//! (`docs/decisions/0007-control-socket.md`).

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rp_base::chain;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at once.
const CONNECTIONS: usize = 16;
/// For the head of a request, and idle between two.
const HEAD: Duration = Duration::from_secs(30);
/// Longest body: a few names.
const BODY: usize = 64 * 1024;

/// Who is at the other end; an [`Extension`] of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    pub pid: Option<i32>,
}

/// The socket could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("the control socket {path} is in use by another process")]
    InUse { path: PathBuf },
    #[error("{path} is there and is no socket: not replaced")]
    NoSocket { path: PathBuf },
    #[error("cannot listen on the control socket {path}")]
    Listen {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// Opens the socket and serves until `cut` is cancelled. A socket that a killed process left is replaced.
///
/// # Errors
/// [`ControlError`] names the path.
pub fn serve(path: &Path, routes: Router, cut: CancellationToken) -> Result<(), ControlError> {
    let failed = |cause| ControlError::Listen { path: path.to_owned(), cause };
    remove_stale(path)?;
    let listener = UnixListener::bind(path).map_err(failed)?;
    // Between these two lines others could connect: the look at the peer refuses them.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let own = fs::metadata("/proc/self").map_err(failed)?.uid();
    let made = fs::metadata(path).map_err(failed)?.ino();
    let routes = routes.layer(axum::extract::DefaultBodyLimit::max(BODY));
    let path = path.to_owned();
    tokio::spawn(async move {
        tokio::select! {
            () = accept(listener, routes, own) => {}
            () = cut.cancelled() => {}
        }
        // Not a successor's.
        if fs::metadata(&path).is_ok_and(|found| found.ino() == made) {
            let _ = fs::remove_file(&path);
        }
    });
    Ok(())
}

fn remove_stale(path: &Path) -> Result<(), ControlError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ControlError::NoSocket { path: path.to_owned() });
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(ControlError::InUse { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(|cause| ControlError::Listen { path: path.to_owned(), cause })
}

async fn accept(listener: UnixListener, routes: Router, own: u32) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(peer) = admitted(&stream, own) else { continue };
                let routes = routes.clone().layer(Extension(peer));
                tokio::spawn(async move {
                    connection(stream, routes).await;
                    drop(permit);
                });
            }
            // Too many open files, mostly: others must close some first.
            Err(error) => {
                tracing::warn!(error = %chain(&error), "control connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn admitted(stream: &UnixStream, own: u32) -> Option<Peer> {
    let found = stream.peer_cred().ok()?;
    let peer = Peer { uid: found.uid(), pid: found.pid() };
    if peer.uid == own || peer.uid == 0 {
        return Some(peer);
    }
    tracing::warn!(uid = peer.uid, "another user was refused at the control socket");
    None
}

async fn connection(stream: UnixStream, routes: Router) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(routes);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "control connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    async fn ask(path: &Path) -> io::Result<String> {
        let mut stream = UnixStream::connect(path).await?;
        stream.write_all(b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    fn routes() -> Router {
        Router::new()
            .route("/who", get(|Extension(peer): Extension<Peer>| async move { format!("uid={}", peer.uid) }))
    }

    #[tokio::test]
    async fn answers_its_own_user_and_cleans_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let (cut, own) = (CancellationToken::new(), fs::metadata("/proc/self").unwrap().uid());
        serve(&path, routes(), cut.clone()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let answer = ask(&path).await.unwrap();
        assert!(answer.ends_with(&format!("uid={own}")), "{answer}");
        assert!(matches!(serve(&path, routes(), cut.clone()), Err(ControlError::InUse { .. })));
        cut.cancel();
        let gone = async {
            while path.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, gone).await.expect("the socket stays");
    }

    #[tokio::test]
    async fn what_a_killed_process_left_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (path, file) = (folder.path().join("control"), folder.path().join("file"));
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        serve(&path, routes(), CancellationToken::new()).unwrap();
        ask(&path).await.unwrap();
        fs::write(&file, "precious").unwrap();
        let refused = serve(&file, routes(), CancellationToken::new());
        assert!(matches!(refused, Err(ControlError::NoSocket { .. })));
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    #[tokio::test]
    async fn another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let listener = UnixListener::bind(&path).unwrap();
        let (client, accepted) = tokio::join!(UnixStream::connect(&path), listener.accept());
        let (stream, _) = accepted.unwrap();
        let uid = fs::metadata("/proc/self").unwrap().uid();
        assert_eq!(admitted(&stream, uid).map(|peer| peer.uid), Some(uid));
        // Root may always.
        assert_eq!(admitted(&stream, uid + 1).is_some(), uid == 0);
        drop(client);
    }
}
