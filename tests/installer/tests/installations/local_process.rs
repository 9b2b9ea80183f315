//! The installer as a process: what it is given, what goes wrong, and that nothing is lost when anybody ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rp_base::{Secret, SystemClock, SystemRandom};
use rp_install::runner::{
    Assets, AzureCredentials, InstallOrder, InstallRunner as _, LocalProcess, Proof, RunError,
};
use rp_node_config::ignition::Config;
use serde_json::{Value, json};
use tests_installer::inputs;

const ID: &str = "dddddddd-dddd-4ddd-8ddd-dddddddddddd";

fn runner(root: &Path, fault: &str) -> LocalProcess {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_openshift-install-stand-in"));
    let deadline = if fault.ends_with("hang") { Duration::from_secs(5) } else { Duration::from_secs(60) };
    LocalProcess::new(binary, root.to_owned(), deadline, Arc::new(SystemClock), Arc::new(SystemRandom))
        .with_environment(vec![
            ("STAND_IN_FAULT".to_owned(), fault.to_owned()),
            ("STAND_IN_WAIT".to_owned(), root.join("wait").display().to_string()),
        ])
}

fn order(id: &str, secret: &str) -> InstallOrder {
    InstallOrder {
        id: id.to_owned(),
        facts: inputs::facts(),
        release_image: "arosvc.azurecr.io/openshift-release-dev/ocp-release@sha256:0".to_owned(),
        credentials: AzureCredentials {
            tenant: "t".to_owned(),
            subscription: "s".to_owned(),
            client_id: "c".to_owned(),
            proof: Proof::Secret(Secret::new(secret.to_owned())),
        },
        custom_manifests: vec![(
            "custom.yaml".to_owned(),
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "custom", "namespace": "n" } }),
        )],
        bound_signing_key: None,
        logging: None,
    }
}

/// A manifest of the bootstrap machine.
fn manifest(assets: &Assets, path: &str) -> Value {
    let config = Config::parse(assets.bootstrap.expose()).unwrap();
    let contents = config.file(&format!("/opt/openshift/{path}")).unwrap().contents().unwrap();
    serde_json::from_slice(&contents).unwrap()
}

/// All files below a folder whose contents hold a text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(text) {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn our_manifests_are_on_the_bootstrap_machine_and_no_credentials_on_the_disk() {
    let root = tempfile::tempdir().unwrap();
    let order = order(ID, "client-secret");
    let assets = runner(root.path(), "").assets(&order).await.unwrap();
    assert_eq!(
        manifest(&assets, "manifests/cluster-dns-02-config.yml")["spec"],
        json!({
            "baseDomain": "shop.eastus.aroapp.example"
        })
    );
    assert_eq!(manifest(&assets, "manifests/custom.yaml")["metadata"]["name"], "custom");
    let overrides = &manifest(&assets, "manifests/cvo-overrides.yaml")["spec"];
    assert_eq!(overrides["channel"], "stable-4.20");
    assert_eq!(overrides["overrides"][0]["name"], "custom");
    let config = manifest(&assets, "openshift/99_openshift-machineconfig_99-master-aro-dns.yaml");
    assert_eq!(config["kind"], "MachineConfig");
    for (role, config) in [("master", &assets.master), ("worker", &assets.worker)] {
        let config: Value = serde_json::from_slice(config.expose()).unwrap();
        let source = &config["ignition"]["config"]["merge"][0]["source"];
        assert_eq!(*source, format!("https://10.0.0.5:22623/config/{role}"));
    }
    assert_eq!(assets.state.network_type().unwrap(), "OVNKubernetes");
    assert_eq!(files_with(root.path(), "client-secret"), Vec::<PathBuf>::new());

    // Once more gives the same, without the installer.
    let again = runner(root.path(), "manifests:refuses").assets(&order).await.unwrap();
    assert_eq!(again.bootstrap.expose(), assets.bootstrap.expose());
    let runner = runner(root.path(), "");
    assert_eq!(runner.kept().await.unwrap(), [ID]);
    runner.remove(ID).await.unwrap();
    runner.remove(ID).await.unwrap();
    assert!(runner.kept().await.unwrap().is_empty());
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_fault_is_told_and_the_next_run_goes_on() {
    for (fault, text) in [
        (
            "manifests:nothing",
            "ended `create manifests` well and made no assets/.openshift_install_state.json",
        ),
        (
            "manifests:refuses",
            "ended `create manifests` with exit status: 1; its last lines: Error: level=error msg=cannot sign in with …",
        ),
        ("manifests:half", "the state of the installer is no JSON object"),
        ("manifests:dies", "ended `create manifests` with signal: 6"),
        ("manifests:garbage", "ended `create manifests` with exit status: 7"),
        ("manifests:hang", "did not end `create manifests` within 5 s"),
        ("ignition-configs:nothing", "ended `create ignition-configs` well and made no assets/bootstrap.ign"),
        ("ignition-configs:half", "the Ignition config is no JSON of its form"),
        ("ignition-configs:dies", "ended `create ignition-configs` with signal: 6"),
        ("ignition-configs:hang", "did not end `create ignition-configs` within 5 s"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let order = order(ID, "client-secret");
        let error = runner(root.path(), fault).assets(&order).await.unwrap_err().to_string();
        assert!(error.contains(text) && !error.contains("client-secret"), "{fault}: {error}");
        assert!(error.len() < 20_000 && !error.contains('\x1b'), "{fault}: {} bytes", error.len());
        assert_eq!(files_with(root.path(), "client-secret"), Vec::<PathBuf>::new(), "{fault}");
        runner(root.path(), "").assets(&order).await.unwrap();
    }
}

#[tokio::test]
async fn five_at_once_share_no_file() {
    let root = tempfile::tempdir().unwrap();
    let ids: Vec<_> = (0..5).map(|n| format!("dddddddd-dddd-4ddd-8ddd-ddddddddddd{n}")).collect();
    let run = |id: String| {
        let runner = runner(root.path(), "");
        async move { runner.assets(&order(&id, &format!("client-secret-{id}"))).await.unwrap() }
    };
    let running: Vec<_> = ids.iter().map(|id| tokio::spawn(run(id.clone()))).collect();
    let mut roots = Vec::new();
    for run in running {
        roots.push(run.await.unwrap().state.root().unwrap().certificate);
    }
    roots.sort();
    roots.dedup();
    assert_eq!(roots.len(), 5, "each has an authority of its own");
    assert_eq!(files_with(root.path(), "client-secret"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_second_worker_is_told_and_a_run_that_was_dropped_leaves_the_folder_free() {
    let root = tempfile::tempdir().unwrap();
    let (wait, order) = (root.path().join("wait"), order(ID, "client-secret"));
    std::fs::write(&wait, "").unwrap();
    let first = {
        let (runner, order) = (runner(root.path(), "ignition-configs:waits"), order.clone());
        tokio::spawn(async move { runner.assets(&order).await })
    };
    let end = Instant::now() + Duration::from_secs(60);
    while !wait.with_extension("begun").exists() {
        assert!(Instant::now() < end && !first.is_finished(), "the installer did not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(matches!(runner(root.path(), "").assets(&order).await, Err(RunError::Busy)));
    assert!(matches!(runner(root.path(), "").remove(ID).await, Err(RunError::Busy)));
    // The worker ends in the middle of the installer's second command.
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    // The first command is not run again: it would refuse.
    let assets = runner(root.path(), "manifests:refuses").assets(&order).await.unwrap();
    std::fs::remove_file(&wait).unwrap();
    assert_eq!(assets.state.network_type().unwrap(), "OVNKubernetes");
}

#[tokio::test]
async fn bad_orders_are_refused() {
    let root = tempfile::tempdir().unwrap();
    for id in ["", "..", "../../etc", "DDDDDDDD", "dddddddd-dddd-4ddd-8ddd-ddddddddddd/"] {
        assert!(matches!(runner(root.path(), "").assets(&order(id, "s")).await, Err(RunError::Id)), "{id}");
        assert!(matches!(runner(root.path(), "").remove(id).await, Err(RunError::Id)), "{id}");
    }
    let missing = LocalProcess::new(
        root.path().join("openshift-install"),
        root.path().to_owned(),
        Duration::from_secs(5),
        Arc::new(SystemClock),
        Arc::new(SystemRandom),
    );
    let error = missing.assets(&order(ID, "s")).await.unwrap_err().to_string();
    assert!(error.starts_with("cannot start the installer"), "{error}");
    let mut twice = order(ID, "s");
    twice.custom_manifests.push(twice.custom_manifests[0].clone());
    twice.custom_manifests[1].0 = "again.yaml".to_owned();
    let error = runner(root.path(), "").assets(&twice).await.unwrap_err();
    assert_eq!(error.to_string(), "the custom manifests have the same object twice: ConfigMap. n/custom");
}
