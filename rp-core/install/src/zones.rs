//! Availability zones of machines (`contract/installer.md` §5).

/// Locations whose machines have no zones, though their sizes name some.
const WITHOUT_ZONES: [&str; 1] = ["centraluseuap"];
/// The zones that every region with zones has.
const BASIC: [&str; 3] = ["1", "2", "3"];
/// How many machines the control plane has, each in a zone of its own.
pub const CONTROL_PLANE: usize = 3;

/// A size that is there in too few zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    #[error("cluster creation with {0} zones and 3 control plane replicas is unsupported")]
    ControlPlane(usize),
    #[error(
        "cluster creation with a worker SKU available on less than 3 zones is unsupported (available: {0})"
    )]
    Workers(usize),
}

/// The zones in which machines of a size may be made, sorted: of those that the size has in the location, the first
/// three by name unless `expanded`.
pub fn available(location: &str, sku_zones: &[String], expanded: bool) -> Vec<String> {
    if WITHOUT_ZONES.contains(&location.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let mut zones: Vec<String> =
        sku_zones.iter().filter(|zone| expanded || BASIC.contains(&zone.as_str())).cloned().collect();
    zones.sort();
    zones.dedup();
    zones
}

/// The zones of the control plane; one empty text where the location has none.
///
/// # Errors
/// One or two zones.
pub fn control_plane(available: &[String]) -> Result<Vec<String>, ZoneError> {
    match available {
        [] => Ok(vec![String::new()]),
        [first, second, third, ..] => Ok(vec![first.clone(), second.clone(), third.clone()]),
        few => Err(ZoneError::ControlPlane(few.len())),
    }
}

/// The zones of workers; one empty text where the location has none.
///
/// # Errors
/// One or two zones.
pub fn workers(available: &[String]) -> Result<Vec<String>, ZoneError> {
    match available.len() {
        0 => Ok(vec![String::new()]),
        few if few < CONTROL_PLANE => Err(ZoneError::Workers(few)),
        _ => Ok(available.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn zones_follow_the_table() {
        for (location, sku, expanded, expected) in [
            ("eastus", &["3", "1", "2"][..], false, &["1", "2", "3"][..]),
            ("eastus", &["4", "3", "1", "2"], false, &["1", "2", "3"]),
            ("eastus", &["4", "3", "1", "2"], true, &["1", "2", "3", "4"]),
            ("CentralUSEUAP", &["1", "2", "3"], false, &[]),
            ("westcentralus", &[], true, &[]),
            ("eastus", &["1", "1"], false, &["1"]),
        ] {
            assert_eq!(available(location, &texts(sku), expanded), texts(expected), "{location} {sku:?}");
        }
    }

    #[test]
    fn machines_are_in_three_zones_or_in_none() {
        let none = texts(&[""]);
        assert_eq!(control_plane(&[]), Ok(none.clone()));
        assert_eq!(workers(&[]), Ok(none));
        assert_eq!(control_plane(&texts(&["1", "2", "3", "4"])), Ok(texts(&["1", "2", "3"])));
        assert_eq!(workers(&texts(&["1", "2", "3", "4"])), Ok(texts(&["1", "2", "3", "4"])));
        for few in [&["1"][..], &["1", "3"]] {
            let few = texts(few);
            assert_eq!(control_plane(&few), Err(ZoneError::ControlPlane(few.len())));
            assert_eq!(workers(&few), Err(ZoneError::Workers(few.len())));
        }
        assert_eq!(
            ZoneError::ControlPlane(2).to_string(),
            "cluster creation with 2 zones and 3 control plane replicas is unsupported"
        );
    }
}
