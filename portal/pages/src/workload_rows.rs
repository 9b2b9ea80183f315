//! Converts pods, workloads and events of the system namespaces from the watches' structs to rows of pages.

use portal_model::look::describe::status_of;
use portal_model::objects::names::page_of;
use rp_base::Timestamp;
use rp_observe::{Slice, SliceState};
use rp_rows::{Container, ContainerState, Event, Pod, Workload, WorkloadKind};
use web::{Badge, Condition, ContainerRow, EventLine, Link, Notice, PodRow, Tone, WorkloadRow};

pub fn seconds(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::seconds)
}

pub fn count(n: impl TryInto<u64>) -> u64 {
    n.try_into().unwrap_or(0)
}

/// Restarts within this time count as a problem although the pod runs.
const LATELY: i64 = 3_600;

/// Severity; less is worse. Pods of one rank stay in the order of their names.
pub fn severity_rank(pod: &Pod, now: i64) -> u8 {
    if pod.is_well() {
        let lately = last_restart(pod).is_some_and(|at| now - at.seconds() < LATELY);
        return if lately && pod.phase == "Running" { 4 } else { 5 };
    }
    match pod.status.as_str() {
        "Pending" | "ContainerCreating" | "PodInitializing" | "Init" => 1,
        "Running" => 2,
        "Terminating" => 3,
        _ => 0,
    }
}

/// Whether the pod has a problem.
pub fn is_problem(pod: &Pod) -> bool {
    !pod.is_well()
}

fn last_restart(pod: &Pod) -> Option<Timestamp> {
    pod.containers.iter().filter_map(|container| container.last.as_ref().and_then(|last| last.2)).max()
}

pub fn pod_badge(pod: &Pod) -> Badge {
    if pod.phase == "Succeeded" {
        return Badge::quiet(Tone::Mute, "check", "Completed");
    }
    if pod.is_well() {
        return Badge::quiet(Tone::Ok, "ok", "Running");
    }
    match pod.status.as_str() {
        "Terminating" => Badge::filled(Tone::Busy, "busy", "Terminating"),
        "Pending" | "ContainerCreating" | "PodInitializing" | "Init" => {
            Badge::filled(Tone::Warn, "wait", pod.status.clone())
        }
        "Running" => Badge::filled(Tone::Warn, "degraded", "Not ready"),
        "" => Badge::filled(Tone::Warn, "unknown", "Unknown"),
        word => Badge::filled(Tone::Bad, "failed", word),
    }
}

/// The reason, as the cluster reports it.
fn why(pod: &Pod) -> String {
    if pod.is_well() {
        return String::new();
    }
    let all = || pod.init_containers.iter().chain(&pod.containers);
    let waits =
        all().find(|container| container.state != ContainerState::Running && !container.message.is_empty());
    let ended = || all().find(|container| !container.ready && container.last.is_some());
    waits.map(|container| container.message.clone()).unwrap_or_else(|| {
        match (pod.message.as_str(), ended()) {
            ("", Some(container)) => {
                container.last.as_ref().map(|last| ending(&container.name, last)).unwrap_or_default()
            }
            (message, _) => message.to_owned(),
        }
    })
}

fn ending(name: &str, (reason, code, _): &(String, i64, Option<Timestamp>)) -> String {
    let reason = if reason.is_empty() { "ended" } else { reason };
    format!("{name}: {reason}, exit code {code}")
}

/// The page of what made a pod. A replica set leads to its deployment, whose name it carries.
fn owner(pod: &Pod, base: &str) -> Option<Link> {
    if pod.owner.is_empty() {
        return None;
    }
    let (kind, name) = owner_of(pod);
    let page = page_of(kind, &pod.meta.namespace, name).map(|page| format!("{base}/{page}"));
    Some(Link::new(format!("{kind} {name}"), page.unwrap_or_default()))
}

/// Kind and name of the workload that a pod belongs to.
pub fn owner_of(pod: &Pod) -> (&str, &str) {
    match (pod.owner_kind.as_str(), pod.owner.rsplit_once('-')) {
        ("ReplicaSet", Some((deployment, _))) if !deployment.is_empty() => ("Deployment", deployment),
        (kind, _) => (kind, &pod.owner),
    }
}

pub fn pod_row(pod: &Pod, base: &str) -> PodRow {
    let page = page_of("Pod", &pod.meta.namespace, &pod.meta.name)
        .map_or_else(|| format!("{base}/pods"), |page| format!("{base}/{page}"));
    let node =
        page_of("Node", "", &pod.node).map(|page| Link::new(pod.node.clone(), format!("{base}/{page}")));
    PodRow {
        log: format!("{page}/log?follow=1"),
        href: page,
        name: pod.meta.name.clone(),
        namespace: pod.meta.namespace.clone(),
        badge: pod_badge(pod),
        why: why(pod),
        since: seconds(pod.ready_since.or(pod.started).or(pod.meta.created)),
        ready: (count(pod.ready_containers()), count(pod.containers.len())),
        restarts: count(pod.restarts()),
        last_restart: seconds(last_restart(pod)),
        node: node.filter(|_| !pod.node.is_empty()),
        owner: owner(pod, base),
        created: seconds(pod.meta.created),
    }
}

fn container_badge(container: &Container) -> Badge {
    let word = |fallback: &str| {
        if container.reason.is_empty() { fallback.to_owned() } else { container.reason.clone() }
    };
    match container.state {
        ContainerState::Running if container.ready => Badge::quiet(Tone::Ok, "ok", "Running"),
        ContainerState::Running => Badge::filled(Tone::Warn, "degraded", "Not ready"),
        ContainerState::Terminated if container.exit_code == Some(0) => {
            Badge::quiet(Tone::Mute, "check", word("Completed"))
        }
        ContainerState::Terminated => Badge::filled(Tone::Bad, "failed", word("Ended")),
        ContainerState::Waiting
            if matches!(container.reason.as_str(), "" | "ContainerCreating" | "PodInitializing") =>
        {
            Badge::filled(Tone::Warn, "wait", word("Waiting"))
        }
        ContainerState::Waiting => Badge::filled(Tone::Bad, "failed", word("Waiting")),
        ContainerState::Unknown => Badge::quiet(Tone::Mute, "unknown", "Unknown"),
    }
}

/// Containers, those that run before the others first.
pub fn containers(pod: &Pod, page: &str) -> Vec<ContainerRow> {
    let row = |container: &Container, init: bool| {
        let log = |more: &str| format!("{page}/log?container={}{more}", web::text::encode(&container.name));
        let mut badge = container_badge(container);
        if init && container.state == ContainerState::Running && !container.ready {
            badge = Badge::filled(Tone::Busy, "busy", "Running");
        }
        ContainerRow {
            name: container.name.clone(),
            init,
            badge,
            why: container.message.clone(),
            since: seconds(container.since),
            restarts: count(container.restarts),
            last: container.last.as_ref().map(|last| {
                let reason = if last.0.is_empty() { "Ended" } else { &last.0 };
                (format!("{reason}, exit code {}", last.1), seconds(last.2))
            }),
            image: container.image.clone(),
            log: log(if container.state == ContainerState::Running { "&follow=1" } else { "" }),
            previous: if container.last.is_some() { log("&previous=1") } else { String::new() },
        }
    };
    let init = pod.init_containers.iter().map(|each| row(each, true));
    init.chain(pod.containers.iter().map(|each| row(each, false))).collect()
}

/// Kind as it stands in a path.
pub fn kind_segment(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Deployment => "deployment",
        WorkloadKind::DaemonSet => "daemonset",
        WorkloadKind::StatefulSet => "statefulset",
    }
}

pub fn workload_row(each: &Workload, base: &str) -> WorkloadRow {
    let kind = each.kind.as_str();
    let (namespace, name) = (&each.meta.namespace, &each.meta.name);
    let page = page_of(kind, namespace, name)
        .map_or_else(|| format!("{base}/workloads"), |page| format!("{base}/{page}"));
    let enc = web::text::encode;
    let stuck = each.conditions.iter().find(|condition| {
        matches!(condition.kind.as_str(), "Available" | "Progressing") && condition.status.as_str() == "False"
            || condition.kind == "ReplicaFailure" && condition.status.is_true()
    });
    let badge = match (each.ready, each.desired, each.observed) {
        (_, 0, true) => Badge::quiet(Tone::Mute, "pause", "Scaled to none"),
        (0, _, _) => Badge::filled(Tone::Bad, "failed", "None ready"),
        (ready, wanted, _) if ready < wanted => Badge::filled(Tone::Warn, "degraded", "Not all ready"),
        (_, _, false) => Badge::filled(Tone::Busy, "busy", "Not observed"),
        _ if each.updated < each.desired => Badge::filled(Tone::Busy, "busy", "Rolling out"),
        _ => Badge::quiet(Tone::Ok, "ok", "Ready"),
    };
    WorkloadRow {
        name: name.clone(),
        namespace: namespace.clone(),
        kind: kind.to_owned(),
        href: page,
        pods: format!("{base}/pods?namespace={}&owner={}", enc(namespace), enc(&format!("{kind}/{name}"))),
        object: format!(
            "{base}/resources/apps/v1/{}s/{}/{}",
            kind_segment(each.kind),
            enc(namespace),
            enc(name)
        ),
        badge,
        why: if each.is_well() {
            String::new()
        } else {
            stuck.map(|condition| condition.message.clone()).unwrap_or_default()
        },
        ready: (count(each.ready), count(each.desired)),
        updated: count(each.updated),
        available: count(each.available),
        created: seconds(each.meta.created),
    }
}

pub fn conditions(all: &[rp_rows::Condition]) -> Vec<Condition> {
    all.iter()
        .map(|each| Condition {
            status: status_of(&each.kind, each.status.as_str()),
            kind: each.kind.clone(),
            reason: each.reason.clone(),
            since: seconds(each.since),
            message: each.message.clone(),
        })
        .collect()
}

pub fn event_line(event: &Event, base: &str) -> EventLine {
    let page = page_of(&event.object_kind, &event.object_namespace, &event.object_name);
    EventLine {
        at: seconds(event.last),
        first: seconds(event.first.filter(|first| event.last.is_some_and(|last| *first < last))),
        count: count(event.count),
        warning: event.is_warning(),
        kind: event.object_kind.clone(),
        object: Link::new(
            event.object_name.clone(),
            page.map(|page| format!("{base}/{page}")).unwrap_or_default(),
        ),
        namespace: event.object_namespace.clone(),
        reason: event.reason.clone(),
        message: event.message.clone(),
        source: event.from.clone(),
    }
}

/// What a slice does not have, as notices.
pub fn notices<T>(slice: &Slice<T>, what: &str) -> Vec<Notice> {
    let notice = |tone, lead: String, text: &str| Notice { tone, lead, text: text.to_owned(), action: None };
    let mut all = Vec::new();
    match &slice.state {
        SliceState::Forbidden(why) => {
            all.push(notice(Tone::Warn, format!("The cluster does not let us read {what}."), why.as_str()));
        }
        SliceState::Missing => all.push(notice(
            Tone::Mute,
            format!("The cluster does not serve {what}."),
            "It may be of another version.",
        )),
        SliceState::Failed(why) if slice.items.is_empty() => {
            all.push(notice(Tone::Bad, format!("Nothing is known of {what}."), why.as_str()));
        }
        SliceState::NotAsked
        | SliceState::Loading
        | SliceState::Live
        | SliceState::Stale { .. }
        | SliceState::Failed(_) => {}
    }
    if slice.left_out > 0 {
        let lead = format!("{} more of {what} are not shown.", web::text::number(count(slice.left_out)));
        all.push(notice(
            Tone::Warn,
            lead,
            "A cluster's list is followed up to a bound; the resources have all of them.",
        ));
    }
    all
}
