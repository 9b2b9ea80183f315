//! The statsd sink of `aro serve` (`contract/portal.md` §18, `contract/metrics.md` §1 pipeline S, §2).

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use rp_base::SharedClock;
use rp_config::Settings;
use rp_core::Foundation;
use rp_metrics::statsd::{QUEUE, Socket};
use rp_metrics::{Registry, Statsd, StatsdOptions, process};
use rp_runtime::Lifecycle;

/// The dimension `service`, and what the heartbeat's name begins with.
const SERVICE: &str = "portal";

/// Emits heartbeat and process numbers at once and every minute until the process is cut; without
/// `metrics.statsd_socket` nothing is emitted. A receiver that is away costs points, never a request.
///
/// # Errors
/// The setting names no socket.
pub fn start(
    settings: &Settings,
    version: &'static str,
    clock: SharedClock,
    registry: &Registry,
    life: &Lifecycle,
) -> anyhow::Result<Statsd> {
    let Some(socket) = &settings.metrics.statsd_socket else { return Ok(Statsd::none()) };
    let socket = Socket::parse(socket).context("metrics.statsd_socket")?;
    let statsd = Statsd::start(options(settings, socket, version, SERVICE), clock, registry);
    let (beating, cut) = (statsd.clone(), life.cutting());
    tokio::spawn(async move {
        tokio::select! {
            () = beating.beat(SERVICE, version) => {}
            () = cut.cancelled() => {}
        }
    });
    Ok(statsd)
}

/// The emitter of a service; without `metrics.statsd_socket` it emits nothing.
///
/// # Errors
/// The setting names no socket.
pub fn emitter(
    settings: &Settings,
    service: &'static str,
    version: &str,
    foundation: &Foundation,
) -> anyhow::Result<Statsd> {
    let Some(socket) = &settings.metrics.statsd_socket else { return Ok(Statsd::none()) };
    let socket = Socket::parse(socket).context("metrics.statsd_socket")?;
    let options = options(settings, socket, version, service);
    Ok(Statsd::start(options, Arc::clone(&foundation.clock), &foundation.registry))
}

fn options(settings: &Settings, socket: Socket, version: &str, service: &'static str) -> StatsdOptions {
    let dimensions = BTreeMap::from([
        ("hostname".to_owned(), process::hostname()),
        ("location".to_owned(), settings.azure.region.clone().unwrap_or_default()),
        ("service".to_owned(), service.to_owned()),
        ("version".to_owned(), version.to_owned()),
        ("Environment".to_owned(), settings.metrics.environment.clone()),
    ]);
    let metrics = &settings.metrics;
    StatsdOptions {
        emitter: service,
        socket,
        account: metrics.statsd_account.clone(),
        namespace: metrics.statsd_namespace.clone(),
        dimensions,
        queue: QUEUE,
        silent_dial: false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rp_base::SystemClock;
    use rp_config::{Input, Override};
    use rp_metrics::statsd::PERIOD;
    use tokio::net::UdpSocket;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn settings(socket: &str) -> Settings {
        let environment = BTreeMap::new();
        let set = |key, value| Override { key, value, flag: "--set" };
        let mut overrides = vec![
            set("metrics.statsd_account", "acct"),
            set("metrics.statsd_namespace", "Portal"),
            set("metrics.environment", "dev"),
            set("azure.region", "westeurope"),
        ];
        if !socket.is_empty() {
            overrides.push(set("metrics.statsd_socket", socket));
        }
        let input = Input { file: None, environment: &environment, overrides: &overrides, needs: &[] };
        rp_config::parse(&input).unwrap()
    }

    async fn line(receiver: &UdpSocket) -> String {
        let mut buffer = [0u8; 2048];
        let length = timeout(LONG, receiver.recv(&mut buffer)).await.expect("a point").unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[tokio::test]
    async fn a_heartbeat_at_once_and_with_the_process_every_minute() {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(&format!("udp:{}", receiver.local_addr().unwrap()));
        let (registry, life) = (Registry::new(), Lifecycle::new());
        start(&settings, "1.2.3", Arc::new(SystemClock), &registry, &life).unwrap();
        let first = line(&receiver).await;
        let host = process::hostname();
        let start = format!(
            "{{\"Metric\":\"portal.heartbeat\",\"Account\":\"acct\",\"Namespace\":\"Portal\",\"Dims\":{{\"Environment\":\"dev\",\"hostname\":\"{host}\",\"location\":\"westeurope\",\"service\":\"portal\",\"version\":\"1.2.3\"}},\"TS\":\""
        );
        assert!(first.starts_with(&start) && first.ends_with("\"}:1|g\n"), "{first}");
        tokio::time::pause();
        tokio::time::advance(PERIOD).await;
        tokio::time::resume();
        assert!(line(&receiver).await.starts_with("{\"Metric\":\"portal.heartbeat\""));
        for (name, _) in process::sample() {
            let point = line(&receiver).await;
            assert!(
                point.starts_with(&format!("{{\"Metric\":\"{name}\"")) && point.ends_with("|f\n"),
                "{point}"
            );
        }
    }

    #[tokio::test]
    async fn without_a_socket_nothing_is_emitted() {
        let registry = Registry::new();
        let statsd = start(&settings(""), "1", Arc::new(SystemClock), &registry, &Lifecycle::new()).unwrap();
        statsd.gauge("x", 1, &[]);
        statsd.flush().await;
        assert!(!registry.render().contains("aro_metrics_sent"));
    }
}
