//! Two ends and a wire between them.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, Stream, sink, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::*;

const GENEROUS: Duration = Duration::from_secs(60);

type In = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>;
type Out = Pin<Box<dyn Sink<Bytes, Error = String> + Send>>;

fn half(most: usize) -> (Out, In) {
    let (sender, receiver) = mpsc::channel::<Bytes>(most);
    let out = sink::unfold(sender, |sender, message: Bytes| async move {
        sender.send(message).await.map_err(|_| "the wire is cut".to_owned())?;
        Ok(sender)
    });
    let into = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|message| (Ok(message), receiver))
    });
    (Box::pin(out), Box::pin(into))
}

struct Wire {
    opener: Opener,
    asks: StreamRequests,
    client: JoinHandle<DisconnectReason>,
    server: JoinHandle<DisconnectReason>,
}

fn wire(keepalive: Keepalive) -> Wire {
    let ((client_out, server_in), (server_out, client_in)) = (half(4), half(4));
    let (opener, client_driver) = client(keepalive);
    let (asks, server_driver) = server(keepalive);
    Wire {
        opener,
        asks,
        client: tokio::spawn(client_driver.run(client_in, client_out)),
        server: tokio::spawn(server_driver.run(server_in, server_out)),
    }
}

fn place(text: &str) -> Destination {
    Destination::parse(text).unwrap()
}

/// Both ends of one stream.
async fn pair(wire: &mut Wire) -> (TunnelStream, TunnelStream) {
    let wanted = place("console.example:443");
    let (opened, asked) = tokio::join!(wire.opener.open(&wanted), async {
        let asked = wire.asks.next().await.unwrap();
        assert_eq!((asked.host.as_str(), asked.port), ("console.example", 443));
        asked.accept()
    });
    (opened.unwrap(), asked)
}

/// A server for one end alone: what it is sent by hand.
fn by_hand() -> (Out, In, StreamRequests, JoinHandle<DisconnectReason>) {
    let ((ours, theirs), (answers, read)) = (half(64), half(64));
    let (asks, driver) = server(Keepalive::default());
    (ours, read, asks, tokio::spawn(driver.run(theirs, answers)))
}

async fn send(out: &mut Out, frame: Frame) {
    futures_util::SinkExt::send(out, frame.encode()).await.unwrap();
}

async fn next(read: &mut In) -> Frame {
    let message = tokio::time::timeout(GENEROUS, futures_util::StreamExt::next(read)).await.unwrap();
    Frame::decode(message.unwrap().unwrap()).unwrap()
}

#[tokio::test]
async fn bytes_pass_and_each_direction_ends_by_itself() {
    let mut wire = wire(Keepalive::default());
    let (mut near, mut far) = pair(&mut wire).await;
    let sent: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let (copy, length) = (sent.clone(), sent.len());
    let writing = tokio::spawn(async move {
        near.write_all(&copy).await.unwrap();
        near.shutdown().await.unwrap();
        let mut back = String::new();
        near.read_to_string(&mut back).await.unwrap();
        back
    });
    let mut got = Vec::new();
    far.read_to_end(&mut got).await.unwrap();
    assert!(got.len() == length && got == sent);
    far.write_all(b"after their end").await.unwrap();
    far.shutdown().await.unwrap();
    drop(far);
    assert_eq!(writing.await.unwrap(), "after their end");
}

#[tokio::test]
async fn a_stream_that_nobody_reads_stalls_itself_only() {
    let mut wire = wire(Keepalive::default());
    let (mut stalled, _unread) = pair(&mut wire).await;
    let (mut near, mut far) = pair(&mut wire).await;
    stalled.write_all(&vec![0; WINDOW as usize]).await.unwrap();
    let more = tokio::time::timeout(Duration::ZERO, stalled.write(b"x")).await;
    assert!(more.is_err(), "the window and no more");
    let writing = tokio::spawn(async move {
        near.write_all(&vec![7; 1_000_000]).await.unwrap();
        near.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    far.read_to_end(&mut got).await.unwrap();
    assert_eq!(got.len(), 1_000_000);
    writing.await.unwrap();
}

#[tokio::test]
async fn what_is_refused_is_told_and_what_is_dropped_is_reset() {
    let mut wire = wire(Keepalive::default());
    let elsewhere = place("evil.example:443");
    let (opened, ()) = tokio::join!(wire.opener.open(&elsewhere), async {
        wire.asks.next().await.unwrap().refuse("not_granted", "Not in the grant.");
    });
    let refused =
        OpenError::Refused { code: "not_granted".to_owned(), reason: "Not in the grant.".to_owned() };
    assert_eq!(opened.unwrap_err(), refused);

    let (near, mut far) = pair(&mut wire).await;
    near.reset("the grant has ended");
    let error = far.read_u8().await.unwrap_err();
    assert_eq!(error.to_string(), "the grant has ended");
    let (mut near, far) = pair(&mut wire).await;
    drop(far);
    assert_eq!(near.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert!(near.write_all(b"x").await.is_err());
    drop(near);
    // An attempt that is given up frees its place.
    let lost = place("slow.example:443");
    assert!(tokio::time::timeout(Duration::from_millis(50), wire.opener.open(&lost)).await.is_err());
    let mut asked = wire.asks.next().await.unwrap().accept();
    assert!(asked.read_u8().await.is_err());
}

#[tokio::test]
async fn more_streams_than_may_be_are_refused() {
    let mut wire = wire(Keepalive::default());
    let mut held = Vec::new();
    for _ in 0..MOST_STREAMS {
        held.push(pair(&mut wire).await);
    }
    assert_eq!(wire.opener.open(&place("a.example:1")).await.unwrap_err(), OpenError::TooMany);
    held.clear();
    pair(&mut wire).await;
}

#[tokio::test]
async fn the_end_of_the_wire_ends_every_stream() {
    let mut wire = wire(Keepalive::default());
    let (mut near, mut far) = pair(&mut wire).await;
    wire.server.abort();
    assert!(near.read_u8().await.is_err());
    assert!(far.read_u8().await.is_err());
    assert!(matches!(wire.client.await.unwrap(), DisconnectReason::Closed | DisconnectReason::Broken(_)));
    assert_eq!(wire.opener.open(&place("a.example:1")).await.unwrap_err(), OpenError::Closed);
    assert!(wire.opener.is_closing());
}

#[tokio::test]
async fn bye_sends_new_streams_elsewhere_and_leaves_the_open_ones() {
    let mut wire = wire(Keepalive::default());
    let (mut near, mut far) = pair(&mut wire).await;
    wire.asks.bye_sender().send_bye("this process is about to end");
    far.write_all(b"x").await.unwrap();
    assert_eq!(near.read_u8().await.unwrap(), b'x');
    assert!(wire.opener.is_closing() && wire.opener.open(&place("a.example:1")).await.is_err());
    near.write_all(b"y").await.unwrap();
    assert_eq!(far.read_u8().await.unwrap(), b'y');
}

#[tokio::test(start_paused = true)]
async fn a_silent_other_side_is_missed() {
    let ((out, _kept), (_silent, into)) = (half(64), half(64));
    let (opener, driver) = client(Keepalive::default());
    assert_eq!(driver.run(into, out).await, DisconnectReason::Silent);
    assert!(opener.is_closing());
}

#[tokio::test(start_paused = true)]
async fn pings_keep_a_quiet_tunnel() {
    let wire = wire(Keepalive::default());
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(!wire.client.is_finished() && !wire.server.is_finished());
}

#[tokio::test]
async fn whoever_breaks_the_rules_is_cut() {
    let hostile: [(&str, Vec<Frame>); 6] = [
        ("data before an open", vec![Frame::Data { stream: 9, bytes: Bytes::from_static(b"x") }]),
        (
            "a number again",
            vec![
                Frame::Open { stream: 2, host: "a".to_owned(), port: 1 },
                Frame::Open { stream: 2, host: "a".to_owned(), port: 1 },
            ],
        ),
        ("an answer", vec![Frame::Opened { stream: 1 }]),
        (
            "credit that nobody owes",
            vec![
                Frame::Open { stream: 1, host: "a".to_owned(), port: 1 },
                Frame::Window { stream: 1, bytes: 1 },
            ],
        ),
        (
            "data after the end",
            vec![
                Frame::Open { stream: 1, host: "a".to_owned(), port: 1 },
                Frame::End { stream: 1 },
                Frame::Data { stream: 1, bytes: Bytes::from_static(b"x") },
            ],
        ),
        ("more than the window", {
            let piece = Bytes::from(vec![0; MOST_DATA]);
            let count = WINDOW as usize / MOST_DATA + 1;
            let open = Frame::Open { stream: 1, host: "a".to_owned(), port: 1 };
            let data = (0..count).map(|_| Frame::Data { stream: 1, bytes: piece.clone() });
            std::iter::once(open).chain(data).collect()
        }),
    ];
    for (what, frames) in hostile {
        let (mut out, _read, mut asks, server) = by_hand();
        let held = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Some(asked) = asks.next().await {
                held.push(asked);
            }
        });
        for frame in frames {
            send(&mut out, frame).await;
        }
        let over = tokio::time::timeout(GENEROUS, server).await.unwrap().unwrap();
        assert!(matches!(over, DisconnectReason::Rules(_)), "{what}: {over}");
        held.await.unwrap();
    }
    let (mut out, _read, _asks, server) = by_hand();
    futures_util::SinkExt::send(&mut out, Bytes::from_static(b"nonsense")).await.unwrap();
    assert!(matches!(server.await.unwrap(), DisconnectReason::Frame(_)));
}

#[tokio::test]
async fn late_frames_of_a_stream_that_is_over_harm_nobody() {
    let (mut out, mut read, mut asks, server) = by_hand();
    send(&mut out, Frame::Open { stream: 5, host: "a".to_owned(), port: 1 }).await;
    asks.next().await.unwrap().refuse("no", "No.");
    assert!(matches!(next(&mut read).await, Frame::Refused { stream: 5, .. }));
    send(&mut out, Frame::Data { stream: 5, bytes: Bytes::from_static(b"late") }).await;
    send(&mut out, Frame::End { stream: 5 }).await;
    send(&mut out, Frame::Ping { token: 77 }).await;
    assert_eq!(next(&mut read).await, Frame::Pong { token: 77 });
    assert!(!server.is_finished());
}

#[tokio::test]
async fn whoever_asks_and_does_not_read_is_cut() {
    let ((mut out, theirs), (answers, _unread)) = (half(64), half(1));
    let (_asks, driver) = server(Keepalive::default());
    let server = tokio::spawn(driver.run(theirs, answers));
    for token in 0..100_000 {
        let frame = Frame::Ping { token }.encode();
        if futures_util::SinkExt::send(&mut out, frame).await.is_err() {
            break;
        }
    }
    assert_eq!(server.await.unwrap(), DisconnectReason::Rules("it asks and does not read"));
}
