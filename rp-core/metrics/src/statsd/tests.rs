use std::sync::Arc;

use rp_base::ManualClock;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{UdpSocket, UnixListener};
use tokio::time::timeout;

use super::*;

const LONG: Duration = Duration::from_secs(30);

fn options(socket: &str) -> StatsdOptions {
    StatsdOptions {
        socket: Socket::parse(socket).unwrap(),
        account: "acct".to_owned(),
        namespace: "BBM".to_owned(),
        dimensions: [("location".to_owned(), "eastus".to_owned())].into(),
    }
}

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::parse("2024-05-06T07:08:09.123Z").unwrap())
}

fn line(options: &StatsdOptions, value: Value, dimensions: &[(&str, &str)]) -> Option<String> {
    let point = Point { name: "node.count", value, dimensions, at: clock().now() };
    point.line(options).map(|line| String::from_utf8(line).unwrap())
}

use rp_base::Clock as _;

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
}

#[tokio::test]
async fn one_datagram_per_line() {
    let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = receiver.local_addr().unwrap();
    let registry = Registry::new();
    let statsd = Statsd::start(options(&format!("udp:{address}")), Arc::new(clock()), &registry);
    statsd.gauge("portal.heartbeat", 1, &[]);
    statsd.float("x", 0.5, &[]);
    let mut buffer = [0u8; 2048];
    for end in [":1|g\n", ":0.500000|f\n"] {
        let length = timeout(LONG, receiver.recv(&mut buffer)).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&buffer[..length]).ends_with(end));
    }
    statsd.flush().await;
    assert!(registry.render().contains("aro_statsd_sent_points_total 2\n"));
}

#[tokio::test]
async fn a_missing_socket_costs_points_only_and_it_dials_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statsd.socket");
    let registry = Registry::new();
    let statsd = Statsd::start(options(&format!("unix:{}", path.display())), Arc::new(clock()), &registry);
    statsd.gauge("lost", 1, &[]);
    timeout(LONG, statsd.flush()).await.unwrap();
    assert!(registry.render().contains("aro_statsd_dropped_points_total{reason=\"socket\"} 1\n"));
    let listener = UnixListener::bind(&path).unwrap();
    statsd.gauge("found", 2, &[]);
    let (stream, _) = timeout(LONG, listener.accept()).await.unwrap().unwrap();
    let mut text = String::new();
    timeout(LONG, BufReader::new(stream).read_line(&mut text)).await.unwrap().unwrap();
    assert!(text.starts_with("{\"Metric\":\"found\"") && text.ends_with(":2|g\n"), "{text}");
}

#[tokio::test]
async fn a_full_queue_never_blocks() {
    let registry = Registry::new();
    // On a current-thread runtime the sender does not run until this test awaits.
    let statsd = Statsd::start(options("unix:/nowhere/statsd"), Arc::new(clock()), &registry);
    for _ in 0..QUEUE + 5 {
        statsd.gauge("x", 1, &[]);
    }
    assert!(registry.render().contains("{reason=\"queue_full\"} 5\n"));
}

#[tokio::test]
async fn stale_points_are_dropped() {
    let (clock, registry) = (clock(), Registry::new());
    let statsd = Statsd::start(options("unix:/nowhere/statsd"), Arc::new(clock.clone()), &registry);
    statsd.gauge("x", 1, &[]);
    clock.advance(STALE + Duration::from_secs(1));
    timeout(LONG, statsd.flush()).await.unwrap();
    assert!(registry.render().contains("{reason=\"stale\"} 1\n"));
}

#[tokio::test(start_paused = true)]
async fn beats_at_once_and_every_minute() {
    let registry = Registry::new();
    let statsd = Statsd::start(options("unix:/nowhere/statsd"), Arc::new(clock()), &registry);
    let beating = timeout(PERIOD + Duration::from_secs(1), statsd.beat("portal", "v1"));
    assert!(beating.await.is_err());
    statsd.flush().await;
    let dropped = 2 + crate::process::sample().len();
    assert!(
        registry.render().contains(&format!("{{reason=\"socket\"}} {dropped}\n")),
        "{}",
        registry.render()
    );
}
