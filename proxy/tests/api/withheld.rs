//! Credentials in config maps do not pass to who may only read (decision 18), whatever form they are asked for in.

use rp_documents::Rights;
use tokio::sync::watch;

use crate::upstream::{ReceivedRequest, Upstream, h1, script};
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

/// Answers with that map in the form that `as=` of the query asks for; a watch sends two events, the second when told.
async fn cluster(world: &World, go_on: watch::Receiver<bool>) -> Upstream {
    let upstream = h1(
        &world.ca,
        true,
        script(move |seen: ReceivedRequest, mut peer| {
            let mut go_on = go_on.clone();
            async move {
                let target = seen.target().to_owned();
                if target.contains("watch=true") {
                    let event = |kind: &str| format!("{{\"object\":{},\"type\":\"{kind}\"}}\n", map());
                    let first = event("ADDED");
                    let (begin, end) = first.split_at(first.find("users").unwrap());
                    let kind = "Content-Type: application/json;stream=watch";
                    peer.write(format!("HTTP/1.1 200 OK\r\n{kind}\r\nTransfer-Encoding: chunked\r\n\r\n"))
                        .await;
                    for piece in [begin, end] {
                        peer.write(format!("{:x}\r\n{piece}\r\n", piece.len())).await;
                    }
                    let _ = go_on.wait_for(|go_on| *go_on).await;
                    let second = event("MODIFIED");
                    peer.write(format!("{:x}\r\n{second}\r\n", second.len())).await;
                    std::future::pending::<()>().await;
                }
                let kind = match target.split_once("as=").map_or("", |(_, kind)| kind) {
                    "protobuf" => "Content-Type: application/vnd.kubernetes.protobuf",
                    "gzip" => "Content-Type: application/json\r\nContent-Encoding: gzip",
                    "untold" => "X-Kind: json",
                    _ => "Content-Type: application/json",
                };
                let status = if target.contains("as=part") { "206 Partial Content" } else { "200 OK" };
                let body = map();
                peer.write(format!(
                    "HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {}\r\n\r\n{body}",
                    body.len()
                ))
                .await;
                Some(peer)
            }
        }),
    )
    .await;
    world.cluster(upstream.port);
    upstream
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
