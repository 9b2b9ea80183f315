//! How new clusters are installed, and in what regions differ.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::{Reader, duration, file, optional_file, section, switch};

section! {
    /// How new clusters are installed (`contract/installer.md` §16).
    "rp" pub struct RpInstall {
        /// The program `openshift-install` of the releases that are offered; empty: creations fail at the step
        /// `runInstaller`.
        install_binary: Option<PathBuf> = optional_file(),
        /// Folder of the installations that run. It holds pull secrets and keys of clusters until their assets are in the
        /// clusters' own storage.
        install_folder: PathBuf = file("/var/lib/aro/install"),
        /// The longest time of one command of the installer; at least 1s.
        install_deadline: Duration = duration("20m"),
    }
}

section! {
    /// In what the clusters of regions and clouds differ.
    "rp" pub struct RpFeatures {
        /// Whether customers and others are refused changes in the clusters' resource groups; only an application that
        /// Azure knows as first-party may do that.
        deny_assignments: bool = switch(true),
        /// Whether zones other than 1, 2 and 3 are used.
        expanded_zones: bool = switch(false),
    }
}

pub(super) fn read(r: &mut Reader) -> (RpInstall, RpFeatures) {
    let install = RpInstall::read(r);
    if install.install_deadline < Duration::from_secs(1) {
        r.mistake("rp.install_deadline", "at least 1s is needed");
    }
    (install, RpFeatures::read(r))
}
