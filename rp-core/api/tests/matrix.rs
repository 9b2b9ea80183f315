//! Which version has which member: the contract's matrix (`contract/api.md` §8.2), read again from
//! here.

use rp_api::schema::Change;

/// Columns of the matrix: a version that stands for those that show the same.
const COLUMNS: [&str; 9] = [
    "2020-04-30",
    "2021-09-01-preview",
    "2022-09-04",
    "2023-04-01",
    "2023-07-01-preview",
    "2023-09-04",
    "2023-11-22",
    "2024-08-12-preview",
    "2025-07-25",
];

/// Members and where they are: `.` there, `r` read-only, `-` not there.
const MATRIX: &[(&str, &str)] = &[
    ("id name type location tags", "........."),
    ("systemData.createdAt systemData.lastModifiedBy", "-.....ooo"),
    ("identity.type identity.userAssignedIdentities", "-------.."),
    ("identity.principalId identity.tenantId", "-------rr"),
    ("properties.provisioningState", "........."),
    (
        "properties.clusterProfile.pullSecret properties.clusterProfile.domain properties.clusterProfile.version \
         properties.clusterProfile.resourceGroupId",
        ".........",
    ),
    ("properties.clusterProfile.fipsValidatedModules", "--......."),
    ("properties.clusterProfile.oidcIssuer", "-------rr"),
    ("properties.consoleProfile.url", "......rrr"),
    (
        "properties.servicePrincipalProfile.clientId properties.servicePrincipalProfile.clientSecret",
        ".........",
    ),
    (
        "properties.platformWorkloadIdentityProfile.upgradeableTo \
         properties.platformWorkloadIdentityProfile.platformWorkloadIdentities",
        "-------..",
    ),
    ("properties.networkProfile.podCidr properties.networkProfile.serviceCidr", "........."),
    ("properties.networkProfile.softwareDefinedNetwork", "-.-------"),
    ("properties.networkProfile.outboundType", "---......"),
    ("properties.networkProfile.loadBalancerProfile.managedOutboundIps.count", "----.-..."),
    ("properties.networkProfile.loadBalancerProfile.effectiveOutboundIps", "----r-rrr"),
    (
        "properties.networkProfile.loadBalancerProfile.outboundIps \
         properties.networkProfile.loadBalancerProfile.outboundIpPrefixes \
         properties.networkProfile.loadBalancerProfile.allocatedOutboundPorts",
        "----.----",
    ),
    ("properties.networkProfile.preconfiguredNSG", "-----...."),
    ("properties.masterProfile.vmSize properties.masterProfile.subnetId", "........."),
    ("properties.masterProfile.encryptionAtHost properties.masterProfile.diskEncryptionSetId", "-........"),
    (
        "properties.workerProfiles.name properties.workerProfiles.vmSize properties.workerProfiles.diskSizeGB \
         properties.workerProfiles.subnetId properties.workerProfiles.count",
        ".........",
    ),
    ("properties.workerProfiles.encryptionAtHost properties.workerProfiles.diskEncryptionSetId", "-........"),
    ("properties.workerProfilesStatus", "-----rrrr"),
    ("properties.apiserverProfile.visibility", "........."),
    ("properties.apiserverProfile.url properties.apiserverProfile.ip", "......rrr"),
    ("properties.ingressProfiles.name properties.ingressProfiles.visibility", "........."),
    ("properties.ingressProfiles.ip", "......rrr"),
];

#[test]
fn members_stand_where_the_contract_says() {
    for (members, places) in MATRIX {
        for member in members.split_whitespace() {
            for (version, place) in COLUMNS.iter().zip(places.chars()) {
                let found = rp_api::find(version).unwrap().cluster.at(member);
                match place {
                    '-' => assert!(found.is_none(), "{version} has {member}"),
                    'r' => assert_eq!(found.unwrap().change, Change::ReadOnly, "{version} {member}"),
                    // Its object is read-only as a whole.
                    'o' => assert!(found.is_some(), "{version} has no {member}"),
                    _ => assert_ne!(found.map(|m| m.change), Some(Change::ReadOnly), "{version} {member}"),
                }
                assert_eq!(found.is_some(), place != '-', "{version} {member}");
            }
        }
    }
}

#[test]
fn versions_that_share_a_column_show_the_same() {
    let shown = |name: &str| {
        let mut all = Vec::new();
        rp_api::find(name)
            .unwrap()
            .cluster
            .walk(&mut |path, member| all.push((path.to_owned(), member.change)));
        all
    };
    assert_eq!(shown("2019-12-31-preview"), shown("2020-04-30"));
    assert_eq!(shown("2022-04-01"), shown("2022-09-04"));
}

#[test]
fn no_version_has_a_member_that_the_matrix_does_not_name() {
    let named: Vec<&str> = MATRIX.iter().flat_map(|(members, _)| members.split_whitespace()).collect();
    for version in rp_api::all() {
        version.cluster.walk(&mut |path, member| {
            let plain = path.replace("[]", "").replace("{}", "");
            let known = |named: &&str| {
                *named == plain
                    || named.starts_with(&format!("{plain}."))
                    || plain.starts_with(&format!("{named}."))
            };
            let system = plain.starts_with("systemData");
            assert!(system || named.iter().any(known), "{} {plain}", version.name);
            assert!(!member.says.is_empty(), "{plain} says nothing");
        });
    }
}

#[test]
fn what_a_version_offers_beside_clusters() {
    let offers = |name: &str| {
        let v = rp_api::find(name).unwrap();
        (
            v.admin_kubeconfig,
            v.openshift_versions,
            v.named_versions,
            v.role_sets,
            v.published.map(|p| p.stable),
        )
    };
    assert_eq!(offers("2019-12-31-preview"), (false, false, false, false, None));
    assert_eq!(offers("2020-04-30"), (false, false, false, false, Some(true)));
    assert_eq!(offers("2021-09-01-preview"), (true, false, false, false, Some(false)));
    assert_eq!(offers("2022-04-01"), (true, false, false, false, Some(true)));
    assert_eq!(offers("2023-11-22"), (true, true, false, false, Some(true)));
    assert_eq!(offers("2024-08-12-preview"), (true, true, true, true, Some(false)));
    assert_eq!(offers("2025-07-25"), (true, true, true, true, Some(true)));
    assert_eq!(offers("admin"), (false, true, true, true, None));
    assert_eq!(rp_api::all().len(), 11);
    assert!(rp_api::find("2020-04-30 ").is_none() && rp_api::find("ADMIN").is_none());
}
