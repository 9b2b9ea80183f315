//! Upgrades that their clients abort, very many: memory and descriptors come back.

mod cluster;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use rp_net::tls::client_config;
use rustls::pki_types::ServerName;
use tests_kit::until;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::environment::{ClusterAccess, Environment, SOCKET};
use crate::part::{Part, Role};
use crate::report::{Report, number, progress};
use crate::samples::{descriptors, open, resident};

use self::cluster::UpgradingCluster;

/// Clients at once.
const AT_ONCE: usize = 64;
/// Before the first measurement, so that pools and caches are as large as they get.
const WARM: u64 = 5_000;
/// For one handshake.
const ANSWER: Duration = Duration::from_secs(60);
/// For the last of them to be noticed.
const ALL_LEFT: Duration = Duration::from_secs(300);
/// Looks at the memory afterwards, and the time between them: the allocator returns pages within seconds.
const LOOKS: u32 = 12;
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// What may remain of all of them in a process.
const MEMORY_LEFT: f64 = 24.0;
const DESCRIPTORS_LEFT: f64 = 24.0;

/// How far a client goes before it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Half of the request's head.
    HalfHead,
    /// The head, without waiting for its answer.
    Head,
    /// The answer, which is a 101.
    Answer,
    /// Half of a frame after it.
    HalfFrame,
}

/// What one client does; every combination comes equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Abort {
    spdy: bool,
    stage: Stage,
    /// Ends the connection politely; else by a reset.
    polite: bool,
}

impl Abort {
    const fn numbered(number: u64) -> Self {
        let stage = match number / 2 % 4 {
            0 => Stage::HalfHead,
            1 => Stage::Head,
            2 => Stage::Answer,
            _ => Stage::HalfFrame,
        };
        // Few are polite: their ports wait a minute each, and there are only so many.
        Self { spdy: number.is_multiple_of(2), stage, polite: (number / 8).is_multiple_of(8) }
    }
}

/// Who comes, and where to.
struct Clients {
    tls: TlsConnector,
    access: ClusterAccess,
    /// Of each portal.
    addresses: Vec<SocketAddr>,
}

/// Runs so many aborted upgrades, and judges what they left.
///
/// # Errors
/// The cluster is refused, or a portal does not answer.
pub(crate) async fn run(environment: &Environment, count: u64, report: &mut Report) -> Result<()> {
    let cluster = UpgradingCluster::start().await?;
    let resource = environment.site.import_body(&environment.alice, &cluster.import()).await?;
    let access = environment.kubeconfig(&resource, "write").await?;
    let portals = environment.site.with_role(Role::Portal);
    let tls = client_config(environment.site.authority.pem(), None, &[b"http/1.1"])?;
    let clients = Arc::new(Clients {
        tls: TlsConnector::from(Arc::new(tls)),
        access,
        addresses: portals.iter().map(|portal| ([127, 0, 0, 1], portal.ports.web).into()).collect(),
    });
    let warm = WARM.min(count);
    let warm_failures = aborted(&clients, warm).await?;
    let before = settled(environment, &portals).await?;
    let began = Instant::now();
    let failures = aborted(&clients, count).await?;
    let seconds = began.elapsed().as_secs_f64();
    let after = settled(environment, &portals).await?;
    report.stated("aborted upgrades", format!("{count}, in {} s", number(seconds)));
    warm_failures.tell("warm-up: aborted upgrades that were not answered as they should be", report);
    failures.tell("aborted upgrades that were not answered as they should be", report);
    for ((portal, before), after) in portals.iter().zip(before).zip(after) {
        portal.lives()?;
        let name = &portal.name;
        let what = format!("{name}: memory left by aborted upgrades (before: {} MiB)", number(before.0));
        report.most(what, after.0 - before.0, MEMORY_LEFT, "MiB");
        let what = format!("{name}: descriptors left by them (before: {})", number(before.1));
        report.most(what, after.1 - before.1, DESCRIPTORS_LEFT, "");
    }
    Ok(())
}

/// Clients that met something else than they should.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
    /// Of the first.
    texts: Vec<String>,
}

impl Failures {
    /// Any of them breaks the run.
    fn tell(&self, what: &str, report: &mut Report) {
        report.none(what, self.count, &self.texts);
    }
}

/// That many clients, some at once.
async fn aborted(clients: &Arc<Clients>, count: u64) -> Result<Failures> {
    let (next, failures) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Failures::default())));
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (clients, next, failures) = (Arc::clone(clients), Arc::clone(&next), Arc::clone(&failures));
        workers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                if number > 0 && number % 100_000 == 0 {
                    progress(format_args!("{number} aborted upgrades"));
                }
                let one = tokio::time::timeout(ANSWER, clients.abort(number)).await;
                if let Err(error) = one.context("no answer").and_then(|ended| ended) {
                    let mut failures = failures.lock();
                    failures.count += 1;
                    if failures.texts.len() < 5 {
                        failures.texts.push(format!("{:?}: {error:#}", Abort::numbered(number)));
                    }
                }
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.context("a client panicked")?;
    }
    let mut failures = failures.lock();
    Ok(std::mem::take(&mut *failures))
}

impl Clients {
    /// One client, which leaves in the middle.
    async fn abort(&self, number: u64) -> Result<()> {
        let abort = Abort::numbered(number);
        let turn = usize::try_from(number / 64).unwrap_or(0);
        let address = *self.addresses.get(turn % self.addresses.len().max(1)).context("a portal")?;
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        if !abort.polite {
            tcp.set_zero_linger()?;
        }
        let mut stream = self.tls.connect(ServerName::from(address.ip()), tcp).await?;
        let head = self.head(address, abort.spdy);
        let sent = if abort.stage == Stage::HalfHead { head.len() / 2 } else { head.len() };
        stream.write_all(&head.as_bytes()[..sent]).await?;
        stream.flush().await?;
        if matches!(abort.stage, Stage::Answer | Stage::HalfFrame) {
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\n") && answer.len() < 8192 {
                let read = stream.read_buf(&mut answer).await?;
                ensure!(read > 0, "no answer but {}", String::from_utf8_lossy(&answer));
            }
            let said = String::from_utf8_lossy(&answer);
            ensure!(said.starts_with("HTTP/1.1 101 "), "{}", said.lines().next().unwrap_or_default());
        }
        if abort.stage == Stage::HalfFrame {
            // The head of a frame whose payload does not come: of SPDY a SYN_STREAM, of a WebSocket a binary message.
            let half: &[u8] =
                if abort.spdy { &[0x80, 3, 0, 1, 0, 0, 0, 99, 0, 0] } else { &[0x82, 0x8a, 0, 0, 0, 0, 0] };
            stream.write_all(half).await?;
            stream.flush().await?;
        }
        Ok(())
    }

    fn head(&self, address: SocketAddr, spdy: bool) -> String {
        let ClusterAccess { mount, token, .. } = &self.access;
        let upgrade = if spdy {
            "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
                .to_owned()
        } else {
            format!("{SOCKET}Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n")
        };
        let verb = if spdy { "POST" } else { "GET" };
        format!(
            "{verb} {mount}/api/v1/namespaces/default/pods/web/exec?command=cat&stdin=true&stdout=true HTTP/1.1\r\n\
             Host: {address}\r\nAuthorization: Bearer {token}\r\n{upgrade}\r\n"
        )
    }
}

/// Memory in MiB and descriptors of each portal once everybody has left; of several looks the least.
async fn settled(environment: &Environment, portals: &[&Part]) -> Result<Vec<(f64, f64)>> {
    until("everybody has left", ALL_LEFT, || async {
        let open = open(environment).await?;
        ensure!(open.is_empty(), "{}", open.join(", "));
        Ok(())
    })
    .await?;
    let mut least = vec![(f64::INFINITY, f64::INFINITY); portals.len()];
    for _ in 0..LOOKS {
        tokio::time::sleep(BETWEEN_LOOKS).await;
        for (portal, least) in portals.iter().zip(&mut least) {
            let pid = portal.pid();
            *least = (least.0.min(resident(pid)?), least.1.min(descriptors(pid)?));
        }
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_the_warm_up_breaks_the_run() {
        let mut report = Report::new(crate::report::PLACE, "Hours").unwrap();
        Failures::default().tell("warm-up", &mut report);
        assert!(report.missed().is_empty());
        Failures { count: 1, texts: vec!["no answer".to_owned()] }.tell("warm-up", &mut report);
        assert_eq!(report.missed(), ["warm-up: 1: no answer"]);
    }

    #[test]
    fn every_way_to_leave_comes_equally_often_and_few_are_polite() {
        let all: Vec<Abort> = (0..512).map(Abort::numbered).collect();
        for spdy in [true, false] {
            for stage in [Stage::HalfHead, Stage::Head, Stage::Answer, Stage::HalfFrame] {
                let same =
                    |polite| all.iter().filter(|abort| **abort == Abort { spdy, stage, polite }).count();
                assert_eq!((same(true), same(false)), (8, 56), "{spdy} {stage:?}");
            }
        }
    }
}
