use crate::{HOSTILE, Sample, ended, endless, frame, hostile, path, viewer};
use web::{Frame, JumpGroup, JumpItem, JumpPage, Link, NavItem, Tone};

fn item(text: &str, note: &str, tone: Tone, icon: &'static str) -> JumpItem {
    JumpItem { text: text.into(), note: note.into(), tone, icon, href: path("rg-harbor-prod", text) }
}

fn full() -> JumpPage {
    JumpPage {
        frame: frame(NavItem::Elsewhere),
        q: "harb no".into(),
        groups: vec![
            JumpGroup {
                words: "Clusters",
                items: vec![
                    item("harbor-prod-weu-01", "Degraded", Tone::Warn, "clusters"),
                    item("harbor-stage-nord-02", "Healthy", Tone::Ok, "clusters"),
                ],
            },
            JumpGroup {
                words: "Pages",
                items: vec![item("harbor-prod-weu-01 / Nodes", "", Tone::Mute, "right")],
            },
            JumpGroup {
                words: "Actions",
                items: vec![item("Kubeconfig for harbor-prod-weu-01", "", Tone::Mute, "key")],
            },
        ],
        elsewhere: vec![Link::new("eastus2", "https://eastus2.portal.example.net/?q=harb%20no")],
    }
}

impl Sample for JumpPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let hostile_item =
            JumpItem { text: HOSTILE.into(), note: endless(), ..item(HOSTILE, "", Tone::Bad, "clusters") };
        vec![
            ("found", full()),
            ("nothing-found", Self { groups: Vec::new(), q: "zzz".into(), ..full() }),
            (
                "one-region",
                Self {
                    elsewhere: Vec::new(),
                    frame: Frame { regions: Vec::new(), ..viewer(NavItem::Elsewhere) },
                    ..full()
                },
            ),
            ("expired", Self { frame: ended(NavItem::Elsewhere, "/jump?q=harb"), ..full() }),
            (
                "hostile",
                Self {
                    frame: hostile(NavItem::Elsewhere),
                    q: HOSTILE.into(),
                    groups: vec![JumpGroup { words: "Clusters", items: vec![hostile_item] }],
                    elsewhere: vec![Link::new(HOSTILE, "https://eastus2.portal.example.net/")],
                },
            ),
        ]
    }
}
