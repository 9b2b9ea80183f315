use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn data(size: usize) -> ClientMessage {
    ClientMessage::Data(Bytes::from(vec![7; size]))
}

#[tokio::test]
async fn what_is_taken_makes_room() {
    let (inlet, mut outlet) = channel(&CancellationToken::new());
    inlet.push(data(SOFT - SMALL)).await;
    assert!(!inlet.is_slow());
    let message = outlet.up.recv().await.unwrap();
    outlet.flow.release(size_of(&message));
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
        inlet.push(ClientMessage::Size { cols: 80, rows: 24, width: 0, height: 0 }).await;
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
    assert_eq!(inlet.ask(ChannelRequest::Shell).await, Err(None));
}

#[tokio::test]
async fn an_answer_outruns_the_end_that_comes_with_it() {
    let (inlet, mut outlet) = channel(&CancellationToken::new());
    for answer in [Ok(()), Err(None), Err(Some("no".to_owned()))] {
        let cut = inlet.cut.child_token();
        let asked = Inlet { up: inlet.up.clone(), flow: Arc::clone(&inlet.flow), cut };
        let machine = async {
            let Some((ClientMessage::Request(_, reply), size)) = outlet.next().await else {
                panic!("no question")
            };
            // Both happen before the waiting request is woken.
            reply.send(answer.clone()).unwrap();
            asked.cut.cancel();
            outlet.release(size);
        };
        let (heard, ()) = tokio::join!(asked.ask(ChannelRequest::Shell), machine);
        assert_eq!(heard, answer);
    }
}

#[tokio::test]
async fn whoever_asks_is_told_when_nobody_will_answer() {
    let (inlet, mut outlet) = channel(&CancellationToken::new());
    let machine = async {
        let (message, _) = outlet.next().await.unwrap();
        drop(message);
    };
    let (heard, ()) = tokio::join!(inlet.ask(ChannelRequest::Shell), machine);
    assert_eq!(heard, Err(None));
    let machine = async {
        let message = outlet.next().await.unwrap();
        inlet.cut.cancel();
        message
    };
    let (heard, _held) = tokio::join!(inlet.ask(ChannelRequest::Shell), machine);
    assert_eq!(heard, Err(None));
}

#[tokio::test]
async fn a_channel_whose_task_is_gone_takes_everything_and_keeps_nothing() {
    let (inlet, outlet) = channel(&CancellationToken::new());
    drop(outlet);
    for _ in 0..1000 {
        inlet.push(data(32 * 1024)).await;
    }
    assert_eq!(inlet.flow.waiting.load(Ordering::Relaxed), 0);
    assert_eq!(inlet.ask(ChannelRequest::Shell).await, Err(None));
}

/// What a hostile client may send, in any order.
fn any_message() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        vec(any::<u8>(), 0..4000).prop_map(|bytes| ClientMessage::Data(Bytes::from(bytes))),
        (any::<u32>(), vec(any::<u8>(), 0..100))
            .prop_map(|(kind, bytes)| ClientMessage::Extended(kind, Bytes::from(bytes))),
        Just(()).prop_map(|()| ClientMessage::Eof),
        any::<(u32, u32, u32, u32)>().prop_map(|(cols, rows, width, height)| ClientMessage::Size {
            cols,
            rows,
            width,
            height
        }),
        "\\PC{0,20}".prop_map(|name| ClientMessage::Signal(Sig::Custom(name))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn messages_never_overtake_each_other_and_never_stay_counted(
        messages in vec(any_message(), 0..60),
        cut_at in 0usize..80,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (inlet, mut outlet) = channel(&CancellationToken::new());
            let sent: Vec<String> = messages.iter().map(|message| format!("{message:?}")).collect();
            for (at, message) in messages.into_iter().enumerate() {
                if at == cut_at {
                    inlet.cut.cancel();
                }
                inlet.push(message).await;
            }
            drop(inlet);
            let mut taken = Vec::new();
            while let Some(message) = outlet.up.recv().await {
                outlet.flow.release(size_of(&message));
                taken.push(format!("{message:?}"));
            }
            assert_eq!(sent, taken);
            assert_eq!(outlet.flow.waiting.load(Ordering::Relaxed), 0);
        });
    }
}
