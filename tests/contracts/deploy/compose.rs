//! `deploy/compose`: what can be proven of it without a container engine.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Folder, binary, part, workspace};

use super::{documents, run, settings_are_right};

const FOLDER: &str = "deploy/compose";

fn text(file: &str) -> Result<String> {
    let path = workspace().join(FOLDER).join(file);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn compose() -> Result<Value> {
    documents(&text("compose.yaml")?)?.pop().context("compose.yaml is empty")
}

/// Makes the files of `prepare` in a folder of the test.
fn prepared() -> Result<Folder> {
    let folder = Folder::new("compose")?;
    let script = workspace().join(FOLDER).join("prepare");
    run(&script, &[&folder.path().display().to_string()])?;
    Ok(folder)
}

#[test]
fn its_settings_are_right() -> Result<()> {
    settings_are_right(&text("aro.toml")?)
}

#[test]
fn each_process_is_a_role_with_the_rights_of_none() -> Result<()> {
    let compose = compose()?;
    let services = compose["services"].as_object().context("services")?;
    let ours = services.iter().filter(|(_, service)| service["image"] == "${ARO_IMAGE:-aro:latest}");
    let mut names = Vec::new();
    for (name, service) in ours {
        let command = service["command"].as_array().with_context(|| format!("{name} has no command"))?;
        let mut words: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
        words.push("--help");
        run(&binary("aro")?, &words)?;
        ensure!(service["read_only"] == true && service["cap_drop"][0] == "ALL", "{name} may do more");
        let settings = service["volumes"][0].as_str().context("a volume")?;
        ensure!(settings == "./aro.toml:/etc/aro/aro.toml:ro", "{name}: {settings}");
        names.push(name.as_str());
    }
    ensure!(names == ["maintenance", "monitor", "portal-1", "portal-2", "proxy", "rp"], "{names:?}");
    Ok(())
}

#[test]
fn every_file_that_is_mounted_is_in_the_checkout_or_prepared() -> Result<()> {
    let (compose, prepared) = (compose()?, prepared()?);
    for (name, service) in compose["services"].as_object().context("services")? {
        for volume in service["volumes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let source = volume.split(':').next().unwrap_or_default();
            let folder = match source.strip_prefix("./state") {
                Some(_) => prepared.path().to_owned(),
                None => workspace().join(FOLDER),
            };
            let named = !source.starts_with('.');
            ensure!(named || folder.join(source).exists(), "{name}: there is no {source}");
        }
    }
    // What the settings name is below state/aro.
    let settings: toml::Value = toml::from_str(&text("aro.toml")?)?;
    for section in settings.as_table().context("sections")?.values() {
        for file in
            section.as_table().into_iter().flat_map(|keys| keys.values()).filter_map(|value| value.as_str())
        {
            if let Some(name) = file.strip_prefix("/etc/aro/state/") {
                ensure!(prepared.path().join("state/aro").join(name).exists(), "nothing makes {file}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_keyring_that_is_prepared_seals() -> Result<()> {
    let folder = prepared()?;
    let keyring = folder.path().join("state/aro/keyring.json");
    let mut command = Command::new(binary("aro")?);
    command.args(["keys", "seal", "--place", "Collection/id/member", "--keyring"]).arg(keyring);
    let secret = folder.write("secret", "text")?;
    let output = command.stdin(Stdio::from(fs::File::open(secret)?)).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    ensure!(!output.stdout.is_empty(), "nothing was sealed");
    Ok(())
}

#[test]
fn haproxy_and_prometheus_take_their_files() -> Result<()> {
    let folder = prepared()?;
    let (inside, here) = ("/usr/local/etc/haproxy/ca", folder.path().join("state/ca").display().to_string());
    let settings = text("haproxy.cfg")?;
    ensure!(settings.contains(inside), "haproxy.cfg names no {inside}");
    let file = folder.write("haproxy.cfg", settings.replace(inside, &here))?;
    run(&part("haproxy")?, &["-c", "-f", &file.display().to_string()])?;
    let prometheus = workspace().join(FOLDER).join("prometheus.yaml");
    run(&part("promtool")?, &["check", "config", "--syntax-only", &prometheus.display().to_string()])?;
    // Paths of rules are those of the container: the files are beside it.
    for rules in documents(&text("prometheus.yaml")?)?[0]["rule_files"].as_array().context("rule_files")? {
        let name =
            rules.as_str().and_then(|path| path.strip_prefix("/etc/prometheus/rules/")).context("a path")?;
        ensure!(workspace().join("deploy/monitoring").join(name).exists(), "there is no {name}");
    }
    Ok(())
}

#[test]
fn the_providers_groups_are_those_of_the_settings() -> Result<()> {
    let realm: Value = serde_json::from_str(&text("realm.json")?)?;
    let groups: Vec<&str> =
        realm["groups"].as_array().into_iter().flatten().filter_map(|group| group["name"].as_str()).collect();
    let settings: toml::Value = toml::from_str(&text("aro.toml")?)?;
    for (role, named) in settings["roles"].as_table().context("[roles]")? {
        for group in named.as_array().into_iter().flatten().filter_map(|group| group.as_str()) {
            ensure!(groups.contains(&group), "roles.{role}: the realm has no group {group}");
        }
    }
    let client = &realm["clients"][0];
    ensure!(Some(client["clientId"].as_str().unwrap_or_default()) == settings["oidc"]["client_id"].as_str());
    let callback = format!("{}/callback", settings["portal"]["url"].as_str().context("portal.url")?);
    ensure!(client["redirectUris"][0] == callback.as_str(), "{}", client["redirectUris"]);
    Ok(())
}
