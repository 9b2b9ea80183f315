//! What is put on the machines of a cluster, given to the programs that read it there.

use anyhow::{Context as _, Result, ensure};
use rp_node_config::dnsmasq;
use rp_node_config::names::{DomainName, Gateway, NodeNames};
use tests_kit::{Folder, GENEROUS, part, workspace};
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_resolves_the_names_of_its_cluster_without_the_networks_servers() -> Result<()> {
    let names = NodeNames {
        domain: DomainName::parse("cluster.example.com")?,
        api_int: [10, 0, 0, 4].into(),
        ingress: [10, 0, 2, 4].into(),
        gateway: Some(Gateway {
            address: [10, 0, 0, 9].into(),
            domains: vec![DomainName::parse("arosvc.azurecr.io")?],
        }),
    };
    let folder = Folder::new("node-files")?;
    let resolvers = folder.path().join("resolv.conf");
    folder.write("resolv.conf", "nameserver 127.0.0.2\n")?;
    // The resolvers are in this test's folder, and Debian has another group.
    let text = dnsmasq::configuration(&names)
        .replace("/etc/resolv.conf.dnsmasq", &resolvers.display().to_string())
        .replace("user=dnsmasq", "user=root")
        .replace("group=dnsmasq", "group=root");
    folder.write("dnsmasq.conf", text)?;
    // In a namespace of its own for processes too, so that no name server outlives the script, however that ends.
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--pid", "--fork", "--kill-child", "bash"])
        .arg(workspace().join("tests/stories/node_files/resolution.sh"));
    command.arg(folder.path()).arg(part("dnsmasq")?).arg(part("dig")?).kill_on_drop(true);
    let output = tokio::time::timeout(GENEROUS * 2, command.output()).await.context("it hangs")??;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "a network of its own takes root and `unshare`: {errors}");
    let expected = "\
up api.cluster.example.com 10.0.0.4
up api-int.cluster.example.com 10.0.0.4
up console.apps.cluster.example.com 10.0.2.4
up deep.a.apps.cluster.example.com 10.0.2.4
up arosvc.azurecr.io 10.0.0.9
up elsewhere.example 192.0.2.7
down api.cluster.example.com 10.0.0.4
down api-int.cluster.example.com 10.0.0.4
down console.apps.cluster.example.com 10.0.2.4
down arosvc.azurecr.io 10.0.0.9
";
    let answers = String::from_utf8_lossy(&output.stdout);
    ensure!(answers == expected, "{answers}\n{errors}");
    Ok(())
}
