//! The passes of a run, from `tests/passes.toml`: which tests run beside which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::build::{Build, TestProgram};
use crate::program::{Job, list};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// The builds, in order. Every test program of each is run.
    pub(crate) build: Vec<Build>,
    /// A command, relative to the workspace, that runs beside the builds and must succeed.
    #[serde(default)]
    pub(crate) beside_build: Vec<String>,
    /// Packages whose documentation must have examples; those of all packages are run.
    #[serde(default)]
    pub(crate) examples: Vec<String>,
    #[serde(rename = "pass")]
    passes: Vec<Pass>,
}

/// One pass. A test belongs to the pass that names its module, else to the one that names its program, else to
/// the one that names neither.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pass {
    name: String,
    /// Programs, by the names that the runner prints.
    #[serde(default)]
    targets: BTreeSet<String>,
    /// Modules of these programs: the first segment of a test's path.
    #[serde(default)]
    modules: BTreeSet<String>,
    /// How many programs run at once.
    #[serde(default = "one")]
    programs: usize,
    /// How many tests of one program run at once; without it as many as there are processors.
    threads: Option<usize>,
    /// More of the environment of its programs.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// After this time a program is killed and its tests have failed.
    limit_seconds: u64,
}

const fn one() -> usize {
    1
}

/// A pass with what it runs.
#[derive(Debug)]
pub(crate) struct ReadyPass {
    pub(crate) name: String,
    pub(crate) programs: usize,
    pub(crate) jobs: Vec<Job>,
}

impl Plan {
    /// # Errors
    /// The file cannot be read, or a pass can never get a test.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let plan: Self = toml::from_str(&text).with_context(|| file.display().to_string())?;
        let rest = plan.passes.iter().filter(|pass| pass.targets.is_empty()).count();
        anyhow::ensure!(rest == 1, "{}: {rest} passes name no target, and there must be one", file.display());
        let module_alone =
            plan.passes.iter().find(|pass| pass.targets.is_empty() && !pass.modules.is_empty());
        if let Some(pass) = module_alone {
            anyhow::bail!("{}: pass {:?} names modules and no target", file.display(), pass.name);
        }
        Ok(plan)
    }

    /// Gives each test of each program to its pass. Within a pass large programs come first.
    ///
    /// # Errors
    /// A program cannot list its tests, or a pass names a target or a module that does not exist: it would
    /// silently run elsewhere.
    pub(crate) fn split(&self, programs: &[TestProgram]) -> Result<Vec<ReadyPass>> {
        let mut ready: Vec<ReadyPass> = self.passes.iter().map(Pass::ready).collect();
        let mut used: Vec<BTreeSet<String>> = vec![BTreeSet::new(); self.passes.len()];
        let mut programs = programs.to_vec();
        programs.sort_by_key(|program| std::cmp::Reverse(program.size));
        for program in &programs {
            let tests = list(program)?;
            let mut parts: Vec<BTreeSet<String>> = vec![BTreeSet::new(); self.passes.len()];
            for test in tests {
                let index = self.pass_of(&program.name, module_of(&test))?;
                let (Some(part), Some(used)) = (parts.get_mut(index), used.get_mut(index)) else { continue };
                used.insert(module_of(&test).to_owned());
                part.insert(test);
            }
            for ((pass, tests), ready) in self.passes.iter().zip(parts).zip(&mut ready) {
                if !tests.is_empty() {
                    let limit = Duration::from_secs(pass.limit_seconds);
                    ready.jobs.push(Job {
                        program: program.clone(),
                        tests,
                        threads: pass.threads,
                        env: pass.env.clone(),
                        limit,
                    });
                }
            }
        }
        for (pass, used) in self.passes.iter().zip(&used) {
            let unknown: Vec<_> = pass.modules.difference(used).collect();
            let present = programs.iter().any(|program| pass.targets.contains(&program.name));
            anyhow::ensure!(unknown.is_empty() || !present, "pass {:?}: no modules {unknown:?}", pass.name);
        }
        Ok(ready)
    }

    fn pass_of(&self, program: &str, module: &str) -> Result<usize> {
        let rank = |pass: &Pass| match (pass.targets.contains(program), pass.modules.contains(module)) {
            (true, true) => Some(2),
            (true, false) if pass.modules.is_empty() => Some(1),
            _ if pass.targets.is_empty() => Some(0),
            _ => None,
        };
        let ranked = self.passes.iter().enumerate().filter_map(|(index, pass)| Some((rank(pass)?, index)));
        let best = ranked.max_by_key(|(rank, index)| (*rank, std::cmp::Reverse(*index)));
        best.map(|(_, index)| index).with_context(|| format!("no pass takes {program}"))
    }
}

impl Pass {
    fn ready(&self) -> ReadyPass {
        ReadyPass { name: self.name.clone(), programs: self.programs.max(1), jobs: Vec::new() }
    }
}

/// The first segment of a test's path.
pub(crate) fn module_of(test: &str) -> &str {
    test.split("::").next().unwrap_or(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_module_counts_more_than_a_target_and_a_target_more_than_nothing() {
        let plan = plan(
            r#"build = []
            [[pass]]
            name = "rest"
            limit_seconds = 1
            [[pass]]
            name = "stories"
            targets = ["tests/stories"]
            limit_seconds = 1
            [[pass]]
            name = "times"
            targets = ["tests/stories"]
            modules = ["revoke"]
            limit_seconds = 1"#,
        );
        assert_eq!(plan.pass_of("rp-base", "revoke").unwrap(), 0);
        assert_eq!(plan.pass_of("tests/stories", "kubectl").unwrap(), 1);
        assert_eq!(plan.pass_of("tests/stories", "revoke").unwrap(), 2);
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused() {
        let text = "build = []\n[[pass]]\nname = \"a\"\nlimit_seconds = 1\nthread = 3";
        assert!(toml::from_str::<Plan>(text).is_err());
    }
}
