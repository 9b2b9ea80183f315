//! The pages of a cluster on a real kube-apiserver with the kinds of OpenShift: what they show, what they say when
//! something is forbidden, missing or gone, and that a person finds what is wrong by keyboard and without scripts.

mod objects;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Aro, AroOptions, ControlPlane, GENEROUS, InUse, Kubectl, Session, Shared, browser, part, shown, until,
};
use tokio::sync::Mutex;

/// The time for kinds to be served.
const SERVED: std::time::Duration = std::time::Duration::from_secs(180);

/// A system with one real cluster, imported three times.
struct World {
    aro: Aro,
    /// Everything may be read.
    whole: String,
    /// By a credential that may read neither machines nor pools.
    narrow: String,
    _plane: ControlPlane,
}

impl World {
    async fn get() -> Result<InUse<Self>> {
        static WORLD: Shared<World> = Shared::new();
        WORLD.get(Self::start).await
    }

    async fn start() -> Result<Self> {
        let mut plane = ControlPlane::start().await?;
        let admin = plane.admin()?;
        let crds = part("openshift-crds")?;
        admin.ok(&["create", "-f", crds.to_str().context("a path")?]).await?;
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
        until("kinds are served", SERVED, || admin.ok(&established)).await?;
        // From here on nodes stay as they are written.
        plane.still();
        apply(&admin, &objects::all()).await?;
        let aro =
            Aro::start(AroOptions { clusters: 5, env: objects::settings(), ..AroOptions::default() }).await?;
        let whole = aro.import_and_wait(&plane.service_kubeconfig()?, "whole", &[]).await?;
        let narrow = aro.import_and_wait(&plane.sre_kubeconfig()?, "narrow", &[]).await?;
        Ok(Self { aro, whole, narrow, _plane: plane })
    }

    /// A page, once it has every one of the words.
    async fn page(&self, session: &Session, path: &str, words: &[&str]) -> Result<String> {
        let waiting = if path.contains('?') { format!("{path}&wait=1") } else { format!("{path}?wait=1") };
        let what = format!("{path} tells all");
        let told = until(&what, GENEROUS, || async {
            let text = session.get(&waiting).await?.ok()?.text;
            let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
            ensure!(missing.is_empty(), "without {missing:?}: {}", shown(&text));
            Ok(text)
        });
        self.aro.explain(told.await)
    }

    /// One browser at a time.
    async fn look(&self, script: &str, more: &Value) -> Result<Value> {
        static TURN: Mutex<()> = Mutex::const_new(());
        let _turn = TURN.lock().await;
        let mut input = json!({
            "url": self.aro.dev.url, "account": "sre", "password": self.aro.password("sre")?,
            "resource": self.whole, "cluster": "whole", "operator": "etcd", "node": "node-dead", "machine": "machine-dead",
        });
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        let seen = self.aro.explain(browser(self.aro.folder(), script, &input).await)?;
        ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
        Ok(seen)
    }
}

/// Objects, then the status of each that has one.
async fn apply(admin: &Kubectl, items: &[Value]) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    until("objects are taken", SERVED, || async {
        admin
            .with_input(list.as_bytes(), &["apply", "--server-side", "--force-conflicts", "-f", "-"])
            .await?
            .ok()
    })
    .await?;
    for item in items.iter().filter(|item| item.get("status").is_some()) {
        status(admin, item).await?;
    }
    Ok(())
}

async fn status(admin: &Kubectl, item: &Value) -> Result<()> {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let resource = match version.split_once('/') {
        Some((group, version)) => format!("{kind}.{version}.{group}"),
        None => kind,
    };
    let (namespace, patch) = (
        text("/metadata/namespace"),
        json!([{"op": "add", "path": "/status", "value": item["status"]}]).to_string(),
    );
    let mut args =
        vec!["patch", &resource, &name, "--type=json", "--subresource=status", "--patch-file=/dev/stdin"];
    if !namespace.is_empty() {
        args.extend(["-n", &namespace]);
    }
    admin.with_input(patch.as_bytes(), &args).await?.ok().map(drop)
}

/// The markup of one panel.
fn panel<'a>(html: &'a str, id: &str) -> Result<&'a str> {
    let mark = format!("data-testid=\"panel-{id}\"");
    let (_, rest) = html.split_once(&mark).with_context(|| format!("no panel {id}: {}", shown(html)))?;
    Ok(rest.split_once("</section>").map_or(rest, |(inside, _)| inside))
}

/// The row or item of a panel that names a thing.
fn line<'a>(panel: &'a str, name: &str) -> Result<&'a str> {
    let link = format!(">{name}<");
    let mut parts = panel.split("data-testid=\"row\"").chain(panel.split("data-testid=\"item\"").skip(1));
    parts.find(|part| part.contains(&link)).with_context(|| format!("no line of {name}: {}", shown(panel)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_says_first_what_is_wrong_and_since_when() -> Result<()> {
    let world = World::get().await?;
    let sre = world.aro.session("sre").await?;
    let html = world
        .page(&sre, &format!("{}/overview", world.whole), &["machine-dead", "EtcdMembersDegraded"])
        .await?;
    let verdict = panel(&html, "verdict")?;
    let at = |word: &str| {
        verdict.find(&format!(">{word}<")).with_context(|| format!("no {word}: {}", shown(verdict)))
    };
    // Unavailable before degraded, operators before nodes of the same gravity.
    ensure!(at("authentication")? < at("node-dead")? && at("node-dead")? < at("etcd")?, "{}", shown(verdict));
    for (name, words) in [
        ("authentication", vec!["Unavailable", "no route", "https://books.example/operators/authentication"]),
        (
            "etcd",
            vec![
                "Degraded",
                "2 of 3 members",
                " min ago",
                "https://books.example/lost-member",
                "/pods?namespace=",
            ],
        ),
        (
            "node-dead",
            vec!["Not ready: kubelet stopped reporting", "Kubelet stopped posting", "/machines/machine-dead"],
        ),
        ("node-full", vec!["Disk pressure", "4.1 GiB left"]),
        ("node-cordoned", vec!["Cordoned"]),
        ("machine-failed", vec!["Failed", "SkuNotAvailable"]),
        ("workers-a", vec!["1 short"]),
        ("master", vec!["1 degraded"]),
    ] {
        let said = line(verdict, name)?;
        for word in words {
            ensure!(said.contains(word), "{name} without {word}: {}", shown(said));
        }
    }
    ensure!(!verdict.contains(">dns<") && !verdict.contains(">node-1<"), "what is well: {}", shown(verdict));
    let version = panel(&html, "version")?;
    for word in ["Update to 4.19.9", "62 %", "4.18.22", "stable-4.19"] {
        ensure!(version.contains(word), "{word}: {}", shown(version));
    }
    ensure!(panel(&html, "events")?.contains("FailedMount"), "{}", shown(panel(&html, "events")?));
    ensure!(panel(&html, "nodes")?.contains("of 6 ready"), "{}", shown(panel(&html, "nodes")?));
    // Of the import every field, and who has access.
    for word in ["panel-fields", "panel-grants", "panel-audit", "API URL", "Resource ID"] {
        ensure!(html.contains(word), "{word}: {}", shown(&html));
    }
    // Numbers of what needs attention stand beside the tabs.
    let tab = html.split_once("id=\"look-operators\"").context("no number beside Operators")?.1;
    ensure!(tab.starts_with(" data-tone=\"bad\">3<"), "{}", tab.chars().take(80).collect::<String>());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_has_its_page_and_each_object_its_own_with_links_across() -> Result<()> {
    let world = World::get().await?;
    let viewer = world.aro.session("viewer").await?;
    let whole = &world.whole;
    let all = world.page(&viewer, &format!("{whole}/nodes"), &["node-dead", "node-1"]).await?;
    let nodes = panel(&all, "nodes")?;
    // Ready stands behind two others in this node's list; its one taint is of another kind.
    ensure!(line(nodes, "node-1")?.contains("Ready") && !line(nodes, "node-1")?.contains("Cordoned"));
    ensure!(line(nodes, "node-cordoned")?.contains("Cordoned"), "{}", shown(nodes));
    let some = world.page(&viewer, &format!("{whole}/nodes?q=full&sort=-name"), &["node-full"]).await?;
    ensure!(!panel(&some, "nodes")?.contains("node-dead") && some.contains("aria-sort=\"descending\""));
    let none =
        world.page(&viewer, &format!("{whole}/nodes?q=lighthouse"), &["No nodes match", "Show all"]).await?;
    ensure!(!none.contains("data-testid=\"row\""));

    let node = world
        .page(
            &viewer,
            &format!("{whole}/nodes/node-dead"),
            &["NodeStatusUnknown", "node.kubernetes.io/unreachable"],
        )
        .await?;
    for link in [
        format!("{whole}/machines/machine-dead"),
        format!("{whole}/machinesets/workers-a"),
        format!("{whole}/pods?node=node-dead"),
    ] {
        ensure!(node.contains(&format!("href=\"{link}\"")), "no link {link}: {}", shown(&node));
    }
    let machine =
        world.page(&viewer, &format!("{whole}/machines/machine-dead"), &["openshift-machine-api"]).await?;
    ensure!(
        machine.contains(&format!("{whole}/nodes/node-dead"))
            && machine.contains(&format!("{whole}/machinesets/workers-a"))
    );
    ensure!(
        machine.contains("imported clusters are not asked for"),
        "the virtual machine: {}",
        shown(&machine)
    );
    let set = world
        .page(
            &viewer,
            &format!("{whole}/machinesets/workers-a"),
            &["Standard_D4s_v5", "worker-subnet", "machine-dead"],
        )
        .await?;
    ensure!(set.contains("Premium_LRS") && set.contains("vnet-harbor"), "{}", shown(&set));
    let operator = world
        .page(&viewer, &format!("{whole}/operators/etcd"), &["EtcdMembersDegraded", "openshift-etcd"])
        .await?;
    ensure!(
        operator.contains("data-testid=\"conditions\"") && operator.contains("etcds.operator.openshift.io")
    );
    let list = world.page(&viewer, &format!("{whole}/operators?show=problems"), &["authentication"]).await?;
    ensure!(!panel(&list, "operators")?.contains(">dns<"), "{}", shown(&list));
    let control = world.page(&viewer, &format!("{whole}/controlplane"), &["rendered-master-1"]).await?;
    let told = control.contains("no set replaces these machines") && !control.contains("older than 4.12");
    ensure!(told, "{}", shown(&control));
    world.page(&viewer, &format!("{whole}/operations"), &["4.17.30", "Auditors see"]).await?;

    for (path, status) in [
        ("nodes/none", 404),
        ("machines/none", 404),
        ("operators/%3Cscript%3E", 404),
        ("nodes/%ff", 404),
        ("clusteroperators", 303),
        ("nodes?page=99999999999999999999&sort=%00&q=%F0%9F%92%A9", 200),
    ] {
        let answer = viewer.get(&format!("{whole}/{path}")).await?;
        ensure!(answer.status == status, "{path}: {}", answer.status);
        ensure!(!answer.text.contains("<script>%3C") && !answer.text.contains("<script></"), "{path}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_says_so_and_the_rest_lives() -> Result<()> {
    let world = World::get().await?;
    let sre = world.aro.session("sre").await?;
    let html = world
        .page(
            &sre,
            &format!("{}/overview", world.narrow),
            &["EtcdMembersDegraded", "data-testid=\"forbidden\""],
        )
        .await?;
    ensure!(panel(&html, "machines")?.contains("not allowed"), "{}", shown(panel(&html, "machines")?));
    ensure!(panel(&html, "nodes")?.contains("node-dead"), "{}", shown(&html));
    let list =
        world.page(&sre, &format!("{}/machines", world.narrow), &["data-testid=\"forbidden\""]).await?;
    ensure!(list.contains("machines") && !list.contains("data-testid=\"row\""), "{}", shown(&list));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_kubernetes_has_the_parts_that_it_has() -> Result<()> {
    let world = World::get().await?;
    let plain = ControlPlane::shared().await?;
    let sre = world.aro.session("sre").await?;
    let path = world.aro.import_and_wait(&plain.service_kubeconfig()?, "plain", &[]).await?;
    let html = world.page(&sre, &format!("{path}/overview"), &["node-1", " ready"]).await?;
    for absent in ["panel-machines", "panel-machinesets", "panel-version"] {
        ensure!(!html.contains(&format!("data-testid=\"{absent}\"")), "{absent}: {}", shown(&html));
    }
    world.page(&sre, &format!("{path}/operators"), &["it is not OpenShift"]).await?;
    world.page(&sre, &format!("{path}/machines"), &["no machine API"]).await?;

    // Taken out of the portal, its pages are gone, also the one that is open.
    let admin = world.aro.session("admin").await?;
    admin.change(reqwest::Method::DELETE, "/api/v1/imports/plain", None).await?.ok()?;
    until("its page is gone", GENEROUS, || async {
        let answer = sre.get(&format!("{path}/nodes")).await?;
        ensure!(answer.status == 404 && answer.text.contains("Cluster not found"), "{}", answer.status);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_and_huge_objects_stay_text_and_bounded() -> Result<()> {
    let world = World::get().await?;
    let sre = world.aro.session("sre").await?;
    let html =
        world.page(&sre, &format!("{}/operators/hostile", world.whole), &["&lt;script&gt;alert(1)"]).await?;
    ensure!(!html.contains("<script>alert(1)") && !html.contains('\u{202e}'), "markup of the cluster's");
    ensure!(html.contains("gnp.exe") && html.contains("in all)"), "shown and cut: {}", shown(&html));
    ensure!(html.len() < 1_500_000, "{} bytes", html.len());
    ensure!(html.contains("ahead of our clock"), "a time in the future: {}", shown(&html));
    let node = world.page(&sre, &format!("{}/nodes/node-odd", world.whole), &["huge"]).await?;
    ensure!(node.len() < 400_000, "{} bytes", node.len());
    ensure!(node.contains("Not ready: kubelet stopped reporting"), "no condition at all: {}", shown(&node));
    world.page(&sre, &format!("{}/overview", world.whole), &["node-odd"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_finds_what_is_wrong_by_keyboard_alone() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("cluster-keyboard", &json!({})).await?;
    ensure!(
        seen["operator"] == "etcd" && seen["node"] == "node-dead" && seen["machine"] == "machine-dead",
        "{seen}"
    );
    ensure!(seen["oneRow"] == true, "the tabs need more than one row at 1280 pixels: {seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_read_well_without_scripts() -> Result<()> {
    let world = World::get().await?;
    let seen = world.look("cluster-no-script", &json!({})).await?;
    ensure!(
        seen["operator"] == "etcd" && seen["node"] == "node-dead" && seen["machine"] == "machine-dead",
        "{seen}"
    );
    ensure!(seen["sorted"] == true && seen["filtered"] == 1, "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_nothing_and_nothing_is_wider_than_the_window() -> Result<()> {
    let world = World::get().await?;
    for scheme in ["light", "dark"] {
        let seen = world.look("cluster-axe", &json!({"scheme": scheme})).await?;
        ensure!(seen["violations"] == json!([]), "{scheme}: {:#}", seen["violations"]);
        ensure!(seen["wide"] == json!([]), "{scheme}: {:#}", seen["wide"]);
        ensure!(seen["looked"].as_u64() >= Some(9), "{seen}");
    }
    Ok(())
}
