//! A shell by page and by JSON, certificates, and host keys.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use portal_model::ssh::SshParts;
use proxy::ssh::host_keys::HostKeys;
use proxy::ssh::keys::{KeyParts, ServiceKeys};
use proxy::ssh::machines::{Machine, MachineRoute, Machines, MachinesError};
use rp_base::{Clock as _, ManualClock, Secret, SharedClock, SystemRandom};
use rp_database::{Typed, in_memory};
use rp_documents::host_key::{HostKeySource, RefusedKey};
use rp_documents::{GrantKind, HostKey, ResourceId, Role, Unknown};
use rp_net::{
    Credential, Dialer, DialerOptions, Directory, DirectoryError, Endpoint, Networks, PrivateWay, Source,
    Target,
};
use rp_seal::Keyring;

use super::kit::{Kit, PORTAL, RES, script};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

#[derive(Debug)]
struct SingleCluster;

#[async_trait]
impl Directory for SingleCluster {
    async fn find(&self, id: &ResourceId) -> Result<Arc<Target>, DirectoryError> {
        let none = || Credential::Token(Secret::new("none".to_owned()));
        Ok(Arc::new(Target {
            id: id.clone(),
            source: Source::Aro,
            endpoint: Endpoint::Private { ip: [10, 0, 0, 1].into() },
            server_name: "kubernetes".to_owned(),
            ca_pem: String::new(),
            read: none(),
            admin: none(),
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        }))
    }
}

#[derive(Debug)]
struct TwoMachines;

#[async_trait]
impl Machines for TwoMachines {
    async fn list(&self, _: &Arc<Target>) -> Result<Arc<[Machine]>, MachinesError> {
        let machine = |name: &str, way: MachineRoute| Machine {
            name: format!("harbor-x-{name}"),
            uid: format!("uid-{name}"),
            control_plane: matches!(way, MachineRoute::Master(_)),
            ready: true,
            way,
        };
        let through = MachineRoute::Through { address: "10.0.2.4".to_owned(), port: 22 };
        Ok([machine("master-0", MachineRoute::Master(0)), machine("worker-a", through)].into())
    }
}

async fn kit() -> Kit {
    let clock: SharedClock = Arc::new(ManualClock::at(rp_base::Timestamp::from_seconds(1_795_000_000)));
    let store = in_memory(Arc::clone(&clock));
    let settings = rp_config::Ssh::default();
    let keys = KeyParts { store, keyring: Keyring::generate(&SystemRandom), clock, settings };
    let keys = Arc::new(ServiceKeys::open(&keys).await.unwrap());
    Kit::with(|parts| {
        let options = DialerOptions {
            private: PrivateWay::Direct,
            networks: Networks::default(),
            keepalive: std::time::Duration::from_secs(30),
        };
        let host_keys =
            HostKeys::new(Arc::clone(&parts.store), Dialer::new(options), Arc::clone(&parts.clock));
        let (host, port) = ("ssh.example".to_owned(), 2222);
        parts.clusters.ssh = Some(SshParts {
            host,
            port,
            keys,
            host_keys,
            machines: Arc::new(TwoMachines),
            directory: Arc::new(SingleCluster),
        });
    })
    .await
}

fn new() -> String {
    format!("{RES}/ssh/new")
}

fn objects(tail: &str) -> String {
    format!("/api/v1/clusters{RES}{tail}")
}

#[tokio::test]
async fn the_contracts_request_gives_command_and_password_and_nothing_else() {
    let kit = kit().await;
    kit.elevated(Role::Elevated, "write").await;
    let answer = kit.unsafe_call(Role::Elevated, "POST", &new(), r#"{"master": 2}"#).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        (answer.header("content-type"), answer.header("cache-control")),
        ("application/json", "no-store")
    );
    let told = answer.json();
    let (command, password) = (told["command"].as_str().unwrap(), told["password"].as_str().unwrap());
    let golden = format!("{{\n    \"command\": \"{command}\",\n    \"password\": \"{password}\"\n}}\n");
    assert_eq!(answer.body, golden);
    let line = kit.state.model.clusters.ssh.as_ref().unwrap().keys.known_hosts_line("ssh.example", 2222);
    assert_eq!(
        command,
        format!(
            "echo '{line}' > ssh.example_known_host ; ssh -o UserKnownHostsFile=ssh.example_known_host -p 2222 elevated@ssh.example"
        )
    );
    assert!(line.starts_with("[ssh.example]:2222 ssh-ed25519 "), "{line}");
    let here = [192, 0, 2, 7].into();
    let live = kit.state.session.access.redeem_ssh(password, "elevated", here).await.unwrap();
    assert_eq!((live.grant.kind, live.grant.machine.as_deref()), (GrantKind::Ssh, Some("master-2")));
}

#[tokio::test]
async fn bodies_that_are_none_are_refused_in_the_contracts_order() {
    let kit = kit().await;
    for wrong in
        ["null", "", "[]", "7", r#"{"master": 3}"#, r#"{"master": -1}"#, r#"{"master": "0"}"#, "{", "\u{0}"]
    {
        let answer = kit.unsafe_call(Role::Sre, "POST", &new(), wrong).await;
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
    }
    // Not elevated: a 403 that says so, and nothing was given.
    let role = kit.unsafe_call(Role::Sre, "POST", &new(), "{}").await;
    assert_eq!(role.status, 403, "{role:?}");
    let answer = kit.unsafe_call(Role::Elevated, "POST", &new(), "{}").await;
    assert_eq!((answer.status.as_u16(), answer.json()["code"].as_str()), (403, Some("elevation_needed")));
    let grants = kit
        .state
        .session
        .access
        .list(&rp_access::GrantFilter { limit: 10, ..Default::default() })
        .await
        .unwrap();
    assert!(grants.items.is_empty());
    let cookie = kit.cookie(Some(Role::Elevated)).await;
    let csrf = kit.csrf(&cookie).await;
    let request = script("POST", &new())
        .header("cookie", &cookie)
        .header("origin", PORTAL)
        .header("x-csrf-token", csrf)
        .header("content-type", "text/plain");
    assert_eq!(kit.send(request.body(Body::from("{}")).unwrap()).await.status, 415);
}

#[tokio::test]
async fn a_newer_request_names_machine_and_options() {
    let kit = kit().await;
    kit.elevated(Role::Elevated, "write").await;
    let body = r#"{"machine": "worker-a", "reason": "look at the kubelet", "life": 600, "agent_forwarding": true,
        "destinations": ["localhost:9090"]}"#;
    let told = kit.unsafe_call(Role::Elevated, "POST", &new(), body).await.json();
    assert_eq!(told["machine"], "harbor-x-worker-a", "{told}");
    assert_eq!(told["known_hosts"].as_array().unwrap().len(), 2);
    let id = told["grant"].as_str().unwrap();
    let live = kit.state.session.access.live_by_id(id, [192, 0, 2, 7].into()).await.unwrap();
    assert!(live.grant.options.agent_forwarding && live.grant.destinations == ["localhost:9090"]);
    for (wrong, says) in [
        (r#"{"machine": "worker-z", "reason": "look at the kubelet"}"#, "no machine worker-z"),
        (r#"{"machine": "a;b", "reason": "look at the kubelet"}"#, "letters, digits"),
        (r#"{"machine": "worker-a"}"#, "reason"),
        (r#"{"machine": "worker-a", "reason": "look at the kubelet", "life": 1}"#, "life"),
        (r#"{"machine": "worker-a", "reason": "look at the kubelet", "destinations": ["x"]}"#, "host:port"),
    ] {
        let answer = kit.unsafe_call(Role::Elevated, "POST", &new(), wrong).await;
        assert_eq!(answer.status, 422, "{wrong}: {answer:?}");
        assert!(answer.body.contains(says), "{wrong}: {answer:?}");
    }
}

#[tokio::test]
async fn an_access_whose_elevation_is_over_is_listed_as_ended() {
    let kit = kit().await;
    let elevation = kit.elevated(Role::Elevated, "write").await;
    let body = r#"{"machine": "worker-a", "reason": "look at the kubelet"}"#;
    let told = kit.unsafe_call(Role::Elevated, "POST", &new(), body).await.json();
    let id = told["grant"].as_str().unwrap();
    let listed = async |state: &str| {
        let found = kit.page(Role::Elevated, &format!("/api/v1/grants?kind=ssh&state={state}")).await.json();
        found["items"].as_array().unwrap().clone()
    };
    let [active] = listed("active").await.try_into().unwrap();
    assert_eq!((active["id"].as_str(), active["rights_now"].as_str()), (Some(id), Some("write")));
    assert!(active["end_reason"].is_null() && listed("ended").await.is_empty());
    let end = format!("/api/v1/elevations/{elevation}/end");
    assert_eq!(kit.unsafe_call(Role::Elevated, "POST", &end, "{}").await.status, 200);
    assert!(listed("active").await.is_empty());
    let [ended] = listed("ended").await.try_into().unwrap();
    let shown = kit.page(Role::Elevated, &format!("/api/v1/grants/{id}")).await.json();
    for grant in [ended, shown] {
        let said = (grant["state"].as_str(), grant["end_reason"].as_str());
        assert_eq!(said, (Some("ended"), Some("elevation_over")), "{grant}");
        assert!(grant["rights_now"].is_null() && grant["id"] == id, "{grant}");
    }
    for page in [format!("/access/{id}"), "/access?state=ended".to_owned()] {
        let said = kit.page(Role::Elevated, &page).await.body;
        assert!(said.contains("Ended: elevation over") && !said.contains("Ran out"), "{page}: {said}");
    }
}

#[tokio::test]
async fn the_dialog_shows_the_machines_and_the_password_once() {
    let kit = kit().await;
    let path = format!("{RES}/ssh");
    let barred = kit.page(Role::Elevated, &path).await;
    assert!(barred.body.contains("ssh-barred") && barred.body.contains("Elevate first"), "{}", barred.body);
    kit.elevated(Role::Elevated, "write").await;
    let form = kit.page(Role::Elevated, &path).await;
    assert_eq!(form.status, 200);
    assert!(
        form.body.contains("harbor-x-worker-a") && form.body.contains("through a master"),
        "{}",
        form.body
    );
    let fields =
        [("machine", "harbor-x-master-0"), ("reason", "look at the kubelet"), ("destinations", "9090")];
    let wrong = kit.form(Role::Elevated, &new(), &fields).await;
    assert_eq!(wrong.status, 422);
    assert!(
        wrong.body.contains("9090 is no host:port") && !wrong.body.contains("aro1_ssh_"),
        "{}",
        wrong.body
    );
    let fields = [("machine", "harbor-x-master-0"), ("reason", "look at the kubelet")];
    let given = kit.form(Role::Elevated, &new(), &fields).await;
    assert_eq!((given.status.as_u16(), given.header("cache-control")), (200, "no-store"), "{}", given.body);
    let password =
        given.body.split("data-testid=\"ssh-password\">").nth(1).unwrap().split('<').next().unwrap();
    let here = [192, 0, 2, 7].into();
    let live = kit.state.session.access.redeem_ssh(password, "elevated", here).await.unwrap();
    assert_eq!(live.grant.machine.as_deref(), Some("harbor-x-master-0"));
}

#[tokio::test]
async fn scripts_see_machines_and_get_certificates_of_their_own_grants() {
    let kit = kit().await;
    kit.elevated(Role::Elevated, "write").await;
    let listed = kit.page(Role::Elevated, &objects("/ssh/machines")).await.json();
    assert_eq!(listed["items"][0]["way"], "master", "{listed}");
    assert_eq!(listed["items"][1]["name"], "harbor-x-worker-a", "{listed}");
    let body = r#"{"machine": "master-0", "reason": "look at the kubelet"}"#;
    let told = kit.unsafe_call(Role::Elevated, "POST", &new(), body).await.json();
    let path = format!("/api/v1/grants/{}/ssh-certificate", told["grant"].as_str().unwrap());
    let body = format!(r#"{{"public_key": "{KEY} me@here"}}"#);
    let answer = kit.unsafe_call(Role::Elevated, "POST", &path, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let certified = answer.json();
    assert!(certified["certificate"].as_str().unwrap().starts_with("ssh-ed25519-cert-v01@openssh.com "));
    assert_eq!(certified["user"], "elevated");
    for wrong in ["{}", r#"{"public_key": "ssh-dss AAAA"}"#] {
        assert_eq!(kit.unsafe_call(Role::Elevated, "POST", &path, wrong).await.status, 400);
    }
    assert_eq!(kit.unsafe_call(Role::Sre, "POST", &path, &body).await.status, 403, "somebody else's");
}

async fn refuse_key(kit: &Kit) -> ResourceId {
    let id = kit.state.index().snapshot().entries.first().unwrap().id.clone();
    let key = HostKey {
        id: HostKey::id_of(&id, "uid-master-0"),
        target: id.clone(),
        machine: "harbor-x-master-0".to_owned(),
        keys: vec![KEY.replace("Fqti", "Fqtj")],
        learned: HostKeySource::Cluster,
        at: kit.clock.now(),
        by: None,
        refused: Some(RefusedKey { at: kit.clock.now(), key: KEY.to_owned() }),
        unknown: Unknown::new(),
    };
    let keys: Typed<HostKey> = Typed::new(Arc::clone(&kit.store));
    keys.create(key).await.unwrap();
    id
}

#[tokio::test]
async fn an_administrator_trusts_a_changed_key_and_it_is_on_record() {
    let kit = kit().await;
    let id = refuse_key(&kit).await;
    let print = proxy::ssh::host_keys::fingerprint_of(KEY).unwrap();
    let page = kit.page(Role::Sre, &format!("{RES}/host-keys")).await;
    assert!(page.body.contains(&print) && !page.body.contains("data-testid=\"trust\""), "{}", page.body);
    let page = kit.page(Role::Admin, &objects("/host-keys")).await;
    assert_eq!(page.status, 403, "an administrator alone is no SRE");
    let trust = format!("{RES}/host-keys/trust");
    let fields = [("uid", "uid-master-0"), ("fingerprint", print.as_str())];
    assert_eq!(kit.form(Role::Sre, &trust, &fields).await.status, 403);
    let other = [("uid", "uid-master-0"), ("fingerprint", "SHA256:other")];
    assert_eq!(kit.form(Role::Admin, &trust, &other).await.status, 409);
    let done = kit.form(Role::Admin, &trust, &fields).await;
    assert_eq!(done.status, 303, "{done:?}");
    let parts = kit.state.model.clusters.ssh.as_ref().unwrap();
    let known = parts.host_keys.get(&id, "uid-master-0").await.unwrap().unwrap();
    assert_eq!(
        (known.keys, known.learned, known.refused),
        (vec![KEY.to_owned()], HostKeySource::Person, None)
    );
    let query = rp_audit::Query { verb: Some("host-key.trust".to_owned()), limit: 10, ..Default::default() };
    let entries = kit.state.session.audit.search(&query).await.unwrap().entries;
    assert!(
        entries.iter().any(|entry| entry.query == print && entry.name == "harbor-x-master-0"),
        "{entries:?}"
    );
    let (path, body) =
        (objects("/host-keys/trust"), format!(r#"{{"uid": "uid-master-0", "fingerprint": "{print}"}}"#));
    assert_eq!(kit.unsafe_call(Role::Admin, "POST", &path, &body).await.status, 404);
}
