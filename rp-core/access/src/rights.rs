//! How much a grant opens now: what it was given with, what its owner's groups give, and the elevation or the
//! robot behind it, whichever is least (`contract/rules.md` §3.6).

use std::ops::RangeInclusive;

use rp_base::Timestamp;
use rp_documents::elevation::ElevationState;
use rp_documents::{Elevation, Grant, GrantKind, Rights, Robot, Roles};

use crate::active_grant::EndReason;

/// Whether a kind is a shell regardless of its rights (`contract/rules.md` §5.2 "Who may").
pub(crate) const fn is_shell(kind: GrantKind) -> bool {
    matches!(kind, GrantKind::Ssh | GrantKind::Terminal | GrantKind::Tunnel)
}

/// The rights that a grant of a kind may be given with, from the least to the most. A shell changes things, so it has more
/// than reading; what only reads has no use for more.
pub const fn rights_of(kind: GrantKind) -> RangeInclusive<Rights> {
    match kind {
        GrantKind::Kubeconfig => Rights::Read..=Rights::Admin,
        GrantKind::Ssh | GrantKind::Terminal | GrantKind::Tunnel => Rights::Write..=Rights::Write,
        GrantKind::Metrics | GrantKind::Page | GrantKind::Cli | GrantKind::Robot => {
            Rights::Read..=Rights::Read
        }
    }
}

/// What a grant's owner holds for it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CurrentRights {
    /// The most rights; `None`: the grant opens nothing.
    pub(crate) rights: Option<Rights>,
    /// When that changes by itself.
    pub(crate) until: Option<Timestamp>,
    /// Why it is less than the grant says.
    pub(crate) why: Option<EndReason>,
}

impl CurrentRights {
    const fn nothing(why: EndReason) -> Self {
        Self { rights: None, until: None, why: Some(why) }
    }

    const fn just(rights: Rights) -> Self {
        Self { rights: Some(rights), until: None, why: None }
    }

    /// Reading is left, unless the grant is a shell.
    const fn fallen(grant: &Grant, why: EndReason) -> Self {
        if is_shell(grant.kind) {
            return Self::nothing(why);
        }
        Self { rights: Some(Rights::Read), until: None, why: Some(why) }
    }
}

/// What a person holds: `most` by their groups, above reading by an elevation in force.
pub(crate) fn for_person(
    grant: &Grant,
    roles: Roles,
    most: Option<Rights>,
    elevation: Option<&Elevation>,
    now: Timestamp,
) -> CurrentRights {
    if grant.kind == GrantKind::Cli {
        // It is for the JSON API, which checks the roles itself.
        return if roles.is_empty() {
            CurrentRights::nothing(EndReason::RightsLost)
        } else {
            CurrentRights::just(Rights::Read)
        };
    }
    let Some(most) = most else { return CurrentRights::nothing(EndReason::RightsLost) };
    if grant.rights == Rights::Read && !is_shell(grant.kind) {
        return CurrentRights::just(most);
    }
    if most == Rights::Read {
        return CurrentRights::fallen(grant, EndReason::RightsLost);
    }
    match elevation {
        Some(elevation) if in_force(elevation, grant, now) => {
            let rights = most.min(elevation.rights);
            let why = (rights < grant.rights).then_some(EndReason::RightsLost);
            CurrentRights { rights: Some(rights), until: elevation.not_after, why }
        }
        _ => CurrentRights::fallen(grant, EndReason::ElevationOver),
    }
}

/// What automation has approved: the grant as it was given, until it ends.
pub(crate) const fn for_automation(grant: &Grant) -> CurrentRights {
    CurrentRights::just(grant.rights)
}

/// What a robot holds: its scope, while it lives.
pub(crate) fn for_robot(grant: &Grant, robot: Option<&Robot>, now: Timestamp) -> CurrentRights {
    let Some(robot) = robot.filter(|robot| robot.revoked.is_none()) else {
        return CurrentRights::nothing(EndReason::Revoked);
    };
    if now >= robot.not_after {
        return CurrentRights::nothing(EndReason::Expired);
    }
    let in_scope = grant.kind == GrantKind::Robot
        || robot.kinds.contains(&grant.kind)
            && grant.target.as_ref().is_some_and(|target| robot.clusters.covers(target))
            && !(is_shell(grant.kind) && robot.rights < Rights::Write);
    if !in_scope {
        return CurrentRights::nothing(EndReason::RightsLost);
    }
    let why = (robot.rights < grant.rights).then_some(EndReason::RightsLost);
    CurrentRights { rights: Some(robot.rights), until: Some(robot.not_after), why }
}

fn in_force(elevation: &Elevation, grant: &Grant, now: Timestamp) -> bool {
    elevation.owner.sub == grant.owner.sub
        && elevation.state(now) == ElevationState::Active
        && elevation.covers(grant.target.as_ref())
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;
    use rp_base::{Id, SystemRandom};
    use rp_documents::robot::Scope;
    use rp_documents::{ElevationMethod, Person, ResourceId, Revocation, Role, Unknown};

    use super::*;

    const KINDS: [GrantKind; 8] = [
        GrantKind::Kubeconfig,
        GrantKind::Cli,
        GrantKind::Ssh,
        GrantKind::Terminal,
        GrantKind::Metrics,
        GrantKind::Tunnel,
        GrantKind::Page,
        GrantKind::Robot,
    ];
    const ALL: [Rights; 3] = [Rights::Read, Rights::Write, Rights::Admin];

    fn cluster(name: &str) -> ResourceId {
        ResourceId::imported(name).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn revocation() -> Revocation {
        Revocation { at: at(0), by: "root".to_owned(), why: None }
    }

    fn person(sub: &str) -> Person {
        Person { sub: sub.to_owned(), name: sub.to_owned(), groups: Vec::new() }
    }

    prop_compose! {
        fn grants()(
            kind in select(&KINDS[..]),
            rights in select(&ALL[..]),
            target in option::of(select(vec!["a", "b"])),
        ) -> Grant {
            let target = target.map(cluster);
            Grant { target, rights, ..tests_kit::grant(kind, "ada", at(0), at(100)) }
        }
    }

    prop_compose! {
        fn elevations()(
            owner in select(vec!["ada", "bob"]),
            rights in select(&ALL[1..]),
            target in option::of(select(vec!["a", "b"])),
            not_after in option::of(0i64..20),
            ended in any::<bool>(),
        ) -> Elevation {
            Elevation {
                id: Id::random(&SystemRandom),
                owner: person(owner),
                target: target.map(cluster),
                rights,
                way: ElevationMethod::Approval,
                reason: String::new(),
                ticket: None,
                asked: at(0),
                life_secs: 10,
                decision: None,
                not_before: None,
                not_after: not_after.map(at),
                ended: ended.then(revocation),
                review: None,
                unknown: Unknown::new(),
            }
        }
    }

    prop_compose! {
        fn robots()(
            clusters in option::of(select(vec!["a", "b"])),
            kinds in proptest::collection::vec(select(&KINDS[..]), 0..4),
            rights in select(&ALL[..]),
            not_after in 0i64..20,
            revoked in any::<bool>(),
        ) -> Robot {
            Robot {
                name: "r".to_owned(),
                clusters: clusters.map_or(Scope::All, |name| Scope::Only(vec![cluster(name)])),
                kinds,
                rights,
                reason: String::new(),
                created: at(0),
                created_by: person("root"),
                not_after: at(not_after),
                max_grants: 1,
                revoked: revoked.then(revocation),
                unknown: Unknown::new(),
            }
        }
    }

    #[test]
    fn a_shell_has_more_than_reading_and_only_a_kubeconfig_has_a_choice() {
        for kind in KINDS {
            let rights = rights_of(kind);
            assert_eq!(*rights.start() > Rights::Read, is_shell(kind), "{kind:?}");
            assert_eq!(rights.start() < rights.end(), kind == GrantKind::Kubeconfig, "{kind:?}");
        }
    }

    fn effective(grant: &Grant, held: CurrentRights) -> Option<Rights> {
        held.rights.map(|most| most.min(grant.rights))
    }

    proptest! {
        /// Nothing gives more than each of the three allows, and above reading all three are needed.
        #[test]
        fn a_person_has_the_least_of_grant_groups_and_elevation(
            grant in grants(),
            most in option::of(select(&ALL[..])),
            elevation in option::of(elevations()),
            now in 0i64..20,
        ) {
            let roles = Roles::NONE.with(Role::Viewer);
            let held = for_person(&grant, roles, most, elevation.as_ref(), at(now));
            let rights = effective(&grant, held);
            if grant.kind == GrantKind::Cli {
                prop_assert_eq!(rights, Some(Rights::Read));
                return Ok(());
            }
            prop_assert!(rights.is_none_or(|rights| rights <= grant.rights && most.is_some_and(|most| rights <= most)));
            let strong = rights.is_some_and(|rights| rights > Rights::Read) || (is_shell(grant.kind) && rights.is_some());
            if strong {
                let elevation = elevation.as_ref().unwrap();
                prop_assert!(elevation.state(at(now)) == ElevationState::Active);
                prop_assert!(elevation.owner.sub == grant.owner.sub);
                prop_assert!(elevation.covers(grant.target.as_ref()));
                prop_assert!(rights <= Some(elevation.rights) && most > Some(Rights::Read));
                prop_assert_eq!(held.until, elevation.not_after);
            }
            // Without the elevation reading is left, of a shell nothing.
            let after = effective(&grant, for_person(&grant, roles, most, None, at(now)));
            prop_assert!(after <= rights.max(Some(Rights::Read)));
            prop_assert!(!is_shell(grant.kind) || after.is_none());
            prop_assert!(is_shell(grant.kind) || after == most.map(|_| Rights::Read));
            // Anyone who has less than the grant says is told why.
            prop_assert!(rights == Some(grant.rights) || held.why.is_some());
        }

        #[test]
        fn a_robot_stays_in_its_scope(grant in grants(), robot in option::of(robots()), now in 0i64..20) {
            let held = for_robot(&grant, robot.as_ref(), at(now));
            let Some(rights) = effective(&grant, held) else {
                prop_assert!(held.why.is_some());
                return Ok(());
            };
            let robot = robot.unwrap();
            prop_assert!(robot.is_active(at(now)) && rights <= robot.rights);
            if grant.kind != GrantKind::Robot {
                prop_assert!(robot.kinds.contains(&grant.kind));
                prop_assert!(robot.clusters.covers(grant.target.as_ref().unwrap()));
            }
        }
    }
}
