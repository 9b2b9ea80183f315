//! Terminals in the browser: to a container by exec, to a machine by SSH.
//!
//! A page opens a WebSocket with its session's cookie. Binary frames are bytes, small JSON objects say the rest
//! (`frames`). A session (`session`) connects the remote end (`remote_end`) to a browser connection, which may break
//! and come back: what is on its way is numbered and kept until the other end has it (`flow`). The page acknowledges
//! what is on its screen, and the far side is read no further than a window ahead of that.

mod flow;
mod frames;
mod machine;
mod metrics;
mod open;
mod pod;
mod portal_session;
mod remote_end;
mod session;
mod shared_screen;
mod socket;
mod watch;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_access::{Access, Caller};
use rp_base::{Digest, Id, SharedClock, SharedRandom};
use rp_documents::ResourceId;
use rp_metrics::Registry;
use rp_recording::Recordings;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use metrics::TerminalMetrics;
use session::Connection;
use shared_screen::SharedScreen;

use crate::ApiProxy;

pub use frames::{Size, TerminalDestination};
pub use machine::Shells;
pub use portal_session::PortalSession;
pub use socket::{PROTOCOL, PendingUpgrade, accept};
pub use watch::OpenTerminal;

/// Bytes of output that are on their way to one browser, at most.
const WINDOW: usize = 256 * 1024;
/// Bytes of input that may come before the far side took them.
const AHEAD: usize = 64 * 1024;
/// Ended sessions that are remembered for browsers that come too late.
const REMEMBERED: usize = 256;

/// What terminals are made of.
#[derive(Debug)]
pub struct TerminalParts {
    pub access: Arc<Access>,
    pub api: Arc<ApiProxy>,
    /// The way to machines; `None`: there is none.
    pub shells: Option<Shells>,
    pub recordings: Recordings,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    pub settings: rp_config::Terminal,
    /// Ends the sessions when the process must end.
    pub cut: CancellationToken,
}

/// The terminals of this process. A cheap clone.
#[derive(Debug, Clone)]
pub struct Terminals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: TerminalParts,
    metrics: Arc<TerminalMetrics>,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    open: HashMap<Id, Entry>,
    /// The last ones that ended, with the sentence why.
    ended: VecDeque<(Id, Owner, String)>,
}

/// Who may come back to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    sub: String,
    target: ResourceId,
    token: Digest,
}

#[derive(Debug)]
struct Entry {
    owner: Owner,
    attach: mpsc::Sender<Connection>,
    /// For those who look on.
    stage: Option<Arc<SharedScreen>>,
}

/// Why a session cannot be resumed, in words for the page.
#[derive(Debug, thiserror::Error)]
enum ResumeError {
    #[error(
        "This replica does not have the session: it has ended, or another replica of the service holds it. What was on \
         the screen stays; a new session begins anew."
    )]
    NotHere,
    #[error("The session ended while the page was away. {0}")]
    Ended(String),
    #[error("The session has just ended.")]
    JustEnded,
}

/// Who comes, as the edge established it.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub caller: Caller,
    pub from: IpAddr,
    pub target: ResourceId,
    /// The session of the portal by which they come.
    pub signed: Arc<PortalSession>,
}

impl Terminals {
    /// Puts them together.
    pub fn new(parts: TerminalParts) -> Self {
        let metrics = Arc::new(TerminalMetrics::register(&parts.registry));
        Self(Arc::new(Inner { parts, metrics, sessions: Mutex::default() }))
    }
}

impl Inner {
    /// How to come to a session; or why that is not possible.
    fn find(&self, id: &str, owner: &Owner) -> Result<mpsc::Sender<Connection>, ResumeError> {
        let sessions = self.sessions.lock();
        if let Some((_, entry)) = sessions.open.iter().find(|(known, _)| known.as_str() == id)
            && entry.owner == *owner
        {
            return Ok(entry.attach.clone());
        }
        let ended = sessions.ended.iter().find(|(known, of, _)| known.as_str() == id && of == owner);
        Err(ended.map_or(ResumeError::NotHere, |(.., words)| ResumeError::Ended(words.clone())))
    }

    fn keep(&self, id: &Id, entry: Entry) -> bool {
        let mut sessions = self.sessions.lock();
        if sessions.open.len() >= self.parts.settings.most {
            return false;
        }
        sessions.open.insert(id.clone(), entry);
        true
    }

    /// Sessions of a cluster that may be looked at.
    fn stages(&self, target: &ResourceId) -> Vec<Arc<SharedScreen>> {
        let sessions = self.sessions.lock();
        let stages = sessions.open.values().filter_map(|entry| entry.stage.as_ref());
        stages.filter(|stage| stage.target == *target).cloned().collect()
    }

    fn forget(&self, id: &Id, words: String) {
        let mut sessions = self.sessions.lock();
        let Some(entry) = sessions.open.remove(id) else { return };
        if sessions.ended.len() >= REMEMBERED {
            sessions.ended.pop_front();
        }
        sessions.ended.push_back((id.clone(), entry.owner, words));
    }
}

/// Registers what is counted: for the generated reference, and once by [`Terminals::new`].
pub fn register_metrics(registry: &Registry) {
    TerminalMetrics::register(registry);
}
