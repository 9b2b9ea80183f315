//! Anyone who is refused cannot fill the log.

use std::net::{IpAddr, Ipv4Addr};

use super::{Log, within};
use crate::{Audit, Query};

async fn of_verb(audit: &Audit, verb: &str) -> Vec<String> {
    let query = Query { verb: Some(verb.to_owned()), limit: 1000, ..Query::default() };
    let found = audit.search(&query).await.unwrap();
    found.entries.into_iter().map(|entry| entry.query).collect()
}

#[tokio::test]
async fn ten_thousand_refusals_are_two_entries_of_their_network() {
    let log = Log::new();
    let audit = log.start().await;
    let network = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
    for number in 0..10_000 {
        let mut entry = log.entry("arm.read");
        entry.query = format!("/path/{number}");
        audit.refused(network, entry).await.unwrap();
    }
    within(audit.close()).await;
    let audit = log.start().await;
    let mut told = of_verb(&audit, "arm.read").await;
    told.sort();
    assert_eq!(told, ["/path/0", "9999 more were refused from this network; the last: /path/9999"]);
    within(audit.close()).await;
}

#[tokio::test]
async fn the_entries_of_many_networks_are_bounded_too() {
    let log = Log::new();
    let audit = log.start().await;
    for number in 0..5_000_u32 {
        audit.refused(Ipv4Addr::from(number).into(), log.entry("ssh.login")).await.unwrap();
    }
    within(audit.close()).await;
    let audit = log.start().await;
    let told = of_verb(&audit, "ssh.login").await;
    assert_eq!(told.len(), 257, "one each of 256 networks, and a sum");
    assert!(told.iter().any(|query| query.starts_with("4744 more were refused from further networks")));
    within(audit.close()).await;
}
