//! The operating system image of machines (`contract/installer.md` §9). Sku and version are data of a version's document,
//! member `osImage`, so that a new image needs no new build of the service ("Do better" 12).

use rp_documents::offer::OpenShiftVersionProperties;
use serde::{Deserialize, Serialize};

use crate::InputError;

/// The member of a version's properties.
const MEMBER: &str = "osImage";
/// The end of the sku's name for machines of the second generation of Hyper-V.
const SECOND_GENERATION: &str = "-v2";

/// A marketplace image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OsImage {
    #[serde(default = "publisher")]
    pub publisher: String,
    #[serde(default = "offer")]
    pub offer: String,
    /// `aro_420`: for machines of the first generation.
    pub sku: String,
    /// `9.6.20251015`.
    pub version: String,
}

fn publisher() -> String {
    "azureopenshift".to_owned()
}

fn offer() -> String {
    "aro4".to_owned()
}

/// A generation of Hyper-V.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    First,
    Second,
}

/// The generation that a size needs, by its capability `HyperVGenerations` (`V1`, `V2` or `V1,V2`); none of it: the
/// first.
pub fn generation(capability: Option<&str>) -> Generation {
    match capability {
        Some(all) if !all.split(',').any(|one| one.trim().eq_ignore_ascii_case("V1")) => Generation::Second,
        _ => Generation::First,
    }
}

impl OsImage {
    /// The image that a version's document names.
    ///
    /// # Errors
    /// [`InputError::NoImage`]: it names none; [`InputError::Malformed`]: its member has another form.
    pub fn of_version(version: &OpenShiftVersionProperties) -> Result<Self, InputError> {
        let missing = || InputError::NoImage { version: version.version.clone() };
        let image = version.unknown.get(MEMBER).filter(|image| !image.is_null()).ok_or_else(missing)?;
        let image: Self = serde_json::from_value(image.clone()).map_err(|_| InputError::Malformed {
            field: "osImage of the version",
            expected: "an object with sku and version",
        })?;
        let plain = |text: &str| {
            let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            !text.is_empty() && text.len() <= 128 && text.bytes().all(known)
        };
        let parts = [&image.publisher, &image.offer, &image.sku, &image.version];
        if !parts.into_iter().all(|text| plain(text)) {
            return Err(InputError::Malformed {
                field: "osImage of the version",
                expected: "made of letters, digits and . _ -",
            });
        }
        Ok(image)
    }

    /// The image for a cluster whose sizes need these generations: one image serves all machines, so one size that needs
    /// the second generation decides.
    #[must_use]
    pub fn for_generations(mut self, masters: Generation, workers: Generation) -> Self {
        if masters.max(workers) == Generation::Second && !self.sku.ends_with(SECOND_GENERATION) {
            self.sku.push_str(SECOND_GENERATION);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn version(image: &Value) -> OpenShiftVersionProperties {
        serde_json::from_value(json!({ "version": "4.20.1", "osImage": image })).unwrap()
    }

    #[test]
    fn the_image_is_data_of_the_version() {
        let image =
            OsImage::of_version(&version(&json!({ "sku": "aro_420", "version": "9.6.20251015" }))).unwrap();
        let expected = json!({
            "publisher": "azureopenshift", "offer": "aro4", "sku": "aro_420", "version": "9.6.20251015"
        });
        assert_eq!(serde_json::to_value(&image).unwrap(), expected);
        for wrong in [
            json!(7),
            json!({ "sku": "a" }),
            json!({ "sku": "a\nb", "version": "1" }),
            json!({ "sku": "a", "version": "1", "plan": "x" }),
        ] {
            let error = OsImage::of_version(&version(&wrong)).unwrap_err().to_string();
            assert!(error.starts_with("osImage of the version is not "), "{error}");
        }
        assert_eq!(
            OsImage::of_version(&version(&Value::Null)).unwrap_err().to_string(),
            "the version 4.20.1 has no data of an operating system image: `osImage` of its document"
        );
    }

    #[test]
    fn one_size_of_the_second_generation_decides() {
        use Generation::{First, Second};
        for (capability, expected) in [
            (None, First),
            (Some("V1"), First),
            (Some("V1,V2"), First),
            (Some("v2, v1"), First),
            (Some("V2"), Second),
        ] {
            assert_eq!(generation(capability), expected, "{capability:?}");
        }
        let image = OsImage::of_version(&version(&json!({ "sku": "aro_420", "version": "1" }))).unwrap();
        for (masters, workers, sku) in
            [(First, First, "aro_420"), (Second, First, "aro_420-v2"), (First, Second, "aro_420-v2")]
        {
            let chosen = image.clone().for_generations(masters, workers);
            assert_eq!(chosen.sku, sku);
            assert_eq!(chosen.clone().for_generations(masters, workers), chosen);
        }
    }
}
