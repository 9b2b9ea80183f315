use async_trait::async_trait;
use rp_base::{Clock as _, SystemClock};
use rp_database::in_memory;
use tests_kit::{Delivery, Interposed, Method, StoreCall, StoreInterceptor, told_to_fail};

use super::*;

/// Refuses this number of writes.
#[derive(Debug)]
struct Refusing(AtomicU32);

#[async_trait]
impl StoreInterceptor for Refusing {
    async fn before(&self, _: &SharedStore, call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        let count = |left: u32| left.checked_sub(1);
        let refused = call.method == Method::Replace
            && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count).is_ok();
        if refused { Err(told_to_fail()) } else { Ok(Delivery::Delivered) }
    }
}

fn holder(store: &SharedStore, token: u64) -> Journal {
    let clock = Arc::new(SystemClock);
    let time = StoreTime::new(clock.now());
    let header = LogHeader {
        id: "o".to_owned(),
        key: "k".to_owned(),
        kind: "Creating".to_owned(),
        phase: String::new(),
        asked_by: String::new(),
        correlation: None,
        token,
        fresh: token == 1,
    };
    Journal::new(store, clock, time, header)
}

async fn stored(store: &SharedStore) -> OperationLog {
    Typed::new(Arc::clone(store)).get("o").await.unwrap().unwrap().value
}

#[tokio::test(start_paused = true)]
async fn a_former_holder_never_overwrites_what_a_later_one_told() {
    let between = Interposed::new(in_memory(Arc::new(SystemClock)), Refusing(AtomicU32::new(0)));
    let store: SharedStore = between.clone();
    holder(&store, 1).flush().await.unwrap();
    // Both continue the same log: the first write of the former holder was refused.
    let (former, later) = (holder(&store, 2), holder(&store, 3));
    between.0.store(1, Ordering::SeqCst);
    former.record_line("warning", "put off");
    former.flush().await.unwrap_err();
    later.record_line("info", "done");
    later.end("Succeeded", "");
    later.flush().await.unwrap();
    former.flush().await.unwrap();
    let log = stored(&store).await;
    assert_eq!((log.token, log.result.as_str(), log.lines.len()), (3, "Succeeded", 1), "{log:?}");
    // A former holder that reads the log for the first time does not overwrite it either.
    let late = holder(&store, 2);
    late.record_line("info", "late");
    late.flush().await.unwrap();
    assert_eq!(stored(&store).await, log);
}

#[tokio::test(start_paused = true)]
async fn an_end_waits_for_its_log_but_not_for_ever() {
    let between = Interposed::new(in_memory(Arc::new(SystemClock)), Refusing(AtomicU32::new(0)));
    let store: SharedStore = between.clone();
    let journal = holder(&store, 1);
    journal.flush().await.unwrap();
    between.0.store(2, Ordering::SeqCst);
    journal.end("Failed", "no luck");
    for _ in 0..2 {
        journal.flush_final().await.unwrap_err();
        assert_eq!(stored(&store).await.result, "");
    }
    journal.flush_final().await.unwrap();
    assert_eq!(stored(&store).await.result, "Failed");
    between.0.store(u32::MAX, Ordering::SeqCst);
    journal.record_line("info", "more");
    let mut tries = 2;
    while journal.flush_final().await.is_err() {
        tries += 1;
    }
    assert_eq!(tries, MOST_REFUSED);
}
