//! A cluster whose API server has an address of IPv6.

use std::net::Ipv6Addr;

use rp_documents::Rights;
use rp_net::{Endpoint, Source};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::upstream::echo;
use crate::wire::ask;
use crate::world::World;

#[tokio::test]
async fn a_cluster_at_an_address_of_ipv6_is_reached_and_asked_by_its_name() {
    let world = World::new().await;
    let upstream = echo(&world.ca, true).await;
    let (front, port) = (TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.unwrap(), upstream.port);
    let address = front.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = front.accept().await {
            let mut far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut near, &mut far).await });
        }
    });
    let mut target = world.target(upstream.port);
    target.source = Source::Imported;
    target.endpoint = Endpoint::Direct { url: format!("https://{address}").parse().unwrap() };
    "::1".clone_into(&mut target.server_name);
    world.directory.put(target);
    let token = world.token(Rights::Read).await;
    let answer = ask(&world, "GET", "/api/v1/pods", &token, "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = upstream.record.seen.lock().pop().unwrap();
    assert_eq!(seen.values("host"), [address.to_string()]);
}
