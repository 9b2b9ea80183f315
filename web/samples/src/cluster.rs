use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, SUBSCRIPTION, Sample, audit, ended, endless, frame, grants, hostile,
    imported_path, no_rights, objects, path, resource_id, store_away, viewer,
};
use web::{
    AccessDecision, Cluster, ClusterPage, Failure, Frame, GrantRow, ImportedFrom, Link, NavItem, Notice,
    Section, Side, State, Step, StepState, Tab, Tone, Verdict,
};

pub(super) fn harbor() -> Cluster {
    let name = "harbor-prod-weu-01";
    let verdict = Verdict {
        tone: Tone::Warn,
        icon: "degraded",
        head: "Degraded".into(),
        since: Some(NOW - 47 * MINUTE),
        text: "2 operators, 2 nodes, 1 machine and 1 certificate need attention. The update to 4.19.9 waits at 62 %.".into(),
    };
    Cluster {
        name: name.into(),
        path: path("rg-harbor-prod", name),
        resource_id: resource_id("rg-harbor-prod", name),
        subscription: SUBSCRIPTION.into(),
        group: "rg-harbor-prod".into(),
        state: State::Degraded,
        since: Some(NOW - 47 * MINUTE),
        also: vec![State::Updating(Some(62))],
        verdict,
        links: vec![
            Link::new("Azure portal", "https://portal.azure.example/"),
            Link::new("OpenShift console", "https://console.apps.harbor.example/"),
        ],
        api_visibility: "Private".into(),
        api_url: "https://api.harbor-prod-weu-01.example.net:6443/".into(),
        architecture_version: "2".into(),
        console_url: "https://console-openshift-console.apps.harbor-prod-weu-01.example.net/".into(),
        created_at: Some(NOW - 411 * DAY),
        created_by: "5f1e9b0c2d".into(),
        provisioned_by: "8a77d3e410".into(),
        infra_id: "harbor-prod-weu-01-x7k2p".into(),
        last_modified_at: Some(NOW - 3 * DAY),
        last_modified_by: "owner@customer.example".into(),
        last_provisioning_state: "Succeeded".into(),
        location: "westeurope".into(),
        provisioning_state: "AdminUpdating".into(),
        version: "4.18.22".into(),
        install_status: "Installed".into(),
        maintenance_state: "None".into(),
        ..Cluster::default()
    }
}

fn well() -> Cluster {
    let verdict = Verdict {
        tone: Tone::Ok,
        icon: "ok",
        head: "Succeeded".into(),
        since: Some(NOW - 70 * DAY),
        text:
            "The last operation went well, and none runs. The health inside the cluster is not looked at yet."
                .into(),
    };
    Cluster {
        state: State::Succeeded,
        also: Vec::new(),
        verdict,
        provisioning_state: "Succeeded".into(),
        ..harbor()
    }
}

fn failed() -> Cluster {
    let step = |state, text: &str, note: &str, hint: &str| Step {
        state,
        text: text.into(),
        note: note.into(),
        hint: hint.into(),
        since: None,
    };
    let verdict = Verdict {
        tone: Tone::Bad,
        icon: "failed",
        head: "Failed: Creating".into(),
        since: Some(NOW - 72 * MINUTE),
        text: "Bootstrap did not complete within 60 min. The subnet's route table sends 0.0.0.0/0 to 10.9.0.4, which refuses; the customer can fix this.".into(),
    };
    Cluster {
        state: State::Failed("Creating".into()),
        also: Vec::new(),
        verdict,
        install: vec![
            step(StepState::Done, "Network and identities", "3 min", ""),
            step(
                StepState::Failed,
                "Bootstrap",
                "60 min",
                "The bootstrap machine cannot reach the image registry.",
            ),
            step(StepState::Waiting, "Cluster operators", "", ""),
            step(StepState::Waiting, "Verified", "", ""),
        ],
        provisioning_state: "Failed".into(),
        failed_provisioning_state: "Creating".into(),
        last_provisioning_state: "Creating".into(),
        install_status: "InstallPhaseBootstrap".into(),
        last_admin_update_error:
            "ensureConsoleOperator: timed out waiting for the condition\n  last: 0 of 2 replicas available"
                .into(),
        api_url: String::new(),
        console_url: String::new(),
        version: String::new(),
        ..harbor()
    }
}

pub(super) fn lab() -> Cluster {
    let verdict = Verdict {
        tone: Tone::Mute,
        icon: "import",
        head: "Imported".into(),
        since: None,
        text: "This cluster is not ours: we know how to reach it and nothing about its life. Access and audit work as for any other.".into(),
    };
    Cluster {
        name: "kind-lab".into(),
        path: imported_path("kind-lab"),
        resource_id: imported_path("kind-lab"),
        subscription: "00000000-0000-0000-0000-000000000000".into(),
        group: "imported".into(),
        imported: Some(ImportedFrom {
            by: "Sefa Moreau".into(),
            at: NOW - 2 * DAY,
            credential: "client certificate".into(),
            credential_ends: Some(NOW + 300 * DAY),
            as_groups: vec!["system:masters".into()],
        }),
        state: State::Imported,
        verdict,
        api_url: "https://10.20.0.4:6443".into(),
        version: "1.36.3".into(),
        ..Cluster::default()
    }
}

fn full() -> ClusterPage {
    ClusterPage {
        frame: frame(NavItem::Clusters),
        cluster: harbor(),
        grants: Section::Rows(grants::active().into_iter().skip(1).collect(), 3),
        ended: Section::Rows(grants::over(), 5),
        audit: Section::Rows(audit::entries().into_iter().take(5).collect(), 214),
        ..ClusterPage::default()
    }
}

fn many() -> ClusterPage {
    let row = grants::active().remove(2);
    let rows: Vec<GrantRow> = (0..50)
        .map(|i| GrantRow {
            id: format!("g-{i}"),
            owner: format!("person-{i:02}@example.com"),
            ends: NOW + i * HOUR,
            may_revoke: i % 2 == 0,
            ..row.clone()
        })
        .collect();
    ClusterPage { grants: Section::Rows(rows, 10_214), tab: Tab::Access, ..full() }
}

fn strange() -> ClusterPage {
    let text = || HOSTILE.to_owned();
    let cluster = Cluster {
        name: text(),
        path: format!("/{}", web::text::encode(HOSTILE)),
        resource_id: text(),
        subscription: text(),
        group: text(),
        state: State::Failed(text()),
        verdict: Verdict {
            tone: Tone::Bad,
            icon: "failed",
            head: text(),
            since: Some(i64::MAX),
            text: endless(),
        },
        install: vec![Step {
            state: StepState::Held,
            text: text(),
            note: text(),
            hint: text(),
            since: Some(0),
        }],
        may_take: AccessDecision::No(text()),
        notice: Some(Notice {
            tone: Tone::Bad,
            lead: text(),
            text: text(),
            action: Some(Link::new(HOSTILE, "/")),
        }),
        links: vec![Link::new(HOSTILE, HOSTILE)],
        api_url: format!("https://{HOSTILE}"),
        console_url: "javascript:alert(1)".into(),
        version: text(),
        last_admin_update_error: format!("{HOSTILE}\n{}", endless()),
        created_by: text(),
        more: vec![(text(), text())],
        ..harbor()
    };
    ClusterPage {
        frame: hostile(NavItem::Clusters),
        cluster,
        grants: Section::Rows(vec![grants::strange()], u64::MAX),
        audit: Section::Rows(vec![audit::strange()], 1),
        ..full()
    }
}

impl Sample for ClusterPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let unknown = Failure {
            status: 404,
            what: "There is no such cluster".into(),
            why: "tern-dev-19 is not in westeurope: it was deleted, or lives in another region.".into(),
            side: Side::You,
            actions: vec![Link::new("Search for it", "/?q=tern-dev-19")],
            request_id: "01JD7M2N-08RA".into(),
        };
        let gone = Cluster {
            name: "tern-dev-19".into(),
            path: path("rg-tern-dev", "tern-dev-19"),
            ..Cluster::default()
        };
        let hidden = |what: &str| format!("{what} need the role auditor.");
        let away = Notice {
            tone: Tone::Bad,
            lead: "Not answering for 6 min.".into(),
            text: "Last known state, from 03:05:36 UTC.".into(),
            action: Some(Link::new("Try now", "?")),
        };
        let nobody = || Section::Rows(Vec::new(), 0);
        let mut all = vec![
            ("degraded", objects::overview(full(), objects::degraded(), objects::last_look())),
            (
                "well",
                objects::overview(
                    Self {
                        cluster: well(),
                        grants: Section::Rows(vec![grants::active().remove(2)], 1),
                        ..full()
                    },
                    objects::well(),
                    web::objects::MonitorFindings::default(),
                ),
            ),
            (
                "failed",
                objects::overview(
                    Self { cluster: failed(), ..full() },
                    objects::well(),
                    objects::last_look(),
                ),
            ),
            (
                "away",
                Self {
                    cluster: Cluster {
                        notice: Some(away),
                        state: State::NoAnswer,
                        also: Vec::new(),
                        ..harbor()
                    },
                    ..full()
                },
            ),
            (
                "imported",
                Self {
                    cluster: lab(),
                    grants: nobody(),
                    audit: Section::Rows(Vec::new(), 0),
                    ended: Section::Rows(Vec::new(), 0),
                    ..full()
                },
            ),
            (
                "blank",
                Self {
                    cluster: Cluster { more: vec![("Domain".into(), String::new())], ..gone.clone() },
                    grants: nobody(),
                    audit: Section::Rows(Vec::new(), 0),
                    ..full()
                },
            ),
            ("access", Self { tab: Tab::Access, ..full() }),
            ("access-many", many()),
            (
                "access-empty",
                Self { tab: Tab::Access, grants: nobody(), ended: Section::Rows(Vec::new(), 0), ..full() },
            ),
            (
                "panels-failed",
                Self {
                    grants: Section::Failed(store_away()),
                    audit: Section::Failed(store_away()),
                    ..full()
                },
            ),
            ("not-found", Self { cluster: gone, failure: Some(unknown), ..full() }),
            (
                "error",
                Self {
                    cluster: Cluster {
                        name: "harbor-prod-weu-01".into(),
                        path: harbor().path,
                        ..Cluster::default()
                    },
                    failure: Some(store_away()),
                    ..full()
                },
            ),
            (
                "viewer",
                Self {
                    frame: viewer(NavItem::Clusters),
                    cluster: Cluster {
                        may_take: AccessDecision::No("Access needs the role sre".into()),
                        ..harbor()
                    },
                    grants: Section::Hidden(hidden("Grants of others")),
                    audit: Section::Hidden(hidden("Audit entries")),
                    ..full()
                },
            ),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("You may not look at this cluster", "viewer")),
                    ..full()
                },
            ),
            (
                "expired",
                Self { frame: Frame { path: harbor().path, ..ended(NavItem::Clusters, "/") }, ..full() },
            ),
            ("hostile", strange()),
        ];
        all.extend(objects::samples(&full(), &strange()));
        all
    }
}
