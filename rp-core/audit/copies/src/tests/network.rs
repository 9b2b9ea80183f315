//! Copies over the network: nothing is left out, whatever the other side does.

use std::net::Ipv4Addr;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram};

use super::*;
use crate::{IfxOrigin, SyslogTarget};

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
    log.sinks = vec![sink(to, SinkPolicy::Alarm)];
    log.options.close_within = LONG;
    let audit = log.start().await;
    assert!(!format!("{:?}", log.sinks).contains("the-token"));
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
    log.sinks = vec![sink(to, SinkPolicy::Alarm)];
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
    log.sinks = ways
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
