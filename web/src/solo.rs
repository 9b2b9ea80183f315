//! Pages without the frame: errors, sign-in errors, signed out.

use crate::filters;
use crate::frame::Frame;
use crate::parts::{Failure, Link, Side, Tone};

/// A page on its own.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "solo.html")]
pub struct SoloPage {
    /// Region, clock and request id are used.
    pub frame: Frame,
    /// HTTP status; 0 when the page is no error.
    pub status: u16,
    /// What happened, as a sentence without a full stop.
    pub head: String,
    /// Its colour.
    pub tone: Tone,
    /// Symbol id.
    pub icon: &'static str,
    /// Whose fault it is; none takes it from the status.
    pub side: Option<Side>,
    /// Account that is signed in, where known.
    pub account: String,
    /// What it means.
    pub text: Vec<String>,
    /// What to do, in order.
    pub todo: Vec<String>,
    /// Groups that would open the portal.
    pub groups: Vec<Group>,
    /// What can be done; the first is the main one.
    pub actions: Vec<Link>,
    /// For the person who helps: label and value. Request id and time are added.
    pub facts: Vec<(String, String)>,
    /// Path that was wanted.
    pub wanted: String,
}

/// A group that opens the portal.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name, or its id where no name is configured.
    pub name: String,
    /// Its id.
    pub id: String,
    /// What it lets one do.
    pub allows: String,
    /// Where to ask for it, or empty.
    pub ask: String,
}

/// Only the failure, for a fragment request whose part could not be rendered.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "failure.html")]
pub struct FailureFragment {
    /// What failed.
    pub failure: Failure,
}

fn again(wanted: &str) -> Link {
    let mut url = crate::query::Query::new("/api/login");
    url.add("redirect_uri", if wanted == "/" { "" } else { wanted });
    Link::new("Sign in again", url.done())
}

fn fresh(wanted: &str) -> Link {
    let mut url = crate::query::Query::new("/api/login");
    url.add("fresh", "1");
    url.add("redirect_uri", if wanted == "/" { "" } else { wanted });
    Link::new("Sign in again", url.done())
}

fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.iter().map(|&l| l.to_owned()).collect()
}

impl SoloPage {
    /// Signed in, but no group opens the portal (403). `named` is how many groups the sign-in named.
    #[must_use]
    pub fn no_group(frame: Frame, account: &str, named: usize, groups: Vec<Group>) -> Self {
        let named = crate::text::plural(u64::try_from(named).unwrap_or(u64::MAX), "group", "groups");
        Self {
            status: 403,
            head: "You are signed in, but no group of yours opens this portal".into(),
            tone: Tone::Warn,
            icon: "lock",
            account: account.into(),
            text: vec![format!(
                "Your sign-in names {named}, and none is on the list below. Nothing is broken: your membership is missing or has ended."
            )],
            todo: lines([
                "Ask for one of the groups below.",
                "Then sign in again: groups are read at sign-in. A new membership can take 10 min to arrive.",
            ]),
            groups,
            actions: vec![
                again(&frame.path),
                Link::new("Use another account", "/api/login?prompt=select_account"),
            ],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The provider named no groups because there are too many (overage, 403).
    #[must_use]
    pub fn too_many_groups(frame: Frame, account: &str, groups: Vec<Group>) -> Self {
        Self {
            status: 403,
            head: "You are in too many groups for the sign-in to name them".into(),
            tone: Tone::Warn,
            icon: "lock",
            account: account.into(),
            text: lines([
                "The provider leaves the groups out when a person has more than it can send, so we cannot see whether one of yours opens this portal.",
            ]),
            todo: lines([
                "Ask the owner of this portal's application to send only the groups assigned to it.",
                "Then sign in again.",
            ]),
            groups,
            actions: vec![again(&frame.path)],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The provider did not answer, or not as it must (502, 504).
    #[must_use]
    pub fn provider_away(frame: Frame, status: u16, issuer: &str) -> Self {
        Self {
            status,
            head: "The sign-in service did not answer".into(),
            tone: Tone::Bad,
            icon: "away",
            text: lines([
                "Your sign-in could not be finished, because the identity provider did not answer us. People who are signed in already keep working.",
            ]),
            todo: lines([
                "Try again in a minute.",
                "If it stays: the provider's status page, then the person on call for this portal.",
            ]),
            actions: vec![again(&frame.path)],
            facts: vec![("Provider".into(), issuer.into())],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The provider's token is not yet or no longer valid by our clock (403). `off` in seconds,
    /// positive when the provider is ahead.
    #[must_use]
    pub fn clock_off(frame: Frame, off: i64) -> Self {
        let span = crate::when::span(off.saturating_abs());
        let side = if off > 0 { "ahead of" } else { "behind" };
        Self {
            status: 403,
            head: "The clocks of this portal and the sign-in service differ".into(),
            tone: Tone::Bad,
            icon: "clock",
            text: vec![format!(
                "The provider's clock is {span} {side} ours, so its answer does not count as valid now. The fault is on our side or the provider's, not yours."
            )],
            todo: lines(["Tell the person on call for this portal.", "Then sign in again."]),
            actions: vec![again(&frame.path)],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// A fresh sign-in was required, and the provider's answer does not confirm one (403).
    #[must_use]
    pub fn not_fresh(frame: Frame) -> Self {
        Self {
            status: 403,
            head: "The sign-in service did not ask you to sign in again".into(),
            tone: Tone::Warn,
            icon: "lock",
            text: lines([
                "What you were about to do takes a fresh sign-in, and the provider's answer does not say when you showed it who you are (the claim auth_time), or names an older time. You are signed in as before.",
            ]),
            todo: lines([
                "Try again; sign in with your password or key when the provider asks.",
                "If it stays: the owner of this portal's application must let it send the claim auth_time.",
            ]),
            actions: vec![fresh(&frame.path)],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The answer of the provider belongs to no sign-in that we began, or to one that is over (400).
    #[must_use]
    pub fn sign_in_lost(frame: Frame) -> Self {
        Self {
            status: 400,
            head: "This sign-in has ended or was begun elsewhere".into(),
            tone: Tone::Warn,
            icon: "history",
            text: lines([
                "A sign-in must be finished within 10 min, in the browser in which it began, and only once. Going back to the provider's page or opening its link elsewhere leads here.",
            ]),
            todo: lines(["Sign in again from here."]),
            actions: vec![again(&frame.path)],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The provider refused (403): its `error` and `error_description`, as they are.
    #[must_use]
    pub fn refused(frame: Frame, code: &str, description: &str) -> Self {
        Self {
            status: 403,
            head: "The sign-in service refused your sign-in".into(),
            tone: Tone::Warn,
            icon: "lock",
            text: vec![description.to_owned()],
            todo: lines([
                "Sign in again, perhaps with another account.",
                "If it stays, show the details below to the person who helps you.",
            ]),
            actions: vec![
                again(&frame.path),
                Link::new("Use another account", "/api/login?prompt=select_account"),
            ],
            facts: vec![("Provider's code".into(), code.into())],
            wanted: frame.path.clone(),
            frame,
            ..Self::default()
        }
    }

    /// The person let a program in.
    #[must_use]
    pub fn program_let_in(frame: Frame) -> Self {
        Self {
            head: "Your program is signed in".into(),
            tone: Tone::Ok,
            icon: "ok",
            text: lines([
                "Go back to your terminal; it continues within a few seconds. You can close this window.",
            ]),
            actions: vec![Link::new("My access", "/access")],
            frame,
            ..Self::default()
        }
    }

    /// The person did not let a program in.
    #[must_use]
    pub fn program_refused(frame: Frame) -> Self {
        Self {
            head: "The program was refused".into(),
            tone: Tone::Ok,
            icon: "lock",
            text: lines([
                "It got nothing. If somebody sent you here with a code, tell the person on call for this portal.",
            ]),
            actions: vec![Link::new("Go to clusters", "/")],
            frame,
            ..Self::default()
        }
    }

    /// Signed out.
    #[must_use]
    pub fn signed_out(frame: Frame, grants: u64) -> Self {
        let rest = match grants {
            0 => "You hold no grants.".to_owned(),
            n => format!(
                "You still hold {}, valid until {} own end. Sign in to revoke them.",
                crate::text::plural(n, "grant", "grants"),
                if n == 1 { "its" } else { "their" }
            ),
        };
        Self {
            head: "You are signed out".into(),
            tone: Tone::Ok,
            icon: "ok",
            text: vec![rest],
            actions: vec![Link::new("Sign in", "/api/login")],
            frame,
            ..Self::default()
        }
    }

    /// Any other failure, as a page.
    #[must_use]
    pub fn failure(frame: Frame, failure: Failure) -> Self {
        let side = match failure.side {
            Side::You => "the request",
            Side::Us => "this service",
            Side::Cluster => "the cluster",
        };
        let mut actions = failure.actions.clone();
        if actions.is_empty() {
            actions.push(Link::new("Go to clusters", "/"));
        }
        Self {
            status: failure.status,
            side: Some(failure.side),
            tone: failure.tone(),
            icon: failure.icon(),
            head: failure.what,
            text: vec![failure.why],
            actions,
            facts: vec![("Side".into(), side.into())],
            frame,
            ..Self::default()
        }
    }

    /// A failure in general words for a status: what is known when nothing else is.
    #[must_use]
    pub fn status(frame: Frame, status: u16) -> Self {
        let failure = crate::statuses::general(status, &frame);
        Self::failure(frame, failure)
    }

    /// The same as a failure, for a part of a page.
    #[must_use]
    pub fn as_failure(&self) -> Failure {
        let side = match self.status {
            400..=499 => Side::You,
            502 | 504 => Side::Cluster,
            _ => Side::Us,
        };
        Failure {
            status: self.status,
            what: self.head.clone(),
            why: self.text.join(" "),
            side: self.side.unwrap_or(side),
            actions: self.actions.clone(),
            request_id: self.frame.request_id.clone(),
        }
    }

    /// "404 Not Found".
    #[must_use]
    pub fn status_words(&self) -> String {
        crate::statuses::words(self.status)
    }
}
