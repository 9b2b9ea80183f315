//! What browser and server say to each other besides bytes: small JSON objects in text frames, `t` says which.
//! `docs/guides/terminal.md` describes them for people.

use rp_base::text::clean;
use serde::{Deserialize, Serialize};

/// The longest text frame of a browser, bytes.
pub(super) const MOST_TEXT: usize = 4 * 1024;
/// Columns and rows of a terminal, at most.
pub(super) const MOST_CELLS: u16 = 1000;

/// Size of a terminal in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

impl Size {
    /// Within what a program can make sense of.
    pub(super) fn bounded(self) -> Self {
        Self { cols: self.cols.clamp(1, MOST_CELLS), rows: self.rows.clamp(1, MOST_CELLS) }
    }
}

/// What a terminal opens a shell on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum TerminalDestination {
    /// A shell in a container, by exec.
    Pod {
        namespace: String,
        name: String,
        /// Empty: the pod's first.
        #[serde(default)]
        container: String,
    },
    /// A shell on a machine, by SSH.
    Machine { name: String },
}

impl TerminalDestination {
    /// Whether its names can be names: nothing else is put into a path.
    pub fn is_sound(&self) -> bool {
        let dns = |text: &str, most: usize| {
            let first = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            let all =
                text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.');
            first && all && text.len() <= most && !text.contains("..")
        };
        match self {
            Self::Pod { namespace, name, container } => {
                dns(namespace, 63) && dns(name, 253) && (container.is_empty() || dns(container, 63))
            }
            Self::Machine { name } => dns(name, 253),
        }
    }

    /// For people: `namespace/pod/container`, or the machine's name.
    pub fn words(&self) -> String {
        match self {
            Self::Pod { namespace, name, container } if container.is_empty() => format!("{namespace}/{name}"),
            Self::Pod { namespace, name, container } => format!("{namespace}/{name}/{container}"),
            Self::Machine { name } => name.clone(),
        }
    }

    /// The one word for metrics.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Pod { .. } => "pod",
            Self::Machine { .. } => "machine",
        }
    }
}

/// A browser's frame.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(super) enum FromPage {
    /// The first: a new session.
    Open {
        place: TerminalDestination,
        size: Size,
    },
    /// The first: on with a session whose connection broke, from byte `seen` of its output.
    Resume {
        id: String,
        token: String,
        seen: u64,
        size: Size,
    },
    /// The first: to look on at a session.
    Watch {
        id: String,
    },
    /// The screen has everything before byte `n`.
    Ack {
        n: u64,
    },
    Size {
        size: Size,
    },
    /// The person is there, though nothing is typed.
    Here,
    /// The person leaves: the session ends.
    Bye,
}

/// A server's frame.
#[derive(Debug, Serialize)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(super) enum ToPage<'a> {
    /// The session has begun.
    Hello(Hello<'a>),
    /// The session goes on: the server has the first `came` bytes of the input.
    Resumed { came: u64 },
    /// The far side took the first `n` bytes of the input.
    Took { n: u64 },
    /// Watching has begun: who types, where, and how large the screen is.
    Watching { person: &'a str, place: &'a str, size: Size },
    /// For those who look on: the screen has another size.
    Size { size: Size },
    /// These look on.
    Watched { by: &'a [String] },
    /// The session ends in so many seconds unless something is typed.
    Idle { left: u64, words: &'a str },
    /// So that either end finds out that the other is gone.
    Beat,
    /// The program has ended.
    Exit { code: Option<i32>, signal: Option<&'a str>, words: &'a str },
    /// The access ended, or the process did.
    Cut { code: &'a str, words: &'a str },
    /// Nothing was opened.
    Refused { code: &'a str, words: &'a str, action: &'a str, again: Option<u64> },
    /// The session to be resumed is not here.
    Lost { words: &'a str },
}

/// What a browser learns of its session.
#[derive(Debug, Serialize)]
pub(super) struct Hello<'a> {
    pub(super) id: &'a str,
    /// With the cookie it opens the session again, after the network was away.
    pub(super) token: &'a str,
    pub(super) grant: &'a str,
    /// Seconds since 1970: the access ends.
    pub(super) until: i64,
    /// Seconds that the session waits for a browser whose connection broke.
    pub(super) grace: u64,
    /// Bytes that may be on their way, each way.
    pub(super) window: usize,
    pub(super) ahead: usize,
    /// Whether it is recorded, and by which name.
    pub(super) recording: Option<&'a str>,
    /// Whether others may look on.
    pub(super) watch: bool,
}

impl ToPage<'_> {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"t":"beat"}"#.to_owned())
    }
}

/// Why a browser's frame cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a text frame of {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Malformed(String),
}

/// Reads a browser's frame.
///
/// # Errors
/// It is none.
pub(super) fn read(text: &str) -> Result<FromPage, FrameError> {
    if text.len() > MOST_TEXT {
        return Err(FrameError::TooLong(text.len()));
    }
    serde_json::from_str(text).map_err(|error| FrameError::Malformed(clean(&error.to_string(), 200)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pod(namespace: &str, name: &str, container: &str) -> TerminalDestination {
        let own = str::to_owned;
        TerminalDestination::Pod { namespace: own(namespace), name: own(name), container: own(container) }
    }

    #[test]
    fn reads_what_a_page_says() {
        let size = Size { cols: 80, rows: 24 };
        let open =
            r#"{"t":"open","place":{"pod":{"namespace":"a","name":"b-0"}},"size":{"cols":80,"rows":24}}"#;
        assert_eq!(read(open), Ok(FromPage::Open { place: pod("a", "b-0", ""), size }));
        assert_eq!(read(r#"{"t":"ack","n":7}"#), Ok(FromPage::Ack { n: 7 }));
        assert_eq!(read(r#"{"t":"bye"}"#), Ok(FromPage::Bye));
        assert_eq!(read(r#"{"t":"here"}"#), Ok(FromPage::Here));
        assert_eq!(read(r#"{"t":"watch","id":"x"}"#), Ok(FromPage::Watch { id: "x".to_owned() }));
        for bad in [
            "",
            "7",
            "{}",
            r#"{"t":"exit"}"#,
            r#"{"t":"ack","n":-1}"#,
            r#"{"t":"size","size":{"cols":70000,"rows":1}}"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let long = format!(r#"{{"t":"bye","x":"{}"}}"#, "x".repeat(MOST_TEXT));
        assert!(read(&long).is_err());
        assert_eq!(Size { cols: 0, rows: 9999 }.bounded(), Size { cols: 1, rows: MOST_CELLS });
    }

    #[test]
    fn only_names_become_paths() {
        assert!(pod("openshift-etcd", "etcd-master-0", "etcd").is_sound());
        assert!(TerminalDestination::Machine { name: "c-x7k2p-master-0".to_owned() }.is_sound());
        for (namespace, name, container) in [
            ("", "b", ""),
            ("..", "b", ""),
            ("a", "b/exec", ""),
            ("a", "b?x=y", ""),
            ("a", "b", "c&command=id"),
            ("A", "b", ""),
        ] {
            assert!(!pod(namespace, name, container).is_sound(), "{namespace} {name} {container}");
        }
    }

    #[test]
    fn says_it_in_one_object() {
        let exit = ToPage::Exit { code: Some(7), signal: None, words: "x" };
        assert_eq!(exit.text(), r#"{"t":"exit","code":7,"signal":null,"words":"x"}"#);
        assert_eq!(ToPage::Beat.text(), r#"{"t":"beat"}"#);
    }

    proptest! {
        #[test]
        fn hostile_frames_never_panic(text in "\\PC{0,300}") {
            let _ = read(&text);
        }
    }
}
