//! A PostgreSQL server for this test binary; one database for each test.

use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use rp_database::{PostgresOptions, PostgresStore};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, PgConnection};

const PASSWORD: &str = "only for tests";
const DEADLINE: Duration = Duration::from_secs(60);

/// A running server; ended when the last test that uses it is over, and when this process is killed.
pub(crate) struct Server {
    bin: PathBuf,
    /// `None` while it is stopped.
    running: Mutex<Option<Running>>,
    port: u16,
    /// Syncs before it answers.
    durable: bool,
    folder: tempfile::TempDir,
    databases: AtomicU32,
}

/// A process whose parent thread lives as long as it does: its death signal is tied to that thread.
struct Running {
    child: Child,
    _thread: mpsc::Sender<()>,
}

/// A database on a server.
pub(crate) struct Database {
    pub(crate) server: Arc<Server>,
    pub(crate) name: String,
}

/// An empty database on the server that the tests share.
pub(crate) async fn database() -> Database {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let server = {
        let mut shared = SHARED.lock();
        match shared.upgrade() {
            Some(server) => server,
            None => {
                let server = Arc::new(Server::start());
                *shared = Arc::downgrade(&server);
                server
            }
        }
    };
    server.database().await
}

fn part(name: &str) -> PathBuf {
    let folder = std::env::var_os("ARO_PARTS_DIR")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache/aro-parts")))
        .expect("HOME is not set");
    let file = folder.join("parts.json");
    let text = std::fs::read(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; install the parts: make parts", file.display()));
    let parts: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let path = parts[name].as_str().unwrap_or_else(|| panic!("no part {name}; install it: make parts"));
    assert!(Path::new(path).exists(), "part {name} is gone from {path}; install it: make parts");
    path.into()
}

/// The server refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"]).arg(program);
    command
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Server {
    /// A server of one's own.
    pub(crate) fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), false)
    }

    /// A server that syncs before it answers, on a disk where there is one that its user can reach.
    pub(crate) fn start_durable() -> Self {
        let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let open = |folder: &Path| folder.metadata().unwrap().permissions().mode() & 0o001 != 0;
        let place = if built.ancestors().all(open) { built } else { Path::new("/var/tmp") };
        Self::start_in(tempfile::tempdir_in(place).unwrap(), true)
    }

    fn start_in(folder: tempfile::TempDir, durable: bool) -> Self {
        let bin = part("postgres-bin");
        let secret = folder.path().join("password");
        std::fs::write(&secret, PASSWORD).unwrap();
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            run(Command::new("chown").arg("-R").arg("postgres:postgres").arg(folder.path()));
        }
        let mut initdb = as_postgres(&bin.join("initdb"));
        initdb.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"]);
        run(initdb.arg("--pwfile").arg(&secret).arg("-D").arg(folder.path().join("data")));
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let running = Mutex::new(None);
        let server = Self { bin, running, port, durable, folder, databases: AtomicU32::new(0) };
        server.go();
        server
    }

    /// Starts it where it was stopped.
    pub(crate) fn go(&self) {
        let data = self.folder.path().join("data");
        let log = std::fs::File::options().create(true).append(true).open(self.log()).unwrap();
        let mut command = as_postgres(&self.bin.join("postgres"));
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command.arg("-k").arg(self.folder.path());
        let sync = if self.durable { "on" } else { "off" };
        command.args(["-c", &format!("fsync={sync}"), "-c", &format!("full_page_writes={sync}")]);
        command.args(["-c", "max_connections=300", "-c", "shared_buffers=32MB"]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        let (started, start) = mpsc::channel();
        let (thread, ended) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            started.send(command.spawn()).unwrap();
            let _ = ended.recv();
        });
        let child = start.recv().unwrap().unwrap();
        *self.running.lock() = Some(Running { child, _thread: thread });
    }

    /// Stops it as a crash does: nothing is finished.
    pub(crate) fn stop(&self) {
        let mut pg_ctl = as_postgres(&self.bin.join("pg_ctl"));
        run(pg_ctl.args(["stop", "-m", "immediate", "-D"]).arg(self.folder.path().join("data")));
        if let Some(mut running) = self.running.lock().take() {
            running.child.wait().unwrap();
        }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A connection beside the stores, as soon as the server takes one.
    pub(crate) async fn connect(&self, database: &str) -> PgConnection {
        let options = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username("postgres")
            .password(PASSWORD)
            .database(database);
        let patience = async {
            loop {
                match options.connect().await {
                    Ok(connection) => return connection,
                    Err(error) => {
                        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
                        let alive = self.running.lock().as_mut().is_some_and(|running| {
                            running.child.try_wait().is_ok_and(|status| status.is_none())
                        });
                        assert!(alive, "the server has ended ({error}): {log}");
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            }
        };
        tokio::time::timeout(DEADLINE, patience).await.expect("the server does not answer")
    }

    pub(crate) async fn database(self: &Arc<Self>) -> Database {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let database = Database { server: Arc::clone(self), name };
        database.create("UTF8").await;
        database
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.lock().take() {
            // Its own processes see that it is gone and end.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Database {
    pub(crate) async fn create(&self, encoding: &str) {
        let sql = format!("CREATE DATABASE {} TEMPLATE template0 ENCODING '{encoding}'", self.name);
        let mut admin = self.server.connect("postgres").await;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }

    pub(crate) fn url(&self, port: u16) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!("postgres://postgres:{password}@127.0.0.1:{port}/{}", self.name)
    }

    /// Few connections, no sweeper.
    pub(crate) fn options(&self) -> PostgresOptions {
        let mut options = PostgresOptions::from_url(&self.url(self.server.port)).unwrap();
        options.max_connections = 6;
        options.sweep_every = None;
        options
    }

    pub(crate) async fn store(&self) -> PostgresStore {
        PostgresStore::connect(self.options()).await.unwrap()
    }

    pub(crate) async fn sql(&self) -> PgConnection {
        self.server.connect(&self.name).await
    }
}
