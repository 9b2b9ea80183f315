//! The life of an access on the command line: elevations, robots, the report.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Folder, GENEROUS, Output, until};
use tokio::sync::OnceCell;

use crate::command_line::aro;
use crate::terminal::Terminal;
use crate::world::World;

fn id(answer: &Value) -> Result<&str> {
    answer["id"].as_str().with_context(|| format!("no id: {answer}"))
}

/// Where nobody else elevates the person who is to have no rights before and after.
async fn quiet() -> Result<&'static World> {
    static QUIET: OnceCell<World> = OnceCell::const_new();
    QUIET.get_or_try_init(World::start).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_elevation_is_waited_for_approved_used_and_ended() -> Result<()> {
    let asker = Terminal::within(quiet().await?)?;
    asker.login("elevated", &[]).await?;
    let approver = Terminal::within(quiet().await?)?;
    approver.login("approver", &["--fresh"]).await?;
    let reason = "a node is stuck, says the command line";
    let refused = asker
        .run(&["kubectl", "named", "--rights", "admin", "--reason", reason, "--", "get", "pods"])
        .await?;
    ensure!(refused.status == 4 && refused.stderr.contains("aro elevate"), "{refused:?}");

    let asked =
        ["elevate", "--cluster", "named", "--rights", "admin", "--life", "30m", "--reason", reason, "--wait"];
    let decide = async {
        let waiting = until("the request is listed", GENEROUS, || async {
            let listed = approver.json(&["elevations", "list", "--waiting"]).await?;
            let items = listed["items"].as_array().cloned().unwrap_or_default();
            items.into_iter().find(|one| one["reason"] == reason).context("it is not there")
        })
        .await?;
        let own = asker.run(&["elevations", "approve", id(&waiting)?]).await?;
        ensure!(own.status == 4, "one's own: {own:?}");
        approver.run(&["elevations", "approve", id(&waiting)?, "--why", "go on"]).await?.ok()?;
        let twice = approver.run(&["elevations", "refuse", id(&waiting)?]).await?;
        ensure!(twice.status == 2 && twice.stderr.contains("already"), "{twice:?}");
        Ok(())
    };
    let (elevation, decided) = tokio::join!(asker.json(&asked), decide);
    decided?;
    let elevation = elevation?;
    ensure!(elevation["state"] == "active" && elevation["rights"] == "admin", "{elevation}");

    let run = async |arguments: &[&str]| {
        let line = ["kubectl", "named", "--rights", "write", "--reason", reason, "--"];
        asker.run(&[&line[..], arguments].concat()).await
    };
    let code = run(&["exec", "web", "--", "sh", "-c", "exit 7"]).await?;
    ensure!(code.status == 7, "kubectl's own code: {code:?}");
    asker.run(&["elevations", "end", id(&elevation)?, "--why", "done"]).await?.ok()?;
    until("the rights are gone", GENEROUS, || async {
        let refused = run(&["exec", "web", "--", "true"]).await?;
        ensure!(refused.status != 0, "it still works");
        Ok(())
    })
    .await
}

/// `aro` for a person who is signed in by a cookie; arguments after `--` are another program's.
async fn by_cookie(system: &Aro, folder: &Folder, arguments: &[&str]) -> Result<Output> {
    let (cookie, ca) = (folder.path().join("cookie"), &system.dev.ca_file);
    let (cookie, ca) = (cookie.to_string_lossy(), ca.to_string_lossy());
    let end = arguments.iter().position(|&word| word == "--").unwrap_or(arguments.len());
    let (own, others) = arguments.split_at(end);
    let connection =
        ["--portal", &system.dev.url, "--ca-file", &ca, "--session-cookie-file", &cookie, "-o", "json"];
    aro(folder.path(), &[own, &connection, others].concat()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_whose_elevation_ended_is_replaced_under_the_next_one() -> Result<()> {
    // Nobody else elevates this person here.
    let system = Aro::start(AroOptions { clusters: 2, ..AroOptions::default() }).await?;
    let replaced = replaced_under_the_next(&system).await;
    system.explain(replaced)
}

async fn replaced_under_the_next(system: &Aro) -> Result<()> {
    let folder = Folder::new("next-elevation")?;
    let session = system.session("elevated").await?;
    folder.write("cookie", session.cookie().context("a cookie")?)?;
    let clusters = session.get("/api/v1/clusters?source=aro&state=succeeded&limit=50").await?.ok()?.json()?;
    let name = clusters["items"][0]["name"].as_str().with_context(|| clusters.to_string())?.to_owned();
    let on_master = async |reason: &str| {
        by_cookie(system, &folder, &["ssh", &name, "master-0", "--reason", reason, "--", "hostname"]).await
    };
    let grants = async |state: &str| {
        let list = ["grants", "list", "--kind", "ssh", "--state", state];
        let listed: Value = serde_json::from_str(&by_cookie(system, &folder, &list).await?.ok()?)?;
        listed["items"].as_array().cloned().with_context(|| listed.to_string())
    };
    let elevation = session.elevate("write").await?;
    on_master("the first look at the kubelet").await?.ok()?;
    ensure!(grants("active").await?.len() == 1 && grants("ended").await?.is_empty());
    session.post(&format!("/api/v1/elevations/{elevation}/end"), &json!({})).await?.ok()?;
    let over = grants("ended").await?;
    ensure!(over.len() == 1 && over[0]["end_reason"] == "elevation_over", "{over:?}");
    ensure!(grants("active").await?.is_empty(), "it is said to be in force");
    let refused = on_master("a look without an elevation").await?;
    ensure!(refused.status == 4 && refused.stderr.contains("elevation_needed"), "{refused:?}");

    session.elevate("write").await?;
    let again = on_master("the second look at the kubelet").await?.ok()?;
    ensure!(again.trim().ends_with("-master-0"), "{again}");
    let active = grants("active").await?;
    ensure!(active.len() == 1 && active[0]["id"] != over[0]["id"], "{active:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_glass_is_swept_up_by_somebody_else() -> Result<()> {
    let asker = Terminal::signed_in("elevated").await?;
    let reason = "the house burns, says the command line";
    let broken = asker.json(&["elevate", "--rights", "admin", "--reason", reason, "--break-glass"]).await?;
    ensure!(broken["state"] == "active" && broken["way"] == "break_glass", "{broken}");
    let table = asker.run(&["elevations", "list"]).await?.ok()?;
    ensure!(table.contains("every cluster") && table.contains("break_glass"), "{table}");
    let auditor = Terminal::signed_in("auditor").await?;
    let listed = auditor.json(&["elevations", "list", "--unreviewed"]).await?;
    ensure!(listed.to_string().contains(reason), "{listed}");
    asker.run(&["elevations", "end", id(&broken)?]).await?.ok()?;
    let own = asker.run(&["elevations", "review", id(&broken)?, "--note", "all was well"]).await?;
    ensure!(own.status == 4, "one's own: {own:?}");
    auditor.run(&["elevations", "review", id(&broken)?, "--note", "all was well, I saw it"]).await?.ok()?;
    let listed = auditor.json(&["elevations", "list", "--unreviewed"]).await?;
    ensure!(!listed.to_string().contains(reason), "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_robot_works_without_a_sign_in_until_it_is_revoked() -> Result<()> {
    let admin = Terminal::new().await?;
    admin.login("admin", &["--fresh"]).await?;
    let reason = "backs up at night, says the command line";
    let create =
        ["robots", "create", "nightly-cli", "--clusters", "named", "--reason", reason, "--life", "1d"];
    let created = admin.run(&[&create[..], &["-f", "first.token"]].concat()).await?;
    ensure!(created.status == 0 && created.stdout.is_empty(), "{created:?}");
    ensure!(admin.run(&["robots", "list"]).await?.ok()?.contains("nightly-cli"));
    let second = admin.run(&["robots", "rotate", "nightly-cli", "--overlap", "10m"]).await?.ok()?;

    let robot = Terminal::new().await?;
    let first = admin.home.path().join("first.token").to_string_lossy().into_owned();
    let second = robot.home.write("second.token", second)?.to_string_lossy().into_owned();
    let ca = robot.world.aro.dev.ca_file.to_string_lossy().into_owned();
    for (n, token) in [first, second].iter().enumerate() {
        let file = format!("robot-{n}.kubeconfig");
        let connection = ["--token-file", token, "--portal", &robot.world.aro.dev.url, "--ca-file", &ca];
        let take = ["kubeconfig", "named", "--reason", reason, "-f", &file];
        robot.run(&[&take[..], &connection].concat()).await?.ok()?;
        let kubectl = robot.kubectl(&robot.home.path().join(&file))?;
        ensure!(kubectl.ok(&["get", "pods", "-o", "name"]).await?.contains("pod/web"));
        let elsewhere = ["kubeconfig", "shared", "--reason", reason];
        let refused = robot.run(&[&elsewhere[..], &connection].concat()).await?;
        ensure!(refused.status == 4, "out of its scope: {refused:?}");
    }
    admin.run(&["robots", "revoke", "nightly-cli", "--why", "it is no longer needed"]).await?.ok()?;
    let kubectl = robot.kubectl(&robot.home.path().join("robot-0.kubeconfig"))?;
    until("the robot is refused", GENEROUS, || async {
        ensure!(kubectl.run(&["get", "pods"]).await?.status != 0, "it still works");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_says_who_had_access_why_and_what_they_did() -> Result<()> {
    let person = Terminal::signed_in("sre").await?;
    let reason = "looked at by the report of the command line";
    person.run(&["kubectl", "named", "--reason", reason, "--", "get", "pods"]).await?.ok()?;
    let auditor = Terminal::signed_in("auditor").await?;
    let text = until("the report has it", GENEROUS, || async {
        let text = auditor.run(&["audit", "report", "named"]).await?.ok()?;
        let ours = text.split_once(&format!("reason: {reason}")).context("no such reason")?.1.to_owned();
        ensure!(ours.lines().nth(1).is_some_and(|line| line.contains("pods")), "{ours}");
        Ok(text)
    })
    .await?;
    ensure!(text.starts_with("Access to /subscriptions/") && text.contains("\nsre\n"), "{text}");
    let csv = auditor.run(&["audit", "report", "named", "--format", "csv"]).await?.ok()?;
    ensure!(csv.contains(reason) && csv.contains("\r\n"), "{csv}");
    let whole = auditor.json(&["audit", "report", "named"]).await?;
    ensure!(whole["people"].as_array().is_some_and(|people| !people.is_empty()), "{whole}");

    let export = ["audit", "export", "--cluster", "named", "--person", "sre", "-f", "trail.jsonl"];
    auditor.run(&export).await?.ok()?;
    let lines = std::fs::read_to_string(auditor.home.path().join("trail.jsonl"))?;
    let entries = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    ensure!(entries.iter().any(|entry| entry.to_string().contains(reason)), "{} entries", entries.len());
    let again = auditor.run(&export).await?;
    ensure!(again.status == 1, "an export is not written over: {again:?}");
    Ok(())
}
