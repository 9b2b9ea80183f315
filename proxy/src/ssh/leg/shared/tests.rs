use super::*;

/// A machine that opens the session after a time.
async fn opened_after(seconds: u64) -> Result<(), LegError> {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_session_waits_behind_the_output_of_others_and_not_on_a_silent_machine() {
    let output = AtomicU64::new(0);
    assert!(unless_silent(opened_after(9), &output).await.is_ok());
    assert!(matches!(unless_silent(opened_after(11), &output).await, Err(LegError::Slow)));
    let busy = async {
        loop {
            tokio::time::sleep(Duration::from_secs(3)).await;
            output.fetch_add(1, Ordering::Relaxed);
        }
    };
    tokio::select! {
        opened = unless_silent(opened_after(45), &output) => assert!(opened.is_ok()),
        () = busy => {}
    }
}
