//! The runner on crates that crash, leave early, hang, skip and flake: only a run in which every test gave a result
//! and passed is green.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A package with one test program for each file, and a run of the runner over one of them.
struct Fixture {
    folder: tempfile::TempDir,
}

const FLAKY: &str = r#"
fn first_time(name: &str) -> bool {
    let marker = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let first = !marker.exists();
    std::fs::write(marker, "").unwrap();
    first
}
#[test] fn flaky() { assert!(!first_time("one"), "the first time"); }
"#;

impl Fixture {
    fn new(tests: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[package]\nname = \"fixture\"\nedition = \"2024\"\n[workspace]\n");
        write("src/lib.rs", "");
        write("tests/it.rs", tests);
        let passes = r#"
            build = [{ arguments = ["test", "--offline", "--quiet", "--no-run", "--test", "it"] }]
            [[pass]]
            name = "all"
            limit_seconds = 2
        "#;
        write("tests/passes.toml", passes);
        write("tests/README.md", "## Known flakes\n");
        Self { folder }
    }

    fn known_flakes(self, rows: &str) -> Self {
        fs::write(self.path().join("tests/README.md"), format!("## Known flakes\n\n{rows}\n")).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether the run was green, and what it printed.
    fn run(&self) -> (bool, String) {
        let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_tests-runner"))
            .args(["--times", "times.md", "--workspace"])
            .arg(self.path())
            // The fixture is built beside nothing and by the plain compiler.
            .env("CARGO_TARGET_DIR", self.path().join("target"))
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .current_dir(self.path())
            .output()
            .unwrap();
        let printed = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        (status.success(), printed)
    }

    /// The run is red, names the test, and ends with the counts.
    fn is_red(&self, test: &str, counts: &str) -> String {
        let (green, printed) = self.run();
        assert!(!green, "{printed}");
        assert!(printed.contains(&format!("red: fixture/it {test}")), "{printed}");
        assert!(printed.lines().any(|line| line == counts), "{printed}");
        printed
    }
}

#[test]
fn a_run_in_which_every_test_passed_is_green_and_says_where_its_time_went() {
    let fixture = Fixture::new("#[test] fn fine() { print!(\"no end of line\"); }");
    let (green, printed) = fixture.run();
    assert!(green, "{printed}");
    assert_eq!(printed.lines().last(), Some("1 passed, 0 failed"), "{printed}");
    let times = fs::read_to_string(fixture.path().join("times.md")).unwrap();
    assert!(times.contains("| **build** |") && times.contains("| **all** | | 1 |"), "{times}");
}

#[test]
fn a_failed_test_is_red_and_shows_what_it_said() {
    let fixture = Fixture::new("#[test] fn fine() {}\n#[test] fn broken() { panic!(\"the reason\"); }");
    let printed = fixture.is_red("broken", "1 passed, 1 failed");
    assert!(printed.contains("the reason"), "{printed}");
}

#[test]
fn a_program_that_aborts_is_red() {
    let fixture =
        Fixture::new("#[test] fn aborts() { eprintln!(\"the last words\"); std::process::abort(); }");
    let printed = fixture.is_red("aborts", "0 passed, 1 failed");
    assert!(printed.contains("signal: 6"), "{printed}");
}

#[test]
fn a_program_that_leaves_with_success_before_its_tests_are_done_is_red() {
    Fixture::new("#[test] fn leaves() { std::process::exit(0); }").is_red("leaves", "0 passed, 1 failed");
}

#[test]
fn a_program_that_hangs_is_killed_and_red() {
    let fixture = Fixture::new("#[test] fn fine() {}\n#[test] fn hangs() { loop { std::thread::park(); } }");
    let printed = fixture.is_red("hangs", "1 passed, 1 failed");
    assert!(printed.contains("killed after 2 s"), "{printed}");
}

#[test]
fn a_test_that_is_skipped_is_red() {
    let (green, printed) = Fixture::new("#[test] fn fine() {}\n#[test] #[ignore] fn skipped() {}").run();
    assert!(!green && printed.contains("skips tests"), "{printed}");
}

#[test]
fn a_flake_that_nobody_wrote_down_is_red() {
    Fixture::new(FLAKY).is_red("flaky", "0 passed, 1 failed");
}

#[test]
fn a_known_flake_of_this_program_runs_once_more() {
    let (green, printed) = Fixture::new(FLAKY).known_flakes("| `fixture/it flaky` | a cause |").run();
    assert!(green && printed.contains("flake: fixture/it flaky"), "{printed}");
}

#[test]
fn a_known_flake_of_another_program_does_not_count() {
    let fixture = Fixture::new(FLAKY).known_flakes("| `fixture/other flaky` | a cause |");
    fixture.is_red("flaky", "0 passed, 1 failed");
}

#[test]
fn two_flakes_in_one_run_are_red() {
    let two = format!("{FLAKY}#[test] fn second() {{ assert!(!first_time(\"two\")); }}");
    let fixture = Fixture::new(&two).known_flakes("| `fixture/it flaky` | a |\n| `fixture/it second` | b |");
    fixture.is_red("second", "0 passed, 2 failed");
}
