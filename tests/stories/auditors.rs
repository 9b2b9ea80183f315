//! Auditors of protocols that are not ours, at every listener that people and machines reach.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Folder, part};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// Cases of h2spec 2.2.1, strict ones included.
const CASES: usize = 146;
/// How often a case that failed is asked at most, the first time included; the majority decides. The server may answer
/// before it has seen all of a request (RFC 9113 §8.1), and what a case sends after that is not looked at any more: which
/// comes first is chance, so a good server fails now and then. A defect fails each time, or at least more often than not,
/// and is found by the eleventh failure; were a single success enough, one that shows nine times in ten would pass.
const ASKED: usize = 21;

/// The section and the title of a case.
type Case = (String, String);

/// How a case that failed once has answered so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    asked: usize,
    failed: usize,
}

impl Tally {
    /// After the first failure.
    const FIRST: Self = Self { asked: 1, failed: 1 };

    fn count(&mut self, failed: bool) {
        self.asked += 1;
        self.failed += usize::from(failed);
    }

    /// Whether the remaining questions could change nothing.
    const fn is_decided(self) -> bool {
        let most = ASKED / 2;
        self.failed > most || self.asked - self.failed > most
    }

    /// Whether it failed more often than not.
    const fn fails(self) -> bool {
        self.failed > self.asked / 2
    }
}

/// An auditor makes several hundred handshakes.
const WITHIN: Duration = Duration::from_secs(240);

/// One for all stories here.
async fn shared() -> Result<&'static Aro> {
    static ARO: OnceCell<Aro> = OnceCell::const_new();
    ARO.get_or_try_init(|| Aro::start(AroOptions { clusters: 1, ..AroOptions::default() })).await
}

async fn run(command: &mut Command) -> Result<Output> {
    let output = command.kill_on_drop(true).output();
    tokio::time::timeout(WITHIN, output).await.context("the auditor does not end")?.context("the auditor")
}

/// `HOST:PORT` of a URL.
fn authority(url: &str) -> Result<(&str, &str)> {
    let authority = url.split("//").nth(1).and_then(|rest| rest.split('/').next());
    authority.and_then(|authority| authority.rsplit_once(':')).with_context(|| url.to_owned())
}

/// Runs h2spec, the whole or one of its sections; gives the sections and titles of all cases and of those that failed.
async fn h2spec(url: &str, folder: &Folder, section: Option<&str>) -> Result<(usize, BTreeSet<Case>)> {
    let (host, port) = authority(url)?;
    let report = folder.path().join(format!("h2spec-{port}-{host}.xml"));
    let mut command = Command::new(part("h2spec")?);
    command.args(section).args(["--strict", "--timeout", "5", "--host", host, "--port", port]);
    if url.starts_with("https:") {
        command.args(["--tls", "--insecure"]);
    }
    let output = run(command.arg("--junit-report").arg(&report)).await?;
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stdout)))?;
    let (mut all, mut failed) = (0, BTreeSet::new());
    for line in text.lines().map(str::trim).filter(|line| line.starts_with("<testcase ")) {
        let mut words = line.split('"').skip(1).step_by(2);
        let (section, title) = words.next().zip(words.next()).with_context(|| line.to_owned())?;
        all += 1;
        // What went wrong stands in lines of its own.
        if !line.ends_with("</testcase>") {
            failed.insert((section.to_owned(), title.to_owned()));
        }
    }
    Ok((all, failed))
}

/// What fails more often than not.
async fn failures(url: &str) -> Result<BTreeSet<Case>> {
    let folder = Folder::new("h2spec")?;
    let (cases, failed) = h2spec(url, &folder, None).await?;
    ensure!(cases == CASES, "{url}: {cases} cases");
    let mut tallies: BTreeMap<Case, Tally> = failed.into_iter().map(|case| (case, Tally::FIRST)).collect();
    loop {
        let open = tallies.iter().filter(|(case, tally)| !is_known(url, case) && !tally.is_decided());
        let sections: BTreeSet<String> = open.map(|((section, _), _)| section.clone()).collect();
        if sections.is_empty() {
            break;
        }
        for section in sections {
            let (_, again) = h2spec(url, &folder, Some(&section)).await?;
            for (case, tally) in tallies.iter_mut().filter(|(case, _)| case.0 == section) {
                if !tally.is_decided() {
                    tally.count(again.contains(case));
                }
            }
        }
    }
    Ok(tallies.into_iter().filter(|(_, tally)| tally.fails()).map(|(case, _)| case).collect())
}

#[test]
fn a_case_is_broken_when_it_fails_more_often_than_not() {
    // By the answers in their order; the last one is repeated.
    let ask = |answers: &[bool]| {
        let mut tally = Tally::FIRST;
        for at in 0.. {
            if tally.is_decided() {
                break;
            }
            let failed = answers.get(at).or(answers.last()).copied().unwrap_or(true);
            tally.count(failed);
        }
        (tally.fails(), tally.asked)
    };
    assert_eq!(ask(&[true]), (true, 11), "what always fails");
    assert_eq!(ask(&[false]), (false, 12), "what failed once");
    let now_and_then: Vec<bool> = (0..ASKED).map(|at| at % 4 == 0).collect();
    assert!(!ask(&now_and_then).0);
    let nine_in_ten: Vec<bool> = (0..ASKED).map(|at| at % 10 != 0).collect();
    assert!(ask(&nine_in_ten).0);
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_as_its_specification_says_on_every_listener() -> Result<()> {
    let aro = shared().await?;
    for url in [&aro.dev.url, &aro.dev.proxy_url, &aro.dev.rp_url, &aro.dev.admin_url] {
        let failed = aro.explain(failures(url).await)?;
        let new: BTreeSet<_> = failed.iter().filter(|case| !is_known(url, case)).collect();
        ensure!(new.is_empty(), "{url}: {new:#?}");
    }
    Ok(())
}

/// Without TLS nothing was agreed on: what is no preface of HTTP/2 is taken for HTTP/1.1, and answered in it.
fn is_known(url: &str, (section, title): &(String, String)) -> bool {
    url.starts_with("http:") && section == "http2/3.5" && title == "Sends invalid connection preface"
}

/// What sslyze says of a listener, by place in its report.
fn wanted() -> BTreeMap<&'static str, Value> {
    let none = json!([]);
    let over_1_2 = ["AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305_SHA256"];
    BTreeMap::from([
        ("/ssl_2_0_cipher_suites/result/accepted_cipher_suites", none.clone()),
        ("/ssl_3_0_cipher_suites/result/accepted_cipher_suites", none.clone()),
        ("/tls_1_0_cipher_suites/result/accepted_cipher_suites", none.clone()),
        ("/tls_1_1_cipher_suites/result/accepted_cipher_suites", none),
        (
            "/tls_1_2_cipher_suites/result/accepted_cipher_suites",
            json!(over_1_2.map(|suite| format!("TLS_ECDHE_ECDSA_WITH_{suite}"))),
        ),
        (
            "/tls_1_3_cipher_suites/result/accepted_cipher_suites",
            json!(over_1_2.map(|suite| format!("TLS_{suite}"))),
        ),
        ("/elliptic_curves/result/supported_curves", json!(["X25519", "secp256r1", "secp384r1"])),
        ("/tls_compression/result/supports_compression", json!(false)),
        ("/tls_1_3_early_data/result/supports_early_data", json!(false)),
        ("/tls_fallback_scsv/result/supports_fallback_scsv", json!(true)),
        ("/tls_extended_master_secret/result/supports_ems_extension", json!(true)),
        ("/openssl_ccs_injection/result/is_vulnerable_to_ccs_injection", json!(false)),
        ("/heartbleed/result/is_vulnerable_to_heartbleed", json!(false)),
        ("/robot/result/robot_result", json!("NOT_VULNERABLE_RSA_NOT_SUPPORTED")),
        ("/session_renegotiation/result/client_renegotiations_success_count", json!(0)),
        ("/session_renegotiation/result/is_vulnerable_to_client_renegotiation_dos", json!(false)),
        // `contract/portal.md` §1.3.
        ("/session_resumption/result/session_id_resumption_result", json!("NOT_SUPPORTED")),
        ("/session_resumption/result/tls_ticket_resumption_result", json!("NOT_SUPPORTED")),
    ])
}

/// Suites and curves by their names, sorted; anything else as it is.
fn by_name(found: &Value) -> Value {
    let Some(list) = found.as_array() else { return found.clone() };
    let name = |each: &Value| each.pointer("/cipher_suite/name").unwrap_or(&each["name"]).to_string();
    let mut names: Vec<String> = list.iter().map(|each| name(each).trim_matches('"').to_owned()).collect();
    names.sort();
    json!(names)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_of_tls_finds_nothing_weak() -> Result<()> {
    const SCANS: [&str; 16] = [
        "sslv2",
        "sslv3",
        "tlsv1",
        "tlsv1_1",
        "tlsv1_2",
        "tlsv1_3",
        "early_data",
        "reneg",
        "compression",
        "heartbleed",
        "openssl_ccs",
        "fallback",
        "robot",
        "elliptic_curves",
        "ems",
        "resum",
    ];
    let aro = shared().await?;
    let folder = Folder::new("sslyze")?;
    let report = folder.path().join("report.json");
    let mut command = Command::new(part("auditors")?);
    command.args(["-m", "sslyze", "--quiet"]).arg(format!("--json_out={}", report.display()));
    command.args(SCANS.map(|scan| format!("--{scan}")));
    let urls = [&aro.dev.url, &aro.dev.proxy_url, &aro.dev.rp_url];
    let listeners = urls.map(|url| authority(url).map(|(host, port)| format!("{host}:{port}")));
    // The proxy may share the portal's listener.
    let listeners: BTreeSet<String> = listeners.into_iter().collect::<Result<_>>()?;
    command.args(&listeners);
    let output = run(&mut command).await?;
    let text = std::fs::read(&report)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stderr)))?;
    let report: Value = serde_json::from_slice(&text)?;
    let scans = report["server_scan_results"].as_array().context("scans")?;
    ensure!(scans.len() == listeners.len(), "{} listeners", scans.len());
    for scan in scans {
        let place = &scan["server_location"]["port"];
        ensure!(scan["scan_status"] == "COMPLETED", "{place}: {}", scan["connectivity_error_trace"]);
        for (pointer, wanted) in wanted() {
            let found = scan["scan_result"].pointer(pointer).map(by_name);
            ensure!(found.as_ref() == Some(&wanted), "{place}{pointer}: {found:?}, not {wanted}");
        }
    }
    Ok(())
}

/// What ssh-audit warns of at our SSH listener: algorithms by their kind.
async fn flagged(aro: &Aro) -> Result<BTreeSet<(String, String)>> {
    let text = std::fs::read(aro.data().join("dev.json"))?;
    let dev: Value = serde_json::from_slice(&text)?;
    let (host, port) = dev["ssh"].as_str().and_then(|ssh| ssh.rsplit_once(':')).context("ssh")?;
    let mut command = Command::new(part("auditors")?);
    // The rate of connections is `limits`' to decide, and has tests of its own.
    command.args(["-m", "ssh_audit", "--json", "--skip-rate-test", "--port", port, host]);
    let output = run(&mut command).await?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("no report: {}", String::from_utf8_lossy(&output.stdout)))?;
    ensure!(report["cves"] == json!([]) && report["compression"] == json!(["none"]), "{report}");
    let mut flagged = BTreeSet::new();
    for kind in ["kex", "key", "enc", "mac"] {
        let offered = report[kind].as_array().filter(|offered| !offered.is_empty()).context(kind)?;
        for each in offered.iter().filter(|each| {
            let notes = &each["notes"];
            !notes["fail"].is_null() || !notes["warn"].is_null()
        }) {
            flagged.insert((kind.to_owned(), each["algorithm"].as_str().context("a name")?.to_owned()));
        }
    }
    Ok(flagged)
}

fn named(list: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    list.iter().map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_of_ssh_finds_nothing_weak() -> Result<()> {
    let aro = shared().await?;
    let known = named(&[
        // Not against quantum computers: for clients without ML-KEM, which is preferred (OpenSSH before 9.9).
        ("kex", "curve25519-sha256"),
        ("kex", "curve25519-sha256@libssh.org"),
    ]);
    let flagged = aro.explain(flagged(aro).await)?;
    ensure!(flagged == known, "{flagged:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_auditor_of_ssh_dislikes_of_fips_is_known() -> Result<()> {
    let env = vec![("ARO_SSH__FIPS".to_owned(), "true".to_owned())];
    let aro = Aro::start(AroOptions { clusters: 1, env, ..AroOptions::default() }).await?;
    let known = named(&[
        // NIST curves: what FIPS 140-3 has instead of Curve25519, and only behind this switch.
        ("kex", "ecdh-sha2-nistp256"),
        ("kex", "ecdh-sha2-nistp384"),
        ("kex", "ecdh-sha2-nistp521"),
        ("key", "ecdsa-sha2-nistp256"),
        ("key", "ecdsa-sha2-nistp256-cert-v01@openssh.com"),
        // For its authority, which has such a key.
        ("key", "rsa-sha2-256-cert-v01@openssh.com"),
        ("key", "rsa-sha2-512-cert-v01@openssh.com"),
        // `contract/portal.md` §16.1.
        ("kex", "diffie-hellman-group14-sha256"),
        ("mac", "hmac-sha2-256"),
        ("mac", "hmac-sha2-512"),
    ]);
    let flagged = aro.explain(flagged(&aro).await)?;
    ensure!(flagged == known, "{flagged:#?}");
    Ok(())
}
