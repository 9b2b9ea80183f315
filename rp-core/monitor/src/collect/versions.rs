//! The cluster's version (`contract/monitor.md` §9.2, §9.4).

use std::fmt;

use super::conditions::{CLUSTER_VERSION, is_known};
use super::output::owned_text;
use super::{CollectError, CollectorOutput, Level};
use crate::cluster_objects::ClusterObjects;
use crate::names::cluster;
use crate::objects::ClusterVersion;
use crate::sample::{Sample, Text};

/// `MAJOR.MINOR.PATCH` and the suffix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
    pub rest: String,
}

impl Version {
    /// `None`: it does not begin with three numbers.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let (major, minor, tail) = (parts.next()?, parts.next()?, parts.next()?);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (patch, rest) = tail.split_at(end);
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        let (major, minor, patch) = (number(major)?, number(minor)?, number(patch)?);
        Some(Self { major, minor, patch, rest: rest.to_owned() })
    }

    /// `MAJOR.MINOR`.
    pub fn minor(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}{}", self.major, self.minor, self.patch, self.rest)
    }
}

/// Actual and desired version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions {
    /// The newest version that was installed completely.
    pub actual: Option<Version>,
    pub desired: Option<Version>,
}

impl Versions {
    pub fn from_cluster_version(version: &ClusterVersion) -> Self {
        let parsed = |text: Option<&str>| text.and_then(Version::parse);
        Self { actual: parsed(version.current()), desired: parsed(version.wanted()) }
    }

    pub(super) fn actual_text(&self) -> Text {
        text(self.actual.as_ref())
    }

    pub(super) fn desired_text(&self) -> Text {
        text(self.desired.as_ref())
    }

    pub(super) fn minor_text(&self) -> Text {
        self.actual.as_ref().map(Version::minor).unwrap_or_default().into()
    }
}

fn text(version: Option<&Version>) -> Text {
    version.map(ToString::to_string).unwrap_or_default().into()
}

pub(super) fn prefetch(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(version) = seen.version()? else { return Ok(()) };
    for (which, text) in [("actual", version.current()), ("desired", version.wanted())] {
        if let Some(text) = text.filter(|text| Version::parse(text).is_none()) {
            let fields = vec![("which".into(), which.into()), ("version".into(), owned_text(text))];
            told.line(Level::Error, "the version of the cluster cannot be read", fields);
        }
    }
    Ok(())
}

pub(super) fn openshift5(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    seen.version()?;
    let versions = seen.versions();
    let five = |version: Option<&Version>| text(version.filter(|version| version.major == 5));
    let (actual, desired) = (five(versions.actual.as_ref()), five(versions.desired.as_ref()));
    if !actual.is_empty() || !desired.is_empty() {
        told.one(&cluster::OPENSHIFT5, [actual, desired]);
    }
    Ok(())
}

pub(super) fn versions(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let deployments = seen.operator_deployments()?;
    let master =
        deployments.iter().find(|deployment| deployment.metadata.name.as_str() == "aro-operator-master");
    let operator = master.and_then(|deployment| deployment.metadata.labels.get("version"));
    let (versions, cluster) = (seen.versions(), seen.cluster());
    let commit = seen.commit();
    let available = if commit == cluster.provisioned_by { "" } else { commit };
    told.one(
        &cluster::VERSIONS,
        [
            versions.actual_text(),
            versions.desired_text(),
            versions.minor_text(),
            owned_text(&cluster.provisioned_by),
            commit.into(),
            owned_text(operator.filter(|version| !version.is_empty()).unwrap_or("unknown")),
            available.into(),
        ],
    );
    Ok(())
}

pub(super) fn conditions(seen: &ClusterObjects, told: &mut CollectorOutput) -> Result<(), CollectError> {
    let Some(version) = seen.version()? else { return Ok(()) };
    for condition in version.status.conditions.iter().filter(|it| !is_known(CLUSTER_VERSION, it)) {
        let dims = [owned_text(condition.kind.as_str()), owned_text(condition.status.as_str())];
        told.push(Sample::one(&cluster::CLUSTER_VERSION_CONDITIONS, dims));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{CollectorBench, aro, named};
    use super::super::{CLUSTER_VERSION, OPENSHIFT5};
    use super::*;
    use crate::cluster_objects::Resource;

    fn version(value: Value) -> CollectorBench {
        CollectorBench::new(aro()).with(&Resource::ClusterVersion, value)
    }

    fn simple(actual: &str, desired: &str) -> Value {
        json!({"status": {"desired": {"version": desired},
            "history": [{"state": "Partial", "version": desired}, {"state": "Completed", "version": actual},
                        {"state": "Completed", "version": "4.1.1"}]}})
    }

    #[test]
    fn a_version_is_three_numbers_and_a_rest() {
        let parsed = Version::parse("4.16.3-rc.1+x").unwrap();
        assert_eq!((parsed.major, parsed.minor, parsed.patch, parsed.rest.as_str()), (4, 16, 3, "-rc.1+x"));
        assert_eq!((parsed.to_string().as_str(), parsed.minor().as_str()), ("4.16.3-rc.1+x", "4.16"));
        for bad in ["", "4", "4.16", "4.16.", "a.1.2", "4..2", "-4.1.2", "4.+1.2", "99999999999.1.1"] {
            assert_eq!(Version::parse(bad), None, "{bad}");
        }
        assert_eq!(Version::parse("4.16.3.4").unwrap().rest, ".4");
    }

    #[test]
    fn actual_is_the_first_completed_entry_and_a_wish_goes_before_the_status() {
        let fed = version(simple("4.16.3", "4.16.9"));
        assert_eq!(fed.seen.versions().actual_text(), "4.16.3");
        assert_eq!(fed.seen.versions().desired_text(), "4.16.9");
        let wish = json!({"spec": {"desiredUpdate": {"version": "4.17.0"}}, "status": {"desired": {"version": "4.16.9"}}});
        assert_eq!(version(wish).seen.versions().desired_text(), "4.17.0");
        let empty =
            json!({"spec": {"desiredUpdate": {"version": ""}}, "status": {"desired": {"version": "4.16.9"}}});
        assert_eq!(version(empty).seen.versions().desired_text(), "4.16.9");
    }

    #[test]
    fn a_version_that_cannot_be_read_is_logged_and_left_unset() {
        let fed = version(simple("four", "4.16.9"));
        let told = fed.told(&CLUSTER_VERSION).unwrap();
        assert_eq!((told.lines.len(), told.lines[0].level), (1, Level::Error));
        assert_eq!(fed.seen.versions().actual, None);
    }

    #[test]
    fn a_failed_read_fails() {
        let fed = CollectorBench::new(aro()).failed(&Resource::ClusterVersion, 500);
        assert!(fed.told(&CLUSTER_VERSION).is_err());
    }

    #[test]
    fn openshift_5_is_told_for_either_version() {
        assert!(version(simple("4.16.3", "4.16.9")).run(&OPENSHIFT5).is_empty());
        assert_eq!(
            version(simple("4.20.3", "5.0.1")).run(&OPENSHIFT5),
            ["cluster.openshift5.versions 1 actualVersion= desiredVersion=5.0.1"]
        );
        assert_eq!(
            version(simple("5.0.1", "5.0.1")).run(&OPENSHIFT5),
            ["cluster.openshift5.versions 1 actualVersion=5.0.1 desiredVersion=5.0.1"]
        );
    }

    #[test]
    fn versions_name_operator_and_services() {
        let fed = version(simple("4.16.3", "4.16.9")).with_items(
            &Resource::OperatorDeployments,
            json!([{"metadata": {"name": "aro-operator-master", "labels": {"version": "abc"}}}]),
        );
        assert_eq!(
            fed.run(named("emitClusterVersions")),
            ["cluster.versions 1 actualVersion=4.16.3 desiredVersion=4.16.9 actualMinorVersion=4.16 \
              provisionedByResourceProviderVersion=old resourceProviderVersion=commit operatorVersion=abc availableRP=commit"]
        );
    }

    #[test]
    fn no_operator_is_unknown_and_the_same_commit_is_not_available() {
        let mut cluster = aro();
        cluster.provisioned_by = "commit".to_owned();
        let fed = CollectorBench::new(cluster).failed(&Resource::OperatorDeployments, 404);
        assert_eq!(
            fed.run(named("emitClusterVersions")),
            ["cluster.versions 1 actualVersion= desiredVersion= actualMinorVersion= \
              provisionedByResourceProviderVersion=commit resourceProviderVersion=commit operatorVersion=unknown availableRP="]
        );
    }

    #[test]
    fn unexpected_conditions_of_the_version_are_told() {
        let conditions: Vec<Value> = [
            ("Available", "True"),
            ("Available", "False"),
            ("Progressing", "True"),
            ("Degraded", "Unknown"),
            ("Upgradeable", "True"),
            ("Upgradeable", "False"),
            ("Failing", "False"),
            ("Failing", "True"),
            ("ReleaseAccepted", "True"),
            ("ReleaseAccepted", "False"),
            ("New", "False"),
        ]
        .map(|(kind, status)| json!({"type": kind, "status": status}))
        .to_vec();
        let told =
            version(json!({"status": {"conditions": conditions}})).run(named("emitClusterVersionConditions"));
        let expected = [
            "Available status=False",
            "Degraded status=Unknown",
            "Failing status=True",
            "New status=False",
            "Progressing status=True",
            "ReleaseAccepted status=False",
            "Upgradeable status=False",
        ]
        .map(|text| format!("clusterversion.conditions 1 type={text}"));
        assert_eq!(told, expected);
    }
}
