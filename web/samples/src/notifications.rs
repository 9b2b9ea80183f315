//! Notifications in every state.

use web::{DestinationPart, Link, NavItem, NotificationProgress, NotificationRow, NotificationsPage};

use crate::{HOSTILE, HOUR, MINUTE, NOW, Sample, ended, endless, frame, hostile, store_away};

fn row(title: &str, event: &str, progress: NotificationProgress, at: i64) -> NotificationRow {
    NotificationRow {
        title: title.into(),
        event: event.into(),
        cluster: Link::new("harbor-prod-weu-01", "/subscriptions/harbor-prod-weu-01"),
        progress,
        attempts: 1,
        at,
        ..NotificationRow::default()
    }
}

fn destination(name: &str, kind: &str, address: &str) -> DestinationPart {
    DestinationPart {
        name: name.into(),
        kind: kind.into(),
        address: address.into(),
        events: ["elevations", "break-glass", "operations"].map(str::to_owned).into(),
        last_delivered: Some(NOW - 3 * MINUTE),
        rows: vec![
            NotificationRow {
                cluster: Link::default(),
                ..row(
                    "Juno Aaltonen requests admin rights",
                    "elevation.requested",
                    NotificationProgress::Delivered,
                    NOW - 3 * MINUTE,
                )
            },
            row(
                "Operation Updating failed on harbor-prod-weu-01",
                "operation.failed",
                NotificationProgress::Delivered,
                NOW - 2 * HOUR,
            ),
        ],
        ..DestinationPart::default()
    }
}

fn failing() -> DestinationPart {
    let error = "the receiver answered 503";
    let waiting = row(
        "Cluster osprey-core-weu-02 does not answer",
        "cluster.silent",
        NotificationProgress::Waiting,
        NOW - 12 * MINUTE,
    );
    let failed = row(
        "Maintenance 'fix SSH' failed on harbor-prod-weu-01",
        "maintenance.failed",
        NotificationProgress::Failed,
        NOW - 26 * HOUR,
    );
    let dropped =
        row("Cluster quay does not answer", "cluster.silent", NotificationProgress::Dropped, NOW - 27 * HOUR);
    DestinationPart {
        waiting: 2,
        oldest: Some(NOW - 12 * MINUTE),
        error: error.into(),
        regions: vec!["westeurope".into()],
        rows: vec![
            NotificationRow { attempts: 4, error: error.into(), retry_at: Some(NOW + MINUTE), ..waiting },
            NotificationRow { attempts: 12, error: "the receiver answered 404".into(), ..failed },
            NotificationRow {
                attempts: 0,
                error: "too many notifications wait for this destination".into(),
                ..dropped
            },
        ],
        ..destination("duty", "pagerduty", "https://events.pagerduty.com")
    }
}

fn full() -> NotificationsPage {
    NotificationsPage {
        frame: frame(NavItem::Notifications),
        destinations: vec![destination("sre", "slack", "https://hooks.slack.com"), failing()],
        failure: None,
    }
}

fn strange() -> NotificationsPage {
    let rows = vec![
        NotificationRow {
            title: HOSTILE.into(),
            event: HOSTILE.into(),
            cluster: Link::new(HOSTILE, format!("/{HOSTILE}")),
            progress: NotificationProgress::Waiting,
            attempts: u64::MAX,
            error: HOSTILE.into(),
            at: i64::MIN,
            retry_at: Some(i64::MAX),
        },
        NotificationRow { title: endless(), error: endless(), at: i64::MAX, ..NotificationRow::default() },
    ];
    let destination = DestinationPart {
        name: HOSTILE.into(),
        kind: HOSTILE.into(),
        address: endless(),
        events: vec![HOSTILE.into()],
        regions: vec![endless()],
        waiting: u64::MAX,
        oldest: Some(i64::MIN),
        error: endless(),
        last_delivered: Some(i64::MAX),
        rows,
    };
    NotificationsPage {
        frame: hostile(NavItem::Notifications),
        destinations: vec![destination],
        failure: None,
    }
}

impl Sample for NotificationsPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let unused = DestinationPart {
            last_delivered: None,
            rows: Vec::new(),
            ..destination("hub", "webhook", "https://hub.example")
        };
        vec![
            ("list", full()),
            ("none", Self { destinations: Vec::new(), ..full() }),
            (
                "one",
                Self { destinations: vec![destination("sre", "slack", "https://hooks.slack.com")], ..full() },
            ),
            ("nothing-sent", Self { destinations: vec![unused], ..full() }),
            ("error", Self { failure: Some(store_away()), destinations: Vec::new(), ..full() }),
            ("expired", Self { frame: ended(NavItem::Notifications, "/notifications"), ..full() }),
            ("hostile", strange()),
        ]
    }
}
