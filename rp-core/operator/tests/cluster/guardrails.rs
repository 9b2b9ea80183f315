//! Admission policies, as the API server evaluates them.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Kubectl, until};

use crate::world::{Operator, PATIENCE, World, spec};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Somebody who may do everything by their role, so that only policies stop them.
fn administrator(name: &str, kind: &str, subject: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": kind, "apiGroup": RBAC, "name": subject }],
    })
}

fn objects() -> Vec<Value> {
    let mut all: Vec<_> = ["openshift-etcd", "openshift-operators", "story"]
        .map(|name| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
        .into();
    all.push(administrator("story-customer", "User", "customer"));
    for namespace in ["openshift-etcd", "openshift-operators"] {
        let group = format!("system:serviceaccounts:{namespace}");
        all.push(administrator(&format!("story-{namespace}"), "Group", &group));
    }
    all
}

/// Waits until the request is refused with that text. Policies take a moment to be evaluated.
async fn refused(who: &Kubectl, args: &[&str], text: &str) -> Result<()> {
    until(&format!("kubectl {} is refused", args.join(" ")), PATIENCE, || async {
        let seen = who.refused(args).await?;
        ensure!(seen.contains(text), "{seen}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_stop_administrators_and_let_the_platform_pass() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.openshift.apply(&objects()).await?;
    world.set_cluster(&spec(&[])).await?;
    let policy = |name: &str| format!("aro.guardrails.policies.{name}.enforcement");
    let deny = json!({
        policy("aro-machine-config-deny"): "deny",
        policy("aro-privileged-namespace-deny"): "deny",
    });
    world.patch_cluster(&json!({ "operatorflags": deny })).await?;
    let _operator = Operator::start(world, "master")?;
    let file = world.openshift.plane.user_kubeconfig("customer", &[])?;
    let customer = Kubectl::new(world.openshift.plane.folder(), &file)?;
    let dry = "--dry-run=server";
    let node = ["delete", "node", "master-0", dry];
    let label = "<node-role.kubernetes.io/master>";
    refused(&customer, &node, &format!("user customer not allowed to delete resource with label {label}"))
        .await?;
    customer.ok(&["delete", "node", "worker-0", dry]).await?;
    let machine = ["delete", "machine.machine.openshift.io", "master-0", "-n", "openshift-machine-api", dry];
    let label = "<machine.openshift.io/cluster-api-machine-role: master>";
    refused(&customer, &machine, &format!("user customer not allowed to delete resource with label {label}"))
        .await?;
    let secret = |namespace: &'static str| ["create", "secret", "generic", "story", "-n", namespace, dry];
    let place = "user customer not allowed to CREATE story in namespace openshift-etcd";
    refused(&customer, &secret("openshift-etcd"), place).await?;
    customer.ok(&secret("story")).await?;
    let namespace = "user customer not allowed to DELETE namespace openshift-etcd";
    refused(&customer, &["delete", "namespace", "openshift-etcd", dry], namespace).await?;
    customer.ok(&["delete", "namespace", "story", dry]).await?;
    let config =
        ["label", "machineconfigs.machineconfiguration.openshift.io", "99-worker-aro-dns", "a=b", dry];
    world.reads(config[1], "", config[2], "/metadata/name", &json!(config[2])).await?;
    refused(&customer, &config, "user customer not allowed to UPDATE machine config 99-worker-aro-dns")
        .await?;
    // Accounts of the platform pass, accounts of customers' operators do not.
    let account = |namespace: &str| {
        [
            format!("--as=system:serviceaccount:{namespace}:story"),
            "--as-group=system:serviceaccounts".to_owned(),
            format!("--as-group=system:serviceaccounts:{namespace}"),
        ]
    };
    let admin = world.openshift.admin();
    let ours = account("openshift-etcd");
    let theirs = account("openshift-operators");
    let with = |account: &'static str, groups: [String; 3]| (account, groups);
    for (who, groups) in [with("platform", ours), with("customer", theirs)] {
        let mut args = secret("openshift-etcd").to_vec();
        args.extend(groups.iter().map(String::as_str));
        match who {
            "platform" => drop(admin.ok(&args).await?),
            _ => refused(admin, &args, "not allowed to CREATE story").await?,
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_follows_its_flag_and_the_mandatory_one_comes_back() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let (policies, bindings) = ("validatingadmissionpolicies", "validatingadmissionpolicybindings");
    let actions = "/spec/validationActions";
    world.reads(bindings, "", "aro-nodes-deny-binding", actions, &json!(["Deny"])).await?;
    let flag = |name: &str, value: &str| json!({ "operatorflags": { format!("aro.guardrails.policies.aro-nodes-deny.{name}"): value } });
    world.patch_cluster(&flag("enforcement", "warn")).await?;
    world.reads(bindings, "", "aro-nodes-deny-binding", actions, &json!(["Warn"])).await?;
    world.patch_cluster(&flag("managed", "false")).await?;
    world.reads(policies, "", "aro-nodes-deny", "", &Value::Null).await?;
    world.patch_cluster(&flag("managed", "true")).await?;
    world.reads(policies, "", "aro-nodes-deny", "/metadata/name", &json!("aro-nodes-deny")).await?;
    // Nobody is exempt of the mandatory one, and a flag does not remove it.
    world.patch_cluster(&json!({ "operatorflags": { "aro.guardrails.enabled": "false" } })).await?;
    let mandatory = "aro-cluster-version-major-upgrade-deny";
    world.delete(policies, "", mandatory).await?;
    world.reads(policies, "", mandatory, "/spec/failurePolicy", &json!("Fail")).await?;
    let admin = world.openshift.admin();
    let five = r#"{"spec":{"channel":"stable-5.0"}}"#;
    let upgrade = ["patch", "clusterversion", "version", "--type=merge", "--dry-run=server", "-p", five];
    refused(admin, &upgrade, "Upgrading from OpenShift 4 to OpenShift 5 is not allowed").await?;
    let four = r#"{"spec":{"channel":"stable-4.19"}}"#;
    admin.ok(&["patch", "clusterversion", "version", "--type=merge", "--dry-run=server", "-p", four]).await?;
    Ok(())
}
