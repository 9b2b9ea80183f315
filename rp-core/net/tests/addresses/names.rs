//! What is checked is what is dialled, whatever a name leads to the next time.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_net::{Resolver, Stage};

use crate::{dialled, options, told};

/// Gives one answer after the other, and fails when there is none left.
#[derive(Debug)]
struct Answers(Mutex<VecDeque<Vec<SocketAddr>>>);

impl Answers {
    fn new(answers: impl IntoIterator<Item = Vec<SocketAddr>>) -> Self {
        Self(Mutex::new(answers.into_iter().collect()))
    }
}

#[async_trait]
impl Resolver for Answers {
    async fn addresses(&self, host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        assert_eq!(host, "api.harbor.example");
        self.0.lock().pop_front().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A listener that counts its connections.
struct CountingListener {
    tcp: TcpListener,
    address: SocketAddr,
}

impl CountingListener {
    fn bind(address: &str) -> Self {
        let tcp = TcpListener::bind(address).unwrap();
        tcp.set_nonblocking(true).unwrap();
        let address = tcp.local_addr().unwrap();
        Self { tcp, address }
    }

    /// Connections since the last call: one that is open at its client's side waits here already.
    fn accepted(&self) -> usize {
        std::iter::from_fn(|| self.tcp.accept().ok()).count()
    }
}

/// A listener at an allowed address and one at a forbidden address, at the same port.
fn listeners() -> (CountingListener, CountingListener) {
    let allowed = CountingListener::bind("127.0.0.1:0");
    let forbidden = CountingListener::bind(&format!("127.0.0.9:{}", allowed.address.port()));
    (allowed, forbidden)
}

const ALLOW: &[&str] = &["127.0.0.1/32"];
const NAME: &str = "api.harbor.example";
const REFUSED: Result<(), (Stage, bool)> = Err((Stage::Allow, false));

#[tokio::test]
async fn an_answer_that_changes_after_the_check_changes_nothing() {
    let (allowed, forbidden) = listeners();
    let answers = Answers::new([vec![allowed.address], vec![forbidden.address], vec![allowed.address]]);
    let dialer = told(options(ALLOW, &[]), answers);
    let port = allowed.address.port();
    // Each dial asks once: a second question between check and dial would get the forbidden answer.
    assert_eq!(dialled(&dialer, NAME, port).await, Ok(()));
    assert_eq!((allowed.accepted(), forbidden.accepted()), (1, 0));
    assert_eq!(dialled(&dialer, NAME, port).await, REFUSED);
    assert_eq!((allowed.accepted(), forbidden.accepted()), (0, 0));
    assert_eq!(dialled(&dialer, NAME, port).await, Ok(()));
    assert_eq!((allowed.accepted(), forbidden.accepted()), (1, 0));
    assert_eq!(dialled(&dialer, NAME, port).await, Err((Stage::Resolve, true)));
}

#[tokio::test]
async fn of_mixed_answers_only_what_is_allowed_is_dialled() {
    let (allowed, forbidden) = listeners();
    let closed = SocketAddr::new(allowed.address.ip(), 1);
    let (port, all) = (allowed.address.port(), |list: &[&str]| -> Vec<SocketAddr> {
        list.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), allowed.address.port())).collect()
    });
    let cases = [
        (all(&["127.0.0.9", "127.0.0.1"]), Ok(())),
        (all(&["127.0.0.1", "127.0.0.9"]), Ok(())),
        (all(&["169.254.169.254", "::ffff:127.0.0.9", "127.0.0.1"]), Ok(())),
        // The one that is allowed does not answer: nobody falls back on the other.
        (vec![closed, forbidden.address], REFUSED),
        (vec![forbidden.address, closed], Err((Stage::Connect, true))),
        // The same address in other clothes.
        (all(&["::ffff:127.0.0.9"]), REFUSED),
        (all(&["::7f00:9", "64:ff9b::7f00:9", "2002:7f00:9::1", "0.0.0.0", "::", "::1"]), REFUSED),
        // A name with many addresses is not tried for ever.
        ([vec![forbidden.address; 8], vec![allowed.address]].concat(), REFUSED),
        (Vec::new(), Err((Stage::Resolve, true))),
    ];
    for (answer, expected) in cases {
        let dialer = told(options(ALLOW, &[]), Answers::new([answer.clone()]));
        assert_eq!(dialled(&dialer, NAME, port).await, expected, "{answer:?}");
        assert_eq!(
            (allowed.accepted(), forbidden.accepted()),
            (usize::from(expected.is_ok()), 0),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn a_name_that_leads_to_our_own_listener_is_refused() {
    let (own, other) = listeners();
    let dialer = told(
        options(&["127.0.0.0/8", "::/0"], &[own.address]),
        Answers::new([vec![own.address, other.address]]),
    );
    // Any loopback address reaches what listens on one, as far as we can know.
    assert_eq!(dialled(&dialer, NAME, own.address.port()).await, REFUSED);
    assert_eq!((own.accepted(), other.accepted()), (0, 0));
}
