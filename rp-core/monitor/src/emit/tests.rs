use std::collections::BTreeMap;
use std::time::Duration;

use rp_base::{Clock as _, ManualClock, Timestamp};
use rp_metrics::StatsdOptions;
use rp_metrics::statsd::Socket;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{UdpSocket, UnixListener};
use tokio::time::timeout;

use super::*;
use crate::names::{client, cluster};

const LONG: Duration = Duration::from_secs(60);

fn clock() -> ManualClock {
    ManualClock::at(Timestamp::parse("2024-05-06T07:08:09.123Z").unwrap())
}

fn dims() -> ClusterDims {
    let id = ResourceId::parse(
        "/subscriptions/AAAAAAAA-0000-0000-0000-000000000001/resourceGroups/Group/providers/Microsoft.RedHatOpenShift/openShiftClusters/Name",
    );
    ClusterDims::new(&id.unwrap(), "westeurope")
}

fn statsd(
    emitter: &'static str,
    socket: &str,
    account: &str,
    added: &[(&str, &str)],
    registry: &Registry,
) -> Statsd {
    let options = StatsdOptions {
        emitter,
        socket: Socket::parse(socket).unwrap(),
        account: account.to_owned(),
        namespace: "BBM".to_owned(),
        dimensions: added.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        queue: 64,
        silent_dial: false,
    };
    Statsd::start(options, Arc::new(clock()), registry)
}

/// A service emitter over UDP and a cluster emitter over a stream, observed at two sockets.
#[tokio::test]
async fn two_emitters_write_the_contracts_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.socket");
    let (udp, unix) = (UdpSocket::bind("127.0.0.1:0").await.unwrap(), UnixListener::bind(&path).unwrap());
    let registry = Registry::new();
    let service = [
        ("Environment", "dev"),
        ("hostname", "h"),
        ("location", "eastus"),
        ("service", "monitor"),
        ("version", "abc"),
    ];
    let emitters = Emitters::new(EmitterParts {
        service: statsd("service", &format!("udp:{}", udp.local_addr().unwrap()), "svc", &service, &registry),
        cluster: statsd("cluster", &format!("unix:{}", path.display()), "", &service[..0], &registry),
        clock: Arc::new(clock()),
        registry: registry.clone(),
        detail: MetricsDetail::All,
    });
    emitters.heartbeat(true, "abc");
    emitters.about(&dims(), &Sample::one(&own::TIMED_OUT, []));
    let samples = [
        Sample::one(&cluster::HEALTHZ, ["200".into()]),
        Sample::int(&cluster::NODE_COUNT, 3, ["master".into()]),
        Sample::float(&own::CLUSTER_DURATION, 1.25, []),
    ];
    emitters.cluster(&dims(), &samples);
    let common = "\"Environment\":\"dev\",\"hostname\":\"h\",\"location\":\"eastus\"";
    let id = dims().id().original().to_owned();
    let ts = "\"TS\":\"2024-05-06T07:08:09.123\"";
    let expected = [
        format!(
            "{{\"Metric\":\"monitor.heartbeat\",\"Account\":\"svc\",\"Namespace\":\"BBM\",\"Dims\":{{{common},\"service\":\"monitor\",\"version\":\"abc\"}},{ts}}}:1|g\n"
        ),
        // `[D]`: the subscription in lower case; the emitter's location wins.
        format!(
            "{{\"Metric\":\"monitor.main.timedout\",\"Account\":\"svc\",\"Namespace\":\"BBM\",\"Dims\":{{{common},\"resourceId\":\"{id}\",\"service\":\"monitor\",\"subscriptionId\":\"aaaaaaaa-0000-0000-0000-000000000001\",\"version\":\"abc\"}},{ts}}}:1|g\n"
        ),
    ];
    let mut buffer = [0_u8; 4096];
    for line in expected {
        let length = timeout(LONG, udp.recv(&mut buffer)).await.unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&buffer[..length]), line);
    }
    let scope = format!("\"resourceGroup\":\"Group\",\"resourceId\":\"{id}\",\"resourceName\":\"Name\"",);
    let subscription = "\"subscriptionId\":\"AAAAAAAA-0000-0000-0000-000000000001\"";
    let (stream, _) = timeout(LONG, unix.accept()).await.unwrap().unwrap();
    let mut lines = BufReader::new(stream).lines();
    for line in [
        format!(
            "{{\"Metric\":\"apiserver.healthz.code\",\"Namespace\":\"BBM\",\"Dims\":{{\"code\":\"200\",{scope},{subscription}}},{ts}}}:1|g"
        ),
        format!(
            "{{\"Metric\":\"node.count\",\"Namespace\":\"BBM\",\"Dims\":{{{scope},\"role\":\"master\",{subscription}}},{ts}}}:3|g"
        ),
        format!(
            "{{\"Metric\":\"monitor.cluster.duration\",\"Namespace\":\"BBM\",\"Dims\":{{{scope},{subscription}}},{ts}}}:1.250000|f"
        ),
    ] {
        assert_eq!(timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap(), line);
    }
    timeout(LONG, emitters.flush()).await.unwrap();
    let text = registry.render();
    for line in [
        "aro_metrics_sent_total{emitter=\"service\"} 2\n",
        "aro_metrics_sent_total{emitter=\"cluster\"} 3\n",
        "aro_service_ready 1\n",
        "aro_service_heartbeat_timestamp_seconds 1714979289.123\n",
        "aro_monitor_timeouts_total{stage=\"deadline\"} 1\n",
        "aro_monitor_collector_duration_seconds_count{monitor=\"cluster\",collector=\"all\"} 1\n",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    assert!(registry.mistakes().is_empty(), "{:?}", registry.mistakes());
}

#[test]
fn the_recorder_keeps_what_would_be_sent() {
    let (emitters, recorder) = Emitters::recording(Arc::new(clock()));
    let mut flags = Sample::one(&cluster::FLAGS, []);
    flags.spread = vec![("aro.x.enabled".into(), "DNE".into()), ("resourceName".into(), "hidden".into())];
    emitters.cluster(&dims(), &[flags]);
    emitters.heartbeat(false, "abc");
    let lines = recorder.take();
    assert_eq!(lines.len(), 1);
    assert_eq!(
        (lines[0].metric, lines[0].value),
        ("cluster.nonstandard.operator.featureflags", Value::Int(1))
    );
    // The scope's dimension wins over one whose name is data.
    assert_eq!(lines[0].dims.get("resourceName").map(String::as_str), Some("Name"));
    assert_eq!(lines[0].dims.get("aro.x.enabled").map(String::as_str), Some("DNE"));
    assert!(recorder.lines().is_empty() && recorder.exposition().contains("aro_service_ready 0\n"));
    let json = serde_json::to_value(&lines[0]).unwrap();
    assert_eq!(
        (&json["metric"], &json["value"]),
        (&"cluster.nonstandard.operator.featureflags".into(), &1.into())
    );
}

#[test]
fn labels_that_statsd_does_not_have_stay_off_its_line() {
    let (emitters, recorder) = Emitters::recording(Arc::new(clock()));
    let call = [("verb", "GET"), ("path", "/api/v1/nodes"), ("code", "200")];
    emitters.service(&client::KUBERNETES_DURATION, Value::Int(250), &call);
    let dims: BTreeMap<_, _> =
        [("verb", "GET"), ("path", "/api/v1/nodes")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert_eq!(recorder.samples_of("client.k8s.duration")[0].dims, dims);
    let shown = "aro_client_kubernetes_request_duration_seconds_sum{method=\"GET\",path=\"/api/v1/nodes\",code=\"200\"} 0.25\n";
    assert!(recorder.exposition().contains(shown), "{}", recorder.exposition());
    assert!(clock().now() < rp_base::SystemClock.now());
}
