//! Files: sftp, scp, rsync, and plain streams, compared byte for byte.

use std::path::Path;

use crate::world::{Client, World, done, done_writing};

const LARGE: usize = 64 * 1024 * 1024;

async fn fast() -> (World, Client) {
    let world = World::new().await;
    let client = world.granted().await;
    (world, client)
}

/// Bytes that no compression helps with and that tell where they belong.
fn bytes(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    words.take(size / 8).flat_map(u64::to_le_bytes).collect()
}

fn same(left: &Path, right: &Path) {
    assert!(std::fs::read(left).unwrap() == std::fs::read(right).unwrap(), "the files differ");
}

/// 1 GiB in the soak.
#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_mebibytes_each_way_arrive_whole() {
    let size = if std::env::var_os("ARO_SOAK").is_some() { 16 * LARGE } else { LARGE };
    let (world, client) = fast().await;
    let (file, far) = (world.folder.path().join("large"), world.folder.path().join("far"));
    std::fs::write(&file, bytes(size)).unwrap();
    let hash = hash(&file).await;
    let command = format!("cat > {0}; sha256sum < {0}", far.display());
    let up = client.feed(&[], &[&command], std::fs::read(&file).unwrap()).await;
    assert_eq!((up.code, up.text()), (Some(0), hash.clone()), "{}", up.err);
    let back = world.folder.path().join("back");
    let mut down = client.ssh(&[], &[&format!("cat {}", far.display())]);
    down.stdout(std::fs::File::create(&back).unwrap());
    let down = done_writing(down).await;
    assert_eq!(down.code, Some(0), "{}", down.err);
    assert_eq!(self::hash(&back).await, hash);
}

/// As `sha256sum < FILE` says it.
async fn hash(file: &Path) -> String {
    let mut command = tokio::process::Command::new("sha256sum");
    command.stdin(std::fs::File::open(file).unwrap());
    String::from_utf8(command.output().await.unwrap().stdout).unwrap()
}

/// Both ways at once through a program that only reads when it can write: nothing may wait for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_only_reads_when_it_can_write_does_not_hang() {
    let (_world, client) = fast().await;
    let sent = bytes(LARGE / 2);
    let ran = client.feed(&[], &["cat"], sent.clone()).await;
    assert_eq!((ran.code, ran.out.len()), (Some(0), sent.len()), "{}", ran.err);
    assert!(ran.out == sent, "the bytes differ");
}

#[tokio::test(flavor = "multi_thread")]
async fn sftp_scp_and_rsync_work() {
    let (world, client) = fast().await;
    let folder = world.folder.path();
    let file = folder.join("file");
    std::fs::write(&file, bytes(3_000_000)).unwrap();

    let batch = folder.join("batch");
    let (there, back) = (folder.join("there"), folder.join("back"));
    std::fs::write(
        &batch,
        format!("put {0} {1}\nget {1} {2}\n", file.display(), there.display(), back.display()),
    )
    .unwrap();
    let mut sftp = client.program("sftp");
    sftp.arg("-b").arg(&batch).arg("ada@127.0.0.1");
    let ran = done(sftp).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    same(&file, &back);

    let mut scp = client.program("scp");
    scp.arg("-O").arg(&file).arg(format!("ada@127.0.0.1:{}", folder.join("by-scp").display()));
    let ran = done(scp).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    same(&file, &folder.join("by-scp"));

    let shell: Vec<String> = std::iter::once("ssh -F /dev/null".to_owned())
        .chain(client.options.iter().map(|option| format!("-o {option}")))
        .chain([format!("-p {}", client.port)])
        .collect();
    let mut rsync = tokio::process::Command::new("rsync");
    rsync.args(["-a", "-e", &shell.join(" ")]).arg(&file);
    rsync.arg(format!("ada@127.0.0.1:{}/by-rsync", folder.display())).kill_on_drop(true);
    let ran = done(rsync).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    same(&file, &folder.join("by-rsync"));
    world.audited("the subsystem", |e| e.verb == "ssh.subsystem" && e.query == "sftp").await;
    world
        .audited("rsync", |e| e.verb == "ssh.exec" && e.command.iter().any(|c| c.starts_with("rsync")))
        .await;
}
