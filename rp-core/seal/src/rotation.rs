//! Changes of the key file: atomic, under its lock.

use rp_base::Random;

use crate::keyring::{Keyring, Keys, fresh};
use crate::{SealError, file};

impl Keyring {
    /// Adds a fresh key to the file and gives its id; it seals at once, or from [`Keyring::use_key`] on, after the file
    /// has come to every machine. The old keys go on opening.
    ///
    /// # Errors
    /// The file cannot be read or replaced; a keyring without a file has none.
    pub fn rotate(&self, use_it: bool, random: &dyn Random) -> Result<String, SealError> {
        self.change(random, |keys| {
            let id = keys.next_id();
            keys.keys.insert(id.clone(), fresh(random));
            if use_it {
                keys.current.clone_from(&id);
            }
            Ok(id)
        })
    }

    /// Makes a key of the file the one that seals.
    ///
    /// # Errors
    /// As [`Keyring::rotate`]; [`SealError::UnknownKey`].
    pub fn use_key(&self, id: &str, random: &dyn Random) -> Result<(), SealError> {
        self.change(random, |keys| {
            if !keys.keys.contains_key(id) {
                return Err(SealError::UnknownKey(id.to_owned()));
            }
            id.clone_into(&mut keys.current);
            Ok(())
        })
    }

    /// Removes a key from the file: what is sealed with it is lost, what was signed with it is refused.
    ///
    /// # Errors
    /// As [`Keyring::rotate`]; [`SealError::UnknownKey`], [`SealError::Current`].
    pub fn forget(&self, id: &str, random: &dyn Random) -> Result<(), SealError> {
        self.change(random, |keys| {
            if keys.current == id {
                return Err(SealError::Current(id.to_owned()));
            }
            keys.keys.remove(id).map(drop).ok_or_else(|| SealError::UnknownKey(id.to_owned()))
        })
    }

    /// Changes the file as it is now, and takes the change up.
    fn change<T>(
        &self,
        random: &dyn Random,
        change: impl FnOnce(&mut Keys) -> Result<T, SealError>,
    ) -> Result<T, SealError> {
        let file = self.0.file.as_ref().ok_or(SealError::NoFile)?;
        let held = file::lock(&file.path)?;
        let (mut keys, _) = file::read(&file.path)?;
        let changed = change(&mut keys)?;
        file::replace(&file.path, &keys, random)?;
        drop(held);
        self.reload()?;
        Ok(changed)
    }
}
