//! What a person's client may say, message by message.
//!
//! Each callback ([`messages`]) runs in the connection's one task. So it only hands on, but for requests that want an
//! answer: they wait for the machine's, for the answers must come in order and the library keeps the wish for one of a
//! single request.

mod messages;

use std::collections::HashMap;
use std::sync::Arc;

use rp_access::Refusal;
use rp_base::text::clean;
use russh::server::{Auth, ChannelOpenHandle, Handle, Msg, Session};
use russh::{Channel, ChannelId, ChannelOpenFailure, MethodKind, MethodSet};

use super::auth::{AuthenticatedUser, MOST_USER};
use super::banner;
use super::connection::{ChannelOpening, ChannelTarget, Connection};
use super::relay::{ChannelRequest, ClientMessage, Inlet, channel};

/// Environment variables of one channel.
const MOST_VARIABLES: usize = 64;
const MOST_VARIABLE: usize = 1024;
/// Bytes of a command; of a name.
const MOST_COMMAND: usize = 128 * 1024;
const MOST_NAME: usize = 64;
/// Refused requests after which a connection ends.
const MOST_REFUSED: usize = 64;
/// The window that each channel has.
pub(super) const WINDOW: u32 = 2 * 1024 * 1024;
/// What a slow channel's window is widened by: nothing would be for ever.
const TRICKLE: u32 = 2;

/// One client.
pub(super) struct ClientHandler {
    connection: Arc<Connection>,
    channels: HashMap<ChannelId, OpenChannel>,
    passwords: usize,
    refused: usize,
}

/// A channel as this task sees it.
struct OpenChannel {
    inlet: Inlet,
    variables: usize,
    began: bool,
}

impl Drop for ClientHandler {
    fn drop(&mut self) {
        self.connection.over.cancel();
    }
}

impl ClientHandler {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, channels: HashMap::new(), passwords: 0, refused: 0 }
    }

    async fn decide(
        &self,
        user: &str,
        way: &'static str,
        checked: Result<AuthenticatedUser, Refusal>,
    ) -> Auth {
        match checked {
            Ok(known) => {
                self.connection.succeeded(known);
                Auth::Accept
            }
            Err(refusal) => {
                self.connection.failed(&clean(user, MOST_USER), way, refusal);
                rejected()
            }
        }
    }

    async fn push(&self, id: ChannelId, message: ClientMessage) {
        if let Some(open) = self.channels.get(&id) {
            open.inlet.push(message).await;
        }
    }

    /// Puts a request to the machine and answers as it does.
    async fn ask(
        &mut self,
        id: ChannelId,
        ask: ChannelRequest,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let begins =
            matches!(ask, ChannelRequest::Shell | ChannelRequest::Exec(_) | ChannelRequest::Subsystem(_));
        let Some(open) = self.channels.get_mut(&id) else { return session.channel_failure(id) };
        if begins && std::mem::replace(&mut open.began, true) {
            return session.channel_failure(id);
        }
        match open.inlet.ask(ask).await {
            Ok(()) => session.channel_success(id),
            Err(Some(words)) if begins => not_begun(id, &words, session),
            Err(words) => {
                if let Some(words) = words {
                    session.extended_data(id, 1, banner::line(&words))?;
                }
                session.channel_failure(id)
            }
        }
    }

    /// Notes a refusal; too many of them end the connection.
    async fn refuse(&mut self, verb: &'static str, what: &str) {
        self.refused += 1;
        if self.refused > MOST_REFUSED {
            self.connection.end("too many requests were refused");
        } else {
            self.connection.refused(verb, what).await;
        }
    }

    /// A channel of which the machine shall open the other end.
    async fn open(
        &mut self,
        channel_: Channel<Msg>,
        reply: ChannelOpenHandle,
        handle: Handle,
        way: ChannelTarget,
    ) {
        self.channels.retain(|_, open| !open.inlet.cut.is_cancelled());
        if self.channels.len() >= self.connection.settings().max_channels {
            self.connection.count_refused_channel();
            return reply.reject(shortage()).await;
        }
        let (id, (_, person)) = (channel_.id(), channel_.split());
        let (inlet, outlet) = channel(&self.connection.over);
        let cut = inlet.cut.clone();
        self.channels.insert(id, OpenChannel { inlet, variables: 0, began: false });
        let opening = ChannelOpening { way, person, outlet, handle, reply, cut };
        self.connection.tasks.spawn(Arc::clone(&self.connection).carry(opening));
    }
}

/// What clients show of a program that refuses is its words; of a request that fails they show none of ours. The status is
/// that of a connection that went wrong, so that no script takes it for the program's.
fn not_begun(id: ChannelId, words: &str, session: &mut Session) -> Result<(), russh::Error> {
    session.channel_success(id)?;
    session.extended_data(id, 1, banner::line(words))?;
    session.exit_status_request(id, 255)?;
    session.eof(id)?;
    session.close(id)
}

fn rejected() -> Auth {
    // Named anew, for the library strikes off a method that failed once.
    let methods = MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password][..]);
    Auth::Reject { proceed_with_methods: Some(methods), partial_success: false }
}

fn shortage() -> ChannelOpenFailure {
    ChannelOpenFailure::Other { code: 4, reason: "too many channels are open on this connection".to_owned() }
}

/// Prohibited, with words.
fn prohibited(words: &str) -> ChannelOpenFailure {
    ChannelOpenFailure::Other { code: 1, reason: words.to_owned() }
}

/// `LANG` and `LC_*`: what cannot change which program runs.
fn is_allowed(name: &str, value: &str) -> bool {
    let known = name == "LANG" || name.strip_prefix("LC_").is_some_and(|rest| !rest.is_empty());
    known
        && name.len() <= MOST_NAME
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        && value.len() <= MOST_VARIABLE
        && value.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn only_the_language_passes() {
        for good in ["LANG", "LC_ALL", "LC_TIME"] {
            assert!(is_allowed(good, "de_DE.UTF-8"), "{good}");
        }
        for bad in ["PATH", "LD_PRELOAD", "LC_", "LANGUAGE", "LC_a", "LC_X=Y", "TERM", "", "BASH_ENV"] {
            assert!(!is_allowed(bad, "x"), "{bad}");
        }
        assert!(!is_allowed("LANG", "a\nb") && !is_allowed("LANG", &"x".repeat(2000)));
    }
}
