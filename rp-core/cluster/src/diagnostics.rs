//! What is looked at when an operation failed (`contract/cluster.md` §14), for the log of the operation:
//! bounded in time, size and number, and never the reason of another failure.

use std::fmt::Write as _;

use rp_azure::{Machines as _, Resources as _};
use rp_base::terminal::Cleaner;
use rp_base::text::clean;
use rp_openshift::{ClusterOperator, Condition, IngressController, Node, Pod, Whole};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::conditions::status;
use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::Kube;
use crate::manager::Operation;
use crate::progress::StepEvent;
use crate::templates::balancers;
use crate::templates::versions::{COMPUTE, NETWORK};

/// Bytes of one entry.
const MOST: usize = 16 * 1024;
/// Bytes of one machine's serial console in the process's log and in the entry, and machines.
const CONSOLE_LOGGED: usize = 50 * 1024;
const CONSOLE: usize = 3 * 1024;
const MOST_MACHINES: usize = 8;
/// Objects whose lines are shown.
const MOST_LINES: usize = 200;

/// Looks at everything that there is; what cannot be seen is said and passed by.
pub(crate) async fn gather(context: &Context) {
    let end = Instant::now() + context.env.periods.diagnostics;
    if let Ok(kube) = Kube::connect(context) {
        entry(context, end, "logClusterVersion", cluster_version(&kube)).await;
        entry(context, end, "logNodes", nodes(&kube)).await;
        entry(context, end, "logClusterOperators", operators(&kube)).await;
        entry(context, end, "logIngressControllers", ingress_controllers(&kube)).await;
        entry(context, end, "logPodLogs", pods(&kube)).await;
    }
    if context.operation == Operation::Create {
        entry(context, end, "LogVMSerialConsole", machines(context)).await;
        entry(context, end, "LogLoadBalancers", load_balancer(context)).await;
    }
}

async fn entry(
    context: &Context,
    end: Instant,
    name: &str,
    look: impl Future<Output = Result<String, StepError>>,
) {
    let look = async {
        tokio::select! {
            biased;
            () = context.lost().cancelled() => None,
            found = timeout_at(end, look) => Some(found),
        }
    };
    let text = match look.await {
        None => return,
        Some(Ok(Ok(text))) => text,
        Some(Ok(Err(error))) => format!("could not be read: {}", clean(&error.to_string(), 500)),
        Some(Err(_)) => "could not be read in time".to_owned(),
    };
    let mut text = text;
    let mut most = MOST.min(text.len());
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    text.truncate(most);
    tracing::info!(resource_id = context.document().cluster_id(), entry = name, "{name}: {text}");
    context.record_event(StepEvent::Diagnostic { name, text: &text });
}

async fn cluster_version(kube: &Kube) -> Result<String, StepError> {
    let version = kube.get_required("/apis/config.openshift.io/v1/clusterversions/version").await?;
    Ok(indented(version))
}

/// Without what only the server needs.
fn indented(mut object: Value) -> String {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    serde_json::to_string_pretty(&object).unwrap_or_default()
}

async fn nodes(kube: &Kube) -> Result<String, StepError> {
    let nodes: Vec<Node<Whole>> = kube.list("/api/v1/nodes", "").await?;
    Ok(lines(&nodes, |node| {
        let ready = status(&node.status.conditions, "Ready").unwrap_or("Unknown");
        (node.metadata.name.as_str(), format!("Ready: {ready}"))
    }))
}

async fn operators(kube: &Kube) -> Result<String, StepError> {
    let path = "/apis/config.openshift.io/v1/clusteroperators";
    let all: Vec<ClusterOperator<Whole>> = kube.list(path, "").await?;
    Ok(lines(&all, |one| (one.metadata.name.as_str(), states(&one.status.conditions))))
}

async fn ingress_controllers(kube: &Kube) -> Result<String, StepError> {
    let path = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers";
    let all: Vec<IngressController<Whole>> = kube.list(path, "").await?;
    Ok(lines(&all, |one| (one.metadata.name.as_str(), states(&one.status.conditions))))
}

fn states(conditions: &[Condition<Whole>]) -> String {
    let [available, progressing, degraded] =
        ["Available", "Progressing", "Degraded"].map(|kind| status(conditions, kind).unwrap_or("Unknown"));
    format!("Available: {available}, Progressing: {progressing}, Degraded: {degraded}")
}

async fn pods(kube: &Kube) -> Result<String, StepError> {
    let pods: Vec<Pod<Whole>> = kube.list("/api/v1/namespaces/openshift-azure-operator/pods", "").await?;
    Ok(lines(&pods, |pod| {
        let phase = pod.status.phase.as_str();
        let phase = if phase.is_empty() { "Unknown" } else { phase };
        (pod.metadata.name.as_str(), phase.to_owned())
    }))
}

/// Machines of the group as they are, and the ends of their serial consoles.
async fn machines(context: &Context) -> Result<String, StepError> {
    let (client, document) = (context.customer(), context.document());
    let path = format!("{}/providers/Microsoft.Compute/virtualMachines", document.group_id());
    let found = client.list(&path, COMPUTE).await?;
    let mut out = String::new();
    for machine in found.iter().take(MOST_MACHINES) {
        let id = machine["id"].as_str().unwrap_or_default();
        let name = machine["name"].as_str().unwrap_or_default();
        let state =
            machine.pointer("/properties/provisioningState").and_then(Value::as_str).unwrap_or("Unknown");
        let _ = writeln!(out, "{name} - {state}");
        match client.serial_log(id).await {
            Ok(Some(log)) => {
                let cluster = document.cluster_id();
                for line in console(&log, CONSOLE_LOGGED) {
                    tracing::info!(cluster, failed_role_instance = name, "LogVMSerialConsole: {line}");
                }
                for line in console(&log, CONSOLE) {
                    let _ = writeln!(out, "  {line}");
                }
            }
            Ok(None) => {}
            Err(error) => {
                let _ = writeln!(out, "  the serial console could not be read: {error}");
            }
        }
    }
    Ok(if out.is_empty() { "there are none".to_owned() } else { out })
}

/// The lines of its last `most` bytes, none empty and none twice in a row, without what steers terminals.
fn console(log: &[u8], most: usize) -> Vec<String> {
    let tail = &log[log.len().saturating_sub(most)..];
    let plain = Cleaner::new(false).clean(tail);
    let text = String::from_utf8_lossy(&plain);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        let line = clean(line, 400);
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The internal load balancer, which API and machine configuration go through.
async fn load_balancer(context: &Context) -> Result<String, StepError> {
    let document = context.document();
    let found = context.customer().get(&balancers::internal_id(&document), NETWORK).await?;
    Ok(found.map_or_else(|| "it is not there".to_owned(), indented))
}

/// One line for each: its name, and what is said of it.
fn lines<T>(objects: &[T], of: impl Fn(&T) -> (&str, String)) -> String {
    let mut out = String::new();
    for (name, state) in objects.iter().take(MOST_LINES).map(of) {
        let _ = writeln!(out, "{name} - {state}");
    }
    if objects.len() > MOST_LINES {
        let _ = writeln!(out, "and {} more", objects.len() - MOST_LINES);
    }
    if out.is_empty() { "there are none".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_is_its_end_without_repeats_and_without_what_steers_terminals() {
        let log = b"old\r\n\x1b[31mred\x1b[0m\x1b]0;title\x07\nsame\n\nsame\n  x\t\n";
        assert_eq!(console(log, 1000), ["old", "red", "same", "  x"]);
        assert_eq!(console(log, 12), ["same", "  x"]);
        assert!(console(b"", 10).is_empty());
    }
}
