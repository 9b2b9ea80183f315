//! Clients that mean harm and know the protocol.

use rp_base::{Clock as _, SystemClock};
use russh::keys::signature::Signer as _;
use russh::keys::{Algorithm, PrivateKey};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::raw::{Message, Raw, message_number};
use crate::world::{Setup, World, settings, soon};

/// A client that signed in with a one-time password.
async fn signed_in(world: &World) -> Raw {
    let issued = world.issue().await;
    let mut raw = Raw::connect(world.address).await;
    raw.sign_in("ada", issued.token.expose()).await;
    raw
}

/// Everybody else is served as ever.
async fn others_are_served(world: &World, after: &str) {
    let ran = world.granted().await.run("echo in").await;
    assert_eq!(ran.text(), "in\n", "after {after}: {}", ran.err);
}

/// A command's output on a channel of such a client.
async fn runs(raw: &mut Raw, channel: u32, number: u32) {
    raw.up.send(&Message::exec(channel, "echo in")).await.unwrap();
    let data = raw.down.until(message_number::DATA).await;
    assert_eq!(data, Message::with_kind(message_number::DATA).number(number).string("in\n").0);
    raw.down.until(message_number::CLOSE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_is_widened_without_end_harms_nobody() {
    let world = World::new().await;
    let mut raw = signed_in(&world).await;
    let channel = raw.session(3).await;
    // The channel, and others that there are not.
    let adjust = |to: u32| Message::with_kind(message_number::WINDOW_ADJUST).number(to).number(u32::MAX);
    let flood: Vec<Message> = (0..20_000).map(|n| adjust(if n % 3 == 0 { n } else { channel })).collect();
    for part in flood.chunks(1000) {
        raw.up.send_all(part).await.unwrap();
    }
    runs(&mut raw, channel, 3).await;
    others_are_served(&world, "a flood of windows").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_sizes_and_signals_without_end_harm_nobody() {
    let world = World::new().await;
    let mut raw = signed_in(&world).await;
    let channel = raw.session(3).await;
    let request =
        |name: &str| Message::with_kind(message_number::REQUEST).number(channel).string(name).byte(0);
    let mut flood = Vec::new();
    for n in 0..5_000_u32 {
        flood.push(
            request("env").string(format!("LC_{}", "A".repeat(n as usize % 40 + 1))).string("x".repeat(1000)),
        );
        flood.push(request("window-change").number(n).number(n).number(0).number(0));
        flood.push(request("signal").string("WINCH"));
        flood.push(request("no-such-request@aro.test").string("x"));
    }
    let Raw { mut up, mut down, .. } = raw;
    // What is answered is read, or neither side would go on.
    let reading = tokio::spawn(async move { down.rest(message_number::DATA).await });
    for part in flood.chunks(500) {
        up.send_all(part).await.unwrap();
    }
    up.send(&Message::exec(channel, "echo in")).await.unwrap();
    others_are_served(&world, "a flood of requests").await;
    drop(up);
    soon("the end", reading).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_without_end_are_refused() {
    let settings = rp_config::Ssh { max_channels: 3, ..settings() };
    let world = World::with(Setup { settings, ..Setup::default() }).await;
    let Raw { mut up, mut down, .. } = signed_in(&world).await;
    let flood: Vec<Message> = (0..2_000).map(Message::session).collect();
    let counting = async {
        let (mut opened, mut refused) = (0, 0);
        while opened + refused < 2_000 {
            match down.next().await.expect("closed")[0] {
                message_number::OPENED => opened += 1,
                message_number::OPEN_FAILURE => refused += 1,
                _ => {}
            }
        }
        (opened, refused)
    };
    let sending = async {
        for part in flood.chunks(100) {
            up.send_all(part).await.unwrap();
        }
    };
    let (counted, ()) = soon("an answer to each", async { tokio::join!(counting, sending) }).await;
    assert_eq!(counted, (3, 1_997));
    assert!(world.machine.connections() <= 4, "{} connections", world.machine.connections());
    others_are_served(&world, "a flood of channels").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_nobody_takes_does_not_pile_up() {
    const ALL: usize = 64 * 1024 * 1024;
    let world = World::new().await;
    let mut raw = signed_in(&world).await;
    let channel = raw.session(3).await;
    raw.up.send(&Message::exec(channel, "sleep 1000")).await.unwrap();
    // More than the window, and the window's owner is not asked.
    let Raw { mut up, mut down, .. } = raw;
    let reading = tokio::spawn(async move { down.rest(message_number::DATA).await });
    let piece = Message::with_kind(message_number::DATA).number(channel).string(vec![7; 32_000]);
    let (told, sent) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(async move {
        let mut all = 0;
        while all < ALL && up.send(&piece).await.is_ok() {
            all += 32_000;
            told.send_replace(all);
        }
        all
    });
    for _ in 0..3 {
        others_are_served(&world, "data that nobody takes").await;
    }
    let taken = *sent.borrow();
    assert!(taken < ALL / 2, "{taken} bytes were taken");
    writing.abort();
    reading.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn packets_that_are_none_end_their_connection_and_nothing_else() {
    let world = World::new().await;
    for (name, bytes) in [
        ("all bits", vec![0xff; 64]),
        ("no length", vec![0; 64]),
        ("a length that fits no block", [&[0, 0, 0, 17][..], &[9; 64]].concat()),
        ("a large one", [&[0, 3, 255, 240][..], &vec![9; 300_000]].concat()),
        ("a wrong seal", [&[0, 0, 0, 32][..], &[9; 48]].concat()),
    ] {
        let mut raw = signed_in(&world).await;
        let _ = raw.up.send_bytes(&bytes).await;
        soon(&format!("the close after {name}"), raw.down.rest(0)).await;
    }
    others_are_served(&world, "packets that are none").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_say_nothing_harm_nobody() {
    let world = World::new().await;
    let unknown = |kind: u8| Message::with_kind(kind).number(77);
    let cut_off: Vec<Message> = (80..=100).chain(1..8).map(Message::with_kind).collect();
    let huge = |kind: u8| Message::with_kind(kind).number(0).number(u32::MAX);
    for (name, messages) in [
        ("nothing after their kind", cut_off),
        ("channels that there are not", (91..=100).map(unknown).collect()),
        (
            "strings of 4 GiB",
            vec![huge(message_number::OPEN), huge(message_number::DATA), huge(message_number::REQUEST)],
        ),
        (
            "no packet of any size",
            vec![
                Message::with_kind(message_number::OPEN)
                    .string("session")
                    .number(5)
                    .number(u32::MAX)
                    .number(0),
                Message::exec(0, "yes"),
            ],
        ),
        (
            "packets of one byte",
            vec![
                Message::with_kind(message_number::OPEN)
                    .string("session")
                    .number(5)
                    .number(100_000)
                    .number(1),
                Message::exec(0, "yes"),
            ],
        ),
        (
            "a type that is none",
            vec![Message::with_kind(message_number::OPEN).string([0xff, 0xfe]).number(1).number(1).number(1)],
        ),
        ("an empty payload", vec![Message::default()]),
        (
            "a second sign-in",
            vec![
                Message::with_kind(message_number::AUTH_REQUEST)
                    .string("eve")
                    .string("ssh-connection")
                    .string("none"),
            ],
        ),
        ("new keys without an exchange", vec![Message::with_kind(message_number::NEWKEYS)]),
    ] {
        // Each on a connection of its own, for most of them end it.
        for message in messages {
            let mut raw = signed_in(&world).await;
            let _ = raw.up.send(&message).await;
        }
        others_are_served(&world, name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_opened_before_the_sign_in() {
    let world = World::new().await;
    for asked in [false, true] {
        let mut raw = Raw::connect(world.address).await;
        if asked {
            raw.ask_to_sign_in().await;
        }
        let _ = raw.up.send_all(&[Message::session(1), Message::exec(0, "echo in")]).await;
        drop(raw.up);
        assert_eq!(soon("the close", raw.down.rest(message_number::OPENED)).await, 0);
    }
    assert_eq!(world.machine.connections(), 0);
}

/// `string session || request`, and how it ends.
fn by_key(user: &str, algorithm: &str, shown: &[u8], proved: bool) -> Message {
    let request = Message::with_kind(message_number::AUTH_REQUEST)
        .string(user)
        .string("ssh-connection")
        .string("publickey");
    request.byte(u8::from(proved)).string(algorithm).string(shown)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_offered_and_not_proved_opens_nothing() {
    const KIND: &str = "ssh-ed25519-cert-v01@openssh.com";
    let world = World::new().await;
    let issued = world.issue().await;
    let fresh = || PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
    let (own, foreign) = (fresh(), fresh());
    let now = SystemClock.now();
    let until = now + std::time::Duration::from_secs(600);
    let certificate = world.keys.user_certificate(own.public_key(), &issued.grant.id, now, until).unwrap();
    let shown = certificate.to_bytes().unwrap();
    let signed = |key: &PrivateKey, session: &[u8], request: &Message| {
        let what = Message::default().string(session).0;
        let signature = key.try_sign(&[&what[..], &request.0].concat()).unwrap();
        request.clone().string(Message::default().string("ssh-ed25519").string(signature.as_bytes()).0)
    };

    let mut raw = Raw::connect(world.address).await;
    raw.ask_to_sign_in().await;
    raw.up.send(&by_key("node-0", KIND, &shown, false)).await.unwrap();
    raw.down.until(message_number::AUTH_KEY_OK).await;
    let request = by_key("node-0", KIND, &shown, true);
    let session = raw.session.clone();
    for wrong in [
        request.clone().string(Message::default().string("ssh-ed25519").string([0; 64]).0),
        signed(&foreign, &session, &request),
        // As somebody would who heard it on another connection.
        signed(&own, &[1; 32], &request),
        signed(&own, &session, &by_key("eve", KIND, &shown, true)),
    ] {
        let wrong = if wrong.0.starts_with(&request.0) { wrong } else { spoken_as(&request, &wrong) };
        raw.up.send(&wrong).await.unwrap();
        raw.down.until(message_number::AUTH_FAILURE).await;
    }
    // Offered once more, then as if it had been proved.
    raw.up.send(&by_key("node-0", KIND, &shown, false)).await.unwrap();
    raw.down.until(message_number::AUTH_KEY_OK).await;
    let _ = raw.up.send_all(&[Message::session(1), Message::exec(0, "echo in")]).await;
    drop(raw.up);
    assert_eq!(soon("the close", raw.down.rest(message_number::OPENED)).await, 0);
    assert_eq!(world.machine.connections(), 0);

    // By the same hand it opens where it is proved.
    let mut raw = Raw::connect(world.address).await;
    raw.ask_to_sign_in().await;
    let good = signed(&own, &raw.session, &request);
    raw.up.send(&good).await.unwrap();
    raw.down.until(message_number::AUTH_SUCCESS).await;
    let channel = raw.session(1).await;
    runs(&mut raw, channel, 1).await;
}

/// The signature of one request behind another.
fn spoken_as(request: &Message, signed: &Message) -> Message {
    let signature = &signed.0[signed.0.len() - (4 + 4 + "ssh-ed25519".len() + 4 + 64)..];
    Message([&request.0[..], signature].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balancers_header_says_who_it_is() {
    let world =
        World::with(Setup { balancers: vec!["127.0.0.0/8".parse().unwrap()], ..Setup::default() }).await;
    let issued = world.issue().await;
    let mut tcp = TcpStream::connect(world.address).await.unwrap();
    tcp.write_all(b"PROXY TCP4 203.0.113.9 192.0.2.1 50000 22\r\n").await.unwrap();
    let mut raw = Raw::over(tcp).await;
    raw.sign_in("ada", issued.token.expose()).await;
    let channel = raw.session(1).await;
    runs(&mut raw, channel, 1).await;
    let login = world.audited("the sign-in", |e| e.verb == "ssh.login" && e.result.word == "ok").await;
    assert_eq!(login.actor.from, "203.0.113.9");
    // Without one, and with one that is damaged, a balancer is not served.
    for head in ["SSH-2.0-none\r\n", "PROXY TCP4 nobody nowhere 1 2\r\nSSH-2.0-x\r\n"] {
        let mut tcp = TcpStream::connect(world.address).await.unwrap();
        tcp.write_all(head.as_bytes()).await.unwrap();
        let mut said = Vec::new();
        let _ = soon("the close", tokio::io::AsyncReadExt::read_to_end(&mut tcp, &mut said)).await;
        assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
    }
}
