//! Installs the front-end packages of `package-lock.json`, bundles script and style with esbuild, and
//! writes the table of assets. Nothing is written outside `OUT_DIR`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

const NEEDS: &str =
    "web: building the pages needs Node.js 20 or later with npm on the PATH (https://nodejs.org)";

fn main() {
    for path in ["build.rs", "scripts", "static", "package.json", "package-lock.json"] {
        println!("cargo:rerun-if-changed={path}");
    }
    if let Err(error) = build() {
        println!("cargo:warning=web: {}", error.replace('\n', " | "));
        let _ = writeln!(io::stderr(), "{error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let source = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    let packages = out.join("npm");
    let built = out.join("built");
    install(&source, &packages)?;
    let _ = fs::remove_dir_all(&built);
    fs::create_dir_all(&built).map_err(|e| at(&built, &e))?;
    bundle(&source, &packages, &built)?;
    for entry in fs::read_dir(source.join("static")).map_err(|e| at(&source.join("static"), &e))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().unwrap_or_default();
        if path.extension().is_some_and(|e| e == "svg") {
            fs::copy(&path, built.join(name)).map_err(|e| at(&path, &e))?;
        }
    }
    let packed = out.join("packed");
    let _ = fs::remove_dir_all(&packed);
    fs::create_dir_all(&packed).map_err(|e| at(&packed, &e))?;
    pack(&built, &packed)?;
    table(&built, &packed, &out.join("assets.rs"))
}

/// Compresses each file of a folder with gzip and Brotli into another, where that makes it smaller.
const PACK: &str = r#"
const fs = require('fs'), path = require('path'), zlib = require('zlib');
const [from, to] = process.argv.slice(1);
for (const name of fs.readdirSync(from)) {
  const plain = fs.readFileSync(path.join(from, name));
  const packed = { gz: zlib.gzipSync(plain, { level: 9 }), br: zlib.brotliCompressSync(plain) };
  for (const [kind, bytes] of Object.entries(packed)) {
    if (bytes.length < plain.length) fs.writeFileSync(path.join(to, `${name}.${kind}`), bytes);
  }
}
"#;

fn pack(built: &Path, packed: &Path) -> Result<(), String> {
    run(Command::new("node").arg("-e").arg(PACK).arg(built).arg(packed), "compressing the assets")
}

/// `npm ci` into a folder of its own, when the lock file is another than last time.
fn install(source: &Path, packages: &Path) -> Result<(), String> {
    let lock = source.join("package-lock.json");
    let wanted = fs::read(&lock).map_err(|e| at(&lock, &e))?;
    let stamp = packages.join("installed");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(packages).map_err(|e| at(packages, &e))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), packages.join(name)).map_err(|e| at(&source.join(name), &e))?;
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let arguments =
        ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--loglevel=error"];
    run(Command::new(npm).args(arguments).current_dir(packages), "npm ci")?;
    fs::write(&stamp, wanted).map_err(|e| at(&stamp, &e))
}

fn bundle(source: &Path, packages: &Path, built: &Path) -> Result<(), String> {
    let modules = packages.join("node_modules");
    let esbuild = modules.join("esbuild/bin/esbuild");
    let mut command = Command::new("node");
    command
        .arg(&esbuild)
        .arg(source.join("scripts/app.ts"))
        .arg(source.join("scripts/theme.ts"))
        .arg(source.join("scripts/explore.ts"))
        .arg(source.join("scripts/charts.ts"))
        .arg(source.join("scripts/log.ts"))
        .arg(source.join("scripts/terminal.ts"))
        .arg(source.join("scripts/player.ts"))
        .arg(source.join("static/app.css"))
        .arg(source.join("static/metrics.css"))
        .arg(source.join("static/terminal.css"))
        .arg(source.join("static/player.css"))
        .args([
            "--bundle",
            "--minify",
            "--format=iife",
            "--target=es2022",
            "--legal-comments=none",
            "--log-level=warning",
        ])
        .args(["--entry-names=[name]", "--supported:nesting=true"])
        .arg(format!("--outdir={}", built.display()))
        .env("NODE_PATH", &modules)
        .current_dir(source);
    run(&mut command, "esbuild")
}

/// Runs a command; its output is only told when it fails.
fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NEEDS.to_owned(),
        _ => format!("{what}: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{what} ended with {}:\n{}", output.status, told.trim()))
}

/// Writes `const FILES`: name, hashed address, hash, bytes and packed bytes of each file.
fn table(built: &Path, packed: &Path, to: &Path) -> Result<(), String> {
    let mut files: Vec<PathBuf> = fs::read_dir(built)
        .map_err(|e| at(built, &e))?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<_>>()
        .map_err(|e| at(built, &e))?;
    files.sort();
    let mut text = String::from("const FILES: &[File] = &[\n");
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let hash = fnv(&fs::read(path).map_err(|e| at(path, &e))?);
        let kind = match path.extension().and_then(|e| e.to_str()) {
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            other => return Err(format!("no content type for {other:?}: {}", path.display())),
        };
        let packed = |kind: &str| {
            let file = packed.join(format!("{name}.{kind}"));
            if file.exists() { format!("Some(include_bytes!({file:?}))") } else { "None".to_owned() }
        };
        let (gzip, brotli) = (packed("gz"), packed("br"));
        writeln!(
            text,
            "    File {{ name: {name:?}, url: \"/static/{hash}/{name}\", hash: \"{hash}\", asset: Asset {{ \
             bytes: include_bytes!({path:?}), gzip: {gzip}, brotli: {brotli}, content_type: {kind:?}, \
             etag: \"W/\\\"{hash}\\\"\", immutable: true }} }},"
        )
        .map_err(|e| e.to_string())?;
    }
    text.push_str("];\n");
    fs::write(to, text).map_err(|e| at(to, &e))
}

/// FNV-1a, 64 bits: tells versions of our own files apart, nothing more.
fn fnv(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
