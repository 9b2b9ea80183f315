//! An upload through the proxy, in a process of its own: what it holds of it is seen in the process's memory.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![expect(dead_code, reason = "the harness is that of the other tests")]

#[path = "../../../rp-core/access/tests/grants/faults.rs"]
mod faults;
#[path = "../api/upstream.rs"]
mod upstream;
#[path = "../api/wire.rs"]
mod wire;
#[path = "../api/world.rs"]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rp_documents::Rights;

use upstream::{H2Limits, begin};
use wire::{Wire, start};
use world::{World, until};

const MANY: usize = 200 * 1024 * 1024;
const MOST_GROWTH: usize = 64 * 1024 * 1024;

/// Resident memory of this process but for the program itself, bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_big_upload_is_not_held() {
    let world = World::new().await;
    let got = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&got);
    let (go, wait) = tokio::sync::watch::channel(false);
    let upstream = upstream::h2(
        &world.ca,
        H2Limits { window: Some(1024 * 1024), ..H2Limits::default() },
        Arc::new(move |mut request, respond| {
            let (counted, mut wait) = (Arc::clone(&counted), wait.clone());
            Box::pin(async move {
                // Takes nothing at first: whatever the proxy would hold, it holds now.
                wait.wait_for(|go| *go).await.unwrap();
                while let Some(Ok(data)) = request.body_mut().data().await {
                    counted.fetch_add(data.len(), Ordering::SeqCst);
                    let _ = request.body_mut().flow_control().release_capacity(data.len());
                }
                drop(begin(respond).send_data(bytes::Bytes::from_static(b"{}"), true));
            })
        }),
    )
    .await;
    world.cluster(upstream.port);
    let token = world.token(Rights::Write).await;
    let mut wire = Wire::connect(&world).await;
    wire.send(format!("{}Content-Length: {MANY}\r\n\r\n", start("POST", "/api/v1/namespaces", &token))).await;
    let before = resident();
    let sent = Arc::new(AtomicUsize::new(0));
    let (sending, part) = (Arc::clone(&sent), vec![b'x'; 256 * 1024]);
    let client = tokio::spawn(async move {
        while sending.load(Ordering::SeqCst) < MANY {
            wire.send(&part).await;
            sending.fetch_add(part.len(), Ordering::SeqCst);
        }
        wire
    });
    let mut last = 0;
    until("the upload to stop", async || {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let now = sent.load(Ordering::SeqCst);
        let stalled = now > 0 && now == last;
        last = now;
        stalled.then_some(())
    })
    .await;
    assert!(last < MOST_GROWTH, "{last} bytes were taken for a cluster that takes none");
    go.send_replace(true);
    let mut peak = 0;
    let mut before_that = 0;
    // As long as it goes on: how fast is for benchmarks.
    while got.load(Ordering::SeqCst) < MANY {
        until("more to reach the cluster", async || {
            peak = peak.max(resident());
            (got.load(Ordering::SeqCst) > before_that).then_some(())
        })
        .await;
        before_that = got.load(Ordering::SeqCst);
    }
    let mut wire = client.await.unwrap();
    assert_eq!(wire.answer().await.status, 200);
    assert!(peak.saturating_sub(before) < MOST_GROWTH, "{} MiB more", (peak - before) >> 20);
    let entry = world.audited("the upload", |entry| entry.bytes_in == MANY as u64).await;
    assert_eq!(entry.result.status, 200);
}
