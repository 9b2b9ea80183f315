//! The published descriptions of the resource provider's API (`docs/reference/swagger`): fresh, sound to Microsoft's own
//! validator, and never less than what was published before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use rp_api::{Version, swagger};
use serde_json::Value;
use tests_kit::{Folder, part, workspace};

use crate::generated::printed;

fn folder() -> PathBuf {
    workspace().join("docs/reference/swagger")
}

fn published() -> impl Iterator<Item = &'static Version> {
    rp_api::all().iter().filter(|version| version.published.is_some())
}

#[test]
fn documents_and_examples_are_what_the_versions_say() -> Result<()> {
    let mut wanted = BTreeMap::new();
    for version in published() {
        for (name, text) in swagger::files(version) {
            wanted.insert(folder().join(version.name).join(name), text);
        }
    }
    for path in files_below(&folder())? {
        ensure!(wanted.contains_key(&path), "{} is not generated", path.display());
    }
    for (path, text) in wanted {
        let committed = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(committed == text, "{} is stale; write it anew: make generated", path.display());
    }
    Ok(())
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => found.extend(files_below(&entry.path())?),
            false => found.push(entry.path()),
        }
    }
    Ok(found)
}

#[test]
fn the_command_prints_the_document_of_one_version() -> Result<()> {
    let version = published().last().context("no version")?;
    let text = printed(&["swagger", version.name])?;
    ensure!(Some(serde_json::from_str::<Value>(&text)?) == swagger::document(version));
    for unknown in ["2019-12-31-preview", "admin", "2025-07-26"] {
        ensure!(printed(&["swagger", unknown]).is_err(), "{unknown} was printed");
    }
    Ok(())
}

/// `surfaces/VERSION.txt` holds what a version promised when it was published. A line `has …` must still be kept; a line
/// `must …` that is not there would be a new demand on callers. What a version gains is added to its file.
#[test]
fn nothing_is_removed_or_narrowed_within_a_version() -> Result<()> {
    let mut wrong = Vec::new();
    for version in published() {
        let path = workspace().join(format!("tests/contracts/surfaces/{}.txt", version.name));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let promised: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        let document = swagger::document(version).context("published")?;
        let now = swagger::surface(&document);
        let name = version.name;
        let is = |line: &&String, kind: &str| line.starts_with(kind);
        wrong.extend(
            promised.difference(&now).filter(|l| is(l, "has ")).map(|l| format!("{name}: gone: {l}")),
        );
        wrong.extend(
            now.difference(&promised).filter(|l| is(l, "must ")).map(|l| format!("{name}: new: {l}")),
        );
        let more: Vec<&String> = now.difference(&promised).filter(|line| is(line, "has ")).collect();
        wrong.extend(more.iter().map(|line| format!("{name}: add to {}: {line}", path.display())));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What of a stable version a later one no longer has, or demands anew: callers that move on meet exactly this.
#[test]
fn what_later_versions_take_away_is_known() -> Result<()> {
    const KNOWN: &[(&str, &[&str])] = &[
        ("2021-09-01-preview", &[]),
        ("2022-04-01", &["softwareDefinedNetwork", "SoftwareDefinedNetwork", "VMSize ="]),
        ("2022-09-04", &[]),
        ("2023-04-01", &[]),
        ("2023-07-01-preview", &[]),
        (
            "2023-09-04",
            &["LoadBalancerProfile", "loadBalancerProfile", "OutboundIP", "ManagedOutboundIPs", "Cancelled"],
        ),
        ("2023-11-22", &["is read-only"]),
        ("2024-08-12-preview", &["systemData"]),
        (
            "2025-07-25",
            &[
                "Tags",
                "VMSize",
                "OIDCIssuer",
                "UpgradeableTo",
                "vmSize",
                "oidcIssuer",
                "upgradeableTo",
                "List.nextLink",
                "List.value",
                "kubeconfig",
                "kubeadminPassword",
                ".tags",
            ],
        ),
    ];
    let all: Vec<&Version> = published().collect();
    for pair in all.windows(2) {
        let [before, after] = pair else { continue };
        let known = KNOWN.iter().find(|(name, _)| *name == after.name);
        let (_, known) =
            known.with_context(|| format!("{} is new: say here what it takes away", after.name))?;
        let surface =
            |version: &Version| swagger::document(version).map(|document| swagger::surface(&document));
        let (was, is) = (surface(before).context("published")?, surface(after).context("published")?);
        let gone = was.difference(&is).filter(|line| line.starts_with("has "));
        // A demand on what is new narrows nothing.
        // An operation is a method and a path; a member is one word.
        let part = |line: &String| {
            let words = if line.contains(" /") { 2 } else { 1 };
            line.split(' ').skip(1).take(words).collect::<Vec<_>>().join(" ")
        };
        let there: BTreeSet<String> = was.iter().map(part).collect();
        let demanded =
            is.difference(&was).filter(|line| line.starts_with("must ") && there.contains(&part(line)));
        for line in gone.chain(demanded) {
            ensure!(known.iter().any(|part| line.contains(part)), "{} changes {line}", after.name);
        }
    }
    Ok(())
}

/// What the validator finds in those documents and their examples.
fn validated(documents: &[PathBuf]) -> Result<BTreeMap<String, Vec<Value>>> {
    let output = Command::new(part("node")?).arg(part("oav")?).args(documents).output()?;
    if !output.status.success() {
        bail!("oav: {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn microsofts_validator_finds_nothing() -> Result<()> {
    let documents: Vec<PathBuf> =
        published().map(|version| folder().join(version.name).join(swagger::FILE)).collect();
    let found = validated(&documents)?;
    ensure!(found.len() == documents.len(), "{} of {} documents", found.len(), documents.len());
    for (file, found) in found {
        ensure!(found.is_empty(), "{file}: {found:#?}");
    }
    Ok(())
}

/// The validator looks: a secret in an answer, a read-only member in a request, an unknown member, a reference to nowhere.
#[test]
fn microsofts_validator_would_find_what_is_wrong() -> Result<()> {
    let version = published().last().context("no version")?;
    let scratch = Folder::new("oav")?;
    let place = |name: &str| scratch.path().join(name);
    for (name, text) in swagger::files(version) {
        let path = place(&name);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        let mut value: Value = serde_json::from_str(&text)?;
        match name.as_str() {
            "examples/OpenShiftClusters_Get.json" => {
                let profile = "/responses/200/body/properties/clusterProfile";
                value.pointer_mut(profile).context("profile")?["pullSecret"] = Value::from("hush");
            }
            "examples/OpenShiftClusters_CreateOrUpdate.json" => {
                let properties = &mut value["parameters"]["parameters"]["properties"];
                properties["consoleProfile"] = serde_json::json!({"url": "https://x/"});
                properties["surprise"] = Value::from(1);
            }
            _ => {}
        }
        std::fs::write(path, value.to_string())?;
    }
    let found = validated(&[place(swagger::FILE)])?;
    let codes: BTreeSet<&str> = found.values().flatten().filter_map(|one| one["code"].as_str()).collect();
    for code in
        ["SECRET_PROPERTY", "READONLY_PROPERTY_NOT_ALLOWED_IN_REQUEST", "OBJECT_ADDITIONAL_PROPERTIES"]
    {
        ensure!(codes.contains(code), "{code} was not found, but {codes:?}");
    }
    let path = place(swagger::FILE);
    let text = std::fs::read_to_string(&path)?.replace("#/definitions/Visibility", "#/definitions/Nowhere");
    std::fs::write(&path, text)?;
    ensure!(validated(&[path]).map_or(true, |found| found.values().any(|found| !found.is_empty())));
    Ok(())
}

/// What the descriptions of `versions` and the models of the client in `package` differ in, by version; the published
/// client of earlier versions is a package of its own.
fn differences(versions: &[&str], package: Option<PathBuf>) -> Result<BTreeMap<String, Value>> {
    let mut command = Command::new(part("python")?);
    command.arg(workspace().join("tests/python/rp_models.py")).arg(folder()).args(versions);
    if let Some(package) = package {
        command.env("PYTHONPATH", package);
    }
    let output = command.output()?;
    ensure!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Rows of the table of known differences in `docs/guides/api-versions.md`: the difference, and the versions that have it.
fn known_differences() -> Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(workspace().join("docs/guides/api-versions.md"))?;
    let rows = text.lines().filter(|line| line.starts_with("| `ours ") || line.starts_with("| `theirs "));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, difference, versions, reason, _] = cells[..] else { bail!("four bars and a reason: {row}") };
        ensure!(!reason.is_empty(), "no reason: {row}");
        Ok((difference.trim_matches('`').to_owned(), versions.to_owned()))
    })
    .collect()
}

/// Names of members and models, values of enumerations, what is required and what is read-only, as in the models of the
/// Python client that Microsoft publishes, for each version that it speaks.
#[test]
fn descriptions_agree_with_the_published_client_but_for_known_differences() -> Result<()> {
    const EARLIER: [&str; 7] = [
        "2020-04-30",
        "2021-09-01-preview",
        "2022-04-01",
        "2022-09-04",
        "2023-04-01",
        "2023-09-04",
        "2023-11-22",
    ];
    let mut found = differences(&EARLIER, Some(part("python-rp")?))?;
    found.extend(differences(&["2025-07-25"], None)?);
    let known = known_differences()?;
    let is_known = |version: &str, line: &str| {
        known.iter().any(|(difference, versions)| {
            let same = difference.strip_suffix('*').map_or(difference == line, |head| line.starts_with(head));
            same && versions.split(", ").any(|each| each == version)
        })
    };
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (version, result) in &found {
        let compared = result["compared"].as_u64().unwrap_or_default();
        ensure!(compared > 70, "{version}: {compared} members were compared");
        for line in result["differences"].as_array().context("differences")?.iter().filter_map(Value::as_str)
        {
            if !is_known(version, line) {
                wrong.push(format!("{version}: {line}"));
            }
            seen.insert(format!("{version} {line}"));
        }
    }
    for (difference, versions) in &known {
        for version in versions.split(", ") {
            let head = format!("{version} {}", difference.trim_end_matches('*'));
            if !seen.iter().any(|line| line.starts_with(&head)) {
                wrong.push(format!("{version}: {difference} is in the table and is no difference"));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
