//! What happens beside the bytes: nobody types, somebody looks on.

use std::future::pending;

use tokio::sync::watch;
use tokio::time::Instant;

use super::{Over, Recorded, Session};
use crate::idle::{self, Due};
use crate::terminal::frames::ToPage;

impl Session {
    pub(super) fn waits(&self) -> bool {
        self.connection.is_none() || self.end_told
    }

    /// When something is due by itself: the end of the wait for a connection, or what idleness brings.
    pub(super) fn alarm(&self) -> Option<Instant> {
        let idle = if self.end.is_none() { self.idle.next() } else { None };
        [self.waits().then_some(self.until), idle].into_iter().flatten().min()
    }

    pub(super) fn rang(&mut self) -> Option<Over> {
        let now = Instant::now();
        if self.waits() && now >= self.until {
            return Some(Over::Forgotten);
        }
        match self.idle.due(now)? {
            Due::Tell { left } => {
                self.owes_idle = Some(left);
                None
            }
            Due::End => {
                let words = format!("Cut: nothing was typed for {}.", idle::words(self.idle.limit()));
                Some(Over::Cut { code: "idle", words })
            }
        }
    }

    /// The person is there: the end that idleness brings is far again, here and for the session of the portal.
    pub(super) fn typed(&mut self) {
        self.signed.typed();
        self.idle.typed(Instant::now());
        self.owes_idle = None;
    }

    pub(super) async fn watchers_changed(&mut self) -> Option<Over> {
        self.owes_watched = true;
        let names = self.watchers();
        let words = if names.is_empty() {
            "nobody looks on any more".to_owned()
        } else {
            format!("on looks: {}", names.join(", "))
        };
        self.record(Recorded::Mark(words)).await
    }

    fn watchers(&self) -> Vec<String> {
        self.parts.stage.as_ref().map(|stage| stage.names()).unwrap_or_default()
    }

    pub(super) fn has_aside(&self) -> bool {
        self.owes_watched || self.owes_idle.is_some()
    }

    /// What the page is to be told.
    pub(super) fn aside(&mut self) -> Option<String> {
        if std::mem::take(&mut self.owes_watched) {
            return Some(ToPage::Watched { by: &self.watchers() }.text());
        }
        let left = self.owes_idle.take()?;
        let passed = self.idle.limit().saturating_sub(left);
        let words = format!("Nothing was typed for {}.", idle::words(passed));
        Some(ToPage::Idle { left: left.as_secs().max(1), words: &words }.text())
    }
}

/// Somebody came to look on, or went; for ever nothing where nobody may.
pub(super) async fn watchers(watched: &mut Option<watch::Receiver<Vec<(u64, String)>>>) {
    if let Some(watched) = watched
        && watched.changed().await.is_ok()
    {
        return;
    }
    pending::<()>().await;
}
