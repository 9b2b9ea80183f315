//! What the monitor tells, as real receivers read it: promtool and Prometheus the exposition, a socket the lines.

use std::borrow::Cow;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rp_base::SystemClock;
use rp_config::MetricsDetail;
use rp_documents::ResourceId;
use rp_metrics::statsd::Socket;
use rp_metrics::{Registry, Statsd, StatsdOptions};
use rp_monitor::emit::{ClusterDims, EmitterParts, Emitters};
use rp_monitor::names::ALL;
use rp_monitor::sample::{Sample, Text};
use tests_kit::{GENEROUS, part};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;

fn dims(number: usize) -> Result<ClusterDims> {
    let id = ResourceId::from_parts(
        "aaaaaaaa-0000-0000-0000-000000000001",
        "Group",
        &format!("cluster-{number:05}"),
    )?;
    Ok(ClusterDims::new(&id, "westeurope"))
}

/// One sample of every metric, with texts that need escaping.
fn everything() -> Vec<Sample> {
    let sample = |metric: &&'static rp_monitor::names::Metric| {
        let text = |at: usize| Text::Owned(format!("<{at}> \"quoted\" \\ back & line\nfeed"));
        let dims: Vec<Text> = (0..metric.dims.len()).map(text).collect();
        let mut sample = Sample::int(metric, 7, dims);
        if metric.name.ends_with("featureflags") {
            sample.spread = vec![(Cow::Borrowed("aro.example.enabled"), Cow::Borrowed("DNE"))];
        }
        sample
    };
    ALL.iter().map(sample).collect()
}

#[tokio::test]
async fn promtool_reads_the_exposition() -> Result<()> {
    let (emitters, recorder) = Emitters::for_tests();
    for number in 0..3 {
        emitters.cluster(&dims(number)?, &everything());
    }
    emitters.heartbeat(true, "1");
    let mut promtool = tokio::process::Command::new(part("promtool")?)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = promtool.stdin.take().context("stdin")?;
    stdin.write_all(recorder.exposition().as_bytes()).await?;
    drop(stdin);
    let output = tokio::time::timeout(GENEROUS, promtool.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    // 3: it could be read, and the linter has opinions, of which one is known: the contract's own name.
    let known = "aro_cluster_summary_info metric name should not include type 'summary'";
    let others: Vec<&str> = said.lines().filter(|line| *line != known).collect();
    ensure!(matches!(output.status.code(), Some(0 | 3)) && others.is_empty(), "{others:?}");
    Ok(())
}

#[tokio::test]
async fn a_socket_gets_every_metric_once_and_as_json() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mdm_statsd.socket");
    let listener = UnixListener::bind(&path)?;
    let (registry, clock) = (Registry::new(), Arc::new(SystemClock));
    let start = |emitter| {
        let options = StatsdOptions {
            emitter,
            socket: Socket::Unix(path.clone()),
            account: emitter.to_owned(),
            namespace: "BBM".to_owned(),
            dimensions: [("location".to_owned(), "westeurope".to_owned())].into(),
            queue: 1000,
            silent_dial: false,
        };
        Statsd::start(options, clock.clone(), &registry)
    };
    let emitters = Emitters::new(EmitterParts {
        service: start("service"),
        cluster: start("cluster"),
        clock: clock.clone(),
        registry: registry.clone(),
        detail: MetricsDetail::Fleet,
    });
    emitters.cluster(&dims(1)?, &everything());
    // Each emitter has a connection of its own.
    let mut seen = Vec::new();
    for _ in 0..2 {
        let (stream, _) = tokio::time::timeout(GENEROUS, listener.accept()).await??;
        let mut lines = BufReader::new(stream).lines();
        let first = tokio::time::timeout(GENEROUS, lines.next_line()).await??.context("a line")?;
        let account = read(&first)?.0["Account"].as_str().context("Account")?.to_owned();
        let name = |text: &str| {
            ALL.iter().filter(|metric| format!("{:?}", metric.account).eq_ignore_ascii_case(text)).count()
        };
        seen.push(first);
        for _ in 1..name(&account) {
            seen.push(tokio::time::timeout(GENEROUS, lines.next_line()).await??.context("a line")?);
        }
    }
    let mut names = Vec::new();
    for line in &seen {
        let (json, value, kind) = read(line)?;
        let name = json["Metric"].as_str().context("Metric")?.to_owned();
        let metric = ALL.iter().find(|metric| metric.name == name).with_context(|| name.clone())?;
        let float = matches!(metric.wire, rp_monitor::names::Wire::Float);
        ensure!(
            (value.as_str(), kind.as_str()) == if float { ("7.000000", "f") } else { ("7", "g") },
            "{line}"
        );
        ensure!(json["Dims"]["location"] == "westeurope" && !line.contains('<'), "{line}");
        names.push(name);
    }
    names.sort();
    let mut expected: Vec<String> = ALL.iter().map(|metric| metric.name.to_owned()).collect();
    expected.sort();
    ensure!(names == expected, "{names:?}");
    Ok(())
}

/// The object, the value and the type of a line.
fn read(line: &str) -> Result<(serde_json::Value, String, String)> {
    let (json, rest) = line.rsplit_once("}:").with_context(|| line.to_owned())?;
    let (value, kind) = rest.split_once('|').with_context(|| line.to_owned())?;
    Ok((serde_json::from_str(&format!("{json}}}"))?, value.to_owned(), kind.to_owned()))
}
