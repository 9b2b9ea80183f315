//! How settings are declared and read. A [`section!`] is one declaration: of it come the typed struct, the reading of it with
//! its bounds, and its rows in the reference. `rp-config` lists the sections of the product.
//!
//! Precedence (`contract/rules.md` §5.16): flag, `ARO_SECTION__KEY`, the contract's names
//! (`contract/portal.md` §1.1), file. [`Catalogue::read`] is a pure function of its [`Input`].

mod catalogue;
pub mod check;
mod declare;
mod mistakes;
mod reader;
mod reference;
mod secret_file;
mod setting;
mod source;
pub mod values;

pub use catalogue::{Catalogue, Group, Section};
pub use declare::Word;
pub use mistakes::{Mistake, Mistakes};
pub use reader::Reader;
pub use secret_file::{SecretFile, SecretFileError};
pub use setting::{
    Key, Kind, Setting, count, database, dial, duration, file, files, groups, listen, networks,
    optional_duration, optional_file, optional_listen, optional_text, origin, read_by, secret, secret_path,
    switch, text, texts, url, word,
};
pub use source::{File, Input, Override};
