//! What authenticating a grant in use may allocate. Allocations are counted on one thread, so the figure is the same
//! on every machine; a rise of more than a tenth is a regression of each proxied request.

use rp_documents::Rights;

use crate::world::{HERE, World};

/// Allocations of one authentication of a grant in use.
const FIGURE: u64 = 1;

const ROUNDS: u64 = 100;

#[test]
fn authenticating_a_grant_in_use_allocates_no_more_than_it_did() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (world, token) = runtime.block_on(async {
        let world = World::new().await;
        let token = world.issue(&["sres"], Rights::Read).await.token.expose().clone();
        world.access.authenticate(&token, HERE).await.unwrap();
        (world, token)
    });
    let used = allocation_counter::measure(|| {
        runtime.block_on(async {
            for _ in 0..ROUNDS {
                world.access.authenticate(&token, HERE).await.unwrap();
            }
        });
    });
    let each = used.count_total / ROUNDS;
    assert!(each <= FIGURE + FIGURE / 10, "{each} allocations, and {FIGURE} before");
}
