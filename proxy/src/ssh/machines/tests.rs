use proptest::prelude::*;

use super::*;

fn host(name: &str, control_plane: bool) -> Host {
    Host {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        control_plane,
        ready: true,
        address: Some("10.0.0.9".to_owned()),
        machine: Some(name.to_owned()),
    }
}

fn through() -> MachineRoute {
    MachineRoute::Through { address: "10.0.0.9".to_owned(), port: 22 }
}

#[test]
fn masters_have_the_pool_of_their_last_digit_and_others_go_through_them() {
    let hosts = vec![
        host("harbor-x7k2p-worker-weu1-abcde", false),
        host("harbor-x7k2p-master-2", true),
        host("harbor-x7k2p-master-abcde-0", true),
        host("harbor-x7k2p-master-1", true),
    ];
    let machines = from_hosts(&hosts);
    let told: Vec<_> = machines.iter().map(|machine| (machine.name.as_str(), machine.way.clone())).collect();
    assert_eq!(
        told,
        [
            ("harbor-x7k2p-master-2", MachineRoute::Master(2)),
            ("harbor-x7k2p-master-abcde-0", MachineRoute::Master(0)),
            ("harbor-x7k2p-master-1", MachineRoute::Master(1)),
            ("harbor-x7k2p-worker-weu1-abcde", through()),
        ]
    );
}

#[test]
fn two_masters_in_one_pool_are_reached_through_a_third() {
    let hosts = vec![host("c-master-0", true), host("c-master-new-0", true), host("c-master-1", true)];
    let ways: Vec<_> = from_hosts(&hosts).into_iter().map(|machine| machine.way).collect();
    assert_eq!(ways, [through(), through(), MachineRoute::Master(1)]);
}

#[test]
fn masters_without_numbers_are_counted() {
    let hosts = vec![host("alpha", true), host("beta", true), host("gamma", true), host("delta", true)];
    let ways: Vec<_> = from_hosts(&hosts).into_iter().map(|machine| machine.way).collect();
    assert_eq!(ways, [MachineRoute::Master(0), MachineRoute::Master(1), MachineRoute::Master(2), through()]);
}

#[test]
fn a_machine_without_an_address_is_not_offered() {
    let nowhere = Host { address: None, ..host("c-worker-1", false) };
    assert!(from_hosts(&[nowhere]).is_empty());
}

fn cluster() -> Vec<Machine> {
    from_hosts(&[
        host("c-x-master-0", true),
        host("c-x-master-abcde-1", true),
        host("c-x-worker-a-1", false),
        host("c-x-worker-b-1", false),
    ])
}

#[test]
fn names_may_be_short_where_they_are_clear() {
    let named = |name: &str| pick(&cluster(), name).map(|machine| machine.name);
    assert_eq!(named("master-0").unwrap(), "c-x-master-0");
    assert_eq!(named("C-X-MASTER-0").unwrap(), "c-x-master-0");
    assert_eq!(named("b-1").unwrap(), "c-x-worker-b-1");
    assert_eq!(named("master-1").unwrap(), "c-x-master-abcde-1", "the one in pool 1");
    match named("1") {
        Err(MachinesError::Ambiguous { among, .. }) => assert_eq!(among.len(), 3),
        other => panic!("{other:?}"),
    }
    for unknown in ["", "-", "x", "master-2", "master-9", "master-", "ster-0"] {
        assert!(matches!(named(unknown), Err(MachinesError::Unknown(_))), "{unknown}");
    }
}

#[test]
fn an_imported_machine_is_another_when_it_stands_elsewhere() {
    let machine = |address: &str| SshMachine {
        name: "n".to_owned(),
        address: address.to_owned(),
        port: 22,
        host_keys: Vec::new(),
    };
    let (one, two) = (imported(&machine("10.0.0.1")), imported(&machine("10.0.0.2")));
    assert_ne!(one.uid, two.uid);
    assert_eq!(one.way, MachineRoute::Direct { host: "10.0.0.1".to_owned(), port: 22 });
}

#[tokio::test]
async fn masters_that_were_signed_in_to_are_remembered_by_their_newest_keys() {
    use rp_base::{ManualClock, Secret, SharedClock, Timestamp};
    use rp_documents::host_key::HostKeySource;
    use rp_documents::{ResourceId, Unknown};
    use rp_net::{Credential, DialerOptions, Endpoint, Networks, PrivateWay};

    let clock: SharedClock = Arc::new(ManualClock::at(Timestamp::from_seconds(100)));
    let store = rp_database::in_memory(clock);
    let keys: Typed<HostKey> = Typed::new(Arc::clone(&store));
    let id = ResourceId::imported("lab").unwrap();
    let known = [
        ("c-master-0", "old", 1),
        ("c-master-new-0", "new", 2),
        ("c-worker-1", "w", 3),
        ("c-master-2", "two", 4),
    ];
    for (machine, uid, at) in known {
        let document = HostKey {
            id: HostKey::id_of(&id, uid),
            target: id.clone(),
            machine: machine.to_owned(),
            keys: vec!["ssh-ed25519 AAAA".to_owned()],
            learned: HostKeySource::Cluster,
            at: Timestamp::from_seconds(at),
            by: None,
            refused: None,
            unknown: Unknown::new(),
        };
        keys.create(document).await.unwrap();
    }
    let options = DialerOptions {
        private: PrivateWay::Direct,
        networks: Networks::default(),
        keepalive: Duration::from_secs(30),
    };
    let none = || Credential::Token(Secret::new(String::new()));
    let target = Target {
        id,
        source: Source::Aro,
        endpoint: Endpoint::Private { ip: [10, 0, 0, 1].into() },
        server_name: "kubernetes".to_owned(),
        ca_pem: String::new(),
        read: none(),
        admin: none(),
        as_groups: Vec::new(),
        ssh: None,
        fingerprint: 0,
    };
    let machines =
        ClusterMachines::remembering(Dialer::new(options), store).remembered(&target).await.unwrap();
    let mut told: Vec<_> =
        machines.iter().map(|machine| (machine.uid.as_str(), machine.way.clone())).collect();
    told.sort_by_key(|(uid, _)| (*uid).to_owned());
    assert_eq!(told, [("new", MachineRoute::Master(0)), ("two", MachineRoute::Master(2))]);
}

proptest! {
    #[test]
    fn no_pool_is_given_twice(names in prop::collection::vec("[a-c]-(master|worker)-[0-4]", 0..8)) {
        let mut names = names;
        names.sort();
        names.dedup();
        let hosts: Vec<Host> = names.iter().map(|name| host(name, name.contains("master"))).collect();
        let mut pools: Vec<u8> = from_hosts(&hosts)
            .into_iter()
            .filter_map(|machine| match machine.way { MachineRoute::Master(number) => Some(number), _ => None })
            .collect();
        let count = pools.len();
        pools.sort_unstable();
        pools.dedup();
        prop_assert_eq!(pools.len(), count);
        prop_assert!(pools.iter().all(|number| *number < MASTERS));
    }

    #[test]
    fn any_name_is_found_or_refused(name in "\\PC{0,60}") {
        let _ = pick(&cluster(), &name);
    }
}
