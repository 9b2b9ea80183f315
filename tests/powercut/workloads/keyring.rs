//! The key file: made, rotated, a key forgotten; what was sealed stays readable.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use rp_base::SystemRandom;
use rp_documents::Sealed;
use rp_seal::Keyring;
use serde::{Deserialize, Serialize};

use super::Workload;
use crate::recorder::{Marks, said};

const PLACE: &str = "ImportedClusters/harbor/sealed";
const FILE: &str = "keys.json";

#[derive(Debug, Serialize, Deserialize)]
enum Mark {
    /// A key is in the file, and what it sealed.
    Sealed {
        key: String,
        text: String,
    },
    Forgets(String),
    Forgot(String),
}

pub(super) struct Keys;

#[async_trait]
impl Workload for Keys {
    fn name(&self) -> &'static str {
        "keyring"
    }

    async fn run(&self, folder: &Path, marks: &Marks) -> Result<()> {
        let keyring = Keyring::open_or_create(&folder.join(FILE), &SystemRandom)?;
        let seal = || {
            let Sealed(text) = keyring.seal(b"hunter2", PLACE)?;
            let key = keyring.ids().current;
            marks.say(&Mark::Sealed { key, text })
        };
        seal()?;
        for _ in 0..4 {
            keyring.rotate(true, &SystemRandom)?;
            seal()?;
        }
        let next = keyring.rotate(false, &SystemRandom)?;
        keyring.use_key(&next, &SystemRandom)?;
        seal()?;
        for key in ["k1", "k2"] {
            marks.say(&Mark::Forgets(key.to_owned()))?;
            keyring.forget(key, &SystemRandom)?;
            marks.say(&Mark::Forgot(key.to_owned()))?;
        }
        Ok(())
    }

    async fn check(&self, folder: &Path, marks: &[String]) -> Result<()> {
        let file = folder.join(FILE);
        let keyring = Keyring::open_or_create(&file, &SystemRandom).context("the keyring does not open")?;
        let keys = keyring.ids().all;
        let (mut sealed, mut leaving) = (Vec::new(), BTreeSet::new());
        for mark in said::<Mark>(marks)? {
            match mark {
                Mark::Sealed { key, text } => sealed.push((key, text)),
                Mark::Forgets(key) => drop(leaving.insert(key)),
                Mark::Forgot(key) => {
                    ensure!(!keys.contains(&key), "{key} was promised to be forgotten, it is there");
                }
            }
        }
        for (key, text) in sealed.into_iter().filter(|(key, _)| !leaving.contains(key)) {
            ensure!(keys.contains(&key), "{key} was promised, there are {keys:?}");
            keyring.open(&Sealed(text), PLACE).with_context(|| format!("what {key} sealed"))?;
        }
        keyring.rotate(true, &SystemRandom).context("it cannot be rotated").map(drop)
    }
}
