//! Who gets in, who goes, and what the sweep ends.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full as Whole};
use tokio::io::AsyncWriteExt as _;

use super::connection::Input;
use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn strangers(connections: usize, per_address: usize) -> Option<StrangerLimits> {
    Some(StrangerLimits { connections, per_address, answers: 2, time: Duration::from_secs(60), input: 1000 })
}

fn limits() -> DoorLimits {
    DoorLimits {
        connections: 4,
        per_address: 3,
        strangers: strangers(3, 2),
        idle: Some(Duration::from_secs(600)),
        stalled: Some(Duration::from_secs(3600)),
        ..DoorLimits::default()
    }
}

fn door(limits: DoorLimits) -> Arc<Door> {
    Door::uncounted(limits)
}

fn is_cut(place: &ConnectionPermit) -> bool {
    use futures_util::FutureExt as _;
    place.handle().cut().now_or_never().is_some()
}

fn counts(door: &Door) -> (usize, usize) {
    let table = door.table.lock();
    (table.all(), table.strangers())
}

#[tokio::test(start_paused = true)]
async fn the_quietest_stranger_of_an_address_goes_for_the_next() {
    let door = door(limits());
    let here = address("192.0.2.1");
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(door.enter(here, false).unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let working = held[0].handle().begin();
    let third = door.enter(here, false).unwrap();
    // The older one has a request.
    assert_eq!((is_cut(&held[0]), is_cut(&held[1]), is_cut(&third)), (false, true, false));
    assert_eq!(counts(&door), (2, 2));
    let second_working = third.handle().begin();
    assert_eq!(door.enter(here, false).unwrap_err(), AdmissionRefusal::Address, "nobody of them is quiet");
    let other = door.enter(address("192.0.2.2"), false).unwrap();
    drop((working, second_working, held, third, other));
    assert_eq!(counts(&door), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_is_known_is_never_ended_for_others_and_has_an_end_of_its_address_too() {
    let door = door(limits());
    let here = address("2001:db8::1");
    let mut known = Vec::new();
    for host in ["2001:db8::1", "2001:db8::2", "2001:db8::ffff"] {
        let place = door.enter(address(host), false).unwrap();
        place.handle().known();
        place.handle().known();
        known.push(place);
    }
    assert_eq!(counts(&door), (3, 0));
    assert_eq!(door.enter(here, false).unwrap_err(), AdmissionRefusal::Address);
    let stranger = door.enter(address("2001:db8:0:1::1"), false).unwrap();
    let last = door.enter(address("192.0.2.9"), false).unwrap();
    assert!(is_cut(&stranger) && !known.iter().any(is_cut));
    last.handle().known();
    assert_eq!(door.enter(address("192.0.2.10"), false).unwrap_err(), AdmissionRefusal::Connections);
}

#[tokio::test(start_paused = true)]
async fn health_checks_have_a_place_when_all_are_taken() {
    let door = door(DoorLimits { checks_from: vec!["198.51.100.0/24".parse().unwrap()], ..limits() });
    let mut held = Vec::new();
    for host in 1..=4 {
        let place = door.enter(address(&format!("192.0.2.{host}")), false).unwrap();
        place.handle().known();
        held.push(place);
    }
    assert_eq!(door.enter(address("192.0.2.9"), false).unwrap_err(), AdmissionRefusal::Connections);
    for _ in 0..CHECKS {
        held.push(door.enter(address("198.51.100.1"), false).unwrap());
        held.last().unwrap().handle().known();
    }
    assert_eq!(door.enter(address("198.51.100.1"), false).unwrap_err(), AdmissionRefusal::Connections);
}

#[tokio::test(start_paused = true)]
async fn connections_of_all_doors_keep_within_their_share_of_descriptors() {
    let share = DescriptorShare::new(4);
    let wide = DoorLimits { connections: 100, per_address: 100, strangers: strangers(100, 100), ..limits() };
    let new = || Door::sharing(wide.clone(), "other", &Registry::new(), Arc::clone(&share));
    let (https, ssh) = (new(), new());
    let mut known = Vec::new();
    for host in 1..=2 {
        let place = https.enter(address(&format!("192.0.2.{host}")), false).unwrap();
        place.handle().known();
        known.push(place);
    }
    let quietest = ssh.enter(address("192.0.2.3"), false).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let quiet = ssh.enter(address("192.0.2.4"), false).unwrap();
    assert!(share.is_used_up(0) && !is_cut(&quietest));
    // This door has no stranger.
    let next = https.enter(address("192.0.2.5"), false).unwrap();
    assert_eq!((is_cut(&quietest), is_cut(&quiet)), (true, false));
    for place in [&quiet, &next] {
        place.handle().known();
    }
    // What was closed is counted out once.
    drop(quietest);
    for door in [&https, &ssh] {
        assert_eq!(door.enter(address("192.0.2.6"), false).unwrap_err(), AdmissionRefusal::Connections);
    }
    assert!(!known.iter().any(is_cut));
    drop(next);
    ssh.enter(address("192.0.2.6"), false).unwrap();
}

#[tokio::test(start_paused = true)]
async fn doors_that_are_configured_for_more_connections_than_their_share_are_known() {
    let share = DescriptorShare::new(250);
    let wide = DoorLimits { connections: 100, strangers: strangers(100, 100), ..limits() };
    let new =
        |limits: &DoorLimits| Door::sharing(limits.clone(), "other", &Registry::new(), Arc::clone(&share));
    let (_https, _ssh) = (new(&wide), new(&wide));
    let _internal = new(&DoorLimits::default());
    assert_eq!(share.shortage(), None);
    let third = new(&wide);
    assert_eq!(share.shortage(), Some(300));
    drop(third);
    assert_eq!(share.shortage(), None);
}

#[tokio::test(start_paused = true)]
async fn health_checks_use_some_descriptors_beyond_the_share() {
    let checks_from = vec!["198.51.100.0/24".parse().unwrap()];
    let limits = DoorLimits { checks_from, ..DoorLimits::default() };
    let door = Door::sharing(limits, "other", &Registry::new(), DescriptorShare::new(1));
    let first = door.enter(address("192.0.2.1"), false).unwrap();
    assert_eq!(door.enter(address("192.0.2.2"), false).unwrap_err(), AdmissionRefusal::Connections);
    let check = || door.enter(address("198.51.100.1"), false);
    let checks: Vec<ConnectionPermit> = (0..CHECKS).map(|_| check().unwrap()).collect();
    assert_eq!(check().unwrap_err(), AdmissionRefusal::Connections);
    assert!(!is_cut(&first) && !checks.iter().any(is_cut));
}

#[tokio::test(start_paused = true)]
async fn a_balancers_connection_counts_for_whom_it_speaks() {
    let door = door(limits());
    let balancer = address("10.0.0.9");
    let origin = |port| SocketAddr::new(address("203.0.113.7"), port);
    let mut held = Vec::new();
    for port in 1..=3 {
        let place = door.enter(balancer, true).unwrap();
        place.comes_from(origin(port)).unwrap();
        held.push(place);
    }
    assert_eq!(held.iter().filter(|place| is_cut(place)).count(), 1, "two strangers of that address");
    // Those that never say for whom they speak go as strangers do.
    let silent: Vec<ConnectionPermit> = (0..5).map(|_| door.enter(balancer, true).unwrap()).collect();
    assert!(silent.iter().filter(|place| is_cut(place)).count() >= 2);
    assert!(counts(&door).1 <= 3);
    let gone = silent.iter().find(|place| is_cut(place)).unwrap();
    assert_eq!(
        gone.comes_from(origin(9)).unwrap_err(),
        AdmissionRefusal::Strangers,
        "its place is somebody else's"
    );
}

#[tokio::test]
async fn an_address_opens_so_many_connections_in_a_minute() {
    let door = door(DoorLimits { new_per_minute: 2, ..limits() });
    for _ in 0..2 {
        drop(door.enter(address("192.0.2.1"), false).unwrap());
    }
    assert_eq!(door.enter(address("192.0.2.1"), false).unwrap_err(), AdmissionRefusal::TooOften);
    door.enter(address("192.0.2.2"), false).unwrap();
}

/// What the sweep does to a connection after that time.
async fn swept(door: &Door, place: &ConnectionPermit, seconds: u64) -> (bool, bool) {
    use futures_util::FutureExt as _;
    tokio::time::advance(Duration::from_secs(seconds)).await;
    door.sweep();
    (place.handle().leave().now_or_never().is_some(), is_cut(place))
}

#[tokio::test(start_paused = true)]
async fn who_asks_nothing_is_asked_to_leave_and_then_cut() {
    let door = door(limits());
    let stranger = door.enter(address("192.0.2.1"), false).unwrap();
    let known = door.enter(address("192.0.2.2"), false).unwrap();
    known.handle().known();
    assert_eq!(swept(&door, &stranger, 59).await, (false, false));
    assert_eq!(swept(&door, &stranger, 1).await, (true, false));
    assert_eq!(swept(&door, &stranger, 10).await, (true, true));
    assert_eq!(swept(&door, &known, 529).await, (false, false));
    let request = known.handle().begin();
    assert_eq!(swept(&door, &known, 3000).await, (false, false), "it is answered");
    drop(request);
    assert_eq!(swept(&door, &known, 600).await, (true, false));
    // A request that came before it heard of it is finished.
    let _request = known.handle().begin();
    assert_eq!(swept(&door, &known, 60).await, (true, false));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_taken_ends_the_connection() {
    let door = door(limits());
    let (stranger, known) =
        (door.enter(address("192.0.2.1"), false).unwrap(), door.enter(address("192.0.2.2"), false).unwrap());
    known.handle().known();
    // Never asked for: the window of the stream is closed.
    let _stranger = TrackedBody::new(Whole::new(Bytes::from_static(b"page")), stranger.handle());
    let _known = TrackedBody::new(Whole::new(Bytes::from_static(b"page")), known.handle());
    assert_eq!(swept(&door, &stranger, 60).await, (false, true));
    assert_eq!(swept(&door, &known, 3530).await, (false, false));
    assert_eq!(swept(&door, &known, 10).await, (false, true));
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_was_handed_over_and_lies_there_is_not_taken_either() {
    let door = door(limits());
    let place = door.enter(address("192.0.2.1"), false).unwrap();
    let mut answer = TrackedBody::new(Whole::new(Bytes::from_static(b"page")), place.handle());
    let piece = answer.frame().await.unwrap().unwrap().into_data().unwrap();
    drop(answer);
    assert_eq!(piece, "page");
    assert_eq!(swept(&door, &place, 59).await, (false, false));
    assert_eq!(swept(&door, &place, 1).await, (false, true));
    drop(piece);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_waits_for_its_source_may_last() {
    let door = door(limits());
    let place = door.enter(address("192.0.2.1"), false).unwrap();
    place.handle().known();
    let endless = http_body_util::StreamBody::new(futures_util::stream::pending::<
        Result<http_body::Frame<Bytes>, std::convert::Infallible>,
    >());
    let mut answer = TrackedBody::new(endless, place.handle());
    assert!(tokio::time::timeout(Duration::from_secs(1), answer.frame()).await.is_err());
    assert_eq!(swept(&door, &place, 100_000).await, (false, false));
}

#[tokio::test(start_paused = true)]
async fn a_stranger_leaves_few_answers_untaken() {
    let door = door(limits());
    let place = door.enter(address("192.0.2.1"), false).unwrap();
    let page = || TrackedBody::new(Whole::new(Bytes::from_static(b"page")), place.handle());
    let held = [page(), page()];
    assert!(place.handle().begin().is_none());
    place.handle().known();
    assert!(place.handle().begin().is_some());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_waits_for_a_peer_ends_by_the_doors_word() {
    let door = door(limits());
    let (near, far) = tokio::io::duplex(16);
    let mut paced = MonitoredStream::new(near, door.enter(address("192.0.2.1"), false).unwrap());
    let connection = paced.handle().clone();
    connection.known();
    let writing = tokio::spawn(async move { paced.write_all(&[0; 64]).await });
    tokio::task::yield_now().await;
    tokio::time::advance(Duration::from_secs(3599)).await;
    door.sweep();
    assert!(!writing.is_finished());
    tokio::time::advance(Duration::from_secs(1)).await;
    door.sweep();
    assert_eq!(writing.await.unwrap().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(counts(&door), (0, 0), "its place is free");
    drop(far);
}

#[test]
fn a_stranger_that_only_sends_ends() {
    let door = door(limits());
    let place = door.enter(address("192.0.2.1"), false).unwrap();
    let stranger = place.handle();
    assert_eq!([stranger.received(999), stranger.received(1)], [Input::Within; 2]);
    drop(stranger.begin().expect("a request"));
    assert_eq!(stranger.received(1000), Input::Within, "a request may have a body");
    assert!(stranger.received(1) == Input::TooMuch && is_cut(&place));

    let other = door.enter(address("192.0.2.2"), false).unwrap();
    other.handle().known();
    assert_eq!(other.handle().received(1 << 30), Input::Within, "who is known sends what it wants");
}

#[tokio::test(start_paused = true)]
async fn much_of_a_stranger_without_a_request_is_read_slowly() {
    use tokio::io::AsyncReadExt as _;
    let of_strangers = strangers(100, 100).map(|limits| StrangerLimits { input: 2 << 20, ..limits });
    let door = door(DoorLimits { strangers: of_strangers, ..limits() });
    let (near, mut far) = tokio::io::duplex(8 << 10);
    tokio::spawn(async move {
        loop {
            if far.write_all(&[0; 4096]).await.is_err() {
                return;
            }
        }
    });
    let mut stream = MonitoredStream::new(near, door.enter(address("192.0.2.1"), false).unwrap());
    let connection = stream.handle().clone();
    let began = Instant::now();
    let mut read = async |bytes: usize| {
        stream.read_exact(&mut vec![0; bytes]).await.unwrap();
        began.elapsed()
    };
    assert!(read(256 << 10).await < Duration::from_millis(10));
    let slowly = read(512 << 10).await;
    assert!((Duration::from_millis(490)..Duration::from_millis(700)).contains(&slowly), "{slowly:?}");
    drop(connection.begin().expect("a request"));
    let after = read(256 << 10).await - slowly;
    assert!(after < Duration::from_millis(20), "a request's body comes as fast as it can: {after:?}");
    connection.known();
    let before = began.elapsed();
    read(4 << 20).await;
    assert!(began.elapsed() - before < Duration::from_millis(20), "who is known is not slowed down");
}
