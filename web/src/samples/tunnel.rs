use super::workloads::away;
use super::{HOSTILE, frame, hostile, no_rights, path};
use crate::{Link, NavItem, Sample, TunnelCommands, TunnelErrors, TunnelForm, TunnelPage};

const NAME: &str = "harbor-prod-weu-01";
const DOMAIN: &str = "apps.k3x9.westeurope.aroapp.io";

fn full() -> TunnelPage {
    TunnelPage {
        frame: frame(NavItem::Clusters),
        cluster: NAME.into(),
        path: path("rg-harbor-prod", NAME),
        usual: vec![
            format!("console-openshift-console.{DOMAIN}:443"),
            format!("oauth-openshift.{DOMAIN}:443"),
        ],
        domain: DOMAIN.into(),
        console: true,
        lives: vec![3600, 14_400, 28_800],
        ..TunnelPage::default()
    }
}

fn form(text: &str) -> TunnelForm {
    TunnelForm { to: text.into(), reason: text.into(), ticket: text.into(), life: String::new() }
}

fn wrong(text: &str) -> TunnelErrors {
    let text = || Some(text.to_owned());
    TunnelErrors { to: text(), life: text(), reason: text(), ticket: text() }
}

impl Sample for TunnelPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let given = TunnelCommands {
            console: format!(
                "aro console {NAME} --reason 'Look at the pipelines page' --ticket INC-48213 --life 4h"
            ),
            tunnel: format!(
                "aro tunnel {NAME} --to console-openshift-console.{DOMAIN}:443 --to grafana.{DOMAIN}:443 --reason 'Look at the pipelines page' --ticket INC-48213 --life 4h"
            ),
            places: vec![format!("console-openshift-console.{DOMAIN}:443"), format!("grafana.{DOMAIN}:443")],
        };
        let barred = (
            "You are not elevated to write on this cluster.".to_owned(),
            Some(Link::new("Elevate first", "/elevate?rights=write")),
        );
        let odd = TunnelCommands {
            console: HOSTILE.into(),
            tunnel: HOSTILE.repeat(20),
            places: vec![HOSTILE.into()],
        };
        vec![
            ("form", full()),
            ("given", Self { given: Some(given), ..full() }),
            ("imported", Self { domain: String::new(), ..full() }),
            ("no-console", Self { usual: Vec::new(), console: false, ..full() }),
            (
                "wrong",
                Self {
                    form: form("look"),
                    errors: wrong("At least 10 characters: what are you going to do?"),
                    ..full()
                },
            ),
            ("barred", Self { barred: Some(barred), ..full() }),
            ("refused", Self { failure: Some(no_rights("This needs the role sre", "sre")), ..full() }),
            ("away", Self { failure: Some(away()), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: HOSTILE.into(),
                    usual: vec![HOSTILE.into()],
                    domain: HOSTILE.into(),
                    form: form(HOSTILE),
                    errors: wrong(HOSTILE),
                    ..full()
                },
            ),
            (
                "hostile-given",
                Self {
                    frame: hostile(NavItem::Clusters),
                    cluster: HOSTILE.into(),
                    given: Some(odd),
                    ..full()
                },
            ),
        ]
    }
}
