//! The dialog in which a person takes an access: `{RES}/kubeconfig`, `{RES}/ssh`, `{RES}/metrics` and `{RES}/tunnel`.
//!
//! `GET` shows it. Its form posts to `{RES}/KIND/new`, which answers what is given out, once, or 422 with this dialog and its
//! errors. The form of a tunnel is a question (GET) that changes nothing: the access is given to the command that it
//! answers, on the person's own machine. A terminal asks the same question on its own page.

use crate::filters;
use crate::frame::Frame;
use crate::kubeconfig::KubeconfigChoices;
use crate::metrics::MetricsToken;
use crate::parts::{Failure, Link, Rights};
use crate::ssh::{SshChoices, SshCredentials};
use crate::tunnel::{TunnelChoices, TunnelCommands};

/// Least length of a reason, in characters.
pub const LEAST_REASON: usize = 10;

/// The dialog.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "access_dialog.html", block = "dialog", blocks = ["main"])]
pub struct AccessDialog {
    /// What is around it.
    pub frame: Frame,
    /// The cluster's name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// What every kind of access asks.
    pub question: AccessQuestion,
    /// The kind of access, with what it alone offers to choose from.
    pub kind: AccessDialogKind,
    /// What was given out, shown once.
    pub given: Option<AccessGiven>,
    /// In place of the form: no role, unknown cluster.
    pub failure: Option<Failure>,
}

/// What is asked before an access is given, whatever its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessQuestion {
    /// Why the person may not have it now, and the way to it.
    pub barred: Option<(String, Option<Link>)>,
    /// Lengths of life to choose from, in seconds, shortest first.
    pub lives: Vec<u64>,
    /// What was filled in.
    pub form: AccessForm,
    /// What is wrong with it.
    pub errors: AccessErrors,
}

/// The form as it is posted, or as it stands in the URL. What the form of a kind does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessForm {
    /// `read`, `write` or `admin`; empty means read.
    pub rights: String,
    /// Namespace of a pod.
    pub namespace: String,
    /// Name of a pod.
    pub pod: String,
    /// Container of a pod; empty means the first.
    pub container: String,
    /// Name of a machine.
    pub machine: String,
    /// Seconds; empty means the default.
    pub life: String,
    /// Reason.
    pub reason: String,
    /// Ticket, or empty.
    pub ticket: String,
    /// Any value: agent forwarding is requested.
    pub agent_forwarding: String,
    /// `host:port`, separated by blanks or commas.
    pub destinations: String,
}

impl AccessForm {
    /// Whether a right is the chosen one.
    #[must_use]
    pub fn has(&self, rights: &Rights) -> bool {
        self.rights == rights.name() || (self.rights.is_empty() && *rights == Rights::Read)
    }
}

/// One sentence for each field that is wrong: what would be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessErrors {
    /// Rights.
    pub rights: Option<String>,
    /// Machine.
    pub machine: Option<String>,
    /// Length of life.
    pub life: Option<String>,
    /// Reason.
    pub reason: Option<String>,
    /// Ticket.
    pub ticket: Option<String>,
    /// Destinations.
    pub destinations: Option<String>,
    /// About all of it: limit reached, store away.
    pub form: Option<Failure>,
}

impl AccessErrors {
    /// Whether anything is wrong.
    #[must_use]
    pub fn any(&self) -> bool {
        self != &Self::default()
    }
}

/// The kind of access that a dialog gives, with what it alone offers to choose from.
#[derive(Clone, Debug, Default)]
pub enum AccessDialogKind {
    /// A file for kubectl and oc.
    Kubeconfig(KubeconfigChoices),
    /// A shell on a machine.
    Ssh(SshChoices),
    /// A token for tools that speak the API of Prometheus.
    #[default]
    Metrics,
    /// The commands for the web console and for a tunnel.
    Tunnel(TunnelChoices),
}

impl AccessDialogKind {
    fn words(&self) -> &'static DialogWords {
        match self {
            Self::Kubeconfig(_) => &KUBECONFIG,
            Self::Ssh(_) => &SSH,
            Self::Metrics => &METRICS,
            Self::Tunnel(_) => &TUNNEL,
        }
    }

    /// Last part of its address, below the cluster's pages.
    #[must_use]
    pub fn segment(&self) -> &'static str {
        self.words().name
    }
}

/// What a dialog gives out. A kubeconfig is a file of its own, so it is not here.
#[derive(Clone, Debug)]
pub enum AccessGiven {
    /// Command and password of a shell.
    Shell(SshCredentials),
    /// A token and its address.
    Token(MetricsToken),
    /// Commands to run.
    Commands(TunnelCommands),
}

/// A value that was given out, with a button that copies it.
pub(crate) struct CopyLine<'a> {
    pub(crate) id: &'static str,
    pub(crate) label: &'static str,
    pub(crate) testid: &'static str,
    pub(crate) value: &'a str,
}

impl AccessGiven {
    /// What is to be copied.
    fn lines(&self) -> Vec<CopyLine<'_>> {
        let line = |id, label, testid, value| CopyLine { id, label, testid, value };
        match self {
            Self::Shell(shell) => vec![
                line("d-c", "Command", "ssh-command", shell.command.as_str()),
                line("d-p", "Password", "ssh-password", shell.password.as_str()),
            ],
            Self::Token(token) => vec![
                line("d-a", "Address", "metrics-address", token.address.as_str()),
                line("d-b", "Token", "metrics-token", token.token.as_str()),
            ],
            Self::Commands(commands) => {
                let proxy = "A SOCKS5 and HTTP proxy on your machine";
                let tunnel = line("d-t", proxy, "tunnel-command", commands.tunnel.as_str());
                if commands.console.is_empty() {
                    return vec![tunnel];
                }
                let browser = "The web console, in a browser of its own";
                vec![line("d-c", browser, "console-command", commands.console.as_str()), tunnel]
            }
        }
    }
}

/// The words of a dialog that are the same whatever it shows.
pub(crate) struct DialogWords {
    /// Last part of its address; names it for tests.
    pub(crate) name: &'static str,
    pub(crate) icon: &'static str,
    /// Title of the document, before the cluster's name.
    pub(crate) title: &'static str,
    /// Its heading, before and after the cluster's name.
    pub(crate) heading: &'static str,
    pub(crate) heading_end: &'static str,
    /// What it says to somebody who has to elevate first.
    pub(crate) needs: &'static str,
    /// Where it is left for, below the cluster's pages.
    pub(crate) back: &'static str,
    /// The form changes something.
    pub(crate) posts: bool,
    /// The button.
    pub(crate) submit: &'static str,
    pub(crate) submit_icon: &'static str,
    pub(crate) submit_testid: &'static str,
}

static KUBECONFIG: DialogWords = DialogWords {
    name: "kubeconfig",
    icon: "key",
    title: "Kubeconfig for",
    heading: "Kubeconfig for",
    heading_end: "",
    needs: "",
    back: "",
    posts: true,
    submit: "Download",
    submit_icon: "download",
    submit_testid: "download",
};

static SSH: DialogWords = DialogWords {
    name: "ssh",
    icon: "ssh",
    title: "SSH to",
    heading: "SSH to",
    heading_end: "",
    needs: "A shell on a machine can break everything on it, so it needs an elevation: a reason and an end.",
    back: "",
    posts: true,
    submit: "Get one-time password",
    submit_icon: "ssh",
    submit_testid: "ssh-take",
};

static METRICS: DialogWords = DialogWords {
    name: "metrics",
    icon: "chart",
    title: "Metrics of",
    heading: "Metrics of",
    heading_end: " for other tools",
    needs: "",
    back: "/explore",
    posts: true,
    submit: "Get token",
    submit_icon: "key",
    submit_testid: "metrics-take",
};

static TUNNEL: DialogWords = DialogWords {
    name: "tunnel",
    icon: "tunnel",
    title: "Tunnel to",
    heading: "Web console and tunnel to",
    heading_end: "",
    needs: "A tunnel needs an elevation.",
    back: "",
    posts: false,
    submit: "Show the commands",
    submit_icon: "tunnel",
    submit_testid: "tunnel-commands",
};

impl AccessDialog {
    pub(crate) fn words(&self) -> &'static DialogWords {
        self.kind.words()
    }

    /// The page that it is left for.
    fn back(&self) -> String {
        format!("{}{}", self.path, self.words().back)
    }

    /// Whether a length of life is the chosen one: the posted one, else the second shortest. Tools are set up for long,
    /// so theirs is the longest.
    fn chosen(&self, life: &u64) -> bool {
        let AccessQuestion { lives, form, .. } = &self.question;
        match self.kind {
            AccessDialogKind::Metrics => {
                crate::durations::is_chosen_or(lives, &form.life, lives.last().copied(), *life)
            }
            AccessDialogKind::Kubeconfig(_) | AccessDialogKind::Ssh(_) | AccessDialogKind::Tunnel(_) => {
                crate::durations::is_chosen(lives, &form.life, *life)
            }
        }
    }

    /// "4 h", and "8 h (maximum)" for the longest. Where that is the usual one it needs no mention.
    fn life_words(&self, life: &u64) -> String {
        match self.kind {
            AccessDialogKind::Metrics => crate::when::span(i64::try_from(*life).unwrap_or(i64::MAX)),
            AccessDialogKind::Kubeconfig(_) | AccessDialogKind::Ssh(_) | AccessDialogKind::Tunnel(_) => {
                crate::durations::words(&self.question.lives, *life)
            }
        }
    }
}
