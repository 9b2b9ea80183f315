//! The definitions of the images, and the pods that run what is in them: name of the image, program and version go together.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use rp_operator_api::deployment::{self, Identity, PROGRAM, Settings};
use serde_json::Value;
use tests_kit::workspace;

const IMAGES: [&str; 3] = ["aro", "aro-dev", PROGRAM];

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(workspace().join(file)).with_context(|| file.to_owned())
}

/// What an instruction of an image's definition says.
fn instruction(image: &str, name: &str) -> Result<String> {
    let text = read(&format!("deploy/images/{image}.Containerfile"))?;
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(found.with_context(|| format!("{image} has no {name}"))?.to_owned())
}

/// The containers of the operator's pods.
fn containers() -> Vec<Value> {
    let settings = Settings {
        image: format!("registry.example/{PROGRAM}:0123abc"),
        identity: Identity::ServicePrincipal,
        development: false,
        restricted: true,
        pull_secret: "{\"auths\":{}}".to_owned().into(),
    };
    let objects = deployment::objects(&settings);
    let deployments = objects.iter().filter(|object| object["kind"] == "Deployment");
    deployments.map(|one| one["spec"]["template"]["spec"]["containers"][0].clone()).collect()
}

#[test]
fn an_image_starts_the_program_of_its_name() -> Result<()> {
    let build = read("deploy/images/build")?;
    ensure!(build.contains(&format!("case $name in {} | {PROGRAM} | {})", IMAGES[0], IMAGES[1])), "{build}");
    ensure!(build.contains("\"$root/usr/bin/$name\""), "the program is somewhere else");
    for image in IMAGES {
        let entry: Vec<String> = serde_json::from_str(&instruction(image, "ENTRYPOINT")?)?;
        ensure!(entry[0] == format!("/usr/bin/{image}"), "{image} starts {entry:?}");
        ensure!(instruction(image, "ENV")?.split(' ').any(|pair| pair == "PATH=/usr/bin"), "{image}");
        ensure!(instruction(image, "USER")? == "65532:65532", "{image}");
    }
    Ok(())
}

#[test]
fn the_pods_of_the_operator_run_what_is_in_their_image() -> Result<()> {
    let ports: BTreeSet<String> = instruction(PROGRAM, "EXPOSE")?.split(' ').map(str::to_owned).collect();
    let containers = containers();
    ensure!(containers.len() == 2, "{containers:?}");
    for container in containers {
        // A command without a folder is looked for on the PATH of the image.
        ensure!(container["command"] == serde_json::json!([PROGRAM]), "{container}");
        let listed = container["ports"].as_array().context("ports")?;
        let listed: BTreeSet<_> = listed.iter().map(|port| port["containerPort"].to_string()).collect();
        ensure!(listed == ports, "the image has the ports {ports:?}, the pod {listed:?}");
        let security = &container["securityContext"];
        ensure!(security["readOnlyRootFilesystem"] == true, "{security}");
    }
    let manifest: toml::Value = toml::from_str(&read("rp-core/operator/Cargo.toml")?)?;
    let programs = manifest["bin"].as_array().context("programs")?;
    ensure!(programs.iter().any(|one| one["name"].as_str() == Some(PROGRAM)), "{programs:?}");
    Ok(())
}

#[test]
fn the_service_and_the_operator_of_one_build_have_one_version() -> Result<()> {
    for file in ["rp-core/runtime/src/lib.rs", "rp-core/operator/src/main.rs"] {
        ensure!(read(file)?.contains("const VERSION: &str = match option_env!(\"ARO_COMMIT\")"), "{file}");
    }
    ensure!(
        read("deploy/images/build")?.contains("version=${4:-${ARO_COMMIT:-"),
        "the tag is another version"
    );
    let makefile = read("Makefile")?;
    let (_, images) = makefile.split_once("\nimages: export ARO_COMMIT ?= ").context("make images")?;
    let images = images.split("\n\n").next().unwrap_or_default();
    ensure!(images.contains("cargo build --profile dist -p aro -p rp-operator"), "{images}");
    ensure!(images.contains(&format!("for name in aro {PROGRAM};")), "{images}");
    Ok(())
}
