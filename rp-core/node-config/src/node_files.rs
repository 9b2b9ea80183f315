//! Files and units that belong together.

use crate::ignition::{Config, File, Unit};

/// Files and units of one purpose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeFiles {
    pub files: Vec<File>,
    pub units: Vec<Unit>,
}

impl NodeFiles {
    /// Puts them into a config. A file of the same path and a unit of the same name are replaced.
    pub fn put_into(&self, config: &mut Config) {
        for file in &self.files {
            config.put_file(file.clone());
        }
        for unit in &self.units {
            config.put_unit(unit.clone());
        }
    }

    /// A config of these alone.
    pub fn into_config(self) -> Config {
        let mut config = Config::empty();
        self.put_into(&mut config);
        config
    }
}
