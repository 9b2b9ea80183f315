//! `SECURITY.md`: each promise names tests, and each of them exists.

use anyhow::{Context as _, Result, ensure};
use tests_kit::workspace;

use crate::systems::without_test;

/// Headings whose items are promises.
const PROMISES: &str = "## Promises";

#[test]
fn each_promise_names_tests_that_exist() -> Result<()> {
    let text = std::fs::read_to_string(workspace().join("SECURITY.md"))?;
    let promises = promises(&text);
    ensure!(promises.len() > 30, "{} promises were found: the search is broken", promises.len());
    let mut named = Vec::new();
    for (line, promise) in &promises {
        let tests = names(promise).with_context(|| format!("SECURITY.md:{line}"))?;
        ensure!(!tests.is_empty(), "SECURITY.md:{line}: no test is named");
        named.extend(tests.into_iter().map(|test| (format!("SECURITY.md:{line}"), test)));
    }
    let wrong = without_test(named.iter().map(|(place, test)| (place.as_str(), test.as_str())))?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The items of lists below headings of promises, with the lines where they begin.
fn promises(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut inside, mut item) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            inside = line.starts_with(PROMISES);
        }
        if let Some(begin) = line.strip_prefix("- ").filter(|_| inside) {
            found.push((number, begin.to_owned()));
            item = true;
        } else if let Some(more) = line.strip_prefix("  ").filter(|_| inside && item) {
            found.iter_mut().last().into_iter().for_each(|(_, text)| text.extend([" ", more]));
        } else {
            item = false;
        }
    }
    found
}

/// Names of tests between backticks. A function alone stands in the module of the one before it.
fn names(promise: &str) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for code in promise.split('`').skip(1).step_by(2) {
        let plain = code
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_:-".contains(letter));
        if plain && code.contains("::") {
            found.push(code.to_owned());
        } else if plain && code.matches('_').count() > 2 {
            let module = found.last().and_then(|name| name.rsplit_once("::"));
            let (module, _) = module.with_context(|| format!("{code} is in no module"))?;
            found.push(format!("{module}::{code}"));
        }
    }
    Ok(found)
}

#[test]
fn promises_without_a_test_are_found() -> Result<()> {
    let text = "- no promise\n## Promises: one\n- held (`a::b::it_is_so_indeed`,\n  `and_so_is_this_one`)\n\n\
                - `oidc.identity_claim` and `system:`\n## Limits\n- none\n";
    let found = promises(text);
    ensure!(found.iter().map(|(line, _)| *line).eq([3, 6]), "{found:?}");
    let held = names(&found[0].1)?;
    ensure!(held == ["a::b::it_is_so_indeed", "a::b::and_so_is_this_one"], "{held:?}");
    ensure!(names(&found[1].1)?.is_empty());
    ensure!(names("`a_function_in_no_module`").is_err());
    Ok(())
}
