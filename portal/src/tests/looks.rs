//! Asking the provider again: what it refuses ends, and what it does not say changes nothing.

use std::time::Duration;

use axum::body::Body;
use rp_access::{Caller, IssueRequest, Refusal, Via};
use rp_base::Id;
use rp_documents::{Collection, GrantKind, Person, ResourceId, Rights, Role};
use serde_json::json;

use super::kit::{Kit, RES, TestResponse, person, script, until};
use super::signin::sign_in;

/// Signed in with a refresh token, and a grant in use.
struct SignedIn {
    kit: Kit,
    cookie: String,
    token: String,
}

impl SignedIn {
    async fn new() -> Self {
        let kit = Kit::new().await;
        kit.provider.with.lock().offline = true;
        let cookie = sign_in(&kit, "/").await.cookie("__Host-aro").unwrap();
        let person = Person {
            sub: "sub-sre".to_owned(),
            name: "sre@example.com".to_owned(),
            groups: vec!["g-sre".to_owned()],
        };
        let access = &kit.state.session.access;
        let caller = Caller {
            roles: access.policy().roles_of(&person.groups),
            person,
            from: "192.0.2.7".to_owned(),
            request_id: Id::random(&rp_base::SystemRandom),
            via: Via::default(),
        };
        let ask = IssueRequest {
            life: Some(Duration::from_secs(12 * 3600)),
            ..IssueRequest::new(
                GrantKind::Kubeconfig,
                Some(ResourceId::parse(RES).unwrap()),
                Rights::Read,
                "for this very test".to_owned(),
            )
        };
        let token = access.issue(&caller, ask).await.unwrap().token.expose().clone();
        Self { kit, cookie, token }
    }

    async fn info(&self) -> TestResponse {
        let request = script("GET", "/api/info").header("cookie", &self.cookie);
        self.kit.send(request.body(Body::empty()).unwrap()).await
    }

    async fn grant(&self) -> Result<(), Refusal> {
        let from = "192.0.2.9".parse().unwrap();
        self.kit.state.session.access.authenticate(&self.token, from).await.map(drop)
    }

    /// After so many minutes.
    async fn look(&self, minutes: u64) -> usize {
        for _ in 0..minutes {
            self.kit.clock.advance(Duration::from_secs(60));
            self.info().await;
        }
        self.kit.state.revalidate().await.unwrap()
    }
}

#[tokio::test]
async fn the_refresh_token_is_sealed_used_once_and_handed_on() {
    let signed = SignedIn::new().await;
    let kept = signed.kit.store.list(Collection::SignIns, None, None, 10).await.unwrap();
    let text = format!("{kept:?}");
    assert!(kept.items.len() == 1 && !text.contains("rt-") && !text.contains("sre@example.com"), "{text}");
    signed.look(1).await;
    assert_eq!(signed.kit.provider.with.lock().refreshed, 0, "not due yet");
    for round in 1..=4 {
        signed.look(5).await;
        signed.look(0).await;
        assert_eq!(signed.kit.provider.with.lock().refreshed, round, "once a period");
    }
    assert_eq!((signed.info().await.status.as_u16(), signed.grant().await), (200, Ok(())));
}

#[tokio::test]
async fn two_replicas_ask_for_a_person_once() {
    let signed = SignedIn::new().await;
    let other = signed.kit.replica().await;
    signed.kit.clock.advance(Duration::from_secs(300));
    let (one, two) = tokio::join!(signed.kit.state.revalidate(), other.state.revalidate());
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(signed.kit.provider.with.lock().refreshed, 1);
}

#[tokio::test]
async fn a_refused_refresh_ends_sessions_and_grants() {
    for code in ["invalid_grant", "interaction_required"] {
        let signed = SignedIn::new().await;
        assert_eq!((signed.info().await.status.as_u16(), signed.grant().await), (200, Ok(())));
        signed.kit.provider.with.lock().no_refresh = Some((400, json!({"error": code})));
        signed.look(5).await;
        until("the session ends", async || signed.info().await.status == 401).await;
        until("the grant ends", async || signed.grant().await.is_err()).await;
        // What a request gave that had passed the gate before ends with the second look.
        let late = signed.kit.token(Role::Sre, GrantKind::Cli).await;
        signed.look(1).await;
        assert_eq!(signed.kit.store.count(Collection::SignIns).await.unwrap(), 0);
        assert!(
            signed.kit.state.session.access.authenticate(&late, "192.0.2.7".parse().unwrap()).await.is_err()
        );
        let entry = signed.kit.audited("sign-in.look").await;
        assert_eq!((entry.actor.name.as_str(), entry.query), ("sre@example.com", format!("refused {code}")));
    }
}

#[tokio::test]
async fn lost_groups_take_rights_away_and_the_last_takes_all() {
    let signed = SignedIn::new().await;
    signed.kit.provider.with.lock().claims = json!({"groups": ["g-viewer"]});
    signed.look(5).await;
    until("the roles are those of now", async || signed.info().await.json()["roles"] == json!(["viewer"]))
        .await;
    until("the grant is more than they give", async || signed.grant().await.is_err()).await;
    signed.kit.provider.with.lock().claims = json!({"groups": ["g-sre", "g-elevated"]});
    signed.look(5).await;
    until("roles come back too", async || signed.info().await.json()["elevated"] == json!(true)).await;
    signed.kit.provider.with.lock().claims = json!({"groups": ["other"]});
    signed.look(5).await;
    until("the session ends", async || signed.info().await.status == 401).await;
}

#[tokio::test]
async fn groups_that_could_not_be_written_at_the_sign_in_are_written_by_the_next_look() {
    let signed = SignedIn::new().await;
    // The process died between keeping the token and writing the groups.
    let (sign_ins, now) = (&signed.kit.state.session.sign_in.sign_ins, signed.kit.state.session.clock.now());
    let record = sign_ins.all().await.unwrap().remove(0);
    let held = sign_ins.open(&record.value).unwrap();
    signed.kit.state.session.sign_in.sessions.set_groups("sub-sre", &["g-viewer".to_owned()]).await.unwrap();
    let person = person(Some(Role::Sre));
    sign_ins.keep(&person, &held.token, now).await.unwrap();
    signed.look(5).await;
    until("the groups of the provider", async || {
        signed.info().await.json()["roles"] == json!(["viewer", "sre"])
    })
    .await;
}

#[tokio::test]
async fn a_provider_that_does_not_answer_changes_nothing_and_is_an_alarm_at_last() {
    let signed = SignedIn::new().await;
    let away = [
        Some((500, json!({"error": "server_error"}))),
        Some((503, json!("busy"))),
        Some((400, json!({"error": "invalid_client"}))),
        Some((200, json!({"access_token": "at"}))),
    ];
    for answer in away {
        signed.kit.provider.with.lock().no_refresh = answer;
        assert_eq!(signed.look(5).await, 0);
        assert_eq!((signed.info().await.status.as_u16(), signed.grant().await), (200, Ok(())));
    }
    signed.kit.provider.with.lock().away = true;
    assert_eq!(signed.look(15).await, 1, "31 min without a word");
    assert_eq!((signed.info().await.status.as_u16(), signed.grant().await), (200, Ok(())));
    {
        let mut with = signed.kit.provider.with.lock();
        (with.away, with.no_refresh) = (false, None);
    }
    signed.look(5).await;
    assert_eq!(signed.look(0).await, 0);
}

#[tokio::test]
async fn a_token_for_somebody_else_or_with_a_bad_signature_gives_no_groups() {
    let signed = SignedIn::new().await;
    signed.kit.provider.with.lock().claims = json!({"sub": "another", "groups": ["g-admin"]});
    signed.look(5).await;
    {
        let mut with = signed.kit.provider.with.lock();
        (with.claims, with.forged) = (json!({"groups": ["g-admin"]}), true);
    }
    signed.look(5).await;
    assert_eq!(signed.info().await.json()["roles"], json!(["viewer", "sre"]));
}

#[tokio::test]
async fn who_holds_nothing_is_forgotten() {
    let signed = SignedIn::new().await;
    signed.kit.state.end_sessions("sub-sre").await.unwrap();
    signed.look(13 * 60).await;
    until("the record goes", async || signed.kit.store.count(Collection::SignIns).await.unwrap() == 0).await;
}

#[tokio::test]
async fn a_sign_in_without_any_role_ends_what_the_person_held() {
    let signed = SignedIn::new().await;
    signed.kit.provider.with.lock().claims = json!({"groups": ["other"]});
    assert_eq!(sign_in(&signed.kit, "/").await.status, 403);
    until("the session ends", async || signed.info().await.status == 401).await;
    until("the grant ends", async || signed.grant().await.is_err()).await;
}

#[tokio::test]
async fn whoever_writes_beside_a_look_loses_no_token_and_ends_no_new_sign_in() {
    let signed = SignedIn::new().await;
    let (sign_ins, now) = (&signed.kit.state.session.sign_in.sign_ins, signed.kit.state.session.clock.now());
    let only = async || sign_ins.all().await.unwrap().remove(0);
    let touch = async || {
        let stored = signed.kit.store.list(Collection::SignIns, None, None, 1).await.unwrap().items.remove(0);
        signed.kit.store.replace(Collection::SignIns, stored.into(), rp_database::Expect::Any).await.unwrap();
    };
    // Keys are rotated, and every document is sealed again, while the provider has not answered yet.
    let claimed = sign_ins.claim(only().await, now).await.unwrap().unwrap();
    let mut held = sign_ins.open(&claimed.value).unwrap();
    held.token = "the next one".to_owned().into();
    touch().await;
    assert!(sign_ins.confirm(claimed, &held, now).await.unwrap().is_some());
    assert_eq!(sign_ins.open(&only().await.value).unwrap().token.expose(), "the next one");

    // The person signs in again while the provider refuses the old token.
    let claimed = sign_ins.claim(only().await, now).await.unwrap().unwrap();
    signed.kit.clock.advance(Duration::from_secs(1));
    sign_in(&signed.kit, "/").await;
    assert!(sign_ins.refuse(claimed).await.unwrap().is_none());
    assert!(!only().await.value.refused);
}
