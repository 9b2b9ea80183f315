//! Queries of URLs survive a round trip, and strange ones are no errors.

use web::{AuditQuery, Column, ListQuery, ListView};

#[test]
fn links_keep_what_was_asked() {
    let query = ListQuery {
        q: "a&b=c d".into(),
        view: ListView::Failed,
        version: "<4.17".into(),
        operator: "etcd".into(),
        sort: Column::Created,
        reverse: true,
        after: "xyz".into(),
        ..ListQuery::default()
    };
    assert_eq!(
        query.href(),
        "/?q=a%26b%3Dc%20d&view=failed&version=%3C4.17&operator=etcd&sort=created&reverse=true&after=xyz"
    );
    assert_eq!(ListQuery::default().href(), "/");
    assert_eq!(
        query.without("version").href(),
        "/?q=a%26b%3Dc%20d&view=failed&operator=etcd&sort=created&reverse=true"
    );
    assert_eq!(query.in_view(&ListView::All).href(), "/?sort=created&reverse=true");
    assert_eq!(query.expression(), "a&b=c d view:failed version:<4.17 operator:etcd");
    assert_eq!(query.before("abc").kept(), query.start().kept());
}

#[test]
fn every_filter_has_a_name_and_can_be_taken_away() {
    let mut query = ListQuery::default();
    for (field, _) in ListQuery::default().fields() {
        "x".clone_into(query.field_mut(field).unwrap());
        assert_ne!(web::filter_words(field), "filter", "{field}");
    }
    assert_eq!(query.chips().len(), query.fields().len());
    for (field, _) in ListQuery::default().fields() {
        assert!(!query.without(field).href().contains(&format!("{field}=")), "{field}");
    }
    assert!(query.field_mut("page").is_none());
}

#[test]
fn heads_turn_the_order_round() {
    let first = ListQuery::default();
    assert_eq!(first.aria_sort(&Column::State), "descending");
    assert_eq!(first.aria_sort(&Column::Name), "");
    let by_name = first.sorted(&Column::Name);
    assert_eq!((by_name.aria_sort(&Column::Name), by_name.reverse), ("ascending", false));
    assert_eq!(by_name.sorted(&Column::Name).aria_sort(&Column::Name), "descending");
}

#[test]
fn audit_links_keep_what_was_asked() {
    let query =
        AuditQuery { person: "juno@example.com".into(), before: "w/7".into(), ..AuditQuery::default() };
    assert_eq!(query.href(), "/audit?person=juno%40example.com&before=w%2F7");
    assert_eq!(query.older(""), "/audit?person=juno%40example.com");
    assert!(query.narrows() && !AuditQuery::default().narrows());
}
