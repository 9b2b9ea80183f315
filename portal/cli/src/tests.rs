//! Against a portal of a few lines in this process.

mod actions;
mod ended;
mod formats;
mod maintenance;
mod plug_in;
mod portal;
mod profiles;
mod recordings;
mod signing_in;
mod usage;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clap::Parser as _;
use serde_json::{Value, json};

use self::portal::{Aro, Buffer, ID, KUBECONFIG, portal};
use crate::args::seconds;
use crate::*;

#[tokio::test]
async fn lists_every_page_in_each_format() {
    let portal = portal().await;
    let bare = portal.run(&["clusters"]).await;
    assert_eq!(bare, portal.run(&["clusters", "list"]).await);
    portal.seen.try_iter().for_each(drop);
    let (exit, table, notes) = portal.run(&["clusters", "list", "4.18 x"]).await;
    assert_eq!((exit, notes.as_str()), (Exit::Ok, ""));
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("NAME    STATE      VERSION  HEALTH  SOURCE  RESOURCE ID"), "{table}");
    assert!(
        lines.len() == 3
            && lines[1].starts_with("Harbor  Succeeded  4.18.1   ok")
            && lines[2].starts_with("Quay")
    );
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/clusters?q=4.18+x&limit=500");
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/clusters?q=4.18+x&limit=499&continue=n+1");

    let (_, text, notes) = portal.run(&["clusters", "list", "--limit", "1", "-o", "json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["items"][0]["name"], "Harbor");
    assert_eq!(notes, "1 of 2 shown; more with --limit\n");
    let (_, text, _) = portal.run(&["clusters", "list", "-o", "yaml"]).await;
    assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap()["items"][1]["name"], "Quay");
}

#[tokio::test]
async fn filters_go_to_the_portal_and_names_come_alone() {
    let portal = portal().await;
    let (exit, text, _) = portal.run(&["clusters", "list", "-o", "name"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "Harbor\nQuay\n"));
    let (_, text, _) = portal.run(&["clusters", "list", "-o", "csv"]).await;
    assert!(text.starts_with("name,state,version,health,source,resource_id\nHarbor,"), "{text}");
    portal.seen.try_iter().for_each(drop);
    let filters = [
        "clusters",
        "--state",
        "failed,degraded",
        "--version",
        "4.14..4.16",
        "--operator",
        "etcd",
        "--expires",
        "30",
    ];
    portal.run(&[&filters[..], &["--sort", "name", "--reverse", "--limit", "1"]].concat()).await;
    let asked = portal.seen.recv().unwrap().1;
    for part in [
        "state=failed%2Cdegraded",
        "version=4.14..4.16",
        "operator=etcd",
        "expires=30",
        "sort=name",
        "reverse=true",
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!asked.contains("alert="), "{asked}");
    let (exit, _, notes) = portal.run(&["grants", "list", "-o", "name"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert_eq!(portal.run(&["whoami", "-o", "csv"]).await.0, Exit::Usage);
}

#[tokio::test]
async fn objects_of_a_cluster_are_rows() {
    let portal = portal().await;
    let (exit, text, notes) = portal.run(&["nodes", "harbor"]).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("NAME      STATUS                       ROLES"), "{text}");
    assert!(lines[1].starts_with("master-0  NotReady,SchedulingDisabled  control-plane,master"), "{text}");
    assert!(notes.contains("the list is stale as of 2026-11-21T12:00:00Z: it does not answer"), "{notes}");
    assert!(notes.contains("3 more are left out"), "{notes}");
    assert_eq!(portal.run(&["nodes", "harbor", "-o", "name"]).await.1, "master-0\n");
    let (_, text, _) = portal.run(&["operators", "harbor", "etcd", "-o", "csv"]).await;
    assert_eq!(
        text,
        "name,version,available,progressing,degraded,message\netcd,4.18.3,True,False,True,\"no quorum, 1 of 3\"\n"
    );
    assert!(portal.seen.try_iter().any(|seen| seen.1.ends_with("/operators?name=etcd")));
    let (_, text, _) = portal.run(&["events", "harbor", "--warnings"]).await;
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.len() == 2 && lines[1].contains("Warning") && lines[1].contains("openshift-etcd/pod/etcd-0"),
        "{text}"
    );
    assert_eq!(portal.run(&["nodes", "nowhere"]).await.0, Exit::NotFound);
}

#[tokio::test]
async fn logs_are_written_as_they_are() {
    let portal = portal().await;
    let (exit, text, notes) = portal
        .run(&["logs", "harbor", "openshift-etcd/etcd-0", "-c", "etcd", "-f", "--tail", "5", "--since", "5m"])
        .await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "one\ntwo\n"), "{notes}");
    let asked = portal.seen.try_iter().last().unwrap().1;
    assert!(
        asked.ends_with("/pods/openshift-etcd/etcd-0/log?container=etcd&follow=1&tail=5&since=300s"),
        "{asked}"
    );
    for bad in [
        &["logs", "harbor", "etcd-0"][..],
        &["logs", "harbor", "a/b", "-n", "c"],
        &["logs", "harbor", "a/../b"],
    ] {
        assert_eq!(portal.run(bad).await.0, Exit::Usage, "{bad:?}");
    }
}

#[tokio::test]
async fn a_kubeconfig_goes_to_a_private_file_or_to_standard_output() {
    let portal = portal().await;
    let file = portal.path("kubeconfig");
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let path = file.to_str().unwrap();
    let args = ["kubeconfig", "harbor", "--reason", "INC-1 looking", "--life", "2h", "--static", "-f", path];
    let (exit, text, notes) = portal.run(&args).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, ""));
    assert!(notes.contains("kubectl --kubeconfig"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), KUBECONFIG);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(portal.files.path()).unwrap().count(), 5, "no temporary file is left");
    let posted = portal.seen.iter().nth(1).unwrap();
    assert_eq!(posted.1, format!("{}/kubeconfig/new?", ID.to_lowercase()));
    assert_eq!(posted.2, json!({"reason": "INC-1 looking", "rights": "read", "life": 7200}));

    let (exit, text, _) = portal.run(&["kubeconfig", ID, "--reason", "x", "--static"]).await;
    assert_eq!((exit, text), (Exit::Ok, format!("{KUBECONFIG}\n")));
    let (exit, text, notes) =
        portal.run(&["kubeconfig", ID, "--reason", "x", "--static", "--rights", "admin"]).await;
    assert_eq!((exit, text.as_str()), (Exit::NotAllowed, ""));
    assert_eq!(notes, "error: No. (elevation_needed)\n  Ask.\n  request id: r-1\n");
}

#[tokio::test]
async fn a_cluster_must_be_found_and_meant() {
    let portal = portal().await;
    let (exit, _, notes) = portal.run(&["kubeconfig", "nowhere", "--reason", "x"]).await;
    assert_eq!(exit, Exit::NotFound, "{notes}");
    for bad in ["/subscriptions/../api", "/a?b", "/"] {
        let (exit, _, notes) = portal.run(&["kubeconfig", bad, "--reason", "x"]).await;
        assert_eq!(exit, Exit::Usage, "{bad}: {notes}");
    }
}

#[tokio::test]
async fn a_session_cookie_brings_the_csrf_token() {
    let portal = portal().await;
    let cookie = ("--session-cookie-file", "cookie");
    let file = portal.path("k");
    let import =
        ["clusters", "import", "--kubeconfig", file.to_str().unwrap(), "--name", "lab", "--as-groups", "a,b"];
    let (exit, text, notes) = portal.run_as(cookie, &import).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(text.contains("lab   https://h"), "{text}");
    let body = portal.seen.recv().unwrap().2;
    assert_eq!(
        body,
        json!({"name": "lab", "context": null, "as_groups": ["a", "b"], "kubeconfig": "kind: Config\n"})
    );
    let (exit, text, _) = portal.run_as(cookie, &["clusters", "remove", "lab"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "removed lab\n"));
    let (exit, text, _) = portal.run_as(cookie, &["grants", "revoke", "g1", "--why", "left & gone"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "revoked g1\n"));
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/imports/lab?");
    assert_eq!(portal.seen.recv().unwrap().1, "/api/v1/grants/g1?why=left+%26+gone");
}

#[tokio::test]
async fn tables_of_the_other_lists() {
    let portal = portal().await;
    assert!(portal.run(&["clusters", "imported"]).await.1.contains("lab   https://h"));
    let (_, text, _) = portal.run(&["grants", "list"]).await;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split("  ").map(str::trim).collect()).collect();
    let cells = |row: usize| lines[row].iter().filter(|cell| !cell.is_empty()).copied().collect::<Vec<_>>();
    assert_eq!(cells(1), ["g1", "kubeconfig", "active", "sre", "read, given write"], "{text}");
    assert_eq!(cells(2), ["g2", "ssh", "ended: elevation over", "sre", "write"], "{text}");
    let (_, text, _) = portal.run(&["audit", "list", "--person", "sre", "--verb", "get"]).await;
    assert!(text.contains("2026-11-21T12:00:00Z  sre     get   pods/log n/a  ok"), "{text}");
    let (_, text, _) = portal.run(&["whoami"]).await;
    assert_eq!(text, "sre[31m\nroles: viewer, sre\n", "no control character reaches the terminal");
    let (_, text, _) = portal.run(&["whoami", "-o", "json"]).await;
    assert!(!text.contains("csrf") && text.contains("\"roles\""), "{text}");
}

#[tokio::test]
async fn every_failure_has_its_exit_code() {
    let portal = portal().await;
    let (exit, text, notes) = portal.run_as(("--token-file", "bad"), &["grants", "list", "-o", "json"]).await;
    assert_eq!((exit, text.as_str()), (Exit::NotSignedIn, ""));
    assert_eq!(serde_json::from_str::<Refusal>(&notes).unwrap().code, "not_signed_in");
    assert_eq!(portal.run(&["grants", "revoke", "away"]).await.0, Exit::Away);
    let (exit, _, notes) = portal.run(&["grants", "revoke", "often"]).await;
    assert_eq!(exit, Exit::Away);
    assert!(notes.contains("Try again in 7 s."), "{notes}");
    assert_eq!(portal.run(&["grants", "revoke", "unknown"]).await.0, Exit::NotFound);
    assert_eq!(portal.run(&["grants", "revoke", "../x"]).await.0, Exit::Usage);
    let missing = portal.run_as(("--token-file", "missing"), &["grants", "list"]).await;
    assert_eq!(missing.0, Exit::Failed);
    assert!(missing.2.contains("No such file"), "{}", missing.2);

    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let file = portal.path("token");
    let parse = |url: &str| {
        let line = ["aro", "whoami", "--portal", url, "--token-file", file.to_str().unwrap()];
        Aro::try_parse_from(line).unwrap().verb.verb()
    };
    let mut out = Output::with_writers(Box::new(Buffer::default()), Box::new(Buffer::default()));
    assert_eq!(run_to_exit(parse(&format!("http://{closed}")), &mut out).await, Exit::Away);
    assert_eq!(
        run_to_exit(parse("http://portal.example"), &mut out).await,
        Exit::Usage,
        "no credential in the clear"
    );
}

#[test]
fn json_steers_no_terminal() {
    let answer = Buffer::default();
    let mut out = Output::with_writers(Box::new(answer.clone()), Box::new(Buffer::default()));
    let value = json!({"name": "a\u{9b}2Jé"});
    out.value(Format::Json, &value, |_| String::new()).unwrap();
    out.value(Format::Yaml, &value, |_| String::new()).unwrap();
    out.json_line(&value).unwrap();
    let text = answer.text();
    assert!(!text.contains('\u{9b}') && text.contains('é'), "{text:?}");
    let line = text.lines().last().unwrap();
    assert_eq!(line, r#"{"name":"a\u009b2Jé"}"#);
    assert_eq!(serde_json::from_str::<Value>(line).unwrap(), value);
}

#[test]
fn reads_lives() {
    assert_eq!(seconds("90"), Ok(90));
    assert_eq!(seconds("30m"), Ok(1800));
    assert_eq!(seconds("8h"), Ok(28_800));
    for bad in ["", "h", "-1h", "1w", "0", "99999999999999999999d", "1h30m"] {
        assert!(seconds(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(files::write_private(&folder.path().join("taken"), "x").is_err());
    assert!(files::write_private(Path::new("/"), "x").is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_life_of_a_grant() {
    let portal = portal().await;
    let (exit, text, _) = portal.run(&["grants", "extend", "g-1", "--life", "15m"]).await;
    assert_eq!(exit, Exit::Ok);
    assert!(text.starts_with("g-1 lives until 20"), "{text}");
    let (exit, _, notes) = portal.run(&["grants", "revoke", "--cluster", "harbor"]).await;
    assert_eq!(exit, Exit::Usage);
    assert!(notes.contains("every grant on /subscriptions/") && notes.contains("--yes"), "{notes}");
    let args = ["grants", "revoke", "--person", "me", "--yes", "--why", "left"];
    let (exit, text, _) = portal.run(&args).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "revoked 3 grants\n"));
    let seen: Vec<_> = portal.seen.try_iter().collect();
    assert_eq!(seen.last().unwrap().2, json!({"person": "sre\u{1b}[31m", "why": "left"}));
    assert_eq!(seen[0].2, json!({"life": 900}));
}

#[tokio::test]
async fn elevations_in_force_are_ones_own_unless_all_are_asked_for() {
    let portal = portal().await;
    for (flags, asked) in [
        (&[][..], "mine=true"),
        (&["--active"][..], "mine=true&active=true"),
        (&["--all", "--active"][..], "all=true&active=true"),
        (&["--waiting"][..], "waiting=true"),
    ] {
        let (exit, text, notes) = portal.run(&[&["elevations", "list"][..], flags].concat()).await;
        assert!(exit == Exit::Ok && text.contains("e-1"), "{flags:?}: {notes}");
        assert_eq!(portal.seen.recv().unwrap().1, format!("/api/v1/elevations?{asked}"), "{flags:?}");
    }
}

#[tokio::test]
async fn a_reason_is_asked_for_by_its_flag() {
    let portal = portal().await;
    let (exit, _, notes) = portal.run(&["logs", "harbor", "vault/app"]).await;
    assert_eq!(exit, Exit::NotAllowed);
    assert!(notes.contains("--reason") && !notes.contains("header"), "{notes}");
}

#[tokio::test]
async fn a_reader_that_has_gone_is_no_error() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let portal = portal().await;
    let token = portal.path("token");
    for line in ["clusters list", "whoami -o json", "audit export", "logs harbor openshift-etcd/etcd-0"] {
        let connection = ["--portal", &portal.url, "--token-file", token.to_str().unwrap()];
        let line = ["aro"].into_iter().chain(line.split(' ')).chain(connection);
        let verb = Aro::try_parse_from(line).unwrap().verb.verb();
        let notes = Buffer::default();
        let mut out = Output::with_writers(Box::new(Closed), Box::new(notes.clone()));
        assert_eq!(run_to_exit(verb, &mut out).await, Exit::Ok);
        assert_eq!(notes.text(), "");
    }
}

#[tokio::test]
async fn an_elevation_is_asked_for_and_waited_for() {
    let portal = portal().await;
    let asked =
        ["elevate", "--cluster", "harbor", "--reason", "node is stuck", "--rights", "admin", "--life", "1h"];
    let (exit, text, notes) = portal.run(&asked).await;
    assert_eq!(exit, Exit::Ok, "{notes}");
    assert!(text.contains("e-1  waiting  sre     admin") && notes.contains("approver"), "{text}{notes}");
    let sent = portal.seen.iter().nth(1).unwrap().2;
    assert_eq!(sent["target"], ID.to_lowercase());
    assert_eq!((&sent["life"], &sent["break_glass"]), (&json!(3600), &json!(false)));
    let (exit, text, notes) = portal.run(&["elevate", "--reason", "node is stuck", "--wait"]).await;
    assert_eq!(exit, Exit::NotAllowed, "{notes}");
    assert!(text.contains("refused") && notes.contains("the elevation is refused"), "{text}{notes}");
    let (exit, _, notes) = portal.run(&["elevations", "approve", "e-1"]).await;
    assert_eq!(exit, Exit::NotAllowed);
    assert!(notes.contains("sign_in_again"), "{notes}");
}

#[tokio::test]
async fn a_robots_token_is_shown_once() {
    let portal = portal().await;
    let create = ["robots", "create", "nightly", "--clusters", "harbor", "--reason", "backs up at night"];
    let (exit, text, notes) = portal.run(&create).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "aro1_robot_x\n"), "{notes}");
    let sent = portal.seen.iter().nth(1).unwrap().2;
    assert_eq!(sent["clusters"], json!({"only": [ID.to_lowercase()]}));
    assert_eq!((&sent["kinds"], &sent["life"]), (&json!(["kubeconfig"]), &json!(7_776_000)));
    let file = portal.path("robot.token");
    let (exit, text, _) = portal.run(&[&create[..], &["-f", file.to_str().unwrap()]].concat()).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, ""));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn audit_leaves_the_portal_byte_for_byte() {
    let portal = portal().await;
    let (exit, text, _) = portal.run(&["audit", "export", "--grant", "g-1"]).await;
    assert_eq!((exit, text.as_str()), (Exit::Ok, "{\"seq\":1}\n{\"seq\":2}\n"));
    let (exit, text, _) = portal.run(&["audit", "report", "harbor", "--from", "2026-11-01T00:00:00Z"]).await;
    assert_eq!(exit, Exit::Ok);
    assert!(text.contains("Nobody had access"), "{text}");
    let (_, text, _) = portal.run(&["audit", "report", "harbor", "--format", "csv"]).await;
    assert_eq!(text, "target,person\r\n");
}

#[tokio::test]
async fn operations_are_listed_and_watched_to_their_end() {
    let portal = portal().await;
    let cluster = ID.to_lowercase();
    let (exit, table, _) = portal.run(&["operations", "list", &cluster]).await;
    assert_eq!(exit, Exit::Ok);
    assert!(
        table.lines().nth(1).is_some_and(|row| row.contains("running") && row.contains("2/9")),
        "{table}"
    );
    let (exit, told, notes) = portal.run(&["operations", "watch", &cluster]).await;
    assert_eq!(exit, Exit::Failed, "{notes}");
    let expected = [
        "1/9 action.ensureResourceGroup",
        "1/9 action.ensureResourceGroup done in 1.2 s",
        "2/9 condition.apiServersReady",
        "2/9 condition.apiServersReady: 2 of 3 are ready",
        "info Taken up",
        "2/9 condition.apiServersReady failed after 1.5 s: 2 of 3 are ready",
        "Creating failed",
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
    assert!(notes.contains("timed out"), "{notes}");
    let (exit, lines, _) =
        portal.run(&["operations", "watch", &cluster, "--operation", "o-1", "-o", "json"]).await;
    assert_eq!(exit, Exit::Ok);
    let events: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step", "done", "step", "done", "line", "end"]);
    let (exit, _, _) = portal.run(&["operations", "watch", &cluster, "-o", "csv"]).await;
    assert_eq!(exit, Exit::Usage);
}
