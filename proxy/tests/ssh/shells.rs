//! Shells and commands.

use rp_documents::Phase;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use crate::world::{MACHINE, REASON, World, done, soon};

#[tokio::test(flavor = "multi_thread")]
async fn a_commands_output_errors_and_exit_status_come_back_and_are_audited() {
    let world = World::new().await;
    let issued = world.issue().await;
    let client = world.client(&issued).await;
    let ran = client.run("echo out; echo err >&2; exit 7").await;
    assert_eq!((ran.code, ran.text().as_str(), ran.err.as_str()), (Some(7), "out\n", "err\n"));

    let start = world.audited("its start", |e| e.verb == "ssh.exec" && e.phase == Phase::Start).await;
    assert_eq!(start.command, ["echo out; echo err >&2; exit 7"]);
    assert_eq!((start.name.as_str(), start.reason.as_str()), (MACHINE, REASON));
    assert_eq!(start.grant.as_ref(), Some(&issued.grant.id));
    let end = world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
    assert_eq!((end.result.status, end.result.word.as_str(), end.bytes_out), (7, "ok", 8));
    let login = world.audited("the sign-in", |e| e.verb == "ssh.login").await;
    assert_eq!(login.query, "certificate");
    let over = world.audited("the end", |e| e.verb == "ssh.end").await;
    assert_eq!(over.bytes_out, 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_with_a_terminal_works() {
    let world = World::new().await;
    let client = world.granted().await;
    let typed = b"tty; echo term-$((6*7)) $TERM; exit 3\n".to_vec();
    let mut client = client;
    client.env.insert("TERM".to_owned(), "xterm-256color".to_owned());
    let ran = client.feed(&["-tt"], &[], typed).await;
    let text = ran.text();
    assert!(text.contains("/dev/pts/") && text.contains("term-42 xterm-256color"), "{text}");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    world.audited("the shell", |e| e.verb == "ssh.shell" && e.phase == Phase::End).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_without_a_terminal_reads_its_input_to_the_end() {
    let world = World::new().await;
    let ran = world.granted().await.feed(&["-T"], &[], b"echo one\necho two >&2\n".to_vec()).await;
    assert_eq!((ran.code, ran.text().as_str(), ran.err.as_str()), (Some(0), "one\n", "two\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_language_passes_of_the_environment() {
    let world = World::new().await;
    let client = world.granted().await.option("SetEnv=LC_TEST=abc SECRET=xyz");
    let ran = client.run("echo [$LC_TEST][$SECRET]").await;
    assert_eq!(ran.text(), "[abc][]\n", "{}", ran.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_ends_the_program_is_told() {
    let world = World::new().await;
    let ran = world.granted().await.run("kill -9 $$").await;
    // What OpenSSH's client makes of an exit signal.
    assert_eq!(ran.code, Some(255), "{}", ran.err);
    world.audited("its end", |e| e.verb == "ssh.exec" && e.phase == Phase::End).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_ends_before_the_exit_status() {
    let world = World::new().await;
    let client = world.granted().await;
    for round in 0..3 {
        let ran = client.run("head -c 3000000 /dev/zero; echo end >&2; exit 5").await;
        assert_eq!(
            (ran.code, ran.out.len(), ran.err.as_str()),
            (Some(5), 3_000_000, "end\n"),
            "round {round}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_input_is_passed_on_while_output_goes_on() {
    let world = World::new().await;
    let ran = world.granted().await.feed(&[], &["cat >/dev/null; echo after"], b"input".to_vec()).await;
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), "after\n"), "{}", ran.err);
}

/// A client that waits for its output's reader stands in the way of nobody: not of its own other sessions either.
#[tokio::test(flavor = "multi_thread")]
async fn one_slow_reader_stalls_nobody() {
    let world = World::new().await;
    let socket = world.folder.path().join("master");
    let client = world.granted().await.option(&format!("ControlPath={}", socket.display()));
    let mut master = client.ssh(&["-M", "-N"], &[]).spawn().unwrap();
    crate::world::until("the master's socket", async || socket.exists().then_some(())).await;
    let mut slow = client.ssh(&[], &["yes; echo over"]).spawn().unwrap();
    let mut slow_out = slow.stdout.take().unwrap();
    let mut first = [0; 4];
    soon("its first bytes", slow_out.read_exact(&mut first)).await.unwrap();
    // Nobody reads on.
    for _ in 0..3 {
        let ran = client.run("head -c 1000000 /dev/zero | wc -c").await;
        assert_eq!((ran.code, ran.text().trim()), (Some(0), "1000000"), "{}", ran.err);
    }
    slow.kill().await.unwrap();
    master.kill().await.unwrap();
}

/// A machine's terminal follows the client's: with the library's client, for OpenSSH's takes the size of a terminal.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminals_size_is_passed_on() {
    let world = World::new().await;
    let client = world.granted().await;
    // `script` gives the client a terminal, `stty` changes its size.
    let ssh = client.ssh(&["-tt"], &["read x; stty size; read y; stty size"]);
    let line: Vec<String> = std::iter::once(ssh.as_std().get_program())
        .chain(ssh.as_std().get_args())
        .map(|part| format!("'{}'", part.to_string_lossy().replace('\'', "'\\''")))
        .collect();
    let script = format!("stty cols 101 rows 31; ({}) ", line.join(" "));
    let mut command = tokio::process::Command::new("script");
    command.args(["-qec", &script, "/dev/null"]).kill_on_drop(true);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    stdin.write_all(b"\n").await.unwrap();
    let sized = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.trim() == "31 101" {
                return true;
            }
        }
        false
    };
    assert!(soon("the size", sized).await);
    drop(stdin);
    let _ = child.kill().await;
    drop(done(client.ssh(&[], &["true"])).await);
}
