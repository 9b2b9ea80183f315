use super::{HOSTILE, ended, frame, hostile, no_rights, path, store_away, viewer};
use crate::{
    Failure, Frame, KubeconfigErrors, KubeconfigForm, KubeconfigPage, Link, NavItem, Rights, RightsChoice,
    Sample, Side,
};

fn choices(write: Option<&str>, admin: Option<&str>) -> Vec<RightsChoice> {
    let choice = |rights, barred: Option<&str>| RightsChoice {
        rights,
        barred: barred.map(str::to_owned),
        way: barred.map(|_| Link::new("Elevate first", "/elevate?cluster=harbor-prod-weu-01")),
        note: String::new(),
    };
    vec![choice(Rights::Read, None), choice(Rights::Write, write), choice(Rights::Admin, admin)]
}

fn elevated() -> Vec<RightsChoice> {
    let mut all = choices(None, Some("Your elevation gives write."));
    if let Some(write) = all.get_mut(1) {
        write.note = "Your elevation ends at 03:36 UTC; from then on it only reads.".into();
    }
    all
}

fn full() -> KubeconfigPage {
    let name = "harbor-prod-weu-01";
    let needed = Some("You are not elevated.");
    KubeconfigPage {
        frame: frame(NavItem::Clusters),
        cluster: name.into(),
        path: path("rg-harbor-prod", name),
        choices: choices(needed, needed),
        lives: vec![3600, 14_400, 28_800],
        held: 2,
        identity: "system:aro-sre".into(),
        ..KubeconfigPage::default()
    }
}

fn mistaken() -> KubeconfigPage {
    KubeconfigPage {
        form: KubeconfigForm {
            rights: "write".into(),
            life: "28800".into(),
            reason: "etcd".into(),
            ticket: "INC-48213".into(),
        },
        errors: KubeconfigErrors {
            reason: Some("Too short: say in at least 10 characters what you are going to do.".into()),
            ..KubeconfigErrors::default()
        },
        choices: choices(None, None),
        held: 1,
        ..full()
    }
}

impl Sample for KubeconfigPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let limit = Failure {
            status: 422,
            what: "You hold 20 grants, the most there are".into(),
            why: "Revoke one that you no longer need, then try again.".into(),
            side: Side::You,
            actions: vec![Link::new("My access", "/access")],
            request_id: "01JD7M2R-0KQ8".into(),
        };
        let wrong = KubeconfigErrors {
            rights: Some("Write needs the role elevated. Read-only is yours.".into()),
            life: Some("At most 8 h.".into()),
            reason: Some("Missing: say in at least 10 characters what you are going to do.".into()),
            ticket: Some("At most 100 characters.".into()),
            form: None,
        };
        let all_hostile = KubeconfigErrors {
            rights: Some(HOSTILE.into()),
            life: Some(HOSTILE.into()),
            reason: Some(HOSTILE.into()),
            ticket: Some(HOSTILE.into()),
            form: Some(Failure {
                what: HOSTILE.into(),
                why: HOSTILE.into(),
                request_id: HOSTILE.into(),
                ..limit.clone()
            }),
        };
        let form = KubeconfigForm {
            rights: HOSTILE.into(),
            life: HOSTILE.into(),
            reason: format!("{HOSTILE}</textarea>"),
            ticket: HOSTILE.into(),
        };
        vec![
            ("first", Self { held: 0, ..full() }),
            ("form", full()),
            (
                "elevated",
                Self {
                    frame: Frame { elevations: vec![super::elevation()], ..frame(NavItem::Clusters) },
                    choices: elevated(),
                    ..full()
                },
            ),
            ("mistake", mistaken()),
            ("mistakes", Self { errors: wrong, ..mistaken() }),
            (
                "limit",
                Self {
                    errors: KubeconfigErrors { form: Some(limit), ..KubeconfigErrors::default() },
                    ..full()
                },
            ),
            (
                "store-away",
                Self {
                    errors: KubeconfigErrors { form: Some(store_away()), ..KubeconfigErrors::default() },
                    ..full()
                },
            ),
            ("error", Self { failure: Some(store_away()), ..full() }),
            (
                "no-rights",
                Self {
                    frame: viewer(NavItem::Clusters),
                    failure: Some(no_rights("A kubeconfig needs the role sre", "sre")),
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Clusters, "/"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: HOSTILE.into(),
                    path: format!("/{}", crate::text::encode(HOSTILE)),
                    identity: HOSTILE.into(),
                    form,
                    errors: all_hostile,
                    ..full()
                },
            ),
        ]
    }
}
