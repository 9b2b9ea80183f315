use std::sync::Arc;

use proptest::prelude::*;
use rp_base::{Clock as _, ManualClock};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::{UdpSocket, UnixListener};
use tokio::time::timeout;

use super::line::instant;
use super::*;

const LONG: Duration = Duration::from_secs(30);

fn options(socket: &str) -> StatsdOptions {
    StatsdOptions {
        emitter: "service",
        socket: Socket::parse(socket).unwrap(),
        account: "acct".to_owned(),
        namespace: "BBM".to_owned(),
        dimensions: [("location".to_owned(), "eastus".to_owned())].into(),
        queue: 1024,
        silent_dial: false,
    }
}

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::parse("2024-05-06T07:08:09.123Z").unwrap())
}

fn line(options: &StatsdOptions, value: Value, dimensions: &[(&str, &str)]) -> Option<String> {
    let mut out = String::new();
    let written = LineTemplate::from_options(options).write(
        &mut out,
        "node.count",
        value,
        dimensions,
        &instant(clock().now()),
    );
    written.ok().map(|()| out)
}

#[test]
fn the_contracts_example() {
    let expected = "{\"Metric\":\"node.count\",\"Account\":\"acct\",\"Namespace\":\"BBM\",\"Dims\":{\"location\":\"eastus\",\"role\":\"master\"},\"TS\":\"2024-05-06T07:08:09.123\"}:3|g\n";
    let dimensions = [("role", "master"), ("location", "overridden")];
    assert_eq!(line(&options("udp:h:1"), Value::Whole(3), &dimensions).unwrap(), expected);
}

#[test]
fn escapes_and_floats() {
    let mut options = options("udp:h:1");
    (options.account, options.dimensions) = (String::new(), BTreeMap::new());
    let text = line(&options, Value::Float(1e-9), &[("a\"b", "<&>\n\u{2028}é")]).unwrap();
    let expected = "{\"Metric\":\"node.count\",\"Namespace\":\"BBM\",\"Dims\":{\"a\\\"b\":\"\\u003c\\u0026\\u003e\\n\\u2028é\"},\"TS\":\"2024-05-06T07:08:09.123\"}:0.000000|f\n";
    assert_eq!(text, expected);
    assert!(line(&options, Value::Float(1e21), &[]).unwrap().contains(":1000000000000000000000.000000|f"));
    assert_eq!(line(&options, Value::Float(f64::NAN), &[]), None);
}

#[test]
fn sockets_are_read_as_the_contract_says() {
    assert_eq!(Socket::parse("UDP:host:8125"), Ok(Socket::Udp("host:8125".to_owned())));
    assert_eq!(Socket::parse("unix:/a:b"), Ok(Socket::Unix("/a:b".into())));
    assert_eq!(Socket::parse("tcp:h:1"), Err(InvalidSocket::Network("tcp".to_owned())));
    for bad in ["", "udp", "udp:host", "udp::1", "udp:h:0", "udp:h:x", "unix:"] {
        assert_eq!(Socket::parse(bad), Err(InvalidSocket::Malformed(bad.to_owned())));
    }
    let told = |text| Socket::parse(text).unwrap_err().to_string();
    assert_eq!(
        told("udp"),
        "malformed definition for the mdm statds socket. Expecting udp:<hostname>:<port> or unix:<path-to-socket> format. Got: \"udp\""
    );
    assert_eq!(
        told("TCP:h:1"),
        "unsupported protocol for the mdm statds socket. Expecting  'udp:' or 'unix:'. Got: \"tcp\""
    );
}

#[test]
fn the_later_of_two_dimensions_counts_and_an_added_one_over_both() {
    let text =
        line(&options("udp:h:1"), Value::Whole(1), &[("b", "1"), ("a", "2"), ("b", "3"), ("location", "x")]);
    assert!(text.unwrap().contains("\"Dims\":{\"a\":\"2\",\"b\":\"3\",\"location\":\"eastus\"}"));
    assert_eq!(line(&options("udp:h:1"), Value::Whole(1), &[("a", &"x".repeat(70_000))]), None);
}

proptest! {
    #[test]
    fn every_line_is_json_with_what_was_given(
        name in ".{0,40}",
        pairs in proptest::collection::btree_map(".{0,20}", ".{0,60}", 0..8),
        whole in any::<i64>(),
        float in any::<f64>(),
    ) {
        let mut options = options("udp:h:1");
        options.dimensions.clear();
        let own: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let mut out = String::new();
        LineTemplate::from_options(&options).write(&mut out, &name, Value::Whole(whole), &own, "T").unwrap();
        let (json, value) = out.rsplit_once("}:").unwrap();
        let read: serde_json::Value = serde_json::from_str(&format!("{json}}}")).unwrap();
        prop_assert_eq!(value, format!("{whole}|g\n"));
        prop_assert_eq!(read["Metric"].as_str(), Some(name.as_str()));
        prop_assert_eq!(&read["Dims"], &serde_json::json!(pairs));
        let raw = json.contains(['<', '>', '&', '\n', '\u{2028}', '\u{2029}']);
        prop_assert!(!raw, "{}", json);
        let mut text = String::new();
        if LineTemplate::from_options(&options).write(&mut text, "x", Value::Float(float), &[], "T").is_ok() {
            let (_, value) = text.rsplit_once("}:").unwrap();
            let digits = value.strip_suffix("|f\n").unwrap();
            prop_assert_eq!(digits.split_once('.').map(|(_, decimals)| decimals.len()), Some(6));
            prop_assert!(digits.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-'));
        } else {
            prop_assert!(!float.is_finite());
        }
    }
}

/// What the registry shows of an emitter; the values are compared as text.
fn shown(registry: &Registry, wanted: &str) {
    let text = registry.render();
    assert!(text.contains(wanted), "no {wanted} in\n{text}");
}

fn start(socket: &str, queue: usize) -> (Statsd, ManualClock, Registry) {
    let (clock, registry) = (clock(), Registry::new());
    let options = StatsdOptions { queue, ..options(socket) };
    (Statsd::start(options, Arc::new(clock.clone()), &registry), clock, registry)
}

fn unix(path: &std::path::Path) -> String {
    format!("unix:{}", path.display())
}

#[tokio::test]
async fn one_datagram_per_line() {
    let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let (statsd, _, registry) = start(&format!("udp:{}", receiver.local_addr().unwrap()), 64);
    statsd.gauge("portal.heartbeat", 1, &[]);
    let mut batch = statsd.batch();
    batch.add("x", Value::Float(0.5), &[]);
    batch.add("y", Value::Float(f64::NAN), &[]);
    batch.add("z", Value::Whole(-2), &[]);
    batch.emit();
    let mut buffer = [0u8; 2048];
    for end in [":1|g\n", ":0.500000|f\n", ":-2|g\n"] {
        let length = timeout(LONG, receiver.recv(&mut buffer)).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&buffer[..length]).ends_with(end));
    }
    statsd.flush().await;
    shown(&registry, "aro_metrics_sent_total{emitter=\"service\"} 3\n");
    shown(&registry, "aro_metrics_queue_length{emitter=\"service\"} 0\n");
    shown(&registry, "aro_metrics_dropped_total{emitter=\"service\",reason=\"not_a_number\"} 1\n");
    assert!(registry.mistakes().is_empty());
}

#[tokio::test]
async fn a_missing_socket_costs_one_point_and_what_waits_arrives_when_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let (statsd, _, registry) = start(&unix(&path), 64);
    statsd.gauge("lost", 1, &[]);
    timeout(LONG, statsd.flush()).await.unwrap();
    shown(&registry, "aro_metrics_dropped_total{emitter=\"service\",reason=\"socket\"} 1\n");
    let listener = UnixListener::bind(&path).unwrap();
    statsd.gauge("found", 2, &[]);
    statsd.gauge("found", 3, &[]);
    let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    let mut lines = BufReader::new(stream).lines();
    for end in [":2|g", ":3|g"] {
        let text = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        assert!(text.starts_with("{\"Metric\":\"found\"") && text.ends_with(end), "{text}");
    }
}

#[tokio::test]
async fn a_receiver_that_restarts_gets_every_line_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let listener = UnixListener::bind(&path).unwrap();
    let (statsd, _, _registry) = start(&unix(&path), 10_000);
    let mut seen = Vec::new();
    for round in 0..3 {
        statsd.gauge("x", round, &[]);
        let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
        let mut lines = BufReader::new(stream).lines();
        seen.push(timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap());
        // The stream is closed here: the next line meets a broken pipe and is sent again over a new connection.
    }
    let ends = |text: &String| text.rsplit_once("}:").map(|(_, end)| end.to_owned());
    assert_eq!(seen.iter().filter_map(ends).collect::<Vec<_>>(), ["0|g", "1|g", "2|g"]);
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_does_not_read_is_left_after_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let listener = UnixListener::bind(&path).unwrap();
    let (statsd, _, registry) = start(&unix(&path), 40_000);
    let text = "x".repeat(200);
    let before = tokio::time::Instant::now();
    let mut batch = statsd.batch();
    for number in 0..20_000 {
        batch.add("full", Value::Whole(number), &[("text", &text)]);
    }
    batch.emit();
    let (_silent, _) = listener.accept().await.unwrap();
    let (reader, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    assert!(before.elapsed() >= Duration::from_secs(10), "{:?}", before.elapsed());
    // Meanwhile no caller waits, and the second connection gets whole lines again.
    statsd.gauge("later", 1, &[]);
    let first = BufReader::new(reader).lines().next_line().await.unwrap().unwrap();
    assert!(first.starts_with("{\"Metric\":\"full\"") && first.ends_with("|g"), "{first}");
    shown(&registry, "aro_metrics_sent_total{emitter=\"service\"}");
    drop(listener);
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let listener = UnixListener::bind(&path).unwrap();
    let (statsd, _, registry) = start(&unix(&path), 100_000);
    const COUNT: i64 = 20_000;
    for number in 0..COUNT {
        statsd.gauge("slow", number, &[]);
    }
    let (mut stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    let (mut text, mut buffer) = (Vec::new(), vec![0; 700]);
    let mut lines = 0;
    while lines < COUNT {
        let read = timeout(LONG, stream.read(&mut buffer)).await.unwrap().unwrap();
        lines += i64::try_from(buffer[..read].iter().filter(|byte| **byte == b'\n').count()).unwrap();
        text.extend_from_slice(&buffer[..read]);
        tokio::task::yield_now().await;
    }
    let text = String::from_utf8(text).unwrap();
    for (number, line) in (0..COUNT).zip(text.lines()) {
        assert!(line.ends_with(&format!("}}:{number}|g")), "{number}: {line}");
    }
    statsd.flush().await;
    shown(&registry, "aro_metrics_sent_total{emitter=\"service\"} 20000\n");
}

#[tokio::test]
async fn a_full_queue_loses_the_oldest_and_never_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let listener = UnixListener::bind(&path).unwrap();
    // On a current-thread runtime the sender does not run until this test awaits.
    let (statsd, _, registry) = start(&unix(&path), 100);
    for number in 0..105 {
        statsd.gauge("x", number, &[]);
    }
    shown(&registry, "aro_metrics_dropped_total{emitter=\"service\",reason=\"queue_full\"} 5\n");
    let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    let first = timeout(LONG, BufReader::new(stream).lines().next_line()).await.unwrap().unwrap().unwrap();
    assert!(first.ends_with("}:5|g"), "{first}");
}

#[tokio::test]
async fn stale_points_are_dropped() {
    let (statsd, clock, registry) = start("unix:/nowhere/statsd", 64);
    statsd.gauge("x", 1, &[]);
    statsd.gauge("x", 2, &[]);
    clock.advance(STALE + Duration::from_secs(1));
    timeout(LONG, statsd.flush()).await.unwrap();
    shown(&registry, "aro_metrics_dropped_total{emitter=\"service\",reason=\"stale\"} 2\n");
}

#[tokio::test(start_paused = true)]
async fn beats_at_once_and_every_minute() {
    let (statsd, _, registry) = start("unix:/nowhere/statsd", 1024);
    let beating = timeout(PERIOD + Duration::from_secs(1), statsd.beat("portal", "v1"));
    assert!(beating.await.is_err());
    statsd.flush().await;
    let dropped = 2 + crate::process::sample().len();
    shown(&registry, &format!("reason=\"socket\"}} {dropped}\n"));
}

#[tokio::test]
async fn the_task_ends_with_the_last_clone() {
    let (statsd, _, registry) = start("unix:/nowhere/statsd", 64);
    for number in 0..10 {
        statsd.gauge("x", number, &[]);
    }
    let queue = statsd.0.as_ref().map(|inner| Arc::clone(&inner.queue)).unwrap();
    drop(statsd);
    timeout(LONG, queue.flushed()).await.unwrap();
    let lost = registry.render();
    assert!(lost.contains("reason=\"socket\"") && lost.contains("reason=\"closed\""), "{lost}");
}
