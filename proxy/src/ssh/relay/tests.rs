use std::future::{Ready, ready};

use proptest::prelude::*;
use russh::client::{AuthResult, connect_stream};
use russh::keys::{Algorithm, PrivateKey, PublicKeyOrCertificate};
use russh::server::{Auth, ChannelOpenHandle, RunningSession, run_stream};
use russh::{ChannelId, ChannelMsg, Disconnect};
use tokio::sync::mpsc;

use super::*;

/// What a scripted server says to a message, all of it at once.
type ScriptedReply = fn(ChannelId, &mut server::Session) -> Result<(), russh::Error>;

/// When a command, data and the end of input come.
#[derive(Clone, Copy)]
struct Script {
    command: ScriptedReply,
    data: ScriptedReply,
    eof: ScriptedReply,
}

const NOTHING: ScriptedReply = |_, _| Ok(());
const AGREES: Script =
    Script { command: |id, session| session.channel_success(id), data: NOTHING, eof: NOTHING };

struct Scripted {
    script: Script,
    opened: mpsc::UnboundedSender<(Channel<server::Msg>, server::Handle)>,
}

impl server::Handler for Scripted {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<server::Msg>,
        reply: ChannelOpenHandle,
        session: &mut server::Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        let _ = self.opened.send((channel, session.handle()));
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        _command: &[u8],
        session: &mut server::Session,
    ) -> Result<(), russh::Error> {
        (self.script.command)(id, session)
    }

    async fn data(
        &mut self,
        id: ChannelId,
        _data: &[u8],
        session: &mut server::Session,
    ) -> Result<(), russh::Error> {
        (self.script.data)(id, session)
    }

    async fn channel_eof(
        &mut self,
        id: ChannelId,
        session: &mut server::Session,
    ) -> Result<(), russh::Error> {
        (self.script.eof)(id, session)
    }
}

struct Trusting;

impl client::Handler for Trusting {
    type Error = russh::Error;

    async fn check_server_key(&mut self, _shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        Ok(true)
    }
}

/// A client and a server over a pipe.
struct Pair {
    client: client::Handle<Trusting>,
    opened: mpsc::UnboundedReceiver<(Channel<server::Msg>, server::Handle)>,
    _server: RunningSession<Scripted>,
}

impl Pair {
    async fn new(script: Script) -> Self {
        let (near, far) = tokio::io::duplex(256 * 1024);
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
        let config = server::Config { keys: vec![key], ..server::Config::default() };
        let (told, opened) = mpsc::unbounded_channel();
        let server = run_stream(Arc::new(config), far, Scripted { script, opened: told });
        let (server, client) =
            tokio::join!(server, connect_stream(Arc::new(client::Config::default()), near, Trusting));
        let mut client = client.unwrap();
        assert!(matches!(client.authenticate_none("x").await.unwrap(), AuthResult::Success));
        Self { client, opened, _server: server.unwrap() }
    }

    /// A channel's two ends, and a handle of its server.
    async fn open(&mut self) -> (Channel<client::Msg>, Channel<server::Msg>, server::Handle) {
        let near = self.client.channel_open_session().await.unwrap();
        let (far, handle) = self.opened.recv().await.unwrap();
        (near, far, handle)
    }
}

/// Lets everything pass.
struct Lenient;

impl Gatekeeper for Lenient {
    async fn admit(&self, _ask: &ChannelRequest) -> Result<Option<StartedProgram>, AdmitError> {
        Ok(None)
    }
}

/// A person's connection and a machine's.
struct World {
    person: Pair,
    machine: Pair,
}

/// One channel through both.
struct RelayedChannel {
    relay: Relay<Lenient, Ready<String>>,
    inlet: Inlet,
    /// What the person sees.
    shown: Channel<client::Msg>,
    /// The machine's end.
    machine: (Channel<server::Msg>, server::Handle),
}

impl World {
    async fn new(script: Script) -> Self {
        Self { person: Pair::new(AGREES).await, machine: Pair::new(script).await }
    }

    async fn carried(&mut self) -> RelayedChannel {
        let (shown, person, handle) = self.person.open().await;
        let (far, at_machine, its_handle) = self.machine.open().await;
        let (inlet, outlet) = channel(&CancellationToken::new());
        let (_, person) = person.split();
        let relay = Relay {
            outlet,
            person,
            handle,
            far,
            gate: Lenient,
            cut: inlet.cut.clone(),
            total: Arc::default(),
            begun: None,
            news: Some(ready("it is gone".to_owned())),
            stalled: Arc::default(),
        };
        RelayedChannel { relay, inlet, shown, machine: (at_machine, its_handle) }
    }
}

/// What the person sees until the channel is closed; pieces of one stream as one.
async fn seen(mut shown: Channel<client::Msg>) -> Vec<String> {
    let mut seen: Vec<(&str, Vec<u8>)> = Vec::new();
    while let Some(message) = shown.wait().await {
        let (what, bytes) = match message {
            ChannelMsg::Data { data } => ("out", data.to_vec()),
            ChannelMsg::ExtendedData { data, .. } => ("err", data.to_vec()),
            ChannelMsg::ExitStatus { exit_status } => ("exit", exit_status.to_string().into_bytes()),
            ChannelMsg::Eof => ("eof", Vec::new()),
            ChannelMsg::Close => ("close", Vec::new()),
            _ => continue,
        };
        match seen.last_mut() {
            Some((last, before)) if *last == what => before.extend(bytes),
            _ => seen.push((what, bytes)),
        }
    }
    let short = |bytes: Vec<u8>| match bytes.len() {
        0..=100 => String::from_utf8(bytes).unwrap(),
        long => format!("{long} bytes"),
    };
    seen.into_iter().map(|(what, bytes)| format!("{what} {}", short(bytes)).trim_end().to_owned()).collect()
}

fn command() -> ChannelRequest {
    ChannelRequest::Exec(b"x".to_vec())
}

#[tokio::test]
async fn a_machine_that_answers_says_all_and_closes_in_one_breath_is_heard_whole() {
    let breath: ScriptedReply = |id, session| {
        session.channel_success(id)?;
        session.data(id, "said")?;
        session.extended_data(id, 1, "warned")?;
        session.exit_status_request(id, 7)?;
        session.eof(id)?;
        session.close(id)
    };
    let mut world = World::new(Script { command: breath, ..AGREES }).await;
    for round in 0..50 {
        let RelayedChannel { relay, inlet, shown, .. } = world.carried().await;
        let (answer, (end, _), seen) = tokio::join!(inlet.ask(command()), relay.run(), seen(shown));
        assert_eq!((answer, end), (Ok(()), ChannelOutcome::Exit(7)), "round {round}");
        assert_eq!(seen, ["out said", "err warned", "exit 7", "eof", "close"], "round {round}");
    }
}

#[tokio::test]
async fn a_machine_that_refuses_and_closes_in_one_breath_is_a_refusal() {
    let breath: ScriptedReply = |id, session| {
        session.channel_failure(id)?;
        session.close(id)
    };
    let mut world = World::new(Script { command: breath, ..AGREES }).await;
    for round in 0..20 {
        let RelayedChannel { relay, inlet, shown, .. } = world.carried().await;
        let (answer, (end, _), seen) = tokio::join!(inlet.ask(command()), relay.run(), seen(shown));
        assert_eq!((answer, end), (Err(None), ChannelOutcome::Closed), "round {round}");
        assert_eq!(seen, ["close"], "round {round}");
    }
}

#[tokio::test]
async fn a_machine_that_closes_without_an_answer_keeps_nobody_waiting() {
    let mut world = World::new(Script { command: |id, session| session.close(id), ..AGREES }).await;
    let RelayedChannel { relay, inlet, shown, .. } = world.carried().await;
    let (answer, (end, _), seen) = tokio::join!(inlet.ask(command()), relay.run(), seen(shown));
    assert_eq!(
        (answer, end, seen.as_slice()),
        (Err(None), ChannelOutcome::Closed, ["close".to_owned()].as_slice())
    );
}

#[tokio::test]
async fn the_end_of_input_leaves_the_output_open() {
    let then: ScriptedReply = |id, session| {
        session.data(id, "after")?;
        session.exit_status_request(id, 0)?;
        session.close(id)
    };
    let mut world = World::new(Script { eof: then, ..AGREES }).await;
    let RelayedChannel { relay, inlet, shown, .. } = world.carried().await;
    let asking = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        inlet.push(ClientMessage::Eof).await;
    };
    let ((), (end, _), seen) = tokio::join!(asking, relay.run(), seen(shown));
    assert_eq!(
        (end, seen.as_slice()),
        (ChannelOutcome::Exit(0), ["out after", "exit 0", "close"].map(str::to_owned).as_slice())
    );
}

/// A client that has said all and heard all closes the channel at once, and would never learn the status.
#[tokio::test]
async fn the_end_of_output_comes_after_the_exit_status_when_the_person_has_said_all() {
    let last: ScriptedReply = |id, session| {
        session.data(id, "counted")?;
        session.eof(id)
    };
    let mut world = World::new(Script { eof: last, ..AGREES }).await;
    let RelayedChannel { relay, inlet, mut shown, machine: (machine, _) } = world.carried().await;
    let talking = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        inlet.push(ClientMessage::Eof).await;
        // The output is there, and the program goes on for a while.
        while !matches!(shown.wait().await, Some(ChannelMsg::Data { .. })) {}
        machine.exit_status(3).await.unwrap();
        machine.close().await.unwrap();
        seen(shown).await
    };
    let (seen, (end, _)) = tokio::join!(talking, relay.run());
    assert_eq!(
        (end, seen.as_slice()),
        (ChannelOutcome::Exit(3), ["exit 3", "eof", "close"].map(str::to_owned).as_slice())
    );
}

/// The end of output is passed on even if the program keeps running.
#[tokio::test(start_paused = true)]
async fn the_end_of_output_does_not_wait_for_a_program_that_lives_on() {
    let last: ScriptedReply = |id, session| session.eof(id);
    let mut world = World::new(Script { eof: last, ..AGREES }).await;
    let RelayedChannel { relay, inlet, mut shown, machine: (machine, _) } = world.carried().await;
    let talking = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        inlet.push(ClientMessage::Eof).await;
        while !matches!(shown.wait().await, Some(ChannelMsg::Eof)) {}
        machine.close().await.unwrap();
        seen(shown).await
    };
    let (seen, (end, _)) = tokio::join!(talking, relay.run());
    assert_eq!((end, seen.as_slice()), (ChannelOutcome::Closed, ["close".to_owned()].as_slice()));
}

#[tokio::test]
async fn the_end_of_output_leaves_the_input_open() {
    let silent: ScriptedReply = |id, session| {
        session.channel_success(id)?;
        session.eof(id)
    };
    let then: ScriptedReply = |id, session| {
        session.exit_status_request(id, 4)?;
        session.close(id)
    };
    let mut world = World::new(Script { command: silent, data: then, ..AGREES }).await;
    let RelayedChannel { relay, inlet, mut shown, .. } = world.carried().await;
    let talking = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        while !matches!(shown.wait().await, Some(ChannelMsg::Eof)) {}
        inlet.push(ClientMessage::Data(Bytes::from_static(b"more"))).await;
        seen(shown).await
    };
    let (seen, (end, _)) = tokio::join!(talking, relay.run());
    assert_eq!(
        (end, seen.as_slice()),
        (ChannelOutcome::Exit(4), ["exit 4", "close"].map(str::to_owned).as_slice())
    );
}

/// More data than all windows hold, and a slow reader.
#[tokio::test]
async fn the_exit_status_comes_after_the_last_byte() {
    const SIZE: usize = 7_000_000;
    let mut world = World::new(AGREES).await;
    let RelayedChannel { relay, inlet, shown, machine: (machine, _) } = world.carried().await;
    let saying = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        machine.data_bytes(vec![7; SIZE]).await.unwrap();
        machine.exit_status(5).await.unwrap();
        machine.eof().await.unwrap();
        machine.close().await.unwrap();
    };
    let ((), (end, _), seen) = tokio::join!(saying, relay.run(), seen(shown));
    assert_eq!(end, ChannelOutcome::Exit(5));
    assert_eq!(seen, [format!("out {SIZE} bytes").as_str(), "exit 5", "eof", "close"]);
}

/// New channels keep away from a connection on which a client takes nothing.
#[tokio::test]
async fn a_client_that_takes_nothing_is_marked_until_it_does() {
    const SIZE: usize = 16_000_000;
    let mut world = World::new(AGREES).await;
    let RelayedChannel { relay, inlet, shown, machine: (machine, _) } = world.carried().await;
    let stalled = Arc::clone(&relay.stalled);
    let saying = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        machine.data_bytes(vec![7; SIZE]).await.unwrap();
        machine.exit_status(0).await.unwrap();
        machine.close().await.unwrap();
    };
    let reading = async {
        while !stalled.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        seen(shown).await
    };
    let ((), (end, _), seen) = tokio::join!(saying, relay.run(), reading);
    assert_eq!(end, ChannelOutcome::Exit(0));
    assert_eq!(seen, [format!("out {SIZE} bytes").as_str(), "exit 0", "close"]);
    assert!(!stalled.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_machine_that_breaks_off_is_told_in_words() {
    let mut world = World::new(AGREES).await;
    let RelayedChannel { relay, inlet, shown, machine: (_, machine) } = world.carried().await;
    let breaking = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        machine.disconnect(Disconnect::ByApplication, String::new(), String::new()).await.unwrap();
    };
    let ((), (end, _), seen) = tokio::join!(breaking, relay.run(), seen(shown));
    assert_eq!(end, ChannelOutcome::Broken);
    assert!(
        matches!(seen.as_slice(), [words, closed] if words.contains("it is gone") && closed == "close"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_cut_channel_is_over_whatever_its_two_ends_do() {
    let mut world = World::new(AGREES).await;
    let RelayedChannel { relay, inlet, shown, machine: (machine, _) } = world.carried().await;
    let (cut, total) = (inlet.cut.clone(), Arc::clone(&relay.total));
    let saying = async {
        assert_eq!(inlet.ask(command()).await, Ok(()));
        // The client does not read its output.
        let begun = async {
            while total.sent.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            said = machine.data_bytes(vec![7; 64_000_000]) => panic!("all was taken: {said:?}"),
            () = begun => cut.cancel(),
        }
    };
    let ((), (end, _)) = tokio::join!(saying, relay.run());
    assert_eq!(end, ChannelOutcome::Left);
    drop(shown);
}

proptest! {
    #[test]
    fn sizes_are_never_more_than_a_recording_knows(size: u32) {
        prop_assert_eq!(u32::from(short(size)), size.min(65535));
    }
}
