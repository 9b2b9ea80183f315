//! The same commands of kubectl on a simulated cluster and on a real API server.

use anyhow::{Context as _, Result, ensure};
use tests_kit::{Kubectl, Output};

use super::healthy;
use crate::world::World;

/// What has to be the same of two answers, besides the exit status.
enum Same {
    /// Standard output and standard error.
    All,
    /// Both streams contain this text.
    Says(&'static str),
    /// Nothing else.
    Status,
}

/// One command: its arguments, its input, what has to be the same.
type Command = (&'static [&'static str], &'static str, Same);

const FIRST: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"alike"},"data":{"a":"1"}}"#;
const SECOND: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"alike"},"data":{"a":"2"}}"#;
const APPLIED: &str =
    r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"alike-applied"},"data":{"a":"1"}}"#;
const WRONG: &str =
    r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"alike-wrong"},"other":{"a":"1"}}"#;

const COMMANDS: &[Command] = &[
    (&["api-versions"], "", Same::Says("apps/v1\n")),
    (&["api-resources", "-o", "name"], "", Same::Says("deployments.apps\n")),
    (&["explain", "pods.spec"], "", Same::Says("KIND:       Pod\nVERSION:    v1\n")),
    (&["explain", "pods.spec.containers.image"], "", Same::Says("FIELD: image <string>")),
    (&["explain", "deployments"], "", Same::Says("GROUP:      apps\nKIND:       Deployment\n")),
    (&["explain", "pods.spec.nothing"], "", Same::All),
    (&["get", "namespaces", "default", "-o", "name"], "", Same::All),
    (&["create", "-f", "-"], WRONG, Same::All),
    (&["apply", "--dry-run=server", "-f", "-"], FIRST, Same::All),
    (&["get", "configmap", "alike"], "", Same::All),
    (&["apply", "-f", "-"], FIRST, Same::All),
    (&["apply", "-f", "-"], FIRST, Same::All),
    (&["create", "-f", "-"], FIRST, Same::All),
    (&["get", "configmap", "alike", "-o", "name"], "", Same::All),
    (&["get", "configmap", "alike", "-o", "jsonpath={.data}"], "", Same::All),
    (&["diff", "-f", "-"], SECOND, Same::Status),
    (&["apply", "--dry-run=server", "-f", "-"], SECOND, Same::All),
    (&["apply", "-f", "-"], SECOND, Same::All),
    (&["diff", "-f", "-"], SECOND, Same::Status),
    (&["wait", "--for=jsonpath={.data.a}=2", "configmap/alike", "--timeout=60s"], "", Same::All),
    (&["label", "configmap", "alike", "set=these"], "", Same::All),
    (
        &[
            "patch",
            "configmap",
            "alike",
            "--type=json",
            "-p",
            r#"[{"op":"add","path":"/data/b","value":"3"}]"#,
        ],
        "",
        Same::All,
    ),
    (&["patch", "configmap", "alike", "--type=merge", "-p", r#"{"data":{"c":"4"}}"#], "", Same::All),
    (&["patch", "configmap", "alike", "-p", r#"{"data":{"d":"5"}}"#], "", Same::All),
    (&["get", "configmaps", "-l", "set=these", "-o", "jsonpath={.items[*].data}"], "", Same::All),
    (&["apply", "--server-side", "-f", "-"], APPLIED, Same::All),
    (&["delete", "configmap", "alike-applied", "--dry-run=server"], "", Same::All),
    (&["delete", "configmap", "alike", "alike-applied"], "", Same::All),
    (&["wait", "--for=delete", "configmap/alike", "--timeout=60s"], "", Same::Status),
    (&["delete", "configmap", "alike"], "", Same::All),
    (
        &["get", "pods", "--field-selector", "spec.other=1"],
        "",
        Same::Says("field label not supported: spec.other"),
    ),
];

async fn run(kubectl: &Kubectl, command: &Command) -> Result<Output> {
    let (arguments, input, _) = command;
    let arguments: Vec<&str> = ["-n", "default"].iter().chain(*arguments).copied().collect();
    if input.is_empty() {
        kubectl.run(&arguments).await
    } else {
        kubectl.with_input(input.as_bytes(), &arguments).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_says_the_same_of_a_simulated_cluster_and_of_a_real_one() -> Result<()> {
    let world = World::get().await?;
    let resource = healthy(&world.aro.session("sre").await?).await?;
    let simulated = world.aro.kubectl("elevated", &resource, "write").await?;
    let real = world.kubectl("elevated", "write").await?;
    for command in COMMANDS {
        let (arguments, _, same) = command;
        let (one, other) = (run(&simulated, command).await?, run(&real, command).await?);
        let told = || format!("kubectl {arguments:?}\nsimulated: {one:?}\nreal: {other:?}");
        ensure!(one.status == other.status, "{}", told());
        let alike = match same {
            Same::All => one.stdout == other.stdout && one.stderr == other.stderr,
            Same::Says(text) => {
                [&one, &other].iter().all(|said| (said.stdout.clone() + &said.stderr).contains(text))
            }
            Same::Status => true,
        };
        ensure!(alike, "{}", told());
    }
    let marked = ["get", "configmaps", "-n", "shop", "-o", "jsonpath={.items[*].metadata.labels}"];
    let marked = simulated.ok(&marked).await?;
    marked.contains("aro.openshift.io/simulated").then_some(()).context("objects are not marked as simulated")
}
