//! Who had access, why, and what they did.

use rp_documents::ResourceId;

use super::*;
use crate::ReportQuery;

#[tokio::test]
async fn people_grants_and_what_was_done_with_them() {
    let log = Log::new();
    let audit = log.start().await;
    let (harbor, other) = (ResourceId::imported("harbor").unwrap(), ResourceId::imported("other").unwrap());
    let grant = |name: &str| Some(Id::parse(name).unwrap());
    let add = async |entry: Entry| {
        log.clock.advance(Duration::from_secs(1));
        audit.promise(entry).await.unwrap();
    };
    let about = |target: &ResourceId, verb: &str, grant: Option<Id>| {
        let mut entry = log.entry(verb);
        (entry.target, entry.grant) = (Some(target.clone()), grant);
        entry
    };
    let mut issue = about(&harbor, "grant.issue", grant("g1"));
    (issue.resource, issue.subresource) = ("kubeconfig".to_owned(), "read".to_owned());
    (issue.reason, issue.query) =
        ("INC-1: pods do not start".to_owned(), "until 2027-01-15T14:00:00Z".to_owned());
    add(issue).await;
    for n in 0..30 {
        let mut list = about(&harbor, "list", grant("g1"));
        (list.resource, list.namespace) = ("pods".to_owned(), "web".to_owned());
        (list.name, list.bytes_out) = (format!("pod-{n}"), 10);
        add(list).await;
    }
    let mut exec = about(&harbor, "create", grant("g1"));
    (exec.resource, exec.subresource, exec.phase) = ("pods".to_owned(), "exec".to_owned(), Phase::Start);
    exec.command = vec!["cat".to_owned(), "/etc/hosts".to_owned()];
    add(exec.clone()).await;
    exec.phase = Phase::End;
    exec.result.word = "refused".to_owned();
    add(exec).await;
    add(about(&other, "list", grant("g2"))).await;
    let mut elevation = about(&harbor, "elevation.request", None);
    (elevation.subresource, elevation.reason) = ("write".to_owned(), "INC-1".to_owned());
    add(elevation).await;
    let mut revoke = about(&harbor, "grant.revoke", grant("g1"));
    (revoke.actor.sub, revoke.actor.name, revoke.reason) =
        ("root".to_owned(), "Root".to_owned(), "done".to_owned());
    add(revoke).await;

    let asked = ReportQuery { target: Some(harbor.clone()), ..ReportQuery::default() };
    let report = audit.report(&asked).await.unwrap();
    assert_eq!((report.people.len(), report.truncated, report.entries), (1, false, 35));
    let ada = &report.people[0];
    assert_eq!((ada.name.as_str(), ada.from.as_slice()), ("Ada", ["192.0.2.1".to_owned()].as_slice()));
    assert_eq!((ada.grants.len(), ada.elevations.len()), (1, 1));
    let g1 = &ada.grants[0];
    assert_eq!((g1.kind.as_str(), g1.rights.as_str()), ("kubeconfig", "read"));
    assert_eq!(g1.reason, "INC-1: pods do not start");
    assert_eq!(g1.until.as_deref(), Some("2027-01-15T14:00:00Z"));
    let ended = g1.ended.as_ref().unwrap();
    assert_eq!((ended.by.as_str(), ended.why.as_str()), ("Root", "done"));
    let [exec, list] = g1.actions.as_slice() else { panic!("{:?}", g1.actions) };
    assert_eq!((list.count, list.ok, list.bytes_out, list.names.len()), (30, 30, 300, 10));
    assert_eq!(
        (exec.count, exec.refused, exec.commands.as_slice()),
        (1, 1, ["cat /etc/hosts".to_owned()].as_slice())
    );
    let nobody = ReportQuery { person: Some("Bob".to_owned()), ..asked };
    assert!(audit.report(&nobody).await.unwrap().people.is_empty());
    let everything = audit.report(&ReportQuery::default()).await.unwrap();
    assert_eq!(everything.people.iter().find(|person| person.name == "Ada").unwrap().grants.len(), 2);
    assert!(serde_json::to_value(&everything).unwrap()["proof"]["heads"].is_array());
}
