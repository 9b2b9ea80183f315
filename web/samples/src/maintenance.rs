//! The form that orders maintenance, and the maintenance of all clusters, in every state.

use crate::{
    DAY, HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, path, store_away, viewer,
};
use web::objects::{
    ManifestProgress, ManifestRow, OrderBox, OrderErrors, OrderForm, OrderPart, ScheduleProgress,
    ScheduleRow, TaskChoice,
};
use web::{Link, MaintenancePage, ManifestList, NavItem};

const FIX_SSH: &str = "888fc221-b059-49db-bd02-22ad86cccd6b";
const RESTART: &str = "e170d9c4-58b2-4a36-b6f7-4d2c81f09a3e";

fn task(id: &str, name: &str, about: &str, missing: &str) -> TaskChoice {
    TaskChoice { id: id.into(), name: name.into(), about: about.into(), missing: missing.into() }
}

fn order() -> OrderBox {
    let renewal = "Renews the certificate of the cluster's own identity.";
    OrderBox {
        action: path("rg-harbor-prod", "harbor-prod-weu-01") + "/operations",
        tasks: vec![
            task(
                "9b741734-6505-447f-8510-85eb0ae561a2",
                "TLS certificate rotation",
                "Copies the certificates of API server and ingress from the region's vault into the cluster.",
                "",
            ),
            task(
                "7c3f8e2d-9a4b-4f1e-8c5d-2b6a9e7f3d1c",
                "MSI certificate renewal",
                renewal,
                "the data plane of managed identities is not asked",
            ),
            task(
                FIX_SSH,
                "fix SSH",
                "Repairs rules, probes and pools of the load balancer for SSH to the control plane.",
                "",
            ),
            task(
                RESTART,
                "restart machine",
                "Cordons and drains the node of a machine, stops and starts the machine, and waits for its node.",
                "",
            ),
        ],
        least_reason: 10,
        most_reason: 1000,
        ..OrderBox::default()
    }
}

/// The form as it is shown first.
pub(super) fn order_form() -> OrderPart {
    OrderPart::Form(Box::new(order()))
}

/// The form as the page of a machine fills it in.
pub(super) fn order_of_machine() -> OrderPart {
    let machine = "harbor-prod-weu-01-x7k2p-worker-westeurope1-q2w9z".to_owned();
    let form = OrderForm { task: RESTART.to_owned(), machine, ..OrderForm::default() };
    OrderPart::Form(Box::new(OrderBox { form, ..order() }))
}

/// The person has to elevate first.
pub(super) fn order_barred() -> OrderPart {
    let way = Link::new("Elevate first", "/elevate?cluster=harbor-prod-weu-01&rights=write");
    OrderPart::Barred("You are not elevated to write on this cluster.".into(), Some(way))
}

/// Something is wrong with every field.
pub(super) fn order_mistakes() -> OrderPart {
    let text = |text: &str| Some(text.to_owned());
    let errors = OrderErrors {
        task: text("Choose a task."),
        reason: text("The reason must say in 10 to 1000 characters what you are going to do."),
        run_after: text("An instant is written as 2026-11-21, 2026-11-21T03:12 or in RFC 3339."),
        run_before: text("It must be later than the start."),
        priority: text("It is a whole number from 0 (first) to 1000 (last)."),
        machine: text("Must be the name of a machine."),
        form: Some(store_away()),
    };
    let form = OrderForm {
        task: FIX_SSH.into(),
        reason: "SSH".into(),
        run_after: "2026-11-21T22:00".into(),
        run_before: "2026-11-20T22:00".into(),
        priority: "1001".into(),
        machine: "worker 1".into(),
        force: "on".into(),
    };
    OrderPart::Form(Box::new(OrderBox { form, errors, ..order() }))
}

/// Whose every word is hostile.
pub(super) fn order_strange() -> OrderPart {
    let text = || Some(HOSTILE.to_owned());
    let word = || HOSTILE.to_owned();
    let errors = OrderErrors {
        task: text(),
        reason: text(),
        run_after: text(),
        run_before: text(),
        priority: text(),
        machine: text(),
        form: None,
    };
    let form = OrderForm {
        task: word(),
        reason: format!("{HOSTILE}</textarea>"),
        run_after: word(),
        run_before: word(),
        priority: word(),
        machine: word(),
        force: word(),
    };
    let tasks = vec![task(HOSTILE, HOSTILE, &endless(), HOSTILE)];
    OrderPart::Form(Box::new(OrderBox { tasks, form, errors, ..order() }))
}

fn row(cluster: &str, task: &str, progress: ManifestProgress, at: i64, text: &str) -> ManifestRow {
    ManifestRow {
        task: task.into(),
        progress,
        text: text.into(),
        scheduled: task != "fix SSH",
        at,
        cluster: Link::new(cluster, format!("{}/operations", path("rg-fleet", cluster))),
        cancel: String::new(),
    }
}

fn list(rows: Vec<ManifestRow>) -> ManifestList {
    ManifestList { all: u64::try_from(rows.len()).unwrap_or(u64::MAX), rows }
}

fn schedule(task: &str, progress: ScheduleProgress, at: i64, failed: &str) -> ScheduleRow {
    ScheduleRow {
        task: task.into(),
        progress,
        calendar: "Tue,Wed *-*-* 4:00".into(),
        spread: "in waves to 5, 25 and 100 % of the clusters, one every 24h, each over 4h".into(),
        failed: failed.into(),
        at,
    }
}

fn schedules() -> Vec<ScheduleRow> {
    vec![
        schedule("TLS certificate rotation", ScheduleProgress::Enabled, NOW + 9 * HOUR, ""),
        schedule(
            "operator update",
            ScheduleProgress::Enabled,
            NOW + 2 * DAY,
            "1 of 212 clusters failed: quarry-batch-neu-03",
        ),
        schedule("OTel logging default", ScheduleProgress::Disabled, 0, ""),
    ]
}

fn stopped() -> Vec<ScheduleRow> {
    let stop = schedule(
        "fix SSH",
        ScheduleProgress::Stopped,
        NOW - 20 * MINUTE,
        "6 of 50 clusters failed: harbor-prod-weu-01, gannet-hr-weu-03, orchid-lab-weu-02, quarry-batch-neu-03, finch-weu-07, …",
    );
    [vec![stop], schedules()].concat()
}

fn full() -> MaintenancePage {
    let api = "did not succeed after 5 times, failing -- TransientError: the API server does not answer";
    MaintenancePage {
        frame: frame(NavItem::Maintenance),
        running: list(vec![
            row("harbor-prod-weu-01", "operator update", ManifestProgress::Running, NOW - 41 * MINUTE, ""),
            row("gannet-hr-weu-03", "fix SSH", ManifestProgress::Running, NOW - 20, ""),
        ]),
        failed: list(vec![
            row(
                "quarry-batch-neu-03",
                "TLS certificate rotation",
                ManifestProgress::Failed,
                NOW - 3 * HOUR,
                api,
            ),
            row(
                "orchid-lab-weu-02",
                "sync Cluster object",
                ManifestProgress::Late,
                NOW - 2 * DAY,
                "timed out at 2026-11-19T03:12:00Z",
            ),
        ]),
        waiting: list(vec![
            row(
                "orchid-lab-weu-02",
                "fix SSH",
                ManifestProgress::Planned,
                NOW - 4 * MINUTE,
                "waits: the cluster is Updating",
            ),
            row("harbor-prod-weu-01", "ACR token checker", ManifestProgress::Planned, NOW + 90 * MINUTE, ""),
            row("gone-weu-09", "ACR token checker", ManifestProgress::Planned, NOW + 3 * DAY, ""),
        ]),
        schedules: schedules(),
        days: 7,
        ..MaintenancePage::default()
    }
}

fn many() -> MaintenancePage {
    let planned = |n: i64| {
        let cluster = format!("cluster-{n:04}-weu");
        row(&cluster, "TLS certificate rotation", ManifestProgress::Planned, NOW + n * MINUTE, "")
    };
    let waiting = ManifestList { rows: (0..200).map(planned).collect(), all: 10_214 };
    MaintenancePage { waiting, ..full() }
}

fn strange() -> MaintenancePage {
    let one = |progress, at| ManifestRow {
        task: HOSTILE.into(),
        progress,
        text: endless(),
        scheduled: true,
        at,
        cluster: Link::new(HOSTILE, format!("/{HOSTILE}")),
        cancel: format!("/{HOSTILE}"),
    };
    MaintenancePage {
        frame: hostile(NavItem::Maintenance),
        q: HOSTILE.into(),
        running: list(vec![one(ManifestProgress::Running, i64::MIN)]),
        failed: list(vec![one(ManifestProgress::Failed, i64::MAX), one(ManifestProgress::Late, 1)]),
        waiting: ManifestList { rows: vec![one(ManifestProgress::Planned, i64::MAX)], all: u64::MAX },
        schedules: vec![ScheduleRow {
            task: HOSTILE.into(),
            progress: ScheduleProgress::Stopped,
            calendar: HOSTILE.into(),
            spread: endless(),
            failed: HOSTILE.into(),
            at: i64::MIN,
        }],
        ..full()
    }
}

impl Sample for MaintenancePage {
    fn samples() -> Vec<(&'static str, Self)> {
        let none = || Self {
            running: ManifestList::default(),
            failed: ManifestList::default(),
            waiting: ManifestList::default(),
            schedules: Vec::new(),
            ..full()
        };
        vec![
            ("list", full()),
            ("none", none()),
            ("one", Self { running: list(full().running.rows.into_iter().take(1).collect()), ..none() }),
            ("nothing-found", Self { q: "nowhere".into(), ..none() }),
            ("stopped", Self { schedules: stopped(), ..full() }),
            ("many", many()),
            ("incomplete", Self { incomplete: true, ..full() }),
            ("viewer", Self { frame: viewer(NavItem::Maintenance), ..full() }),
            ("error", Self { failure: Some(store_away()), ..none() }),
            ("expired", Self { frame: ended(NavItem::Maintenance, "/maintenance"), ..full() }),
            ("hostile", strange()),
        ]
    }
}
