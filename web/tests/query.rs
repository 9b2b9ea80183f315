//! Queries of URLs survive a round trip, and strange ones are no errors.

use web::{AuditQuery, ListQuery, ListView, Sort};

#[test]
fn links_keep_what_was_asked() {
    let query = ListQuery {
        q: "a&b=c d".into(),
        view: ListView::Failed,
        version: "<4.17".into(),
        sort: Sort::Created,
        reverse: true,
        page: 3,
        ..ListQuery::default()
    };
    assert_eq!(
        query.href(),
        "/?q=a%26b%3Dc%20d&view=failed&version=%3C4.17&sort=created&reverse=true&page=3"
    );
    assert_eq!(ListQuery::default().href(), "/");
    assert_eq!(query.without("version").href(), "/?q=a%26b%3Dc%20d&view=failed&sort=created&reverse=true");
    assert_eq!(query.in_view(&ListView::All).href(), "/?sort=created&reverse=true");
}

#[test]
fn heads_turn_the_order_round() {
    let first = ListQuery::default();
    assert_eq!(first.aria_sort(&Sort::State), "descending");
    assert_eq!(first.aria_sort(&Sort::Name), "");
    let by_name = first.sorted(&Sort::Name);
    assert_eq!((by_name.aria_sort(&Sort::Name), by_name.reverse), ("ascending", false));
    assert_eq!(by_name.sorted(&Sort::Name).aria_sort(&Sort::Name), "descending");
}

#[test]
fn audit_links_keep_what_was_asked() {
    let query =
        AuditQuery { person: "juno@example.com".into(), before: "w/7".into(), ..AuditQuery::default() };
    assert_eq!(query.href(), "/audit?person=juno%40example.com&before=w%2F7");
    assert_eq!(query.older(""), "/audit?person=juno%40example.com");
    assert!(query.narrows() && !AuditQuery::default().narrows());
}
