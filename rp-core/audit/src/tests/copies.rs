//! Copies of the log: nothing is left out, whatever fails.

use std::net::Ipv4Addr;
use std::path::Path;

use parking_lot::Mutex;
use rp_documents::Collection;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram};

use super::*;
use crate::{
    AuditError, IfxOrigin, LineVerifier, SinkFormat, SinkOptions, SinkPolicy, SinkTarget, SyslogTarget,
};

fn sink(to: SinkTarget, policy: SinkPolicy) -> SinkOptions {
    SinkOptions { name: "copy".to_owned(), to, format: SinkFormat::Aro, policy }
}

fn file(path: &Path, rotate: u64, keep: usize) -> SinkTarget {
    SinkTarget::File { path: path.to_owned(), rotate, keep, sync: true }
}

/// Waits for what a look gives, without minding how long it takes.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let patience = async {
        loop {
            match look().await {
                Some(found) => return found,
                None => tokio::task::yield_now().await,
            }
        }
    };
    timeout(LONG, patience).await.unwrap_or_else(|_| panic!("never: {what}"))
}

fn lines(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The one without a time in its name is the newest.
    files.sort_by_key(|path| (path.extension().is_some_and(|ext| ext == "jsonl"), path.clone()));
    files
        .iter()
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

fn verified(log: &Log, lines: &[String]) -> Verdict {
    let mut verifier = LineVerifier::new(log.options.key.clone(), false);
    lines.iter().for_each(|line| verifier.line(line));
    let verdict = verifier.finish();
    assert_eq!(verdict.findings, []);
    verdict
}

#[tokio::test(flavor = "multi_thread")]
async fn files_rotate_and_go_on_where_they_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    let path = folder.path().join("audit.jsonl");
    log.options.sinks = vec![sink(file(&path, 20_000, 0), SinkPolicy::Alarm)];
    let mut entries = 0;
    for round in 0..3 {
        let audit = log.start().await;
        for n in 0..100 {
            log.clock.advance(Duration::from_millis(5));
            if n % 10 == 0 {
                audit.promise(log.entry("exec")).await.unwrap();
            } else {
                audit.queue(log.entry("get")).await.unwrap();
            }
        }
        within(audit.close()).await;
        entries += 101;
        match round {
            // A crash in the middle of a line.
            0 => {
                let torn = [std::fs::read(&path).unwrap(), b"{\"v\":1,\"wri".to_vec()].concat();
                std::fs::write(&path, torn).unwrap();
            }
            // Others may take the file away.
            1 => std::fs::rename(&path, folder.path().join("audit.jsonl.20270115T080001002Z")).unwrap(),
            _ => {}
        }
    }
    let all = lines(folder.path());
    let verdict = verified(&log, &all);
    assert_eq!((verdict.entries, verdict.checkpoints, all.len()), (entries, 3, 306));
    assert!(std::fs::read_dir(folder.path()).unwrap().count() > 3);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn former_files_beyond_those_to_keep_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.options.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1000, 2), SinkPolicy::Alarm)];
    for _ in 0..6 {
        log.clock.advance(Duration::from_secs(1));
        let audit = log.start().await;
        audit.promise(log.entry("exec")).await.unwrap();
        audit.promise(log.entry("exec")).await.unwrap();
        within(audit.close()).await;
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A folder that is not there stands for a disk that takes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn the_policy_decides_what_happens_while_a_sink_takes_nothing() {
    for (policy, refuses) in
        [(SinkPolicy::Refuse { after: Duration::ZERO }, true), (SinkPolicy::Alarm, false)]
    {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("not-yet");
        let mut log = Log::new();
        log.options.sinks = vec![sink(file(&gone.join("audit.jsonl"), 1 << 20, 0), policy)];
        let audit = log.start().await;
        until("the failure is seen", async || audit.proof().sinks[0].failing_since).await;
        let state = audit.proof().sinks.remove(0);
        assert!(state.error.unwrap().contains("not-yet") && state.here);
        assert!(log.options.registry.render().contains("aro_audit_sink_failing{sink=\"copy\"} 1"));
        let outcome = audit.promise(log.entry("exec")).await;
        assert_eq!(matches!(&outcome, Err(AuditError::Sink(name)) if name == "copy"), refuses, "{outcome:?}");
        // Reads go on: they are in the log, and come to the sink later.
        audit.queue(log.entry("get")).await.unwrap();
        std::fs::create_dir(&gone).unwrap();
        until("it takes entries again", async || {
            audit.proof().sinks[0].failing_since.is_none().then_some(())
        })
        .await;
        audit.promise(log.entry("exec")).await.unwrap();
        within(audit.close()).await;
        let verdict = verified(&log, &lines(&gone));
        assert_eq!(verdict.entries, if refuses { 3 } else { 4 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_another_store_is_not_shipped_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.options.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1 << 20, 0), SinkPolicy::Alarm)];
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    log.shelf.renumber();
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    within(audit.close()).await;
    let all = lines(folder.path());
    assert_eq!(verified(&log, &all).entries, 4);
    assert_eq!(all.iter().filter(|line| line.starts_with("{\"v\"")).count(), 4, "none came twice");
}

/// Answers requests in turn with the given statuses, then with 200; keeps the bodies it took.
async fn collector(statuses: Vec<&'static str>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/ingest", listener.local_addr().unwrap());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let bodies = taken.clone();
    tokio::spawn(async move {
        let mut statuses = statuses.into_iter();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            loop {
                let (mut length, mut head) = (0, String::new());
                loop {
                    let mut line = String::new();
                    if stream.read_line(&mut line).await.unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                }
                if head.is_empty() {
                    break;
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).await.unwrap();
                assert!(head.starts_with("POST /ingest ") && head.contains("Bearer the-token"), "{head}");
                let status = statuses.next().unwrap_or("200 OK");
                if status.starts_with('2') {
                    bodies.lock().push(String::from_utf8(body).unwrap());
                }
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nretry-after: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    (url, taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_refuses_gets_everything_in_the_end() {
    let (url, taken) = collector(vec!["503 Busy", "429 Later", "413 Large", "302 Elsewhere"]).await;
    let mut log = Log::new();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let token = Some(Arc::new(rp_base::Secret::new("the-token".to_owned())));
    let to = SinkTarget::Http { client, url, token };
    log.options.sinks = vec![sink(to, SinkPolicy::Alarm)];
    log.options.close_within = LONG;
    let audit = log.start().await;
    assert!(!format!("{:?}", log.options.sinks).contains("the-token"));
    for _ in 0..2500 {
        audit.queue(log.entry("get")).await.unwrap();
    }
    audit.promise(log.entry("exec")).await.unwrap();
    let count = async || {
        let lines: usize = taken.lock().iter().map(|body| body.lines().count()).sum();
        (lines >= 2502).then_some(())
    };
    until("all have come", count).await;
    within(audit.close()).await;
    let bodies = taken.lock().clone();
    assert!(bodies.iter().all(|body| body.ends_with('\n') && body.lines().count() <= 1000));
    let all: Vec<String> = bodies.iter().flat_map(|body| body.lines().map(str::to_owned)).collect();
    assert_eq!(verified(&log, &all).entries, 2502);
}

/// Reads RFC 6587 frames; gives what stands after the mark of UTF-8.
async fn frame(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut length = Vec::new();
    if stream.read_until(b' ', &mut length).await.unwrap_or(0) == 0 {
        return None;
    }
    let length: usize = std::str::from_utf8(&length).unwrap().trim().parse().unwrap();
    let mut frame = vec![0; length];
    stream.read_exact(&mut frame).await.ok()?;
    let text = String::from_utf8(frame).unwrap();
    assert!(text.starts_with("<110>1 ") || text.starts_with("<109>1 "), "{text}");
    Some(text.split_once('\u{feff}').unwrap().1.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn syslog_over_tcp_sends_again_what_a_broken_connection_may_have_lost() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut log = Log::new();
    let to = SinkTarget::Syslog(SyslogTarget::Tcp(listener.local_addr().unwrap().to_string()));
    log.options.sinks = vec![sink(to, SinkPolicy::Alarm)];
    let audit = log.start().await;
    audit.promise(log.entry("exec")).await.unwrap();
    // The first connection breaks before anything of it was read.
    drop(within(listener.accept()).await.unwrap());
    let (stream, _) = within(listener.accept()).await.unwrap();
    let (mut stream, mut all) = (BufReader::new(stream), Vec::new());
    while all.len() < 2 {
        all.push(within(frame(&mut stream)).await.unwrap());
    }
    audit.promise(log.entry("exec")).await.unwrap();
    let closing = tokio::spawn(async move { audit.close().await });
    while let Some(line) = within(frame(&mut stream)).await {
        all.push(line);
    }
    within(closing).await.unwrap();
    let verdict = verified(&log, &all);
    assert_eq!((verdict.entries, verdict.checkpoints), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn syslog_by_datagrams() {
    let folder = tempfile::tempdir().unwrap();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let unix = UnixDatagram::bind(folder.path().join("log")).unwrap();
    let mut log = Log::new();
    let ways = [
        SyslogTarget::Udp(udp.local_addr().unwrap().to_string()),
        SyslogTarget::Unix(folder.path().join("log")),
    ];
    let place = IfxOrigin {
        cloud: "AzurePublicCloud".to_owned(),
        host: "vm-1".to_owned(),
        region: "eastus".to_owned(),
    };
    let format = SinkFormat::Ifx(Arc::new(place));
    log.options.sinks = ways
        .into_iter()
        .enumerate()
        .map(|(n, to)| SinkOptions {
            name: format!("copy-{n}"),
            to: SinkTarget::Syslog(to),
            format: format.clone(),
            policy: SinkPolicy::Alarm,
        })
        .collect();
    let audit = log.start().await;
    let mut bytes = [vec![0; 65_536], vec![0; 65_536]];
    let [a, b] = &mut bytes;
    let (a_length, b_length) = (within(udp.recv(a)).await.unwrap(), within(unix.recv(b)).await.unwrap());
    for (bytes, length) in [(&*a, a_length), (&*b, b_length)] {
        let text = std::str::from_utf8(&bytes[..length]).unwrap();
        let record: serde_json::Value = serde_json::from_str(text.split_once('\u{feff}').unwrap().1).unwrap();
        assert_eq!((&record["logKind"], &record["adminOp"]), (&"ifxaudit".into(), &true.into()));
        let payload: serde_json::Value = serde_json::from_str(record["payload"].as_str().unwrap()).unwrap();
        assert_eq!((&payload["env_name"], &payload["env_flags"]), (&"#Ifx.AuditSchema".into(), &257.into()));
        assert_eq!((&payload["env_seqNum"], &payload["requestId"]), (&1.into(), &"".into()));
        assert_eq!(payload["env_cloud_roleInstance"], "vm-1");
        assert_eq!(payload["CallerIdentities"][0]["CallerIdentityType"], "Username");
    }
    within(audit.close()).await;
}

/// The store fails in the middle: the place in the log stays, and nothing is left out.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_loses_no_line() {
    use std::sync::atomic::Ordering::SeqCst;
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::new();
    log.options.sinks = vec![sink(file(&folder.path().join("audit.jsonl"), 1 << 20, 0), SinkPolicy::Alarm)];
    let audit = log.start().await;
    for round in 0..5 {
        audit.promise(log.entry("exec")).await.unwrap();
        log.shelf.failing.store(true, SeqCst);
        audit.queue(log.entry("get")).await.unwrap();
        let mut writes = log.shelf.writes.subscribe();
        within(writes.changed()).await.unwrap();
        log.shelf.failing.store(false, SeqCst);
        let stored = async || (audit.0.status.borrow().head.seq > 2 * (round + 1)).then_some(());
        until("the entry is stored", stored).await;
    }
    within(audit.close()).await;
    assert_eq!(verified(&log, &lines(folder.path())).entries, 11);
    assert_eq!(log.shelf.all(Collection::AuditSinks).len(), 1);
}
