use super::*;

fn data(size: usize) -> Up {
    Up::Data(Bytes::from(vec![7; size]))
}

#[tokio::test]
async fn what_is_taken_makes_room() {
    let (inlet, mut outlet) = channel(&CancellationToken::new());
    inlet.push(data(SOFT - SMALL)).await;
    assert!(!inlet.is_slow());
    let message = outlet.up.recv().await.unwrap();
    outlet.flow.took(size_of(&message));
    assert_eq!(inlet.flow.waiting.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_machine_slows_the_client_down_and_bounds_what_waits() {
    let (inlet, outlet) = channel(&CancellationToken::new());
    let pushing = async {
        loop {
            inlet.push(data(32 * 1024)).await;
        }
    };
    // The clock is paused: each lingering passes at once, and only the hard limit holds.
    let ended = tokio::time::timeout(Duration::from_secs(3600), pushing).await;
    assert!(ended.is_err(), "more was taken than fits");
    let waiting = outlet.flow.waiting.load(Ordering::Relaxed);
    assert!((HARD..HARD + 64 * 1024).contains(&waiting), "{waiting} bytes wait");
}

#[tokio::test]
async fn messages_without_data_count_too() {
    let (inlet, outlet) = channel(&CancellationToken::new());
    for _ in 0..SOFT / SMALL {
        inlet.push(Up::Size { cols: 80, rows: 24, width: 0, height: 0 }).await;
    }
    assert!(!inlet.is_slow());
    assert_eq!(outlet.flow.waiting.load(Ordering::Relaxed), SOFT / SMALL * SMALL);
}

#[tokio::test]
async fn a_cut_channel_keeps_nobody_waiting() {
    let (inlet, _outlet) = channel(&CancellationToken::new());
    inlet.cut.cancel();
    for _ in 0..1000 {
        inlet.push(data(32 * 1024)).await;
    }
    assert_eq!(inlet.ask(Ask::Shell).await, Err(None));
}

#[tokio::test]
async fn a_channel_whose_task_is_gone_takes_everything_and_keeps_nothing() {
    let (inlet, outlet) = channel(&CancellationToken::new());
    drop(outlet);
    for _ in 0..1000 {
        inlet.push(data(32 * 1024)).await;
    }
    assert_eq!(inlet.flow.waiting.load(Ordering::Relaxed), 0);
    assert_eq!(inlet.ask(Ask::Shell).await, Err(None));
}
