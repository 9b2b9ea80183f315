//! Events of a session besides its bytes: idle warnings and watchers.

use std::future::pending;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{RecordedEvent, Session, SessionEnd};
use crate::idle::{self, IdleEvent};
use crate::terminal::frames::ToPage;

impl Session {
    pub(super) fn waits(&self) -> bool {
        self.connection.is_none() || self.end_told
    }

    /// The next deadline: the end of the wait for a connection, or an idle event.
    pub(super) fn alarm(&self) -> Option<Instant> {
        let idle = if self.end.is_none() { self.idle.next() } else { None };
        [self.waits().then_some(self.until), idle].into_iter().flatten().min()
    }

    pub(super) fn on_alarm(&mut self) -> Option<SessionEnd> {
        let now = Instant::now();
        if self.waits() && now >= self.until {
            return Some(SessionEnd::Forgotten);
        }
        match self.idle.due(now)? {
            IdleEvent::Tell { left } => {
                self.owes_idle = Some(left);
                None
            }
            IdleEvent::End => {
                let words = format!("Cut: nothing was typed for {}.", idle::words(self.idle.limit()));
                Some(SessionEnd::Cut { code: "idle", words })
            }
        }
    }

    /// The person is active: resets the idle timers of this session and of the portal session.
    pub(super) fn typed(&mut self) {
        self.signed.typed();
        self.idle.typed(Instant::now());
        self.owes_idle = None;
    }

    pub(super) async fn watchers_changed(&mut self) -> Option<SessionEnd> {
        self.owes_watched = true;
        let names = self.watchers();
        let words = if names.is_empty() {
            "nobody looks on any more".to_owned()
        } else {
            format!("on looks: {}", names.join(", "))
        };
        self.record(RecordedEvent::Mark(words)).await
    }

    fn watchers(&self) -> Vec<String> {
        self.parts.stage.as_ref().map(|stage| stage.names()).unwrap_or_default()
    }

    pub(super) fn has_notice(&self) -> bool {
        self.owes_watched || self.owes_idle.is_some()
    }

    /// The next notice for the page.
    pub(super) fn notice(&mut self) -> Option<String> {
        if std::mem::take(&mut self.owes_watched) {
            return Some(ToPage::Watched { by: &self.watchers() }.text());
        }
        let left = self.owes_idle.take()?;
        let passed = self.idle.limit().saturating_sub(left);
        let words = format!("Nothing was typed for {}.", idle::words(passed));
        Some(ToPage::Idle { left: left.as_secs().max(1), words: &words }.text())
    }
}

/// Resolves when the watchers change; never where watching is not allowed.
pub(super) async fn watchers(watched: &mut Option<watch::Receiver<Vec<(u64, String)>>>) {
    if let Some(watched) = watched
        && watched.changed().await.is_ok()
    {
        return;
    }
    pending::<()>().await;
}
