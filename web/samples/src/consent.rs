use crate::{HOSTILE, MINUTE, NOW, Sample, endless, frame, hostile};
use web::{ConsentPage, DevicePage, NavItem};

fn pair(label: &str, value: &str) -> (String, String) {
    (label.into(), value.into())
}

fn here() -> ConsentPage {
    ConsentPage {
        frame: frame(NavItem::Elsewhere),
        action: "/api/cli/login".into(),
        fields: vec![pair("state", "x")],
        about: vec![
            pair("Program", "aro, on the computer of this browser"),
            pair("Answers to", "127.0.0.1:41873"),
            pair("Your address", "198.51.100.7"),
        ],
        gets: vec![
            "List clusters and look at them.".into(),
            "Take access to clusters for you, with a reason each time.".into(),
        ],
        until: NOW + 12 * 60 * MINUTE,
        ..ConsentPage::default()
    }
}

fn elsewhere() -> ConsentPage {
    ConsentPage {
        action: "/device".into(),
        code: "BCDF-GHJK".into(),
        elsewhere: true,
        asked: Some(NOW - MINUTE),
        about: vec![
            pair("Calls itself", "aro on jump-02"),
            pair("Address", "203.0.113.9"),
            pair("Your address", "198.51.100.7, another one"),
        ],
        ..here()
    }
}

impl Sample for ConsentPage {
    fn samples() -> Vec<(&'static str, Self)> {
        let hostile = Self {
            frame: hostile(NavItem::Elsewhere),
            action: HOSTILE.into(),
            code: HOSTILE.into(),
            fields: vec![pair(HOSTILE, HOSTILE)],
            about: vec![pair("Calls itself", HOSTILE), pair("Address", &endless())],
            gets: vec![HOSTILE.into()],
            ..elsewhere()
        };
        vec![("here", here()), ("elsewhere", elsewhere()), ("hostile", hostile)]
    }
}

impl Sample for DevicePage {
    fn samples() -> Vec<(&'static str, Self)> {
        let wrong = Self {
            frame: frame(NavItem::Elsewhere),
            typed: "BCDF-GHJK".into(),
            error: Some("No program waits with this code.".into()),
        };
        let hostile =
            Self { frame: hostile(NavItem::Elsewhere), typed: HOSTILE.into(), error: Some(HOSTILE.into()) };
        vec![
            ("empty", Self { frame: frame(NavItem::Elsewhere), ..Self::default() }),
            ("wrong", wrong),
            ("hostile", hostile),
        ]
    }
}
