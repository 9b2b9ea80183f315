//! Asks the provider about everybody who holds a session or a grant, again and again: who was disabled or
//! lost their groups loses what they hold (`contract/rules.md` §5.4 "Sign-in of the CLI").
//!
//! One replica asks for each person: the one that moves the record's next look on. A provider that is away or slow
//! changes nothing, but is counted, and an alarm rings when it lasts.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::state::SessionState;
use rp_access::Caller;
use rp_base::{Id, Timestamp, chain};
use rp_database::{StoreError, Stored, Versioned};
use rp_documents::grant::GrantState;
use rp_documents::{Collection, Grant, Outcome, Person, Roles, SignIn};
use tokio::task::JoinSet;

use crate::claims::Groups;
use crate::metrics::LookLabels;
use crate::provider::SignInError;
use crate::redeem::Refreshed;
use crate::sign_ins::{RefreshSecret, digest};

/// Concurrent requests to the provider.
const AT_ONCE: usize = 8;
const BY: &str = "sign-in provider";
const REFUSED: &str = "the provider refused the sign-in";

/// Follows the records until the portal is gone.
pub fn start(state: &Arc<SessionState>) {
    let every = state.sign_in.rules.revalidate;
    let tick = (every / 20).clamp(Duration::from_millis(250), Duration::from_secs(15));
    tokio::spawn(run(Arc::downgrade(state), tick));
}

async fn run(state: Weak<SessionState>, tick: Duration) {
    let mut alarmed = false;
    loop {
        tokio::time::sleep(tick).await;
        let Some(state) = state.upgrade() else { return };
        match check_due(&state).await {
            Ok(overdue) => alarmed = log_overdue(&state, overdue, alarmed),
            Err(error) => tracing::warn!(error = %chain(&error), "sign-ins cannot be looked at"),
        }
    }
}

/// Logs once when the condition begins and once when it ends.
fn log_overdue(state: &SessionState, overdue: usize, alarmed: bool) -> bool {
    let after = state.sign_in.rules.alarm_after.as_secs();
    if overdue > 0 && !alarmed {
        tracing::error!(
            people = overdue,
            after_s = after,
            "the provider does not confirm sign-ins: people it disabled keep their access"
        );
    } else if overdue == 0 && alarmed {
        tracing::info!("the provider confirms sign-ins again");
    }
    overdue > 0
}

/// Checks every person who is due; returns how many have not been confirmed for too long.
pub async fn check_due(state: &Arc<SessionState>) -> Result<usize, StoreError> {
    let now = state.clock.now();
    let records = state.sign_in.sign_ins.all().await?;
    let late =
        |record: &Versioned<SignIn>| now.since(record.value.confirmed) > state.sign_in.rules.alarm_after;
    let overdue = records.iter().filter(|record| late(record)).count();
    state.metrics.unconfirmed.set_count(overdue);
    let mut looks = JoinSet::new();
    for record in records.into_iter().filter(|record| record.value.next_look <= now) {
        if looks.len() >= AT_ONCE {
            looks.join_next().await;
        }
        let state = Arc::clone(state);
        looks.spawn(async move { check_and_count(&state, record).await });
    }
    while looks.join_next().await.is_some() {}
    Ok(overdue)
}

async fn check_and_count(state: &SessionState, record: Versioned<SignIn>) {
    let result = match check_sign_in(state, record).await {
        Ok(None) => return,
        Ok(Some(word)) => word,
        Err(error) => {
            tracing::warn!(error = %chain(&*error), "a sign-in could not be looked at");
            "failed"
        }
    };
    state.metrics.looks.with(&LookLabels { result }).inc();
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Checks one person; returns the result, or `None` when another replica does it.
async fn check_sign_in(
    state: &SessionState,
    record: Versioned<SignIn>,
) -> Result<Option<&'static str>, BoxError> {
    let now = state.clock.now();
    let Some(record) = state.sign_in.sign_ins.claim(record, now).await? else { return Ok(None) };
    if record.value.refused {
        // Ended once, or begun before a process ended: now with what was given meanwhile.
        end_everything(state, &record.value.sub, REFUSED).await?;
        state.sign_in.sign_ins.forget(&record).await?;
        return Ok(Some("refused"));
    }
    if !holds_something(state, &record.value.sub, now).await? {
        state.sign_in.sign_ins.forget(&record).await?;
        return Ok(Some("nothing_held"));
    }
    let Some(held) = state.sign_in.sign_ins.open(&record.value) else {
        tracing::warn!("a refresh token was sealed with a key that is gone");
        state.sign_in.sign_ins.fail(record, now).await?;
        return Ok(Some("not_opened"));
    };
    match state.sign_in.provider.refresh(&held.token, now, &*state.random).await {
        Ok(refreshed) => renewed(state, record, held, refreshed).await.map(Some),
        Err(SignInError::Refused { code, .. }) => {
            let Some(record) = state.sign_in.sign_ins.refuse(record).await? else {
                return Ok(Some("signed_in_again"));
            };
            let code = rp_base::text::clean(&code, 60);
            note(state, &record.value.sub, &held.name, &format!("refused {code}")).await;
            end(state, record, REFUSED).await?;
            Ok(Some("refused"))
        }
        Err(error) => {
            tracing::warn!(error = %chain(&error), failures = record.value.failures + 1, "the provider does not confirm a sign-in");
            state.sign_in.sign_ins.fail(record, now).await?;
            Ok(Some("unanswered"))
        }
    }
}

/// The provider confirmed the person; the groups may have changed.
async fn renewed(
    state: &SessionState,
    record: Versioned<SignIn>,
    held: RefreshSecret,
    refreshed: Refreshed,
) -> Result<&'static str, BoxError> {
    let now = state.clock.now();
    let sub = record.value.sub.clone();
    let held = RefreshSecret { token: refreshed.next.unwrap_or(held.token), name: held.name };
    let groups = match refreshed.person {
        Some((named, Groups::Named(groups))) if named == sub => {
            Some(state.access.policy().known_groups(&groups))
        }
        Some((named, _)) if named != sub => {
            tracing::error!("the provider renewed a sign-in for another subject");
            None
        }
        _ => None,
    };
    let changed = groups.filter(|groups| digest(groups) != record.value.groups);
    if changed.as_ref().is_some_and(|groups| state.access.policy().roles_of(groups).is_empty()) {
        let Some(record) = state.sign_in.sign_ins.refuse(record).await? else { return Ok("signed_in_again") };
        note(state, &sub, &held.name, "groups none").await;
        end(state, record, "no group of theirs opens the portal any more").await?;
        return Ok("groups_lost");
    }
    // First: the old token may be used up.
    let Some(record) = state.sign_in.sign_ins.confirm(record, &held, now).await? else {
        return Ok("signed_in_again");
    };
    let Some(groups) = changed else { return Ok("confirmed") };
    note(state, &sub, &held.name, &format!("groups {}", groups.join(", "))).await;
    regroup(state, &sub, &groups).await?;
    state.sign_in.sign_ins.regrouped(record, &groups).await?;
    Ok("groups_changed")
}

/// Writes the new groups to the person's sessions and grants; effective rights follow immediately.
pub async fn regroup(state: &SessionState, sub: &str, groups: &[String]) -> Result<(), StoreError> {
    state.sign_in.sessions.set_groups(sub, groups).await?;
    state.access.set_person_groups(sub, groups).await?;
    Ok(())
}

/// A request that had passed the gate may give something a moment later, so there is a second look before the record goes.
async fn end(state: &SessionState, record: Versioned<SignIn>, why: &str) -> Result<(), BoxError> {
    end_everything(state, &record.value.sub, why).await?;
    state.sign_in.sign_ins.ended(record, state.clock.now()).await?;
    Ok(())
}

/// Sessions, grants and elevations of a person.
pub async fn end_everything(state: &SessionState, sub: &str, why: &str) -> Result<(), BoxError> {
    let sessions = state.sign_in.sessions.end_all(sub).await?;
    let grants = state.access.end_person(sub, why, BY).await?;
    tracing::info!(sessions, grants, why, "what a person held was ended");
    Ok(())
}

/// A living session or grant; what cannot be read opens nothing.
async fn holds_something(state: &SessionState, sub: &str, now: Timestamp) -> Result<bool, StoreError> {
    if state.sign_in.sessions.any(sub).await? {
        return Ok(true);
    }
    let mut from = None::<String>;
    loop {
        let page = state.store.list(Collection::Grants, Some(sub), from.as_deref(), 1000).await?;
        let lives = |stored: &Stored| {
            serde_json::from_str::<Grant>(&stored.body)
                .is_ok_and(|grant| grant.state(now) == GrantState::Active)
        };
        if page.items.iter().any(lives) {
            return Ok(true);
        }
        from = page.continuation;
        if from.is_none() {
            return Ok(false);
        }
    }
}

async fn note(state: &SessionState, sub: &str, name: &str, what: &str) {
    let person = Person { sub: sub.to_owned(), name: name.to_owned(), groups: Vec::new() };
    let caller = Caller {
        person,
        roles: Roles::NONE,
        from: BY.to_owned(),
        request_id: Id::random(&*state.random),
        via: rp_access::Via::default(),
    };
    let result = Outcome { status: 200, word: "ok".to_owned(), side: None };
    state.note(&caller, "sign-in.look", result, |entry| what.clone_into(&mut entry.query)).await;
}
