//! Scripts of the simulated shell.

use super::*;

fn run(text: &str, files: &Mutex<FileTree>) -> CommandOutput {
    let now = Timestamp::from_seconds(0);
    let context = ShellContext { host: "p-0", now, host_keys: "", files, own: None };
    ShellState::new("/").script(text, &context)
}

fn fresh() -> Mutex<FileTree> {
    Mutex::new(FileTree::new("p-0", Timestamp::from_seconds(0)))
}

#[test]
fn runs_scripts_until_they_exit() {
    let done = run("echo a b; false\nexit 7; echo never", &fresh());
    assert_eq!((done.out.as_slice(), done.code, done.exit), (b"a b\n".as_slice(), 7, true));
    assert_eq!(run("nonsense", &fresh()).code, 127);
}

#[test]
fn a_shell_with_a_terminal_type_is_a_shell() {
    for script in [
        "TERM=${TERM:-xterm-256color}; export TERM; if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi",
        "TERM=xterm exec sh",
        "TERM=xterm sh",
        "env TERM=xterm sh",
        "command -v nothing || exec sh",
        "sh -c 'TERM=xterm exec sh'",
    ] {
        let done = run(script, &fresh());
        assert_eq!((done.input, done.code), (Some(InputUse::Lines), 0), "{script}");
    }
}

#[test]
fn variables_pipes_and_redirections() {
    let files = fresh();
    let done = run("A=one; B=\"$A two\"; echo '$A' \"$B\" ${C:-three} > /tmp/x; cat /tmp/x | wc -c", &files);
    assert_eq!(String::from_utf8_lossy(&done.out).trim(), "17");
    assert_eq!(files.lock().read("/tmp/x"), Ok(b"$A one two three\n".as_slice()));
    let done = run("test -d /tmp && test ! -e /tmp/y || echo no; [ -f /tmp/x ] && echo yes", &files);
    assert_eq!(done.out, b"yes\n");
    let done = run("cat >> /tmp/x", &files);
    assert_eq!(done.input, Some(InputUse::Write { path: "/tmp/x".to_owned(), append: true }));
}

#[test]
fn scripts_within_scripts_end() {
    let mut script = "echo deep".to_owned();
    for _ in 0..3 {
        script = format!("sh -c '{}'", script.replace('\'', "'\\''"));
    }
    assert_eq!(run(&script, &fresh()).out, b"deep\n");
    let done = run("A='eval'; sh -c 'sh -c \"sh -c ls\"'", &fresh());
    assert_eq!(done.code, 0);
}

#[test]
fn what_a_client_repeats_is_bounded() {
    let files = fresh();
    let wrapped = format!("{}echo deep", "sudo ".repeat(3000));
    assert_eq!(run(&wrapped, &files).out, b"deep\n");
    let done = run("exec env A=1 sudo command echo once; echo never", &files);
    assert_eq!((done.out.as_slice(), done.exit), (b"once\n".as_slice(), true));
    assert_eq!(run(&"a;".repeat(100_000), &files).code, 2);
    files.lock().write("/tmp/big", vec![b'x'; 7 << 20], 0o644, Timestamp::from_seconds(0)).unwrap();
    for command in ["cat /tmp/big /tmp/big /tmp/big", "tar cf - /tmp/big /tmp/big /tmp/big"] {
        let done = run(command, &files);
        assert!(done.code != 0 && done.out.is_empty(), "{command}");
    }
}

#[test]
fn archives_pack_and_unpack_within_the_bounds() {
    let files = fresh();
    let packed = run("mkdir -p /tmp/a/b; echo text > /tmp/a/b/c; tar cf - /tmp/a", &files);
    assert_eq!(packed.code, 0, "{}", String::from_utf8_lossy(&packed.err));
    assert!(ends(&packed.out) && !ends(&packed.out[..512]));
    let done = run("rm -r /tmp/a; mkdir /var/x; tar xmf - -C /var/x", &files);
    assert_eq!(done.input, Some(InputUse::Extract { folder: "/var/x".to_owned() }));
    archive::extract(&packed.out, "/var/x", &files, Timestamp::from_seconds(0)).unwrap();
    assert_eq!(files.lock().read("/var/x/tmp/a/b/c"), Ok(b"text\n".as_slice()));
    assert!(
        archive::extract(
            b"no archive, but long enough to be read as one",
            "/tmp",
            &files,
            Timestamp::from_seconds(0)
        )
        .is_err()
    );
    let piped = run("tar cf - /var/x/tmp | tail -c+1 | wc -c", &files);
    assert!(String::from_utf8_lossy(&piped.out).trim().parse::<usize>().unwrap() >= 1024);
}
