//! What `tests/fuzz` needs of the inside of this module. Compiled with `--cfg fuzzing` alone.

use rp_tunnel::Destination;
use tokio::io::AsyncRead;

use super::client_hello;

/// Reads a hello, which must ask for the destination's name; gives what was read.
///
/// # Errors
/// Why the connection is not carried on, as text.
pub async fn hello(
    near: &mut (impl AsyncRead + Unpin),
    destination: &Destination,
) -> Result<Vec<u8>, String> {
    client_hello::read(near, destination).await.map_err(|error| error.to_string())
}
