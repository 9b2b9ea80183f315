//! What an elevation gives ends with it, in the middle of whatever goes on; reading goes on.

use std::sync::Arc;
use std::time::Duration;

use rp_documents::{Collection, GrantKind, Rights};
use tokio::sync::watch;

use crate::upstream::{Peer, ReceivedRequest, Upstream, script, scripted};
use crate::wire::{Wire, ask, start};
use crate::world::{World, caller, id, until};

const SPDY: &str = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
const EXEC: &str = "/api/v1/namespaces/a/pods/b/exec?command=id";

/// Shells that stay open, watches that go on when told, handshakes that hang for `/attach`.
async fn cluster(world: &World, go_on: watch::Receiver<bool>) -> Upstream {
    let answers = move |request: ReceivedRequest, mut peer: Peer| {
        let mut go_on = go_on.clone();
        async move {
            let target = request.target();
            if target.contains("/attach") {
                std::future::pending::<()>().await;
            } else if target.contains("/exec") {
                peer.write(format!("{SWITCH}shell")).await;
                while peer.fill(peer.buffer.len() + 1).await {}
            } else if target.contains("watch=true") {
                peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n").await;
                let _ = go_on.wait_for(|go_on| *go_on).await;
                peer.write("6\r\nsecond\r\n").await;
                std::future::pending::<()>().await;
            } else {
                peer.json("{}").await;
                return Some(peer);
            }
            None
        }
    };
    scripted(world, script(answers)).await
}

async fn open(world: &World, method: &str, path: &str, token: &str, more: &str) -> Wire {
    let mut wire = Wire::connect(world).await;
    wire.send(format!("{}{more}", start(method, path, token))).await;
    wire
}

#[tokio::test]
async fn shells_end_with_the_elevation_and_watches_go_on() {
    let world = World::new().await;
    let go_on = watch::Sender::new(false);
    let upstream = cluster(&world, go_on.subscribe()).await;
    let token = world.token(Rights::Write).await;
    let [elevation] = world.access.active_elevations("sub-ada").try_into().unwrap();
    let mut shell = open(&world, "POST", EXEC, &token, SPDY).await;
    assert!(shell.says("shell").await);
    let mut watching = open(&world, "GET", "/api/v1/pods?watch=true", &token, "\r\n").await;
    assert!(watching.says("first").await);

    world.access.end_elevation(&caller(&["power"]), &elevation.id, None).await.unwrap();
    assert!(!String::from_utf8_lossy(&shell.rest().await).contains("Status"), "a cut, no foreign bytes");
    let entry = world.audited("the shell's end", |entry| entry.result.word == "cut").await;
    assert_eq!((entry.subresource.as_str(), entry.result.status), ("exec", 101));
    go_on.send_replace(true);
    assert!(watching.says("second").await, "reading goes on");

    let answer = ask(&world, "GET", "/api/v1/pods", &token, "").await;
    assert_eq!(answer.status, 200, "the same file reads on");
    assert_eq!(upstream.record.seen.lock().last().unwrap().values("impersonate-group"), [""; 0]);
    let refused = ask(&world, "POST", EXEC, &token, "Content-Length: 0\r\n").await;
    assert_eq!(refused.status, 403);
    let said = refused.text();
    assert!(said.contains("elevation has ended") && said.contains("elevation_over"), "{said}");
}

#[tokio::test]
async fn an_end_during_the_handshake_is_told_with_its_reason() {
    let world = World::new().await;
    let upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let attach = "/api/v1/namespaces/a/pods/b/attach";
    for revoked in [true, false] {
        let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
        let before = upstream.record.seen.lock().len();
        let mut wire = open(&world, "POST", attach, issued.token.expose(), SPDY).await;
        until("the handshake", async || (upstream.record.seen.lock().len() > before).then_some(())).await;
        if revoked {
            world.revoke(&issued).await;
        } else {
            let elevation = issued.grant.elevation_id.clone().unwrap();
            world.access.end_elevation(&caller(&["power"]), &elevation, None).await.unwrap();
        }
        let answer = wire.answer().await;
        let (status, said) = if revoked { (401, "revoked") } else { (403, "elevation has ended") };
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(said), "{}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"));
    }
}

#[tokio::test]
async fn a_change_on_its_way_is_cut_too() {
    let world = World::new().await;
    let silent = script(|_, peer| async move {
        std::future::pending::<()>().await;
        Some(peer)
    });
    let upstream = scripted(&world, silent).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
    let path = "/api/v1/namespaces/a/pods/b";
    let mut wire = open(&world, "DELETE", path, issued.token.expose(), "\r\n").await;
    until("the request", async || (!upstream.record.seen.lock().is_empty()).then_some(())).await;
    let elevation = issued.grant.elevation_id.unwrap();
    world.access.end_elevation(&caller(&["power"]), &elevation, None).await.unwrap();
    assert_eq!(wire.answer().await.status, 403);
    let entry = world.audited("its end", |entry| entry.verb == "delete" && entry.result.word == "cut").await;
    assert_eq!(entry.name, "b");
}

#[tokio::test]
async fn a_renewed_token_acts_for_its_grant() {
    let world = World::new().await;
    let upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let issued = world.issue(GrantKind::Kubeconfig, Rights::Write).await;
    let me = caller(&["power"]);
    let renewed = world.access.renew(&issued.grant.id, &me, Duration::from_secs(600)).await.unwrap();
    assert_ne!(renewed.grant.id, issued.grant.id);
    assert_eq!(ask(&world, "GET", "/api/v1/nodes", renewed.token.expose(), "").await.status, 200);
    let told = {
        let seen = upstream.record.seen.lock();
        seen.last().unwrap().values("impersonate-extra-aro.openshift.io%2fgrant").join(",")
    };
    assert_eq!(told, issued.grant.id.as_str(), "the cluster is told of the grant that people know");
    let entry = world.audited("the request", |entry| entry.resource == "nodes").await;
    assert_eq!(entry.grant.as_ref(), Some(&issued.grant.id));
    let mut watching = open(&world, "GET", "/api/v1/pods?watch=true", renewed.token.expose(), "\r\n").await;
    assert!(watching.says("first").await);
    let view = world.access.get(&me, &issued.grant.id).await.unwrap();
    assert_eq!((view.streams, view.open[0].what.as_slice()), (1, &["watch pods".to_owned()][..]));
    world.revoke(&issued).await;
    watching.rest().await;
}

#[tokio::test]
async fn all_streams_of_a_cluster_end_at_once() {
    let world = World::new().await;
    let _upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let mut wires = Vec::new();
    for n in 0..6 {
        let rights = if n % 2 == 0 { Rights::Read } else { Rights::Write };
        let token = world.token(rights).await;
        let mut wire = open(&world, "GET", "/api/v1/pods?watch=true", &token, "\r\n").await;
        assert!(wire.says("first").await);
        wires.push(wire);
    }
    let root = caller(&["admins"]);
    let ended = world.access.revoke_all(&root, rp_access::RevokeScope::Cluster(id()), None).await.unwrap();
    assert_eq!(ended, 6);
    for mut wire in wires {
        let rest = wire.rest().await;
        assert!(!rest.ends_with(b"0\r\n\r\n"), "cut, not ended");
    }
    assert_eq!(world.access.streams_of("sub-ada"), 0);
}

#[tokio::test]
async fn requests_of_grants_in_use_ask_the_store_nothing() {
    let world = World::new().await;
    let _upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let tokens = [world.token(Rights::Read).await, world.token(Rights::Write).await];
    let requests = async || {
        for token in &tokens {
            assert_eq!(ask(&world, "GET", "/api/v1/pods", token, "").await.status, 200);
            assert_eq!(ask(&world, "GET", "/api/v1/secrets", token, "").await.status, 403);
        }
    };
    requests().await;
    let queries = || world.store.queries.load(std::sync::atomic::Ordering::Relaxed);
    let before = queries();
    for _ in 0..20 {
        requests().await;
    }
    assert_eq!(queries(), before);
    let store: Arc<dyn rp_database::Store> = world.store.clone();
    assert_eq!(store.count(Collection::Grants).await.unwrap(), 2);
}
