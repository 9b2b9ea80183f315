//! Sessions in the store.

use std::time::Duration;

use axum::body::Body;
use rp_documents::{Collection, Role};

use super::kit::{Kit, script, until};

async fn status(kit: &Kit, cookie: &str) -> u16 {
    kit.send(script("GET", "/api/info").header("cookie", cookie).body(Body::empty()).unwrap())
        .await
        .status
        .as_u16()
}

#[tokio::test]
async fn idle_sessions_end_used_ones_live_on_and_all_end_at_last() {
    let kit = Kit::new().await;
    let (used, idle) = (kit.cookie(Some(Role::Sre)).await, kit.cookie(Some(Role::Sre)).await);
    for _ in 0..14 {
        kit.clock.advance(Duration::from_secs(50 * 60));
        assert_eq!(status(&kit, &used).await, 200);
    }
    assert_eq!(status(&kit, &idle).await, 401);
    kit.clock.advance(Duration::from_secs(21 * 60));
    assert_eq!(status(&kit, &used).await, 401, "12 h are over");
}

#[tokio::test]
async fn the_store_holds_neither_cookie_nor_content() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    let value = cookie.split_once('=').unwrap().1;
    let page = kit.store.list(Collection::Sessions, None, None, 10).await.unwrap();
    let stored = format!("{:?}", page.items);
    assert!(
        !stored.contains(value) && !stored.contains("sre@example.com") && stored.contains("v3."),
        "{stored}"
    );
}

#[tokio::test]
async fn a_session_that_is_removed_elsewhere_ends_here() {
    let kit = Kit::new().await;
    let cookie = kit.cookie(Some(Role::Sre)).await;
    assert_eq!(status(&kit, &cookie).await, 200);
    let page = kit.store.list(Collection::Sessions, None, None, 10).await.unwrap();
    kit.store.delete(Collection::Sessions, &page.items[0].id, rp_database::Expect::Any).await.unwrap();
    until("the session ends", async || status(&kit, &cookie).await == 401).await;
}

#[tokio::test]
async fn strangers_cost_no_rows_and_garbage_is_no_session() {
    let kit = Kit::new().await;
    for cookie in ["__Host-aro=x", "__Host-aro=AAAAAAAAAAAAAAAAAAAAAA", "__Host-aro=", "a=b; ;;="] {
        assert_eq!(status(&kit, cookie).await, 401, "{cookie}");
    }
    for _ in 0..5 {
        kit.send(script("GET", "/api/login").body(Body::empty()).unwrap()).await;
    }
    assert_eq!(kit.store.count(Collection::Sessions).await.unwrap(), 0);
}

#[tokio::test]
async fn ending_all_sessions_of_a_person_spares_others() {
    let kit = Kit::new().await;
    let (a, b, c) = (
        kit.cookie(Some(Role::Sre)).await,
        kit.cookie(Some(Role::Sre)).await,
        kit.cookie(Some(Role::Admin)).await,
    );
    assert_eq!(kit.state.end_sessions("sub-sre").await.unwrap(), 2);
    assert_eq!((status(&kit, &a).await, status(&kit, &b).await, status(&kit, &c).await), (401, 401, 200));
}
