//! The images: built twice they are the same, they have no shell, and what is in them runs without rights and without
//! writing to itself. buildah builds it; bubblewrap starts it, for a container engine needs more than build machines give.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use rp_operator_api::deployment::PROGRAM;
use serde_json::Value;
use tests_kit::{Authority, Folder, GENEROUS, Process, binary, free_port, part, workspace};

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Builds the image of a program into `out` and gives its digest.
fn build(folder: &Folder, name: &str, program: &Path, out: &str) -> Result<String> {
    let mut command = Command::new(workspace().join("deploy/images/build"));
    command.arg(name).arg(program).arg(folder.path().join(out)).arg("1.2.3");
    Ok(run(command
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env("REVISION", "0123456789abcdef")
        .env("TMPDIR", folder.path()))?
    .trim()
    .to_owned())
}

fn blob(layout: &Path, digest: &str) -> PathBuf {
    layout.join("blobs").join(digest.replace(':', "/"))
}

fn json(file: &Path) -> Result<Value> {
    serde_json::from_str(&fs::read_to_string(file)?).with_context(|| file.display().to_string())
}

/// Unpacks the layers of an image in the OCI layout; gives the folder and the image's settings.
fn unpacked(folder: &Folder, layout: &Path, digest: &str) -> Result<(PathBuf, Value)> {
    let root = folder.path().join("root");
    fs::create_dir(&root)?;
    let manifest = json(&blob(layout, digest))?;
    for layer in manifest["layers"].as_array().context("layers")? {
        let archive = blob(layout, layer["digest"].as_str().context("digest")?);
        run(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(&root))?;
    }
    let settings = json(&blob(layout, manifest["config"]["digest"].as_str().context("digest")?))?;
    Ok((root, settings["config"].clone()))
}

fn look_inside(root: &Path, settings: &Value, name: &str) -> Result<()> {
    ensure!(settings["User"] == "65532:65532", "{settings}");
    ensure!(settings["Entrypoint"][0] == format!("/usr/bin/{name}"), "{settings}");
    ensure!(settings["Labels"]["org.opencontainers.image.version"] == "1.2.3", "{settings}");
    let programs: Vec<_> = fs::read_dir(root.join("usr/bin"))?.collect::<Result<_, _>>()?;
    ensure!(programs.len() == 1, "there are more programs than ours: {programs:?}");
    ensure!(!root.join("bin").exists() && !root.join("sbin").exists(), "there are programs of others");
    let sbom = json(&root.join(format!("usr/share/doc/{name}/sbom.cdx.json")))?;
    let components = sbom["components"].as_array().context("components")?;
    let has = |purl: &str| {
        components.iter().any(|part| part["purl"].as_str().is_some_and(|at| at.starts_with(purl)))
    };
    for purl in ["pkg:cargo/rustls@", "pkg:cargo/tokio@", "pkg:cargo/rp-net@"] {
        ensure!(has(purl), "the list of parts has no {purl}");
    }
    ensure!(!has("pkg:cargo/tests-kit@"), "the list has parts of the tests");
    let file =
        |name: &str| components.iter().any(|part| part["name"].as_str().is_some_and(|at| at.ends_with(name)));
    ensure!(file("/libc.so.6"), "the list has no libc");
    Ok(())
}

/// Settings and certificates of `aro serve` in `/etc/aro`, and a folder for its state.
fn outfit(folder: &Folder, admin: u16) -> Result<(PathBuf, PathBuf)> {
    let authority = Authority::new("images")?;
    let server = authority.server(&["portal.aro.example", "api.portal.aro.example"])?;
    let client = authority.rsa_client("aro-portal")?;
    let example = fs::read_to_string(workspace().join("deploy/examples/aro.toml"))?;
    let web = free_port()?;
    let settings = example
        .replace("portal = \"0.0.0.0:8444\"", &format!("portal = \"127.0.0.1:{web}\""))
        .replace("admin = \"127.0.0.1:6060\"", &format!("admin = \"127.0.0.1:{admin}\""));
    ensure!(
        settings.contains(&web.to_string()) && settings.contains(&admin.to_string()),
        "the example has other ports"
    );
    for (name, text) in [
        ("etc/aro.toml", settings.as_str()),
        ("etc/tls.pem", &server.certificate),
        ("etc/tls.key", &server.key),
        ("etc/client.pem", &client.certificate),
        ("etc/client.key", &client.key),
    ] {
        folder.write(name, text)?;
    }
    for key in ["tls.key", "client.key"] {
        run(Command::new("chmod").arg("600").arg(folder.path().join("etc").join(key)))?;
    }
    let state = folder.path().join("state");
    fs::create_dir(&state)?;
    Ok((folder.path().join("etc"), state))
}

/// What starts a program in an image: as another user, without rights, and with a root that cannot be written.
fn sandbox(root: &Path, settings: &Value) -> Result<Command> {
    let mut command = Command::new(part("bwrap")?);
    command.args([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        "--new-session",
    ]);
    command.args(["--uid", "65532", "--gid", "65532", "--cap-drop", "ALL", "--clearenv"]);
    command.arg("--ro-bind").arg(root).arg("/").args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
    for pair in settings["Env"].as_array().context("Env")?.iter().filter_map(Value::as_str) {
        let (name, value) = pair.split_once('=').context("NAME=VALUE")?;
        command.args(["--setenv", name, value]);
    }
    Ok(command)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_is_the_same_each_time_and_serves_without_rights() -> Result<()> {
    // On a disk: a debug build is large.
    let folder = Folder::on_disk("images")?;
    let program = folder.path().join("aro");
    run(Command::new("strip").arg("-o").arg(&program).arg(binary("aro")?))?;
    let image = |out: &str| build(&folder, "aro", &program, out);
    let (first, second) = (image("first")?, image("second")?);
    ensure!(first == second, "two builds of one program are {first} and {second}");

    let (root, settings) = unpacked(&folder, &folder.path().join("first"), &first)?;
    look_inside(&root, &settings, "aro")?;

    let admin = free_port()?;
    let (etc, state) = outfit(&folder, admin)?;
    let mut command = sandbox(&root, &settings)?;
    command.arg("--ro-bind").arg(&etc).arg("/etc/aro").arg("--bind").arg(&state).arg("/var/lib/aro");
    command.args(["/usr/bin/aro", "serve", "--config", "/etc/aro/aro.toml"]);
    let process = Process::start(&folder, "image", &mut command)?;
    let url = format!("http://127.0.0.1:{admin}/healthz/ready");
    let ready = || async { Ok(reqwest::get(&url).await?.error_for_status()?.text().await?) };
    process.ready(GENEROUS, ready).await?;
    ensure!(state.join("aro.db").exists(), "its state is somewhere else");
    Ok(())
}

#[test]
fn the_image_of_the_operator_has_what_its_pods_run() -> Result<()> {
    let folder = Folder::on_disk("images")?;
    let program = folder.path().join(PROGRAM);
    run(Command::new("strip").arg("-o").arg(&program).arg(binary(PROGRAM)?))?;
    let digest = build(&folder, PROGRAM, &program, "first")?;
    let (root, settings) = unpacked(&folder, &folder.path().join("first"), &digest)?;
    look_inside(&root, &settings, PROGRAM)?;

    let version = run(sandbox(&root, &settings)?.args([PROGRAM, "--version"]))?;
    let own = run(Command::new(binary(PROGRAM)?).arg("--version"))?;
    ensure!(version == own && version.starts_with(PROGRAM), "{version}, not {own}");
    // Its manifests name the command that was just found on the image's PATH.
    let manifests = ["manifests", "--image", "registry.example/aro-operator:1.2.3"];
    let manifests = run(sandbox(&root, &settings)?.arg(PROGRAM).args(manifests))?;
    ensure!(manifests.matches("readOnlyRootFilesystem: true").count() == 2, "{manifests}");
    ensure!(manifests.matches("aro-operator:1.2.3").count() == 2, "{manifests}");
    Ok(())
}
