//! Credentials in config maps do not pass to who may only read (decision 18), whatever form they are asked for in.

use rp_documents::Rights;
use tokio::sync::watch;

use crate::upstream::{Peer, ReceivedRequest, Upstream, script, scripted};
use crate::wire::{Wire, ask, start};
use crate::world::{World, caller};

const MAP: &str = "/api/v1/namespaces/a/configmaps/b";
const WATCH: &str = "/api/v1/configmaps?watch=true";
const SECRET: &str = "hush-hush-hush";

/// A config map in JSON, on one line.
fn map() -> String {
    let kubeconfig = format!("clusters: []\ncontexts: []\nusers:\n- user: {{token: {SECRET}}}\n");
    let map =
        serde_json::json!({ "kind": "ConfigMap", "data": { "kubeconfig": kubeconfig, "plain": "as it is" } });
    map.to_string()
}

/// A config map whose values are too long to be searched at once.
fn long_map() -> String {
    let long = "as it is ".repeat(40_000);
    let key = format!("{long}-----BEGIN PRIVATE KEY-----\n{SECRET}\n");
    serde_json::json!({ "kind": "ConfigMap", "data": { "a": long, "b": key, "c": long } }).to_string()
}

/// A cluster with that map; the second event of a watch is sent when told.
async fn cluster(world: &World, go_on: watch::Receiver<bool>) -> Upstream {
    let answers = move |request: ReceivedRequest, peer: Peer| {
        let go_on = go_on.clone();
        async move {
            if request.target().contains("watch=true") {
                watch_events(peer, go_on).await;
                return None;
            }
            Some(answer(&request, peer).await)
        }
    };
    scripted(world, script(answers)).await
}

/// Two events of the map, the first in two pieces, the second when told; then nothing.
async fn watch_events(mut peer: Peer, mut go_on: watch::Receiver<bool>) {
    let event = |kind: &str| format!("{{\"object\":{},\"type\":\"{kind}\"}}\n", map());
    let first = event("ADDED");
    let (begin, end) = first.split_at(first.find("users").unwrap());
    let kind = "Content-Type: application/json;stream=watch";
    peer.write(format!("HTTP/1.1 200 OK\r\n{kind}\r\nTransfer-Encoding: chunked\r\n\r\n")).await;
    for piece in [begin, end] {
        peer.write(format!("{:x}\r\n{piece}\r\n", piece.len())).await;
    }
    let _ = go_on.wait_for(|go_on| *go_on).await;
    let second = event("MODIFIED");
    peer.write(format!("{:x}\r\n{second}\r\n", second.len())).await;
    std::future::pending::<()>().await;
}

/// The map in the form that `as=` of the query asks for.
async fn answer(request: &ReceivedRequest, mut peer: Peer) -> Peer {
    let target = request.target();
    let form = target.split_once("as=").map_or("", |(_, form)| form);
    let kind = match form {
        "protobuf" => "Content-Type: application/vnd.kubernetes.protobuf",
        "gzip" => "Content-Type: application/json\r\nContent-Encoding: gzip",
        "untold" => "X-Kind: json",
        _ => "Content-Type: application/json",
    };
    let status = match form {
        "part" => "206 Partial Content",
        "refused" => "410 Gone",
        _ => "200 OK",
    };
    let body = if form == "long" { long_map() } else { map() };
    peer.write(format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    peer
}

#[tokio::test]
async fn a_config_map_passes_without_the_credentials_in_it() {
    let world = World::new().await;
    let upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let reader = world.token(Rights::Read).await;
    let more = "Accept: application/vnd.kubernetes.protobuf, application/json\r\nAccept-Encoding: gzip\r\n\
        Range: bytes=100-\r\n";
    let answer = ask(&world, "GET", MAP, &reader, more).await;
    assert_eq!((answer.status, answer.whole), (200, true));
    let text = answer.text();
    assert!(!text.contains(SECRET) && text.contains("withheld") && text.contains("as it is"), "{text}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["kind"], "ConfigMap");
    let seen = upstream.record.seen.lock().last().cloned().unwrap();
    assert_eq!(seen.values("accept").join(",").trim(), "application/json");
    assert!(seen.values("accept-encoding").is_empty() && seen.values("range").is_empty(), "{}", seen.head);
    // What cannot be searched does not pass.
    for form in ["protobuf", "gzip", "untold", "part"] {
        let answer = ask(&world, "GET", &format!("{MAP}?as={form}"), &reader, "").await;
        assert_eq!(answer.status, 502, "{form}");
        assert!(answer.text().contains("not_searchable") && !answer.text().contains(SECRET), "{form}");
    }
    let refused = ask(&world, "GET", &format!("{MAP}?as=refused"), &reader, "").await;
    assert!(refused.status == 410 && refused.whole && !refused.text().contains(SECRET), "{}", refused.text());
    // Of other kinds every byte passes, and so it does to who may write: else `kubectl edit` would store what stands in
    // the place of a value.
    let other = ask(&world, "GET", "/api/v1/namespaces/a/pods/b?as=gzip", &reader, more).await;
    assert_eq!(other.body, map().as_bytes());
    let writer = world.token(Rights::Write).await;
    for form in ["json", "protobuf", "gzip"] {
        let answer = ask(&world, "GET", &format!("{MAP}?as={form}"), &writer, more).await;
        assert_eq!((answer.status, answer.text()), (200, map()), "{form}");
    }
    let seen = upstream.record.seen.lock().last().cloned().unwrap();
    assert_eq!(seen.values("accept-encoding"), ["gzip"]);
}

#[tokio::test]
async fn long_values_are_searched_and_pass_whole() {
    let world = World::new().await;
    let _upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let reader = world.token(Rights::Read).await;
    let answer = ask(&world, "GET", &format!("{MAP}?as=long"), &reader, "").await;
    assert!(answer.status == 200 && answer.whole, "{} bytes", answer.body.len());
    let passed: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let given: serde_json::Value = serde_json::from_str(&long_map()).unwrap();
    for key in ["a", "c"] {
        assert!(passed["data"][key] == given["data"][key], "{key}");
    }
    assert!(passed["data"]["b"].as_str().unwrap().starts_with("[withheld"));
}

#[tokio::test]
async fn who_asks_for_metadata_only_gets_no_more() {
    let world = World::new().await;
    let upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let reader = world.token(Rights::Read).await;
    let metadata = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let accept = format!("Accept: application/vnd.kubernetes.protobuf;{metadata}\r\n");
    assert_eq!(ask(&world, "GET", MAP, &reader, &accept).await.status, 200);
    let seen = upstream.record.seen.lock().last().cloned().unwrap();
    assert_eq!(seen.values("accept"), [format!("application/json;{metadata}")]);
}

#[tokio::test]
async fn a_watch_of_config_maps_is_searched_event_by_event() {
    let world = World::new().await;
    let go_on = watch::Sender::new(false);
    let _upstream = cluster(&world, go_on.subscribe()).await;
    let issued = world.issue(rp_documents::GrantKind::Kubeconfig, Rights::Read).await;
    let mut watching = Wire::connect(&world).await;
    watching.send(format!("{}\r\n", start("GET", WATCH, issued.token.expose()))).await;
    assert!(watching.says("\"ADDED\"}\n").await, "an event is not held back");
    go_on.send_replace(true);
    assert!(watching.says("\"MODIFIED\"}\n").await);
    world.revoke(&issued).await;
    let text = watching.answer().await.text();
    assert!(!text.contains(SECRET) && text.contains("withheld"), "{text}");
    assert!(text.contains("\"type\":\"ERROR\""), "{text}");
    // By WebSocket nothing is searched.
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let reader = world.token(Rights::Read).await;
    assert_eq!(ask(&world, "GET", WATCH, &reader, upgrade).await.status, 403);
}

#[tokio::test]
async fn what_is_shown_to_who_may_write_ends_with_those_rights() {
    let world = World::new().await;
    let _upstream = cluster(&world, watch::Sender::new(false).subscribe()).await;
    let token = world.token(Rights::Write).await;
    let [elevation] = world.access.active_elevations("sub-ada").try_into().unwrap();
    let mut watching = Wire::connect(&world).await;
    watching.send(format!("{}\r\n", start("GET", WATCH, &token))).await;
    assert!(watching.says(SECRET).await);
    world.access.end_elevation(&caller(&["power"]), &elevation.id, None).await.unwrap();
    let text = watching.answer().await.text();
    assert!(text.contains("\"type\":\"ERROR\"") && text.contains("elevation has ended"), "{text}");
    let answer = ask(&world, "GET", MAP, &token, "").await;
    assert!(answer.status == 200 && !answer.text().contains(SECRET), "{}", answer.text());
}
