//! Recorded sessions: exec through a real API server, both framings, read and searched; a kill in the middle; and a
//! place that is away.

mod blobs;
mod player;
mod shell;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Aro, AroOptions, ControlPlane, Folder, GENEROUS, Kubectl, Session, until};

/// A system that must record, with a real cluster.
struct Recorded {
    aro: Aro,
    cluster: String,
    place: PathBuf,
    folder: Folder,
}

impl Recorded {
    async fn start(input: bool) -> Result<Self> {
        let folder = Folder::new("recordings")?;
        let place = folder.path().join("kept");
        Self::at(folder, place.clone(), input, &[("FOLDER", &place.display().to_string())]).await
    }

    /// With other settings of `[recording]`.
    async fn at(folder: Folder, place: PathBuf, input: bool, settings: &[(&str, &str)]) -> Result<Self> {
        let plane = ControlPlane::shared().await?;
        let input = input.to_string();
        let all = [("POLICY", "required"), ("INPUT", &input)];
        let env = all.iter().chain(settings);
        let env = env.map(|(name, value)| (format!("ARO_RECORDING__{name}"), (*value).to_owned())).collect();
        let aro = Aro::start(AroOptions { env, ..AroOptions::default() }).await?;
        let cluster =
            aro.import_and_wait(&plane.service_kubeconfig()?, "recorded", &["system:masters"]).await?;
        Ok(Self { aro, cluster, place, folder })
    }

    async fn kubectl(&self) -> Result<Kubectl> {
        self.aro.kubectl("elevated", &self.cluster, "write").await
    }
}

async fn recordings(session: &Session, query: &str) -> Result<Vec<Value>> {
    let list = session.get(&format!("/api/v1/recordings{query}")).await?.ok()?.json()?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// The newest recording, once it is as wanted.
async fn newest(session: &Session, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value> {
    until(what, GENEROUS, || async {
        let all = recordings(session, "").await?;
        let first = all.first().cloned().context("no recording")?;
        ensure!(is_it(&first), "{first}");
        Ok(first)
    })
    .await
}

/// The cast's events: code and data.
async fn cast(session: &Session, id: &str) -> Result<(Value, Vec<(String, String)>)> {
    let cast = session.get(&format!("/api/v1/recordings/{id}/cast")).await?.ok()?;
    ensure!(cast.header("content-type") == "application/x-asciicast", "{cast:?}");
    let mut lines = cast.text.lines();
    let head = serde_json::from_str(lines.next().context("a head")?)?;
    let events = lines.map(|line| -> Result<(String, String)> {
        let (_, code, data): (f64, String, String) =
            serde_json::from_str(line).with_context(|| line.to_owned())?;
        Ok((code, data))
    });
    Ok((head, events.collect::<Result<_>>()?))
}

/// Waits until a recording is marked as broken off because its process died, with a message at its end.
async fn broken_off(session: &Session, id: &str) -> Result<Vec<(String, String)>> {
    until("the recording is known to break off", GENEROUS, || async {
        let found = session.get(&format!("/api/v1/recordings/{id}")).await?.ok()?.json()?;
        ensure!(found["state"] == "broken off" && found["outcome"] == "broken off", "{found}");
        let (_, events) = cast(session, id).await?;
        let last = events.last().cloned().unwrap_or_default();
        ensure!(last.0 == "m" && last.1.starts_with("cut here:"), "{events:?}");
        Ok(events)
    })
    .await
}

fn events_of_code(events: &[(String, String)], code: &str) -> String {
    events.iter().filter(|event| event.0 == code).map(|event| event.1.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn exec_is_recorded_as_it_was_by_websocket_and_by_spdy() -> Result<()> {
    let world = Recorded::start(true).await?;
    let told = check_exec_recordings(&world).await;
    world.aro.explain(told)
}

async fn check_exec_recordings(world: &Recorded) -> Result<()> {
    let (person, auditor) = (world.aro.session("elevated").await?, world.aro.session("auditor").await?);
    let kubectl = world.kubectl().await?;
    for (way, kubectl) in [("websocket", kubectl.clone()), ("spdy", kubectl.clone().spdy())] {
        let script = format!("read line; echo \"got $line by {way}\"; echo to-stderr >&2; exit 7");
        let exec = ["exec", "-i", "web", "-c", "web", "--", "sh", "-c", &script];
        let output = kubectl.with_input(b"typed words\n", &exec).await?;
        ensure!(
            output.status == 7 && output.stdout == format!("got typed words by {way}\n"),
            "{way}: {output:?}"
        );
        let ended =
            |found: &Value| found["outcome"] == "exit 7" && found["command"].to_string().contains(way);
        let found = newest(&person, "the recording has its end", ended).await?;
        ensure!(found["kind"] == "exec" && found["place"] == "default/web/web", "{found}");
        ensure!(found["state"] == "ended" && found["interactive"] == false, "{found}");
        let id = found["id"].as_str().context("an id")?;
        let (head, events) = cast(&person, id).await?;
        ensure!(head["version"] == 3, "{head}");
        ensure!(events_of_code(&events, "o") == format!("got typed words by {way}\n"), "{way}: {events:?}");
        ensure!(
            events_of_code(&events, "e") == "to-stderr\n" && events_of_code(&events, "i") == "typed words\n",
            "{way}: {events:?}"
        );
        ensure!(events_of_code(&events, "x") == "7", "{way}: {events:?}");
    }
    // A terminal says its size, after the command began.
    let script = r#"until [ "$(stty size)" = "30 100" ]; do :; done; echo on a terminal; exit 5"#;
    let output = kubectl.on_terminal(&["exec", "-it", "web", "--", "sh", "-c", script]).await?;
    ensure!(output.status == 5, "{output:?}");
    let found = newest(&person, "the terminal's recording", |found| found["outcome"] == "exit 5").await?;
    ensure!(found["interactive"] == true, "{found}");
    let id = found["id"].as_str().context("an id")?;
    let (_, events) = cast(&auditor, id).await?;
    ensure!(
        events_of_code(&events, "o").contains("on a terminal") && events.iter().any(|event| event.0 == "r"),
        "{events:?}"
    );
    // Who watched is on the record; others do not learn that there is one.
    let watched = auditor.audit("recording.watch").await?;
    ensure!(watched.iter().any(|entry| entry["name"] == id), "{watched:?}");
    let ends = auditor.audit("recording.end").await?;
    ensure!(ends.len() >= 3 && ends[0]["query"].to_string().contains("head="), "{ends:?}");
    let other = world.aro.session("sre").await?;
    ensure!(recordings(&other, "").await?.is_empty());
    for path in ["", "/cast"] {
        let refused = other.get(&format!("/api/v1/recordings/{id}{path}")).await?;
        ensure!(refused.status == 404, "{refused:?}");
    }
    // What was shown is found, by auditors at everybody's.
    let found = recordings(&auditor, "?q=WORDS%20by%20spdy&person=elev").await?;
    ensure!(found.len() == 1 && found[0]["hits"][0]["line"] == "got typed words by spdy", "{found:?}");
    ensure!(recordings(&auditor, "?q=nowhere-at-all").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_before_a_kill_is_there_and_what_cannot_be_recorded_is_refused() -> Result<()> {
    let mut world = Recorded::start(false).await?;
    let kubectl = world.kubectl().await?;
    let mut exec = kubectl.start(&["exec", "-i", "web", "--", "sh"])?;
    exec.type_in("echo $((60 * 70)) before the kill\n").await?;
    exec.says("4200 before the kill").await?;
    let person = world.aro.session("elevated").await?;
    let found = newest(&person, "it is recorded", |found| found["state"] == "running").await?;
    let id = found["id"].as_str().context("an id")?.to_owned();
    until("the chunk is stored", GENEROUS, || async {
        let (_, events) = cast(&person, &id).await?;
        ensure!(events_of_code(&events, "o").contains("4200 before the kill"), "{events:?}");
        Ok(())
    })
    .await?;
    world.aro.process().kill()?;
    exec.kill().await?;
    world.aro.restart().await?;
    let person = world.aro.session("elevated").await?;
    let (_, events) = cast(&person, &id).await?;
    ensure!(events_of_code(&events, "o").contains("4200 before the kill"), "{events:?}");
    // The next process finds it without an end, and says what it is: everything up to the kill.
    broken_off(&person, &id).await?;
    // A torn end is named.
    let file = world.place.join(format!("{id}.rec"));
    let whole = std::fs::read(&file)?;
    std::fs::write(&file, &whole[..whole.len() - 1])?;
    let (_, events) = cast(&person, &id).await?;
    ensure!(events_of_code(&events, "m").starts_with("the recording breaks off within chunk"), "{events:?}");
    // The place is gone: no session without its recording.
    std::fs::remove_dir_all(&world.place)?;
    let kubectl = world.kubectl().await?;
    let refused = kubectl.refused(&["exec", "web", "--", "echo", "unseen"]).await?;
    ensure!(refused.contains("must be recorded"), "{refused}");
    Ok(())
}
