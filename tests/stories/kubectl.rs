//! The real kubectl through the proxy on a real kube-apiserver: everything that is no stream.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn reads_what_the_cluster_has() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("sre", "read").await?;
    let pods = kubectl.ok(&["get", "pods", "-A", "-o", "wide"]).await?;
    ensure!(pods.contains("web") && pods.contains("Running"), "{pods}");
    ensure!(kubectl.ok(&["get", "node", "node-1", "-o", "name"]).await?.trim() == "node/node-1");
    let resources = kubectl.ok(&["api-resources"]).await?;
    ensure!(resources.contains("deployments") && resources.contains("configmaps"), "{resources}");
    let described = kubectl.ok(&["describe", "pod", "web"]).await?;
    ensure!(described.contains("node-1"), "{described}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_in_chunks() -> Result<()> {
    let world = World::get().await?;
    let admin = world.plane.admin()?;
    admin.ok(&["create", "namespace", "chunks"]).await?;
    let items: Vec<Value> = (0..30)
        .map(|n| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("map-{n:02}") } }))
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    admin.with_input(list.as_bytes(), &["create", "-n", "chunks", "-f", "-"]).await?.ok()?;
    let kubectl = world.kubectl("sre", "read").await?;
    let get = ["get", "configmaps", "-n", "chunks", "--chunk-size=7", "-o", "name", "-v=8"];
    let output = kubectl.run(&get).await?;
    let requests = output.stderr.lines().filter(|line| line.contains("limit=7")).count();
    let found = output.ok()?.lines().filter(|line| line.contains("map-")).count();
    ensure!(found == 30, "{found} maps");
    ensure!(requests >= 5, "{requests} requests");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cluster_sees_the_person() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("sre", "read").await?;
    let whoami: Value = serde_json::from_str(&kubectl.ok(&["auth", "whoami", "-o", "json"]).await?)?;
    let info = &whoami["status"]["userInfo"];
    ensure!(info["username"] == "sre", "{whoami}");
    ensure!(info["groups"].to_string().contains("system:masters"), "{whoami}");
    ensure!(info["extra"]["aro.openshift.io/person"] == json!(["sre"]), "{whoami}");
    ensure!(info["extra"]["aro.openshift.io/reason"] == json!(["story of the tests"]), "{whoami}");
    ensure!(kubectl.ok(&["auth", "can-i", "get", "pods"]).await?.trim() == "yes");

    let shared = world.aro.kubectl("sre", &world.shared, "read").await?;
    let whoami: Value = serde_json::from_str(&shared.ok(&["auth", "whoami", "-o", "json"]).await?)?;
    ensure!(whoami["status"]["userInfo"]["username"] == "system:aro-sre", "{whoami}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn applies_patches_and_deletes() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("elevated", "write").await?;
    let map = |value: &str| {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied", "namespace": "default" },
                "data": { "key": value } })
        .to_string()
    };
    kubectl.with_input(map("one").as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    kubectl.with_input(map("two").as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    let side = ["apply", "--server-side", "--force-conflicts", "--field-manager=story", "-f", "-"];
    kubectl.with_input(map("three").as_bytes(), &side).await?.ok()?;
    kubectl
        .ok(&["patch", "configmap", "applied", "--type=merge", "-p", r#"{"data":{"more":"four"}}"#])
        .await?;
    kubectl
        .ok(&[
            "patch",
            "configmap",
            "applied",
            "--type=json",
            "-p",
            r#"[{"op":"add","path":"/data/x","value":"y"}]"#,
        ])
        .await?;
    kubectl.ok(&["label", "configmap", "applied", "story=kubectl"]).await?;
    let got: Value =
        serde_json::from_str(&kubectl.ok(&["get", "configmap", "applied", "-o", "json"]).await?)?;
    ensure!(got["data"] == json!({ "key": "three", "more": "four", "x": "y" }), "{got}");
    kubectl.ok(&["delete", "configmap", "applied"]).await?;
    let gone = kubectl.refused(&["get", "configmap", "applied"]).await?;
    ensure!(gone.contains("NotFound"), "{gone}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_reach_the_cluster_byte_for_byte() -> Result<()> {
    let world = World::get().await?;
    let admin = world.plane.admin()?;
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                       "metadata": { "name": "Team:Readers+More" }, "rules": [] });
    admin.with_input(role.to_string().as_bytes(), &["create", "-f", "-"]).await?.ok()?;
    let kubectl = world.kubectl("sre", "read").await?;
    for path in [
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/Team:Readers+More",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/Team%3AReaders%2BMore",
        "/%61pis/rbac.authorization.k8s.io/v1/clusterroles/Team%3aReaders+More?pretty=true",
    ] {
        let got = kubectl.ok(&["get", "--raw", path]).await?;
        ensure!(got.contains("Team:Readers+More"), "{path}: {got}");
    }
    ensure!(kubectl.ok(&["get", "--raw", "/version"]).await?.contains("v1.36"));
    ensure!(kubectl.ok(&["get", "--raw", "/readyz?verbose"]).await?.contains("readyz check passed"));
    let selected = kubectl.ok(&["get", "pods", "-l", "app in (web, Other)", "-o", "name"]).await?;
    ensure!(selected.contains("pod/web"), "{selected}");
    let missing = kubectl.refused(&["get", "--raw", "/api/v1/namespaces/default/pods/No-Such%20Pod"]).await?;
    ensure!(missing.contains("No-Such Pod"), "{missing}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn impersonation_is_refused_with_a_sentence() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("elevated", "admin").await?;
    // kubectl hides the sentence of a refused discovery, so that one is in its cache.
    kubectl.ok(&["get", "pods"]).await?;
    for flags in [["--as=admin", "--as-group=system:masters"], ["--as=someone", "--as-uid=1"]] {
        let said = kubectl.refused(&["get", "pods", flags[0], flags[1]]).await?;
        ensure!(said.contains("Impersonate-* headers") && said.contains("--as"), "{said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn read_rights_refuse_with_what_would_be_needed() -> Result<()> {
    let world = World::get().await?;
    // The stored credential may do everything: it is us who refuse.
    let kubectl = world.kubectl("sre", "read").await?;
    let cases: [(&[&str], &str); 8] = [
        (&["exec", "web", "--", "true"], "write"),
        (&["port-forward", "pod/web", ":80"], "write"),
        (&["attach", "web"], "write"),
        (&["delete", "pod", "web"], "write"),
        (&["get", "secrets"], "admin"),
        (&["get", "secret", "any", "-n", "kube-system"], "admin"),
        (&["create", "token", "default"], "admin"),
        (&["get", "--raw", "/api/v1/namespaces/default/pods/web/proxy/"], "write"),
    ];
    for (args, needed) in cases {
        let said = kubectl.refused(args).await?;
        ensure!(said.contains(&format!("{needed} rights")), "{args:?}: {said}");
    }
    // The old way of the upgrade: GET, by SPDY.
    let said = kubectl.clone().spdy().refused(&["exec", "web", "--", "true"]).await?;
    ensure!(said.contains("write rights"), "{said}");
    let write = world.kubectl("elevated", "write").await?;
    for args in [&["get", "secrets"][..], &["create", "clusterrole", "x", "--verb=get", "--resource=pods"]] {
        let said = write.refused(args).await?;
        ensure!(said.contains("admin rights"), "{args:?}: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_may_do_is_what_grant_and_cluster_allow_together() -> Result<()> {
    let world = World::get().await?;
    // By groups of an import that may do everything, and by a shared credential.
    for cluster in [&world.named, &world.shared] {
        let kubectl = world.aro.kubectl("sre", cluster, "read").await?;
        ensure!(kubectl.ok(&["auth", "can-i", "get", "pods"]).await?.trim() == "yes");
        for (args, needed) in [
            (&["get", "secrets"][..], "admin rights"),
            (&["*", "*"][..], "admin rights"),
            (&["create", "pods"][..], "write rights"),
            (&["create", "pods", "--subresource=exec"][..], "write rights"),
        ] {
            let output = kubectl.run(&[&["auth", "can-i"][..], args].concat()).await?;
            let said = &output.stdout;
            ensure!(output.status == 1 && said.starts_with("no"), "{args:?}: {output:?}");
            ensure!(said.contains(needed), "{args:?}: {said}");
        }
        let listed = kubectl.ok(&["auth", "can-i", "--list"]).await?;
        ensure!(listed.contains("pods") && !listed.contains("secrets"), "{listed}");
    }
    let write = world.kubectl("elevated", "write").await?;
    ensure!(write.ok(&["auth", "can-i", "create", "pods"]).await?.trim() == "yes");
    let output = write.run(&["auth", "can-i", "get", "secrets"]).await?;
    ensure!(output.stdout.starts_with("no"), "{output:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_are_given_by_role() -> Result<()> {
    let world = World::get().await?;
    let body = |rights: &str| json!({ "reason": "story of the tests", "rights": rights });
    let path = format!("{}/kubeconfig/new", world.named);
    for (person, rights, status) in [
        ("viewer", "read", 403),
        ("sre", "write", 403),
        ("sre", "admin", 403),
        ("auditor", "read", 403),
        ("sre", "read", 200),
    ] {
        let answer = world.aro.session(person).await?.post(&path, &body(rights)).await?;
        ensure!(answer.status == status, "{person} {rights}: {} {}", answer.status, answer.text);
    }
    let elevated = world.aro.session("elevated").await?;
    elevated.elevate("admin").await?;
    elevated.post(&path, &body("admin")).await?.ok()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_audit_logs_name_the_person() -> Result<()> {
    let world = World::get().await?;
    let kubectl = world.kubectl("elevated", "write").await?;
    kubectl.ok(&["create", "configmap", "audited-by-both"]).await?;
    let is_it = |entry: &Value| entry["objectRef"]["name"] == "audited-by-both" && entry["verb"] == "create";
    let theirs = world.plane.audited("the creation", is_it).await?;
    ensure!(theirs["user"]["username"] == "system:aro-service", "{theirs}");
    ensure!(theirs["impersonatedUser"]["username"] == "elevated", "{theirs}");
    // One request, one id on both sides.
    let id = theirs["auditID"].as_str().unwrap_or_default();
    ensure!(!id.is_empty(), "{theirs}");
    let auditor = world.aro.session("auditor").await?;
    let ours = tests_kit::until("our entry", tests_kit::GENEROUS, || async {
        let entries = auditor.audit(id).await?;
        entries.into_iter().find(|entry| entry["phase"] == "end").with_context(|| format!("no end of {id}"))
    });
    let ours = ours.await?;
    ensure!(ours["actor"]["name"] == "elevated" && ours["verb"] == "create", "{ours}");
    ensure!(ours["identity_used"] == "elevated (in system:masters)", "{ours}");
    ensure!(ours["resource"] == "configmaps" && ours["result"]["status"] == 201, "{ours}");
    Ok(())
}
