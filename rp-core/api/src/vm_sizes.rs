//! Sizes of virtual machines that clusters may have (`contract/api.md` §7). Names carry the prefix
//! `Standard_`.

/// Sizes of one quota family.
#[derive(Debug)]
struct Family {
    /// The name of the quota.
    name: &'static str,
    /// For masters and workers: name without prefix, cores.
    both: &'static [(&'static str, u32)],
    /// For workers only.
    worker: &'static [(&'static str, u32)],
    /// For workers of development subscriptions only.
    development: &'static [(&'static str, u32)],
}

/// A size as quotas count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub cores: u32,
    /// The name of the quota that it counts against.
    pub family: &'static str,
}

/// What a machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Master,
    Worker,
    /// A worker in a subscription with the feature `RequireD2sWorkers`: only the development sizes.
    DevelopmentWorker,
}

/// Suffixes of sizes that need OpenShift 4.19.
const SINCE_4_19: &[&str] = &["s_v6", "ds_v6", "ls_v6", "lds_v6"];

/// The size, when a machine of that role may have it. Upper and lower case count.
pub fn find(name: &str, role: Role) -> Option<Size> {
    let short = name.strip_prefix("Standard_")?;
    FAMILIES.iter().find_map(|family| {
        let lists: &[_] = match role {
            Role::Master => &[family.both],
            Role::Worker => &[family.both, family.worker],
            Role::DevelopmentWorker => &[family.development],
        };
        let found = lists.iter().flat_map(|list| list.iter()).find(|(name, _)| *name == short);
        found.map(|(_, cores)| Size { cores: *cores, family: family.name })
    })
}

/// The sizes that a machine of that role may have, by name.
pub fn for_role(role: Role) -> std::collections::BTreeMap<String, Size> {
    let of = |family: &'static Family| {
        let lists: &[&'static [(&'static str, u32)]] = match role {
            Role::Master => &[family.both],
            Role::Worker => &[family.both, family.worker],
            Role::DevelopmentWorker => &[family.development],
        };
        let sizes = lists.iter().flat_map(|list| list.iter());
        let named = sizes
            .map(|(name, cores)| (format!("Standard_{name}"), Size { cores: *cores, family: family.name }));
        named.collect::<Vec<_>>()
    };
    FAMILIES.iter().flat_map(of).collect()
}

/// The size for any role, for counting quotas.
pub fn any(name: &str) -> Option<Size> {
    find(name, Role::Worker).or_else(|| find(name, Role::DevelopmentWorker))
}

/// Whether that version of OpenShift supports the size; a version that cannot be parsed is not refused here.
pub fn supports_version(name: &str, version: &str) -> bool {
    let newer = name.starts_with("Standard_D") && SINCE_4_19.iter().any(|end| name.ends_with(end))
        || name.starts_with("Standard_L") && name.ends_with("s_v4");
    !newer || crate::text::version(version).is_none_or(|version| version >= (4, 19, 0))
}

static FAMILIES: &[Family] = &[
    Family {
        name: "standardDSv3Family",
        both: &[("D8s_v3", 8), ("D16s_v3", 16), ("D32s_v3", 32)],
        worker: &[("D4s_v3", 4)],
        development: &[("D2s_v3", 2)],
    },
    Family {
        name: "standardDSv4Family",
        both: &[("D8s_v4", 8), ("D16s_v4", 16), ("D32s_v4", 32)],
        worker: &[("D4s_v4", 4), ("D64s_v4", 64)],
        development: &[("D2s_v4", 2)],
    },
    Family {
        name: "standardDSv5Family",
        both: &[("D8s_v5", 8), ("D16s_v5", 16), ("D32s_v5", 32)],
        worker: &[("D4s_v5", 4), ("D64s_v5", 64), ("D96s_v5", 96)],
        development: &[("D2s_v5", 2)],
    },
    Family {
        name: "standardDASv4Family",
        both: &[("D8as_v4", 8), ("D16as_v4", 16), ("D32as_v4", 32)],
        worker: &[("D4as_v4", 4), ("D64as_v4", 64), ("D96as_v4", 96)],
        development: &[],
    },
    Family {
        name: "standardDASv5Family",
        both: &[("D8as_v5", 8), ("D16as_v5", 16), ("D32as_v5", 32)],
        worker: &[("D4as_v5", 4), ("D64as_v5", 64), ("D96as_v5", 96)],
        development: &[],
    },
    Family {
        name: "standardDDSv5Family",
        both: &[("D8ds_v5", 8), ("D16ds_v5", 16), ("D32ds_v5", 32)],
        worker: &[("D4ds_v5", 4), ("D48ds_v5", 48), ("D64ds_v5", 64), ("D96ds_v5", 96)],
        development: &[],
    },
    Family {
        name: "standardDSv6Family",
        both: &[
            ("D4s_v6", 4),
            ("D8s_v6", 8),
            ("D16s_v6", 16),
            ("D32s_v6", 32),
            ("D48s_v6", 48),
            ("D64s_v6", 64),
            ("D96s_v6", 96),
        ],
        worker: &[],
        development: &[],
    },
    Family {
        name: "standardDDSv6Family",
        both: &[
            ("D4ds_v6", 4),
            ("D8ds_v6", 8),
            ("D16ds_v6", 16),
            ("D32ds_v6", 32),
            ("D48ds_v6", 48),
            ("D64ds_v6", 64),
            ("D96ds_v6", 96),
        ],
        worker: &[],
        development: &[],
    },
    Family {
        name: "standardESv3Family",
        both: &[("E8s_v3", 8), ("E16s_v3", 16), ("E32s_v3", 32), ("E64is_v3", 64)],
        worker: &[("E4s_v3", 4)],
        development: &[],
    },
    Family {
        name: "standardESv4Family",
        both: &[
            ("E8s_v4", 8),
            ("E16s_v4", 16),
            ("E20s_v4", 20),
            ("E32s_v4", 32),
            ("E48s_v4", 48),
            ("E64s_v4", 64),
        ],
        worker: &[("E2s_v4", 2), ("E4s_v4", 4)],
        development: &[],
    },
    Family {
        name: "standardESv5Family",
        both: &[
            ("E8s_v5", 8),
            ("E16s_v5", 16),
            ("E20s_v5", 20),
            ("E32s_v5", 32),
            ("E48s_v5", 48),
            ("E64s_v5", 64),
            ("E96s_v5", 96),
        ],
        worker: &[("E2s_v5", 2), ("E4s_v5", 4)],
        development: &[],
    },
    Family {
        name: "standardEASv4Family",
        both: &[
            ("E4as_v4", 4),
            ("E8as_v4", 8),
            ("E16as_v4", 16),
            ("E20as_v4", 20),
            ("E32as_v4", 32),
            ("E48as_v4", 48),
            ("E64as_v4", 64),
            ("E96as_v4", 96),
        ],
        worker: &[],
        development: &[],
    },
    Family {
        name: "standardEASv5Family",
        both: &[
            ("E8as_v5", 8),
            ("E16as_v5", 16),
            ("E20as_v5", 20),
            ("E32as_v5", 32),
            ("E48as_v5", 48),
            ("E64as_v5", 64),
            ("E96as_v5", 96),
        ],
        worker: &[],
        development: &[],
    },
    Family { name: "standardEISv4Family", both: &[("E80is_v4", 80)], worker: &[], development: &[] },
    Family { name: "standardEIDSv4Family", both: &[("E80ids_v4", 80)], worker: &[], development: &[] },
    Family { name: "standardEDSv5Family", both: &[], worker: &[("E96ds_v5", 96)], development: &[] },
    Family { name: "standardEISv5Family", both: &[("E104is_v5", 104)], worker: &[], development: &[] },
    Family { name: "standardEIDSv5Family", both: &[("E104ids_v5", 104)], worker: &[], development: &[] },
    Family {
        name: "standardFSv2Family",
        both: &[("F72s_v2", 72)],
        worker: &[("F4s_v2", 4), ("F8s_v2", 8), ("F16s_v2", 16), ("F32s_v2", 32)],
        development: &[],
    },
    Family { name: "standardMSFamily", both: &[("M128ms", 128)], worker: &[], development: &[] },
    Family {
        name: "standardLsv2Family",
        both: &[],
        worker: &[
            ("L4s", 4),
            ("L8s", 8),
            ("L16s", 16),
            ("L32s", 32),
            ("L8s_v2", 8),
            ("L16s_v2", 16),
            ("L32s_v2", 32),
            ("L48s_v2", 48),
            ("L64s_v2", 64),
        ],
        development: &[],
    },
    Family {
        name: "standardLsv3Family",
        both: &[],
        worker: &[("L8s_v3", 8), ("L16s_v3", 16), ("L32s_v3", 32), ("L48s_v3", 48), ("L64s_v3", 64)],
        development: &[],
    },
    Family {
        name: "standardLsv4Family",
        both: &[],
        worker: &[
            ("L4s_v4", 4),
            ("L8s_v4", 8),
            ("L16s_v4", 16),
            ("L32s_v4", 32),
            ("L48s_v4", 48),
            ("L64s_v4", 64),
            ("L80s_v4", 80),
        ],
        development: &[],
    },
    Family {
        name: "standardDLSv6Family",
        both: &[],
        worker: &[
            ("D4ls_v6", 4),
            ("D8ls_v6", 8),
            ("D16ls_v6", 16),
            ("D32ls_v6", 32),
            ("D48ls_v6", 48),
            ("D64ls_v6", 64),
            ("D96ls_v6", 96),
        ],
        development: &[],
    },
    Family {
        name: "standardDLDSv6Family",
        both: &[],
        worker: &[
            ("D4lds_v6", 4),
            ("D8lds_v6", 8),
            ("D16lds_v6", 16),
            ("D32lds_v6", 32),
            ("D48lds_v6", 48),
            ("D64lds_v6", 64),
            ("D96lds_v6", 96),
        ],
        development: &[],
    },
    Family {
        name: "Standard NCASv3_T4 Family",
        both: &[],
        worker: &[("NC4as_T4_v3", 4), ("NC8as_T4_v3", 8), ("NC16as_T4_v3", 16), ("NC64as_T4_v3", 64)],
        development: &[],
    },
    Family {
        name: "Standard NCSv3 Family",
        both: &[],
        worker: &[("NC6s_v3", 6), ("NC12s_v3", 12), ("NC24s_v3", 24), ("NC24rs_v3", 24)],
        development: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_for_its_roles() {
        assert_eq!(
            find("Standard_D8s_v3", Role::Master),
            Some(Size { cores: 8, family: "standardDSv3Family" })
        );
        assert!(
            find("Standard_D4s_v3", Role::Master).is_none()
                && find("Standard_D4s_v3", Role::Worker).is_some()
        );
        assert!(find("Standard_D2s_v3", Role::Worker).is_none());
        assert!(find("Standard_D2s_v3", Role::DevelopmentWorker).is_some());
        assert!(find("Standard_D4s_v3", Role::DevelopmentWorker).is_none());
        assert!(find("standard_d8s_v3", Role::Master).is_none() && find("D8s_v3", Role::Master).is_none());
        assert!(any("Standard_D2s_v5").is_some() && any("Standard_A1").is_none());
    }

    #[test]
    fn new_sizes_need_a_new_openshift() {
        for name in [
            "Standard_D8s_v6",
            "Standard_D8ds_v6",
            "Standard_D8lds_v6",
            "Standard_D4ls_v6",
            "Standard_L8s_v4",
        ] {
            assert!(any(name).is_some(), "{name}");
            assert!(
                !supports_version(name, "4.18.30")
                    && supports_version(name, "4.19.0")
                    && supports_version(name, "what"),
                "{name}"
            );
        }
        assert!(
            supports_version("Standard_D8s_v5", "4.12.1") && supports_version("Standard_L8s_v3", "4.12.1")
        );
    }

    #[test]
    fn no_size_stands_twice() {
        let mut names: Vec<_> = FAMILIES
            .iter()
            .flat_map(|f| [f.both, f.worker, f.development].into_iter().flatten().map(|(name, _)| *name))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
