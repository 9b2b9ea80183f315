use crate::{HOSTILE, Sample, ended, frame, hostile, no_rights, path, store_away, viewer};
use web::{ConfirmChoices, ConfirmField, ConfirmPage, Failure, Link, NavItem, Side};

fn facts() -> Vec<(String, String)> {
    [
        ("Cluster", "harbor-prod-weu-01"),
        ("Rights", "Write"),
        ("Reason", "Replace a lost etcd member"),
        ("Ticket", ""),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn why(required: bool) -> ConfirmField {
    ConfirmField {
        name: "why",
        label: "Why".into(),
        hint: "Goes into the audit. The owner of the grant reads it.".into(),
        required,
        ..ConfirmField::default()
    }
}

fn revoke() -> ConfirmPage {
    ConfirmPage {
        frame: frame(NavItem::Access),
        name: "revoke",
        icon: "revoke",
        title: "Revoke this kubeconfig?".into(),
        back: Link::new("Access", "/access"),
        text: vec!["It stops working at once, everywhere. 2 streams are cut.".into()],
        facts: facts(),
        command: "aro grants revoke g-0024".into(),
        action: "/access/g-0024/revoke".into(),
        fields: vec![why(false)],
        kind: "danger",
        submit: "Revoke".into(),
        running: "Revoking…".into(),
        ..ConfirmPage::default()
    }
}

fn everything() -> ConfirmPage {
    let typed = ConfirmField {
        name: "confirm",
        label: "Type “everything” to confirm".into(),
        hint: "It cannot be undone: everybody asks anew.".into(),
        required: true,
        exact: true,
        ..ConfirmField::default()
    };
    ConfirmPage {
        name: "revoke-many",
        title: "Revoke everything?".into(),
        text: vec![
            "Every grant of every person and robot ends: 212 now. Everybody who works on a cluster through this portal is cut off.".into(),
            "Sessions of the portal go on.".into(),
        ],
        facts: Vec::new(),
        command: "aro grants revoke --everything".into(),
        action: "/access/revoke".into(),
        hidden: vec![("everything".into(), "true".into())],
        fields: vec![why(true), typed],
        submit: "Revoke 212 grants".into(),
        ..revoke()
    }
}

fn approve() -> ConfirmPage {
    ConfirmPage {
        name: "approve",
        icon: "power",
        title: "Give Tobias Onyeka write on gannet-hr-weu-03?".into(),
        back: Link::new("Elevations", "/elevations"),
        text: vec!["For 1 h, from now on. You can end it at any time, and so can they.".into()],
        command: "aro elevations approve e-1a".into(),
        action: "/elevations/e-1a/approve".into(),
        kind: "power",
        submit: "Approve".into(),
        running: "Approving…".into(),
        ..revoke()
    }
}

fn cancel_maintenance() -> ConfirmPage {
    let facts = [
        ("Cluster", "harbor-prod-weu-01"),
        ("Starts after", "2026-11-21T22:00:00Z"),
        ("Not after", "2026-11-28T22:00:00Z"),
        ("Waits", ""),
    ];
    ConfirmPage {
        name: "cancel-maintenance",
        icon: "wrench",
        title: "Cancel fix SSH?".into(),
        back: Link::new("Operations", "/operations"),
        text: vec!["It does not start. Once it has begun it cannot be cancelled.".into()],
        facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        command: "aro manifests cancel harbor-prod-weu-01 7d1f2a90-5a10-4b6c-9d0c-2b1f6f2f8a11 --why '…'"
            .into(),
        action: "/maintenance/7d1f2a90-5a10-4b6c-9d0c-2b1f6f2f8a11/cancel".into(),
        kind: "danger",
        submit: "Cancel the task".into(),
        running: "Cancelling…".into(),
        leave: "Keep it",
        fields: vec![why(true)],
        ..revoke()
    }
}

fn cancel_without_reason() -> ConfirmPage {
    let error = "The reason must say in 10 to 1000 characters what you are going to do.";
    let field = ConfirmField { value: "no".into(), error: Some(error.into()), ..why(true) };
    ConfirmPage { fields: vec![field], ..cancel_maintenance() }
}

fn review() -> ConfirmPage {
    let values = [("yes", "In order"), ("no", "Not in order")];
    ConfirmPage {
        name: "review",
        icon: "eye",
        title: "Review the break-glass of Sefa Moreau".into(),
        text: vec![
            "What they did with it is in the audit of its grants. Your finding goes into the audit too."
                .into(),
        ],
        choices: Some(ConfirmChoices {
            legend: "What was done is".into(),
            name: "fine",
            values: values.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: String::new(),
            error: None,
        }),
        fields: vec![ConfirmField { name: "note", label: "Note".into(), ..why(true) }],
        kind: "primary",
        submit: "Keep this review".into(),
        running: "Keeping…".into(),
        ..approve()
    }
}

fn extend() -> ConfirmPage {
    let values = [("3600", "1 h"), ("14400", "4 h"), ("28800", "8 h (maximum)")];
    ConfirmPage {
        name: "extend",
        icon: "clock",
        title: "Extend this kubeconfig?".into(),
        text: vec!["It ends in 24 min. It may live until 15:00 UTC at most.".into()],
        choices: Some(ConfirmChoices {
            legend: "From now on for".into(),
            name: "life",
            values: values.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: "14400".into(),
            error: None,
        }),
        fields: Vec::new(),
        command: "aro grants extend g-0024 --life 4h".into(),
        kind: "primary",
        submit: "Extend".into(),
        running: "Extending…".into(),
        ..revoke()
    }
}

fn flag() -> ConfirmPage {
    let values = [("=true", "true"), ("=false", "false"), ("=", "Hands off"), ("default", "Default (true)")];
    let facts = [("Cluster", "harbor-prod-weu-01"), ("In the document", "true"), ("Default", "true")];
    ConfirmPage {
        name: "flag",
        icon: "pen",
        title: "Set aro.guardrails.policies.aro-privileged-namespace-deny.managed".into(),
        back: Link::new("ARO operator", "/"),
        text: vec!["Policy for namespaces of the platform.".into()],
        facts: facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        choices: Some(ConfirmChoices {
            legend: "Value".into(),
            name: "value",
            values: values.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: "=true".into(),
            error: None,
        }),
        fields: vec![why(true)],
        command: "aro operator set harbor-prod-weu-01 aro.guardrails.policies.aro-privileged-namespace-deny.managed=VALUE --reason REASON --wait".into(),
        kind: "power",
        submit: "Set flag".into(),
        running: "Setting…".into(),
        ..revoke()
    }
}

fn drain() -> ConfirmPage {
    let ways = [("evict", "Evict, budgets are honoured"), ("force", "Delete, budgets are not honoured")];
    ConfirmPage {
        name: "act",
        icon: "stop",
        title: "Drain harbor-worker-2?".into(),
        text: [
            "The node is cordoned and its pods are evicted. Pods of daemon sets and static pods stay.",
            "2 pods can be moved now: openshift-dns/node-resolver-7xk2p, openshift-console/console-5d9f.",
            "1 pod blocked by a budget of disruption: openshift-ingress/router-default-6f (needs 1 healthy pods and has 1 currently).",
        ]
        .map(str::to_owned)
        .into(),
        facts: vec![
            ("Cluster".into(), "harbor-prod-weu-01".into()),
            ("Node".into(), "harbor-worker-2".into()),
        ],
        command: "aro node drain harbor-prod-weu-01 harbor-worker-2 --reason '…'".into(),
        action: format!("{}/act", path("rg-harbor-prod", "harbor-prod-weu-01")),
        choices: Some(ConfirmChoices {
            legend: "How".into(),
            name: "how",
            values: ways.map(|(value, words)| (value.to_owned(), words.to_owned())).into(),
            chosen: "evict".into(),
            error: None,
        }),
        fields: vec![why(true)],
        kind: "danger",
        submit: "Drain".into(),
        running: "Draining…".into(),
        ..revoke()
    }
}

/// One that the page does not go on with by itself.
fn drain_progress() -> ConfirmPage {
    ConfirmPage {
        name: "drain-progress",
        icon: "busy",
        title: "Draining harbor-worker-2".into(),
        facts: vec![
            ("Cluster".into(), "harbor-prod-weu-01".into()),
            ("Node".into(), "cordoned".into()),
            ("Asked to leave".into(), "17 pods".into()),
            ("Still on the node".into(), "1 pod".into()),
        ],
        command: String::new(),
        choices: None,
        fields: Vec::new(),
        kind: "primary",
        submit: "Go on".into(),
        leave: "Stop",
        ..drain()
    }
}

impl Sample for ConfirmPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let text = || HOSTILE.to_owned();
        let strange = |exact| ConfirmField {
            name: if exact { "exact" } else { "why" },
            label: text(),
            hint: text(),
            value: format!("{HOSTILE}</textarea>"),
            required: true,
            exact,
            error: Some(text()),
        };
        let twice = Failure {
            status: 409,
            what: "Mirela Kask has approved it already".into(),
            why: "4 s ago. Nothing was changed by you.".into(),
            side: Side::You,
            actions: vec![Link::new("To the elevations", "/elevations")],
            request_id: "01JD7M2R-0KQ8".into(),
        };
        let again = Failure {
            status: 403,
            what: "Sign in again first".into(),
            why: "This needs a sign-in of the last 15 min. You come back here.".into(),
            actions: vec![Link::new("Sign in again", "/api/login?fresh=1&redirect_uri=/access/revoke")],
            ..twice.clone()
        };
        let wrong = ConfirmField {
            value: "everythin".into(),
            error: Some("Type everything, in these letters.".into()),
            ..everything().fields.swap_remove(1)
        };
        let wrong_review =
            review().choices.map(|c| ConfirmChoices { error: Some("Choose one.".into()), ..c });
        vec![
            ("revoke", revoke()),
            ("everything", everything()),
            (
                "everything-mistake",
                Self {
                    fields: vec![ConfirmField { value: "signing key leaked".into(), ..why(true) }, wrong],
                    ..everything()
                },
            ),
            ("approve", approve()),
            ("twice", Self { failure: Some(twice), ..approve() }),
            ("review", review()),
            ("review-mistake", Self { choices: wrong_review, ..review() }),
            ("extend", extend()),
            ("cancel-maintenance", cancel_maintenance()),
            ("cancel-maintenance-mistake", cancel_without_reason()),
            ("flag", flag()),
            ("drain", drain()),
            ("drain-progress", drain_progress()),
            ("sign-in-again", Self { failure: Some(again), ..everything() }),
            ("store-away", Self { error: Some(store_away()), ..revoke() }),
            ("error", Self { failure: Some(store_away()), ..revoke() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Access),
                    failure: Some(no_rights("This needs the role admin", "admin")),
                    ..everything()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Access, "/access"), ..revoke() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Access),
                    title: text(),
                    back: Link::new(text(), format!("/{}", web::text::encode(HOSTILE))),
                    text: vec![text()],
                    facts: vec![(text(), text())],
                    command: text(),
                    hidden: vec![("person".into(), text())],
                    choices: Some(ConfirmChoices {
                        legend: text(),
                        name: "fine",
                        values: vec![(text(), text())],
                        chosen: text(),
                        error: Some(text()),
                    }),
                    fields: vec![strange(false), strange(true)],
                    error: Some(Failure { what: text(), why: text(), ..store_away() }),
                    submit: text(),
                    running: text(),
                    ..revoke()
                },
            ),
        ]
    }
}
