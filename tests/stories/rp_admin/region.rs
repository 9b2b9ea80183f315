//! The region as a whole, a simulated cluster's objects, and accesses for automation.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, Aro, AroOptions, Folder, GENEROUS, Session, part, until};

/// ARM's word of who asks.
const CALLER: (&str, &str) = ("x-ms-arm-resource-system-data", r#"{"lastModifiedBy": "kim@example.org"}"#);
const JSON: (&str, &str) = ("content-type", "application/json");

struct Tool {
    aro: Aro,
    rp: Session,
}

impl Tool {
    async fn start() -> Result<Self> {
        let aro = Aro::start(AroOptions { clusters: 12, ..AroOptions::default() }).await?;
        let rp = Session::open(&aro.ca_pem()?, &aro.dev.rp_url, None)?;
        Ok(Self { aro, rp })
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Answer> {
        let body = body.map(|body| body.to_string());
        self.rp.send(method, path, &[CALLER, JSON], body).await
    }

    async fn get(&self, path: &str) -> Result<Value> {
        self.send(Method::GET, path, None).await?.ok()?.json()
    }

    async fn refused(&self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, String)> {
        let answer = self.send(method, path, body).await?;
        let message = answer.json()?["error"]["message"].as_str().unwrap_or_default().to_owned();
        Ok((answer.status, message))
    }

    /// The resource id of a cluster that answers.
    async fn cluster(&self) -> Result<String> {
        self.cluster_with("kubernetesobjects?kind=Node").await
    }

    /// The resource id of a cluster whose control plane could get another size. Others are updated or in trouble.
    async fn settled_cluster(&self) -> Result<String> {
        self.cluster_with("preresizevalidation?vmSize=standard_d16s_v5").await
    }

    /// The resource id of a cluster at which that path is answered well.
    async fn cluster_with(&self, path: &str) -> Result<String> {
        let lines = self.get("/admin/clusters?state=Succeeded").await?;
        for line in lines.as_array().context("no array")? {
            let id = line["resourceId"].as_str().unwrap_or_default();
            let told = self.send(Method::GET, &format!("/admin{id}/{path}"), None).await?;
            if told.status == 200 {
                return Ok(id.to_owned());
            }
        }
        anyhow::bail!("no cluster answers {path}: {lines}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_region_is_kept_and_listed() -> Result<()> {
    let tool = Tool::start().await?;
    let lines = tool.get("/admin/clusters").await?;
    let lines = lines.as_array().context("no array")?;
    ensure!(lines.len() == 12, "{} clusters", lines.len());
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["resourceId"].as_str()).collect();
    let list = "/admin/providers/Microsoft.RedHatOpenShift/openShiftClusters";
    let first = tool.get(list).await?;
    ensure!(first["value"].as_array().map(Vec::len) == Some(10), "{first}");
    let next = first["nextLink"].as_str().context("no next page")?.split_once("?").context("no query")?.1;
    let rest = tool.get(&format!("{list}?{next}")).await?;
    ensure!(rest["value"].as_array().map(Vec::len) == Some(2) && rest["nextLink"].is_null(), "{rest}");
    ensure!(rest["value"][1]["id"].as_str() == ids.last().copied(), "{rest}");
    let bent = next.replace("%24skipToken=", "%24skipToken=A");
    let (status, message) = tool.refused(Method::GET, &format!("{list}?{bent}"), None).await?;
    ensure!(status == 400 && message.contains("skip token"), "{status} {message}");

    // A new version is offered to customers when it is enabled, and the default moves.
    let version = |name: &str, enabled: bool, default: bool| {
        json!({"properties": {"version": name, "openShiftPullspec": "o", "installerPullspec": "i",
            "enabled": enabled, "default": default}})
    };
    let made = tool.send(Method::PUT, "/admin/versions", Some(version("4.20.9", true, true))).await?;
    ensure!(made.status == 201, "{}", made.text);
    let sub = ids[0].split('/').nth(2).context("no subscription")?;
    let location = lines_location(&tool, ids[0]).await?;
    let offered = format!(
        "/subscriptions/{sub}/providers/Microsoft.RedHatOpenShift/locations/{location}/openShiftVersions/4.20.9?api-version=2025-07-25"
    );
    until("the version is offered", GENEROUS, || async { tool.get(&offered).await.map(|_| ()) }).await?;
    let all = tool.get("/admin/versions").await?;
    let defaults: Vec<&Value> = all["value"]
        .as_array()
        .context("no versions")?
        .iter()
        .filter(|one| one["properties"]["default"] == true)
        .collect();
    ensure!(defaults.len() == 1 && defaults[0]["name"] == "4.20.9", "{all}");
    let (status, message) =
        tool.refused(Method::PUT, "/admin/versions", Some(version("4.20.9", false, true))).await?;
    ensure!(status == 400 && message == "You cannot disable the default installation version.", "{message}");
    let sets = tool.get("/admin/platformworkloadidentityrolesets").await?;
    ensure!(sets["value"].as_array().is_some_and(|sets| sets.len() == 7), "{sets}");
    let sizes = tool.get("/admin/supportedvmsizes?vmRole=master").await?;
    ensure!(sizes["Standard_D8s_v3"]["coreCount"] == 8, "{sizes}");
    Ok(())
}

/// The region that we are in.
async fn lines_location(tool: &Tool, id: &str) -> Result<String> {
    let shown = tool.get(&format!("{id}?api-version=admin")).await?;
    // The one that the process serves is said in its refusals; the fleet's clusters may be elsewhere.
    let sub = id.split('/').nth(2).unwrap_or_default();
    for location in [shown["location"].as_str().unwrap_or_default(), "westeurope"] {
        let versions = format!(
            "/subscriptions/{sub}/providers/Microsoft.RedHatOpenShift/locations/{location}/openShiftVersions?api-version=2025-07-25"
        );
        if tool.send(Method::GET, &versions, None).await?.status == 200 {
            return Ok(location.to_owned());
        }
    }
    anyhow::bail!("no location of ours: {shown}")
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_cluster_are_read_by_the_rules() -> Result<()> {
    let tool = Tool::start().await?;
    let id = tool.cluster().await?;
    let objects = format!("/admin{id}/kubernetesobjects");
    let nodes = tool.get(&format!("{objects}?kind=Node")).await?;
    let name = nodes["items"][0]["metadata"]["name"].as_str().context("no node")?;
    let node = tool.get(&format!("{objects}?kind=node&name={name}")).await?;
    ensure!(node["metadata"]["name"] == name, "{node}");
    for kind in ["ClusterOperator.config.openshift.io", "clusteroperators", "ClusterVersion"] {
        let told = tool.get(&format!("{objects}?kind={kind}")).await?;
        ensure!(told["items"].as_array().is_some_and(|items| !items.is_empty()), "{kind}: {told}");
    }
    let pods = tool.get(&format!("{objects}?kind=Pod&namespace=openshift-etcd")).await?;
    ensure!(pods["items"].is_array(), "{pods}");
    for (asked, status, words) in [
        ("kind=Secret&namespace=openshift-config&name=pull-secret", 403, "Access to secrets is forbidden."),
        ("kind=ConfigMap&namespace=default", 403, "Access to the provided namespace 'default' is forbidden."),
        ("kind=Pod", 403, "Access to cluster-scoped object '/v1, Resource=pods' is forbidden."),
        ("kind=Secret&namespace=default&unrestricted=true", 403, "Access to secrets is forbidden."),
        ("kind=Node&name=a%2Fb", 400, "The provided name 'a/b' is invalid."),
        ("kind=Nonsense", 400, "The server has no resource type 'Nonsense'."),
    ] {
        let told = tool.refused(Method::GET, &format!("{objects}?{asked}"), None).await?;
        ensure!(told == (status, words.to_owned()), "{asked}: {told:?}");
    }
    let told = tool.send(Method::GET, &format!("{objects}?kind=Node&name=none"), None).await?;
    ensure!(told.status == 404 && told.json()?["error"]["code"] == "NotFound", "{}", told.text);
    let everywhere = tool.get(&format!("{objects}?kind=Pod&unrestricted=true")).await?;
    ensure!(everywhere["items"].is_array());
    // What AppLens says of it is there too.
    let detectors = format!("{id}/detectors");
    let list = tool.get(&format!("{detectors}?api-version=2025-07-25")).await?;
    let name = list["value"][0]["name"].as_str().with_context(|| format!("no detector: {list}"))?;
    let one = tool.get(&format!("{detectors}/{name}?api-version=2025-07-25")).await?;
    ensure!(one["properties"]["dataset"][0]["table"]["rows"].is_array(), "{one}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn automation_gets_accesses_that_the_portal_sees_and_ends() -> Result<()> {
    let tool = Tool::start().await?;
    let id = tool.cluster().await?;
    let made = tool.send(Method::POST, &format!("/admin{id}/kubeconfig/new"), None).await?.ok()?;
    ensure!(made.header("content-disposition").contains(".kubeconfig"), "{:?}", made.headers);
    let kubectl = tool.aro.kubectl_with(&made.text)?;
    let nodes = kubectl.ok(&["get", "nodes", "-o", "name"]).await?;
    ensure!(nodes.contains("node/"), "{nodes}");
    let said = kubectl.refused(&["delete", "pod", "none", "-n", "openshift-etcd"]).await?;
    ensure!(said.to_lowercase().contains("forbidden") || said.contains("read"), "{said}");
    let elevated =
        tool.send(Method::POST, &format!("/admin{id}/kubeconfig/newelevated"), None).await?.ok()?;
    let strong = tool.aro.kubectl_with(&elevated.text)?;
    strong.ok(&["get", "secrets", "-n", "openshift-config", "-o", "name"]).await?;

    // Both stand in the portal's list, with whom they are for.
    let admin = tool.aro.session("admin").await?;
    let grants = admin.get("/api/v1/grants?all=true").await?.ok()?.json()?;
    let theirs: Vec<&Value> = grants["items"]
        .as_array()
        .or_else(|| grants.as_array())
        .with_context(|| format!("no list: {grants}"))?
        .iter()
        .filter(|grant| grant.to_string().contains("kim@example.org"))
        .collect();
    ensure!(theirs.len() == 2, "{grants}");
    for grant in theirs {
        let id = grant["id"].as_str().with_context(|| format!("no id: {grant}"))?;
        admin.revoke(id).await?;
    }
    for kubectl in [kubectl, strong] {
        let ended = until("the access has ended", GENEROUS, || async {
            let said = kubectl.refused(&["get", "nodes"]).await?;
            ensure!(said.contains("revoked"), "{said}");
            Ok(())
        });
        ended.await?;
    }
    let trail = admin_trail(&tool).await?;
    ensure!(trail.iter().any(|entry| entry.to_string().contains("kim@example.org")), "{trail:?}");
    let nobody = tool.rp.send(Method::POST, &format!("/admin{id}/kubeconfig/new"), &[JSON], None).await?;
    ensure!(nobody.status == 400, "{}", nobody.text);
    let shell = tool
        .send(Method::POST, &format!("/admin{id}/ssh/newelevated"), Some(json!({"master": 0})))
        .await?
        .json()?;
    let command = shell["command"].as_str().unwrap_or_default();
    ensure!(command.contains(" ssh -o UserKnownHostsFile=localhost_known_host"), "{shell}");
    let password = shell["password"].as_str().filter(|text| text.starts_with("aro1_ssh_"));
    let password = password.with_context(|| format!("no password: {shell}"))?;
    let host = pasted(command, password).await?;
    ensure!(host.contains("master-0"), "not on the master: {host}");
    ensure!(pasted(command, password).await.is_err(), "the password opened a second shell");
    Ok(())
}

/// What the machine calls itself after that command was pasted, with OpenSSH asking for the password.
async fn pasted(command: &str, password: &str) -> Result<String> {
    let folder = Folder::new("ssh")?;
    let asks = folder.write("askpass", format!("#!/bin/sh\necho '{password}'\n"))?;
    std::fs::set_permissions(&asks, std::fs::Permissions::from_mode(0o700))?;
    let alone = "-F /dev/null -o NumberOfPasswordPrompts=1 -o PubkeyAuthentication=no";
    let command = command.replacen(" ssh -o ", &format!(" {} {alone} -o ", part("ssh")?.display()), 1);
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", &format!("{command} hostname")]).current_dir(folder.path()).kill_on_drop(true);
    shell.env("SSH_ASKPASS", &asks).env("SSH_ASKPASS_REQUIRE", "force").stdin(std::process::Stdio::null());
    let output = tokio::time::timeout(GENEROUS, shell.output()).await.context("ssh has no end")??;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command}: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

async fn admin_trail(tool: &Tool) -> Result<Vec<Value>> {
    let auditor = tool.aro.session("auditor").await?;
    until("the grant is in the trail", GENEROUS, || async {
        let entries = auditor.audit("grant.issue").await?;
        ensure!(!entries.is_empty(), "no entry yet");
        Ok(entries)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_update_is_asked_for_with_a_task() -> Result<()> {
    let tool = Tool::start().await?;
    let id = tool.cluster().await?;
    let admin = format!("{id}?api-version=admin");
    let told = tool
        .refused(Method::PATCH, &admin, Some(json!({"properties": {"maintenanceTask": "Paint"}})))
        .await?;
    ensure!(told == (400, "Invalid enum parameter.".to_owned()), "{told:?}");
    let told = tool
        .refused(
            Method::PATCH,
            &admin,
            Some(json!({"properties": {"networkProfile": {"podCidr": "10.0.0.0/14"}}})),
        )
        .await?;
    ensure!(
        told.0 == 400 && told.1 == "Changing property 'properties.networkProfile.podCidr' is not allowed.",
        "{told:?}"
    );
    let signal = json!({"properties": {"maintenanceTask": "Pending"}});
    let told = tool.send(Method::PATCH, &admin, Some(signal)).await?.ok()?;
    let shown = told.json()?;
    ensure!(shown["properties"]["provisioningState"] == "Succeeded", "{shown}");
    ensure!(shown["properties"]["maintenanceState"] == "Pending", "{shown}");
    let flags = json!({"properties": {"maintenanceTask": "OperatorUpdate", "operatorFlags": {"aro.dnsmasq.enabled": "false"}}});
    let told = tool.send(Method::PATCH, &admin, Some(flags)).await?.ok()?;
    ensure!(told.header("azure-asyncoperation").contains("/operationsstatus/"), "{:?}", told.headers);
    let shown = told.json()?;
    ensure!(shown["properties"]["provisioningState"] == "AdminUpdating", "{shown}");
    ensure!(shown["properties"]["maintenanceState"] == "Planned", "{shown}");
    ensure!(shown["properties"]["operatorFlags"]["aro.dnsmasq.enabled"] == "false", "{shown}");
    ensure!(shown["properties"]["clusterProfile"].get("pullSecret").is_none(), "{shown}");
    let made = tool.refused(Method::PUT, &admin.replace(&id, &format!("{id}x")), Some(json!({}))).await?;
    ensure!(made == (400, "Admin API does not allow cluster creation.".to_owned()), "{made:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_and_usage_of_a_cluster_are_reached() -> Result<()> {
    let tool = Tool::start().await?;
    let id = tool.settled_cluster().await?;
    resize_is_checked(&tool, &id).await?;
    let nodes = tool.get(&format!("/admin{id}/kubernetesobjects?kind=Node")).await?;
    let name = nodes["items"][0]["metadata"]["name"].as_str().context("no node")?;
    let act = |action: &str, query: &str| format!("/admin{id}/{action}?vmName={name}{query}");
    for path in [
        act("stopvm", ""),
        act("startvm", ""),
        act("stopvm", "&deallocateVM=true"),
        act("redeployvm", ""),
        act("resize", "&vmSize=standard_d16s_v5"),
    ] {
        let told = tool.send(Method::POST, &path, None).await?.ok()?;
        ensure!(told.text.is_empty(), "{path}: {}", told.text);
    }
    // The machine alone was resized; its Machine object and its node say the old size still.
    let inventory = format!("/admin{id}/controlplanestatuscheckafterresize");
    let (status, message) = tool.refused(Method::GET, &inventory, None).await?;
    ensure!(status == 500 && message.contains(&format!("The size of {name} differs")), "{message}");
    let resources = tool.get(&format!("/admin{id}/resources")).await?;
    ensure!(resources[0]["type"] == "Microsoft.Network/virtualNetworks", "{resources}");
    let refused = tool.refused(Method::POST, &act("resize", "&vmSize=Standard_A1"), None).await?;
    ensure!(
        refused == (400, "The provided vmSize 'Standard_A1' is unsupported for master.".to_owned()),
        "{refused:?}"
    );
    let (status, message) =
        tool.refused(Method::POST, &format!("/admin{id}/startvm?vmName=nobody-0"), None).await?;
    ensure!(status == 404 && message.starts_with("The VirtualMachine 'nobody-0'"), "{message}");
    let skus = tool.get(&format!("/admin{id}/skus")).await?;
    ensure!(skus.as_array().is_some_and(|all| all.iter().any(|one| one == "Standard_D8s_v5")), "{skus}");
    let outside = format!(
        "/admin{id}/deletemanagedresource?managedResourceID=/subscriptions/s/resourceGroups/other/providers/Microsoft.Compute/disks/d"
    );
    let (status, message) = tool.refused(Method::POST, &outside, None).await?;
    ensure!(
        status == 400 && message.contains("is not within the cluster's managed resource group"),
        "{message}"
    );

    // What is used now, as the cluster's metrics API says.
    let pods = tool.get(&format!("/admin{id}/top/pods")).await?;
    let first = &pods[0];
    ensure!(first["namespace"].as_str().is_some_and(|name| name.starts_with("openshift-")), "{pods}");
    ensure!(first["cpuUsage"].as_str().is_some_and(|cpu| cpu.ends_with('m')), "{first}");
    let nodes = tool.get(&format!("/admin{id}/top/nodes")).await?;
    ensure!(nodes[0]["memoryPercentage"].as_f64().is_some_and(|part| part > 0.0), "{nodes}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_gets_another_size_master_by_master() -> Result<()> {
    let tool = Tool::start().await?;
    let id = tool.settled_cluster().await?;
    let order = |query: &str| format!("/admin{id}/resizecontrolplane?{query}");
    for (query, words) in [
        ("vmSize=Standard_A1", "Pre-flight validation failed."),
        ("vmSize=standard_d16s_v5&deallocateVM=yes", "The provided deallocateVM value 'yes' is invalid."),
    ] {
        let (status, message) = tool.refused(Method::POST, &order(query), None).await?;
        ensure!(status == 400 && message.starts_with(words), "{query}: {status} {message}");
    }
    let manifests = format!("/admin{id}/maintenancemanifests");
    let (wanted, second) = (order("vmSize=standard_d16s_v5"), order("vmSize=standard_d32s_v5"));
    // While the first runs, nobody orders another one or takes it away.
    let meanwhile = async {
        let found = until("the order is there", GENEROUS, || async {
            let list = tool.get(&manifests).await?;
            let found = list["value"][0].clone();
            ensure!(found["state"] == "InProgress" && found["steps"].is_array(), "{list}");
            Ok(found)
        })
        .await?;
        ensure!(found["resize"]["masters"].as_array().map(Vec::len) == Some(3), "{found}");
        let place = format!("{manifests}/{}", found["id"].as_str().context("no id")?);
        for (method, path) in [(Method::POST, &second), (Method::DELETE, &place)] {
            let told = tool.send(method, path, None).await?;
            // It may have ended meanwhile.
            ensure!(told.status == 409 || tool.get(&place).await?["state"] == "Completed", "{told:?}");
        }
        Ok(place)
    };
    let (told, place) = tokio::try_join!(tool.send(Method::POST, &wanted, None), meanwhile)?;
    ensure!(told.status == 200 && told.text.is_empty() && told.header("location") == place, "{told:?}");
    let ended = tool.get(&place).await?;
    let steps = ended["steps"].as_array().context("no steps")?;
    ensure!(ended["state"] == "Completed" && steps.len() == 33, "{ended}");
    ensure!(steps[32]["name"] == "action.updateNodeLabels#3", "{ended}");
    // Machines, virtual machines and nodes agree on the new size, and the same order again has nothing to do.
    tool.send(Method::GET, &format!("/admin{id}/controlplanestatuscheckafterresize"), None).await?.ok()?;
    let nodes = tool.get(&format!("/admin{id}/kubernetesobjects?kind=Node")).await?;
    let sizes = nodes["items"].as_array().into_iter().flatten().filter_map(|node| {
        let labels = &node["metadata"]["labels"];
        labels["node-role.kubernetes.io/master"]
            .is_string()
            .then(|| labels["node.kubernetes.io/instance-type"].clone())
    });
    ensure!(sizes.collect::<Vec<_>>() == vec!["Standard_D16s_v5"; 3], "{nodes}");
    let again = tool.send(Method::POST, &wanted, None).await?.ok()?;
    ensure!(again.header("location").is_empty(), "{again:?}");
    Ok(())
}

/// What stands against another size of the control plane is told at once, and nothing is changed by asking.
async fn resize_is_checked(tool: &Tool, id: &str) -> Result<()> {
    let inventory = format!("/admin{id}/controlplanestatuscheckafterresize");
    let told = tool.send(Method::GET, &inventory, None).await?.ok()?;
    ensure!(told.text.is_empty(), "{}", told.text);
    let validation = |size: &str| format!("/admin{id}/preresizevalidation?vmSize={size}");
    let told = tool.get(&validation("standard_d16s_v5")).await?;
    ensure!(told == "All pre-flight checks passed", "{told}");
    for (size, words) in [
        ("", "The provided vmSize is empty."),
        ("Standard_A1", "The provided vmSize 'Standard_A1' is unsupported for master."),
    ] {
        let told = tool.send(Method::GET, &validation(size), None).await?;
        let error = told.json()?["error"].take();
        ensure!(told.status == 400 && error["message"] == "Pre-flight validation failed.", "{error}");
        ensure!(error["details"][0]["message"] == words, "{error}");
        ensure!(error["details"][0]["target"] == "vmSize", "{error}");
    }
    let nodes = tool.get(&format!("/admin{id}/kubernetesobjects?kind=Node")).await?;
    let masters = nodes["items"].as_array().into_iter().flatten();
    let master = masters
        .filter_map(|node| node["metadata"]["name"].as_str())
        .find(|name| name.contains("-master-"))
        .context("no master")?;
    let stop = format!("/admin{id}/stopvm?vmName={master}");
    tool.send(Method::POST, &stop, None).await?.ok()?;
    let (status, message) = tool.refused(Method::GET, &inventory, None).await?;
    ensure!(status == 500 && message.contains(&format!("VM {master} has the statuses [")), "{message}");
    tool.send(Method::POST, &format!("/admin{id}/startvm?vmName={master}"), None).await?.ok()?;
    tool.send(Method::GET, &inventory, None).await?.ok()?;
    Ok(())
}
