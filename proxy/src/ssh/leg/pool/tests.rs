use super::*;

#[derive(Debug, Default)]
struct Wire(AtomicBool);

impl SharedConnection for Wire {
    fn is_closed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn cut(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

type Slot = ChannelSlot<Wire>;

/// A channel for a client as a caller gets it: on a new connection where the pool asks for one.
fn open(pool: &Arc<Pool<Wire>>, client: u64) -> Result<Slot, NoRoom> {
    match pool.take(client)? {
        Some(slot) => Ok(slot),
        None => pool.add(Wire::default(), client).ok_or(NoRoom::Ended),
    }
}

fn opened(pool: &Arc<Pool<Wire>>, client: u64) -> Slot {
    let slot = open(pool, client).unwrap();
    slot.opened();
    slot
}

/// How many channels each connection has.
fn loads(pool: &Pool<Wire>) -> Vec<usize> {
    pool.state.lock().connections.iter().map(|each| each.users.len()).collect()
}

#[test]
fn forty_channels_share_four_connections_and_more_get_more() {
    let pool = Pool::new();
    let first: Vec<Slot> = (0..4).map(|_| opened(&pool, 1)).collect();
    assert_eq!(loads(&pool), [1, 1, 1, 1], "few channels do not share");
    let next: Vec<Slot> = (4..40).map(|_| opened(&pool, 1)).collect();
    assert_eq!(loads(&pool), [10, 10, 10, 10]);
    let more: Vec<Slot> = (40..80).map(|_| opened(&pool, 1)).collect();
    assert_eq!(loads(&pool), [10; 8]);
    assert_eq!(open(&pool, 1).unwrap_err(), NoRoom::Full);
    drop((first, next, more));
    assert_eq!(loads(&pool), [0; 8]);
    assert!(open(&pool, 1).is_ok());
}

#[test]
fn a_channel_that_ended_leaves_its_connection_to_the_next() {
    let pool = Pool::new();
    for _ in 0..20 {
        drop(opened(&pool, 1));
    }
    assert_eq!(loads(&pool), [0]);
}

#[test]
fn a_client_leaves_the_others_their_share() {
    let pool = Pool::new();
    let own = opened(&pool, 2);
    let mut greedy = Vec::new();
    while let Ok(slot) = open(&pool, 1) {
        slot.opened();
        greedy.push(slot);
    }
    assert_eq!(greedy.len(), 59, "what is not reserved");
    let others: Vec<Slot> = (0..20).map(|_| opened(&pool, 2)).collect();
    assert_eq!(open(&pool, 2).unwrap_err(), NoRoom::Full);
    drop((own, greedy, others));
}

#[test]
fn a_connection_whose_client_takes_nothing_gets_new_channels_last() {
    let pool = Pool::new();
    let mut slots: Vec<Slot> = (0..4).map(|_| opened(&pool, 1)).collect();
    slots[0].stalled().store(true, Ordering::Relaxed);
    slots.extend((4..31).map(|_| opened(&pool, 1)));
    assert_eq!(loads(&pool), [1, 10, 10, 10]);
    slots.extend((31..71).map(|_| opened(&pool, 1)));
    assert_eq!(loads(&pool), [1, 10, 10, 10, 10, 10, 10, 10]);
    // There is no other.
    slots.push(opened(&pool, 1));
    assert_eq!(loads(&pool)[0], 2);
}

#[test]
fn a_dead_connection_is_forgotten_and_the_others_are_used() {
    let pool = Pool::new();
    let (first, second) = (opened(&pool, 1), opened(&pool, 1));
    first.connection().cut();
    drop(second);
    let third = opened(&pool, 1);
    assert_eq!(loads(&pool), [1]);
    assert!(!third.connection().is_closed());
    drop(first);
    assert_eq!(loads(&pool), [1]);
}

#[test]
fn a_machine_that_allows_fewer_sessions_gets_more_connections() {
    let pool = Pool::new();
    let held: Vec<Slot> = (0..4).map(|_| opened(&pool, 1)).collect();
    // Each connection allows one.
    for _ in 0..4 {
        assert!(open(&pool, 1).unwrap().refused(), "another connection may allow it");
    }
    assert!(pool.take(1).unwrap().is_none(), "another connection is made");
    drop(held);
    // What it refused then it may allow now.
    let again: Vec<Slot> = (0..5).map(|_| open(&pool, 1).unwrap()).collect();
    assert_eq!(loads(&pool), [2, 1, 1, 1]);
    drop(again);
}

#[test]
fn a_machine_that_allows_nothing_is_not_asked_for_ever() {
    let pool = Pool::new();
    assert!(!open(&pool, 1).unwrap().refused());
    assert!(loads(&pool).is_empty());
}

#[test]
fn a_connection_that_does_not_answer_ends_with_its_last_channel() {
    let pool = Pool::new();
    let slots: Vec<Slot> = (0..5).map(|_| opened(&pool, 1)).collect();
    let silent = Arc::clone(slots[0].connection());
    pool.retire(&silent);
    assert!(pool.any().is_some_and(|any| !Arc::ptr_eq(&any, &silent)));
    let next = opened(&pool, 1);
    assert!(!Arc::ptr_eq(next.connection(), &silent));
    drop((slots, next));
    assert_eq!(loads(&pool), [0, 0, 0]);
    let idle = pool.any().unwrap();
    pool.retire(&idle);
    assert_eq!(loads(&pool), [0, 0]);
}

#[test]
fn a_connection_that_waits_for_a_client_is_not_asked_whether_it_is_alive() {
    let pool = Pool::new();
    let slot = opened(&pool, 1);
    slot.stalled().store(true, Ordering::Relaxed);
    assert!(pool.any().is_none());
    slot.stalled().store(false, Ordering::Relaxed);
    assert!(pool.any().is_some());
}

#[test]
fn every_channel_of_a_connection_that_died_may_try_another() {
    let pool = Pool::new();
    let mut slots: Vec<Slot> = (0..4).map(|_| opened(&pool, 1)).collect();
    // Two more are being opened.
    let (first, second) = (open(&pool, 1).unwrap(), open(&pool, 1).unwrap());
    let third = slots.remove(0);
    for slot in slots.iter().chain([&first, &second, &third]) {
        slot.connection().cut();
    }
    assert!(first.refused());
    // Another client finds that it is gone.
    let next = opened(&pool, 2);
    assert_eq!(loads(&pool), [1]);
    assert!(second.refused() && third.unanswered());
    drop((slots, next));
}

#[test]
fn a_connection_that_no_channel_uses_is_closed_after_two_sweeps() {
    let pool = Pool::new();
    let (used, unused) = (opened(&pool, 1), opened(&pool, 1));
    drop(unused);
    assert!(!pool.sweep());
    // Between two sweeps somebody uses it.
    drop(opened(&pool, 1));
    assert!(!pool.sweep());
    assert_eq!(loads(&pool), [1, 0]);
    assert!(!pool.sweep());
    assert_eq!(loads(&pool), [1]);
    drop(used);
    assert!(!pool.sweep());
    assert!(pool.sweep());
    assert_eq!(pool.take(1).unwrap_err(), NoRoom::Ended);
    assert!(pool.add(Wire::default(), 1).is_none());
}

#[tokio::test]
async fn a_pool_for_which_a_connection_is_made_does_not_end() {
    let pool = Pool::<Wire>::new();
    let turn = pool.dialing.lock().await;
    assert!(!pool.sweep() && !pool.sweep());
    drop(turn);
    assert!(pool.sweep());
}

/// The library keeps a little of each channel that we closed.
#[test]
fn a_connection_that_had_many_channels_is_replaced_when_it_is_idle() {
    let pool = Pool::new();
    let first = opened(&pool, 1);
    let old = Arc::clone(first.connection());
    first.change(|pooled| pooled.opened = MANY_CHANNELS);
    assert_eq!(loads(&pool), [1], "it is in use");
    drop(first);
    assert!(loads(&pool).is_empty());
    assert!(!Arc::ptr_eq(opened(&pool, 1).connection(), &old));
}

#[test]
fn the_end_cuts_every_connection() {
    let pool = Pool::new();
    let slots: Vec<Slot> = (0..12).map(|_| opened(&pool, 1)).collect();
    pool.end();
    assert!(slots.iter().all(|slot| slot.connection().is_closed()));
    assert_eq!(open(&pool, 1).unwrap_err(), NoRoom::Ended);
}
