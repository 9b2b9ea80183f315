use super::cluster::harbor;
use super::workloads::{away, odd};
use super::{HOSTILE, HOUR, NOW, frame, hostile};
use crate::{Link, Place, Sample, TerminalAccess, TerminalAsk, TerminalPage, TerminalQuery};

fn open() -> TerminalPage {
    TerminalPage {
        frame: frame(Place::Clusters),
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

impl Sample for TerminalPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let wrong = TerminalAsk {
            reason: "look".into(),
            reason_error: Some("Too short: say in at least 10 characters what you are going to do.".into()),
            ticket_error: Some("A ticket has at most 100 characters.".into()),
            ..TerminalAsk::default()
        };
        let barred = TerminalAsk {
            barred: Some((
                "You are not elevated to write on this cluster.".into(),
                Some(Link::new("Elevate first", "/elevate?rights=write")),
            )),
            ..TerminalAsk::default()
        };
        let machine =
            TerminalQuery { machine: "harbor-prod-weu-01-x7k2p-master-0".into(), ..TerminalQuery::default() };
        let odd_query = TerminalQuery {
            namespace: HOSTILE.into(),
            pod: HOSTILE.into(),
            container: HOSTILE.into(),
            machine: String::new(),
        };
        let access =
            TerminalAccess { id: HOSTILE.into(), ticket: HOSTILE.into(), reason: HOSTILE.into(), until: NOW };
        vec![
            ("open", open()),
            ("machine", Self { query: machine.clone(), containers: Vec::new(), ..open() }),
            ("asked", Self { ask: Some(TerminalAsk::default()), ..open() }),
            ("wrong", Self { ask: Some(wrong), query: machine, ..open() }),
            ("barred", Self { ask: Some(barred), ..open() }),
            (
                "to-choose",
                Self {
                    query: TerminalQuery::default(),
                    machines: ["master-0", "master-1", "worker-0"].map(str::to_owned).into(),
                    ..open()
                },
            ),
            ("none-to-choose", Self { query: TerminalQuery::default(), ..open() }),
            ("away", Self { failure: Some(away()), ..open() }),
            (
                "hostile",
                Self {
                    frame: hostile(Place::Clusters),
                    cluster: odd(),
                    query: odd_query,
                    containers: vec![HOSTILE.into(), "etcd".into()],
                    machines: vec![HOSTILE.into()],
                    access,
                    ..open()
                },
            ),
        ]
    }
}
