//! The scripts, run by the real bash in a folder that stands for the root of the file system.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use rp_node_config::names::{DomainName, Gateway, NodeNames};
use rp_node_config::{NodeFiles, dnsmasq, etc_hosts, mtu};
use tempfile::TempDir;

fn names() -> NodeNames {
    let domain = |text| DomainName::parse(text).unwrap();
    let gateway = Gateway { address: [10, 0, 0, 9].into(), domains: vec![domain("arosvc.azurecr.io")] };
    NodeNames {
        domain: domain("cluster.example.com"),
        api_int: [10, 0, 0, 4].into(),
        ingress: [10, 0, 2, 4].into(),
        gateway: Some(gateway),
    }
}

/// Writes the files below that root, with their modes.
fn install(root: &Path, files: &NodeFiles) {
    for file in &files.files {
        let path = root.join(file.path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, file.contents().unwrap()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode.unwrap())).unwrap();
    }
}

fn bash(root: &Path, script: &str, more: &[&str]) -> Output {
    let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg(root.join(script)).arg(root).args(more).env("PATH", path);
    command.output().unwrap()
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A program of the machine that prints this and notes its arguments.
fn program(root: &Path, name: &str, prints: &str) {
    let folder = root.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let log = root.join(name).with_extension("log");
    let text = format!("#!/bin/bash\necho \"$*\" >>'{}'\ncat <<'END'\n{prints}\nEND\n", log.display());
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn every_script_is_bash() {
    let dns = dnsmasq::node_files(&names(), dnsmasq::Stage::Cluster, true);
    let scripts = [dns, etc_hosts::node_files(&names()), mtu::node_files()].map(|group| group.files);
    let mut checked = 0;
    for file in scripts.iter().flatten() {
        let text = String::from_utf8(file.contents().unwrap()).unwrap();
        if !text.starts_with("#!/bin/bash\n") {
            continue;
        }
        let output = Command::new("bash").args(["-n", "-c", &text]).output().unwrap();
        succeeded(&output);
        checked += 1;
    }
    assert_eq!(checked, 4);
}

#[test]
fn hosts_get_our_lines_once_and_keep_theirs() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    install(root, &etc_hosts::node_files(&names()));
    // The last line has no end, and one of ours is from before.
    fs::write(
        root.join("etc/hosts"),
        "127.0.0.1 localhost\n9.9.9.9 old # openshift-aro-etchosts-resolver\n1.2.3.4 theirs",
    )
    .unwrap();
    let script = "usr/local/bin/aro-etchosts-resolver.sh";
    succeeded(&bash(root, script, &[]));
    let hosts = read(root, "etc/hosts");
    let mark = "# openshift-aro-etchosts-resolver";
    let expected = format!(
        "127.0.0.1 localhost\n1.2.3.4 theirs\n10.0.0.4\tapi.cluster.example.com api-int.cluster.example.com {mark}\n\
         10.0.0.9\tarosvc.azurecr.io {mark}\n"
    );
    assert_eq!(hosts, expected);
    let modified = fs::metadata(root.join("etc/hosts")).unwrap().modified().unwrap();
    succeeded(&bash(root, script, &[]));
    assert_eq!(read(root, "etc/hosts"), hosts);
    assert_eq!(fs::metadata(root.join("etc/hosts")).unwrap().modified().unwrap(), modified);
    assert!(!root.join("etc/hosts.d/aro.tmp").exists());
}

#[test]
fn empty_lines_are_left_out() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    install(root, &etc_hosts::node_files(&names()));
    fs::write(root.join("etc/hosts.d/aro.conf"), "\n10.0.0.4\tapi\n   \n").unwrap();
    succeeded(&bash(root, "usr/local/bin/aro-etchosts-resolver.sh", &[]));
    assert_eq!(read(root, "etc/hosts"), "10.0.0.4\tapi # openshift-aro-etchosts-resolver\n");
}

const ROUTE: &str = "168.63.129.16 via 10.0.1.1 dev eth0 src 10.0.1.7 uid 0";
const PREPARE: &str = "usr/local/bin/aro-dnsmasq-pre.sh";

#[test]
fn the_servers_and_domains_of_the_network_are_told() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    install(root, &dnsmasq::node_files(&names(), dnsmasq::Stage::Cluster, false));
    program(root, "ip", ROUTE);
    let devices = "IP4.DNS[1]:10.9.0.53\nIP4.DNS[2]:10.0.1.7\nIP4.DNS[3]:10.9.0.54\n\nIP4.DNS[1]:10.9.0.53\nIP4.DOMAIN[1]:one.example\nIP4.DOMAIN[2]:two.example";
    // nmcli gives one field; here it gives all, and the names of the fields tell them apart.
    let script = format!(
        "#!/bin/bash\necho \"$*\" >>'{}'\n[[ $1 == -t ]] || exit 0\ngrep \"^${{3/./[.]}}\" <<'END' || true\n{devices}\nEND\n",
        root.join("nmcli.log").display()
    );
    program(root, "nmcli", "");
    fs::write(root.join("bin/nmcli"), script).unwrap();
    succeeded(&bash(root, PREPARE, &["1"]));
    assert_eq!(read(root, "etc/resolv.conf.dnsmasq"), "nameserver 10.9.0.53\nnameserver 10.9.0.54\n");
    let settings = "etc/NetworkManager/conf.d/aro-dns.conf";
    let expected =
        "[global-dns]\nsearches=one.example,two.example\n\n[global-dns-domain-*]\nservers=10.0.1.7\n";
    assert_eq!(read(root, settings), expected);
    for file in [settings, "etc/resolv.conf.dnsmasq"] {
        assert_eq!(fs::metadata(root.join(file)).unwrap().permissions().mode() & 0o777, 0o644);
    }
    let reloads = |log: String| log.lines().filter(|line| line.contains("reload")).count();
    assert_eq!(reloads(read(root, "nmcli.log")), 2);
    succeeded(&bash(root, PREPARE, &["1"]));
    assert_eq!(reloads(read(root, "nmcli.log")), 2, "nothing has changed");
}

#[test]
fn without_an_answer_of_networkmanager_the_resolver_that_is_there_counts() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    install(root, &dnsmasq::node_files(&names(), dnsmasq::Stage::Bootstrap, false));
    program(root, "ip", ROUTE);
    program(root, "nmcli", "");
    fs::write(
        root.join("etc/resolv.conf"),
        "# c\nnameserver 127.0.0.53\nnameserver 10.9.0.53\nsearch a.example b.example\n",
    )
    .unwrap();
    succeeded(&bash(root, PREPARE, &["1"]));
    assert_eq!(read(root, "etc/resolv.conf.dnsmasq"), "nameserver 10.9.0.53\n");
    assert!(read(root, "etc/NetworkManager/conf.d/aro-dns.conf").contains("searches=a.example,b.example\n"));
}

#[test]
fn what_is_not_known_is_said_and_what_was_known_stays() {
    let root = TempDir::new().unwrap();
    let root = root.path();
    install(root, &dnsmasq::node_files(&names(), dnsmasq::Stage::Cluster, false));
    program(root, "nmcli", "");
    program(root, "ip", "");
    let output = bash(root, PREPARE, &["1"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no route"));
    program(root, "ip", ROUTE);
    let output = bash(root, PREPARE, &["1"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no name server"));
    fs::write(root.join("etc/resolv.conf.dnsmasq"), "nameserver 10.9.0.53\n").unwrap();
    succeeded(&bash(root, PREPARE, &["1"]));
    assert_eq!(read(root, "etc/resolv.conf.dnsmasq"), "nameserver 10.9.0.53\n");
}
