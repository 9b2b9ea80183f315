use crate::cluster::harbor;
use crate::workloads::{away, odd};
use crate::{HOSTILE, HOUR, MINUTE, NOW, Sample, frame, hostile};
use web::{
    AccessErrors, AccessForm, AccessQuestion, Badge, Link, NavItem, TerminalAccess, TerminalChoice,
    TerminalMachine, TerminalOpen, TerminalPage, TerminalPod, TerminalQuery, Tone,
};

fn open() -> TerminalPage {
    TerminalPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        query: TerminalQuery {
            namespace: "openshift-etcd".into(),
            pod: "etcd-harbor-prod-weu-01-x7k2p-master-1".into(),
            container: "etcdctl".into(),
            ..TerminalQuery::default()
        },
        containers: ["etcdctl", "etcd", "etcd-metrics"].map(str::to_owned).into(),
        access: TerminalAccess {
            id: "g-7q2m".into(),
            ticket: "INC-48213".into(),
            reason: "Replace a lost etcd member".into(),
            until: NOW + HOUR,
        },
        ..TerminalPage::default()
    }
}

fn theirs() -> TerminalOpen {
    TerminalOpen {
        id: "01JD7M2N08RA".into(),
        person: "ravi.menon@example.com".into(),
        own: false,
        place: "openshift-etcd/etcd-harbor-prod-weu-01-x7k2p-master-1/etcdctl".into(),
        began: NOW - 7 * MINUTE,
        watchers: vec!["juno.aaltonen@example.com".into()],
    }
}

fn machine(name: &str, power: Option<Badge>) -> TerminalMachine {
    TerminalMachine {
        name: name.into(),
        control_plane: name.starts_with("master"),
        ready: power.as_ref().is_none_or(|badge| badge.tone == Tone::Ok),
        power,
        way: "over the private link".into(),
    }
}

fn pod(namespace: &str, name: &str, badge: Badge, containers: &[&str]) -> TerminalPod {
    TerminalPod {
        namespace: namespace.into(),
        name: name.into(),
        node: "harbor-prod-weu-01-x7k2p-master-0".into(),
        badge,
        containers: containers.iter().map(|&each| each.to_owned()).collect(),
    }
}

/// A cluster with a pod that fails and a machine that is off.
fn choice() -> TerminalChoice {
    let running = || Badge::quiet(Tone::Ok, "ok", "Running");
    TerminalChoice {
        q: "openshift".into(),
        pods: vec![
            pod(
                "openshift-ingress",
                "router-default-6d8f7",
                Badge::filled(Tone::Bad, "failed", "CrashLoopBackOff"),
                &["router"],
            ),
            pod("openshift-etcd", "etcd-master-0", running(), &["etcd", "etcd-metrics", "etcd-readyz"]),
        ],
        matched: Some(214),
        machines: vec![
            machine("master-0", Some(Badge::quiet(Tone::Ok, "ok", "VM running"))),
            machine("worker-0", Some(Badge::filled(Tone::Bad, "stop", "VM deallocated"))),
            machine("worker-1", None),
        ],
    }
}

fn odd_choice() -> TerminalChoice {
    let badge = || Badge::filled(Tone::Bad, "failed", HOSTILE);
    TerminalChoice {
        q: HOSTILE.into(),
        pods: vec![pod(HOSTILE, HOSTILE, badge(), &[HOSTILE, HOSTILE])],
        matched: Some(u64::MAX),
        machines: vec![TerminalMachine { way: HOSTILE.into(), ..machine(HOSTILE, Some(badge())) }],
    }
}

impl Sample for TerminalPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let wrong = AccessQuestion {
            form: AccessForm { reason: "look".into(), ..AccessForm::default() },
            errors: AccessErrors {
                reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
                ticket: Some("A ticket has at most 100 characters.".into()),
                ..AccessErrors::default()
            },
            ..AccessQuestion::default()
        };
        let barred = AccessQuestion {
            barred: Some((
                "You are not elevated to write on this cluster.".into(),
                Some(Link::new("Elevate first", "/elevate?rights=write")),
            )),
            ..AccessQuestion::default()
        };
        let machine =
            TerminalQuery { machine: "harbor-prod-weu-01-x7k2p-master-0".into(), ..TerminalQuery::default() };
        let odd_query = TerminalQuery {
            namespace: HOSTILE.into(),
            pod: HOSTILE.into(),
            container: HOSTILE.into(),
            ..TerminalQuery::default()
        };
        let watch = TerminalQuery { watch: "01JD7M2N08RA".into(), ..TerminalQuery::default() };
        let odd_open = TerminalOpen {
            person: HOSTILE.into(),
            place: HOSTILE.into(),
            watchers: vec![HOSTILE.into()],
            ..theirs()
        };
        let access =
            TerminalAccess { id: HOSTILE.into(), ticket: HOSTILE.into(), reason: HOSTILE.into(), until: NOW };
        vec![
            ("open", open()),
            ("machine", Self { query: machine.clone(), containers: Vec::new(), ..open() }),
            ("asked", Self { ask: Some(AccessQuestion::default()), ..open() }),
            ("wrong", Self { ask: Some(wrong), query: machine, ..open() }),
            ("barred", Self { ask: Some(barred.clone()), ..open() }),
            ("watching", Self { query: watch.clone(), watching: Some(theirs()), ..open() }),
            (
                "watching-barred",
                Self { query: watch.clone(), watching: Some(theirs()), ask: Some(barred), ..open() },
            ),
            (
                "to-choose",
                Self {
                    query: TerminalQuery::default(),
                    open: vec![theirs(), TerminalOpen { own: true, watchers: Vec::new(), ..theirs() }],
                    choice: choice(),
                    ..open()
                },
            ),
            (
                "no-pod-found",
                Self {
                    query: TerminalQuery::default(),
                    choice: TerminalChoice {
                        q: "etdc".into(),
                        pods: Vec::new(),
                        matched: Some(0),
                        ..choice()
                    },
                    ..open()
                },
            ),
            ("none-to-choose", Self { query: TerminalQuery::default(), ..open() }),
            ("away", Self { failure: Some(away()), ..open() }),
            (
                "hostile-open",
                Self {
                    query: TerminalQuery::default(),
                    open: vec![odd_open.clone()],
                    choice: odd_choice(),
                    ..open()
                },
            ),
            ("hostile-watching", Self { query: watch, watching: Some(odd_open), ..open() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: odd(),
                    query: odd_query,
                    containers: vec![HOSTILE.into(), "etcd".into()],
                    choice: odd_choice(),
                    access,
                    ..open()
                },
            ),
        ]
    }
}
