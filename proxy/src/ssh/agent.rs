//! An agent in memory that holds the cluster's key, for hopping on from a machine
//! (`contract/portal.md` §16.4, "Do better" 26): only where the grant asks for it, and every signature is
//! witnessed.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use russh::keys::signature::Signer as _;
use russh::keys::ssh_encoding::Encode as _;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::{HashAlg, PrivateKey};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Largest message: a sign request is two key blobs and a session id.
const MOST_BYTES: usize = 64 * 1024;
/// Agent channels at once of one leg, which up to ten sessions share.
const MOST_CHANNELS: usize = 16;

const FAILURE: u8 = 5;
const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;
const RSA_SHA2_256: u32 = 2;
const RSA_SHA2_512: u32 = 4;
const COMMENT: &str = "cluster";

/// Hears of each use of the key.
#[async_trait]
pub trait Witness: Send + Sync + std::fmt::Debug {
    /// Asked before each signature; false: none is made.
    async fn may_sign(&self) -> bool;
}

/// The agent of one leg.
#[derive(Debug)]
pub(super) struct Agent {
    key: Arc<PrivateKey>,
    witness: Arc<dyn Witness>,
    places: Arc<Semaphore>,
}

impl Agent {
    pub(super) fn new(key: Arc<PrivateKey>, witness: Arc<dyn Witness>) -> Self {
        Self { key, witness, places: Arc::new(Semaphore::new(MOST_CHANNELS)) }
    }

    /// Room for one more channel.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Answers requests (draft-ietf-sshm-ssh-agent) until the channel ends.
    pub(super) async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        loop {
            let length = match stream.read_u32().await {
                Ok(length) => length as usize,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            };
            if length == 0 || length > MOST_BYTES {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the agent was sent a message too long",
                ));
            }
            let mut request = vec![0; length];
            stream.read_exact(&mut request).await?;
            let answer = self.answer(&request).await.unwrap_or_else(|| vec![FAILURE]);
            stream.write_u32(u32::try_from(answer.len()).unwrap_or(u32::MAX)).await?;
            stream.write_all(&answer).await?;
            stream.flush().await?;
        }
    }

    /// `None`: refused.
    async fn answer(&self, request: &[u8]) -> Option<Vec<u8>> {
        match request.split_first()? {
            (&REQUEST_IDENTITIES, []) => {
                let mut answer = vec![IDENTITIES_ANSWER, 0, 0, 0, 1];
                put(&mut answer, &self.blob()?);
                put(&mut answer, COMMENT.as_bytes());
                Some(answer)
            }
            (&SIGN_REQUEST, rest) => {
                let (blob, rest) = take(rest)?;
                let (data, rest) = take(rest)?;
                let flags = u32::from_be_bytes(rest.try_into().ok()?);
                if blob != self.blob()? || !self.witness.may_sign().await {
                    return None;
                }
                let mut answer = vec![SIGN_RESPONSE];
                put(&mut answer, &self.sign(data, flags)?);
                Some(answer)
            }
            // Keys are neither added nor removed, and it cannot be locked.
            _ => None,
        }
    }

    fn blob(&self) -> Option<Vec<u8>> {
        let mut blob = Vec::new();
        self.key.public_key().key_data().encode(&mut blob).ok()?;
        Some(blob)
    }

    fn sign(&self, data: &[u8], flags: u32) -> Option<Vec<u8>> {
        let signature = match self.key.key_data() {
            KeypairData::Rsa(pair) => {
                let hash = match flags {
                    flags if flags & RSA_SHA2_512 != 0 => HashAlg::Sha512,
                    flags if flags & RSA_SHA2_256 != 0 => HashAlg::Sha256,
                    // SHA-1: refused.
                    _ => return None,
                };
                (pair, Some(hash)).try_sign(data).ok()?
            }
            pair => pair.try_sign(data).ok()?,
        };
        let mut encoded = Vec::new();
        signature.encode(&mut encoded).ok()?;
        Some(encoded)
    }
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend_from_slice(bytes);
}

fn take(from: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = from.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use russh::keys::Algorithm;

    use super::*;

    #[derive(Debug, Default)]
    struct Counting(AtomicUsize, bool);

    #[async_trait]
    impl Witness for Counting {
        async fn may_sign(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            self.1
        }
    }

    fn agent(allow: bool) -> (Agent, Arc<Counting>) {
        let key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519).unwrap();
        let witness = Arc::new(Counting(AtomicUsize::new(0), allow));
        let shared: Arc<dyn Witness> = witness.clone();
        (Agent::new(Arc::new(key), shared), witness)
    }

    fn sign_request(blob: &[u8]) -> Vec<u8> {
        let mut request = vec![SIGN_REQUEST];
        put(&mut request, blob);
        put(&mut request, b"what is signed");
        request.extend_from_slice(&0u32.to_be_bytes());
        request
    }

    #[tokio::test]
    async fn every_signature_is_witnessed() {
        let (agent, witness) = agent(true);
        let answer = agent.answer(&sign_request(&agent.blob().unwrap())).await.unwrap();
        assert_eq!(answer[0], SIGN_RESPONSE);
        assert_eq!(witness.0.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn refused_by_the_witness_nothing_is_signed() {
        let (agent, _) = agent(false);
        assert_eq!(agent.answer(&sign_request(&agent.blob().unwrap())).await, None);
    }

    #[tokio::test]
    async fn other_keys_and_other_requests_are_refused() {
        let (agent, witness) = agent(true);
        assert_eq!(agent.answer(&sign_request(b"another key")).await, None);
        for request in [
            &[][..],
            &[17, 0],
            &[18],
            &[19],
            &[22, 0, 0, 0, 1],
            &[27, 0, 0, 0, 3],
            &[SIGN_REQUEST, 255, 255, 255, 255],
        ] {
            assert_eq!(agent.answer(request).await, None, "{request:?}");
        }
        assert_eq!(witness.0.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_huge_message_ends_the_channel() {
        let (agent, _) = agent(true);
        let (mut near, far) = tokio::io::duplex(1024);
        let served = tokio::spawn(async move { agent.serve(far).await });
        near.write_u32(u32::MAX).await.unwrap();
        assert!(served.await.unwrap().is_err());
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 64, ..Default::default() })]

        #[test]
        fn requests_of_any_bytes_never_panic_and_never_sign(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
            kind in 0u8..40,
        ) {
            static AGENT: std::sync::LazyLock<(Agent, Arc<Counting>)> = std::sync::LazyLock::new(|| agent(true));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let request = [&[kind], bytes.as_slice()].concat();
            let answer = runtime.block_on(AGENT.0.answer(&request));
            proptest::prop_assert!(answer.is_none_or(|answer| answer[0] == IDENTITIES_ANSWER));
            proptest::prop_assert_eq!(AGENT.1.0.load(Ordering::Relaxed), 0);
        }
    }
}
