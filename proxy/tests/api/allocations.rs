//! What one proxied GET may allocate in the proxy: TLS on both legs, identity, audit. The proxy runs on a thread of
//! its own, where allocations are counted, so the figure is the same on every machine; a rise of more than a tenth
//! is a regression of every request.

use rp_documents::Rights;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::upstream::echo;
use crate::wire::{Wire, start};
use crate::world::World;

/// Allocations of one GET on a connection and a grant in use.
const FIGURE: u64 = 75;

const ROUNDS: u64 = 200;

/// Sends requests one after the other over one connection.
async fn requests(wire: &mut Wire, token: &str, count: u64) {
    for _ in 0..count {
        wire.send(format!("{}\r\n", start("GET", "/api/v1/namespaces/default/pods", token))).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.whole), (200, true), "{}", answer.text());
    }
}

#[test]
fn a_proxied_get_allocates_no_more_than_it_did() {
    let proxy = Builder::new_current_thread().enable_all().build().unwrap();
    let world = proxy.block_on(World::new());
    // The cluster and the client.
    let others = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = others.block_on(echo(&world.ca, true));
    world.cluster(upstream.port);
    let token = proxy.block_on(world.token(Rights::Read));
    let ((warm, is_warm), (go, may_go)) = (oneshot::channel(), oneshot::channel());
    let (done, is_done) = oneshot::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            others.block_on(async {
                let mut wire = Wire::connect(&world).await;
                requests(&mut wire, &token, 20).await;
                warm.send(()).unwrap();
                may_go.await.unwrap();
                requests(&mut wire, &token, ROUNDS).await;
                done.send(()).unwrap();
            });
        });
        proxy.block_on(is_warm).unwrap();
        go.send(()).unwrap();
        let used = allocation_counter::measure(|| proxy.block_on(is_done).unwrap());
        let each = used.count_total / ROUNDS;
        assert!(each <= FIGURE + FIGURE / 10, "{each} allocations, and {FIGURE} before");
    });
}
