//! The bytes that machines get. When a change of them is meant, `ARO_GOLDEN=write cargo test -p rp-node-config` writes the
//! files again; every machine of a cluster restarts when it gets the change.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::PathBuf;

use rp_node_config::ignition::Config;
use rp_node_config::names::{DomainName, Gateway, NodeNames};
use rp_node_config::registries::{Mirror, Repository};
use rp_node_config::{NodeFiles, dnsmasq, etc_hosts, machine_config, mtu, registries};
use serde_json::Value;

fn names(gateway: bool) -> NodeNames {
    let domain = |text| DomainName::parse(text).unwrap();
    NodeNames {
        domain: domain("cluster.example.com"),
        api_int: [10, 0, 0, 4].into(),
        ingress: [10, 0, 2, 4].into(),
        gateway: gateway.then(|| Gateway {
            address: [10, 0, 0, 9].into(),
            domains: ["login.microsoftonline.com", "arosvc.azurecr.io", "login.microsoftonline.com"]
                .map(domain)
                .to_vec(),
        }),
    }
}

fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ARO_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{}", path.display());
}

fn check_machine_config(name: &str, files: NodeFiles) {
    let config = machine_config::machine_config(name, "worker", &files.into_config(), &[]);
    check(&format!("{name}.json"), &format!("{config:#}\n"));
}

#[test]
fn machine_configs_are_the_same_bytes_as_ever() {
    let cluster = dnsmasq::node_files(&names(true), dnsmasq::Stage::Cluster, true);
    check_machine_config(&dnsmasq::machine_config_name("worker"), cluster);
    check_machine_config(&etc_hosts::machine_config_name("worker"), etc_hosts::node_files(&names(true)));
    check_machine_config(&mtu::machine_config_name("worker"), mtu::node_files());
    let repository = |text| Repository::parse(text).unwrap();
    let mirrors = [Mirror {
        source: repository("quay.io/openshift-release-dev/ocp-release"),
        mirrors: vec![repository("arosvc.azurecr.io/openshift-release-dev/ocp-release")],
    }];
    check_machine_config("90-aro-worker-registries", registries::node_files(&mirrors));
    let config = Config::empty();
    let blocked = machine_config::machine_config(
        "99-master-disable-algif-aead",
        "master",
        &config,
        &["initcall_blacklist=algif_aead_init"],
    );
    check("99-master-disable-algif-aead.json", &format!("{blocked:#}\n"));
}

#[test]
fn the_bootstrap_machine_gets_the_same_bytes_as_ever() {
    let mut config = Config::empty();
    dnsmasq::node_files(&names(false), dnsmasq::Stage::Bootstrap, false).put_into(&mut config);
    mtu::node_files().put_into(&mut config);
    check("bootstrap.ign", &String::from_utf8(config.to_bytes()).unwrap());
}

#[test]
fn without_a_gateway_no_line_names_one() {
    let alone = names(false);
    assert_eq!(dnsmasq::configuration(&alone).matches("address=").count(), 3);
    assert_eq!(etc_hosts::entries(&alone).lines().count(), 1);
    let mut served = names(true);
    let both = dnsmasq::configuration(&served);
    assert_eq!(both.matches("address=/login.microsoftonline.com/10.0.0.9").count(), 1);
    served.gateway.as_mut().unwrap().domains.clear();
    assert_eq!(etc_hosts::entries(&served).lines().count(), 1, "an address without names is no line");
}

#[test]
fn files_are_put_once_and_what_is_unknown_stays() {
    let text = r#"{"ignition":{"version":"3.5.0","security":{"tls":{}},"config":{"merge":[{"source":"https://10.0.0.4:22623/config/worker","verification":{}}]}},"passwd":{"users":[{"name":"core"}]},"storage":{"directories":[{"path":"/d"}],"files":[{"path":"/etc/dnsmasq.conf","contents":{"source":"data:,a%20b"},"group":{"id":5}}]},"systemd":{"units":[{"name":"dnsmasq.service","mask":true}]}}"#;
    let read = Config::parse(text.as_bytes()).unwrap();
    let as_it_was: Value = serde_json::from_str(text).unwrap();
    assert_eq!(read.to_json(), as_it_was);
    assert_eq!(read.file("/etc/dnsmasq.conf").unwrap().contents().unwrap(), b"a b");
    let mut changed = read;
    let files = dnsmasq::node_files(&names(true), dnsmasq::Stage::Cluster, false);
    files.put_into(&mut changed);
    let once = changed.to_bytes();
    files.put_into(&mut changed);
    assert_eq!(changed.to_bytes(), once);
    assert_eq!((changed.storage.files.len(), changed.systemd.units.len()), (2, 1));
    assert_eq!(
        changed.file("/etc/dnsmasq.conf").unwrap().contents().unwrap(),
        dnsmasq::configuration(&names(true)).into_bytes()
    );
    assert_eq!(changed.to_json()["passwd"], as_it_was["passwd"]);
}

#[test]
fn repositories_have_nothing_to_escape() {
    for bad in ["", "quay.io/", "/a", "a b", "a\"b", "a\nb", "Quay.io/a", "a\\b", "quay.io//a"] {
        assert!(Repository::parse(bad).is_err(), "{bad:?}");
    }
    assert!(Repository::parse("registry.example.com:5000/a/b_c-d.e").is_ok());
}
