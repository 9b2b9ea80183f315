//! Tests that change global state of the process, in a separate process.

use std::process::Command;
use std::time::Duration;

use rp_metrics::Registry;
use rp_runtime::{Lifecycle, ShutdownTimeouts, count_panics, on_hangup};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

fn signal(name: &str) {
    let status = Command::new("kill").args([name, &std::process::id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[tokio::test]
async fn a_hangup_reloads_and_each_signal_brings_the_end_nearer() {
    let life = Lifecycle::with_signals(ShutdownTimeouts { leave: LONG, drain: LONG }).unwrap();
    let (told, mut reloads) = tokio::sync::mpsc::unbounded_channel();
    on_hangup(&life, move || told.send(()).unwrap()).unwrap();
    signal("-HUP");
    timeout(LONG, reloads.recv()).await.unwrap().unwrap();
    assert!(!life.stopping().is_cancelled());
    signal("-TERM");
    timeout(LONG, life.leaving().cancelled()).await.unwrap();
    assert!(!life.stopping().is_cancelled());
    signal("-INT");
    timeout(LONG, life.stopping().cancelled()).await.unwrap();
    assert!(!life.cutting().is_cancelled());
    signal("-TERM");
    timeout(LONG, life.cutting().cancelled()).await.unwrap();
}

#[test]
fn panics_are_counted() {
    let registry = Registry::new();
    count_panics(&registry);
    assert!(std::thread::spawn(|| panic!("in a test")).join().is_err());
    let _ = std::panic::take_hook();
    assert!(registry.render().contains("process_panics_total 1\n"));
    assert!(registry.mistakes().is_empty());
}
