//! Answers that are on their way to clients, ended from outside.
//!
//! An HTTP server asks for the next piece of a body only when its client takes the last one. A client that takes
//! nothing would hold whatever the body holds for as long as it likes, and outlive its access. So what an answer holds
//! stands in a place that two can reach: the body, and one task of the process, which looks at every place a few times
//! a second and ends what is over. The body that is left is empty; when it is asked again, it says that it was cut.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// Interval between two sweeps over all slots.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A sweep locks one shard at a time.
const SHARDS: usize = 16;

/// Why an answer is over before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutReason {
    /// The access ended.
    Ended,
    /// The far side sent nothing for too long.
    Silent,
    /// The client took nothing for too long.
    Untaken,
}

/// What an answer holds until it is over.
pub(crate) trait OverseenBody: Body<Data = Bytes> + std::fmt::Debug + Send + Unpin + 'static {
    /// It is cut: `over` says why. It is dropped next, or asked once more for its last words.
    fn cut(&mut self, over: CutReason);

    /// What the client still gets before the end of a body that was cut, if the client can read it there. The body
    /// then ends well.
    fn last_words(&mut self) -> Option<Bytes>;

    /// The error that a client's connection is ended with.
    fn error(over: CutReason) -> Self::Error;
}

/// Limits after which a response body is cut.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchLimits {
    /// The end of the access.
    pub(crate) ended: Option<CancellationToken>,
    /// Longest time between two pieces; `None` for streams.
    pub(crate) idle: Option<Duration>,
}

/// Cuts the response bodies of one kind when their access ends or they stall.
#[derive(Debug)]
pub(crate) struct Overseer {
    shards: [Mutex<Shard>; SHARDS],
    next: AtomicUsize,
    since: Instant,
}

#[derive(Debug, Default)]
struct Shard {
    places: Vec<Option<Slot>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot {
    until: WatchLimits,
    held: Arc<dyn Cuttable>,
}

/// A watched body without its type.
trait Cuttable: std::fmt::Debug + Send + Sync {
    /// When the last piece went, in milliseconds of the overseer.
    fn moved(&self) -> u64;
    fn end(&self, over: Option<CutReason>);
}

impl Overseer {
    /// Starts the sweeping task.
    pub(crate) fn start() -> Arc<Self> {
        let overseer = Arc::new(Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            next: AtomicUsize::new(0),
            since: Instant::now(),
        });
        let looking = Arc::downgrade(&overseer);
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(LOOK_EVERY);
            tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tick.tick().await;
                let Some(overseer) = looking.upgrade() else { return };
                overseer.sweep();
            }
        });
        overseer
    }

    /// A body that is ended when it is over, whether it is asked or not.
    pub(crate) fn watch<T: OverseenBody>(self: &Arc<Self>, answer: T, until: WatchLimits) -> Watched<T> {
        let held = Arc::new(Cell {
            moved: AtomicU64::new(self.now()),
            state: Mutex::new(State::Open { answer, waiting: None }),
        });
        let shard = self.next.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let place = Slot { until: until.clone(), held: Arc::clone(&held) as Arc<dyn Cuttable> };
        let at = self.shards[shard].lock().put(place);
        Watched { held, ended: until.ended, overseer: Arc::clone(self), shard, at }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sweep(&self) {
        let now = self.now();
        for shard in &self.shards {
            // What ends is dropped without the lock: a drop may take its time.
            let over = shard.lock().over(now);
            for (held, why) in over {
                held.end(why);
            }
        }
    }
}

impl Shard {
    fn put(&mut self, place: Slot) -> usize {
        if let Some(at) = self.free.pop() {
            self.places[at] = Some(place);
            return at;
        }
        self.places.push(Some(place));
        self.places.len() - 1
    }

    fn take(&mut self, at: usize) -> Option<Slot> {
        let place = self.places.get_mut(at)?.take();
        self.free.push(at);
        place
    }

    /// Bodies that must be cut, with the reason; `None`: stalled, and the body knows on which side.
    fn over(&mut self, now: u64) -> Vec<(Arc<dyn Cuttable>, Option<CutReason>)> {
        let mut over = Vec::new();
        for place in self.places.iter_mut().flatten() {
            let WatchLimits { ended, idle } = &mut place.until;
            if ended.as_ref().is_some_and(CancellationToken::is_cancelled) {
                over.push((Arc::clone(&place.held), Some(CutReason::Ended)));
            } else if idle
                .is_some_and(|most| u128::from(now.saturating_sub(place.held.moved())) >= most.as_millis())
            {
                over.push((Arc::clone(&place.held), None));
            } else {
                continue;
            }
            // Report it only once.
            (*ended, *idle) = (None, None);
        }
        over
    }
}

/// The place that body and overseer share.
#[derive(Debug)]
struct Cell<T> {
    moved: AtomicU64,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
enum State<T> {
    /// `waiting`: whom to wake while the far side has nothing; `None` while the client has something to take.
    Open { answer: T, waiting: Option<Waker> },
    /// Cut, and the body does not say so yet; with what goes before the end.
    Cut(CutReason, Option<Bytes>),
    /// The body ends well from here.
    Ended,
}

impl<T> State<T> {
    fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

impl<T: OverseenBody> Cuttable for Cell<T> {
    fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    fn end(&self, over: Option<CutReason>) {
        let mut state = self.state.lock();
        if !state.is_open() {
            return;
        }
        let State::Open { mut answer, waiting } = std::mem::replace(&mut *state, State::Ended) else {
            return;
        };
        let over = over.unwrap_or(if waiting.is_some() { CutReason::Silent } else { CutReason::Untaken });
        answer.cut(over);
        *state = State::Cut(over, answer.last_words());
        drop(state);
        drop(answer);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

/// An answer as a body.
#[derive(Debug)]
pub(crate) struct Watched<T: OverseenBody> {
    held: Arc<Cell<T>>,
    ended: Option<CancellationToken>,
    overseer: Arc<Overseer>,
    shard: usize,
    at: usize,
}

impl<T: OverseenBody> Drop for Watched<T> {
    fn drop(&mut self) {
        let place = self.overseer.shards[self.shard].lock().take(self.at);
        let state = std::mem::replace(&mut *self.held.state.lock(), State::Ended);
        drop((place, state));
    }
}

impl<T: OverseenBody> Body for Watched<T> {
    type Data = Bytes;
    type Error = T::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, T::Error>>> {
        let this = self.get_mut();
        // The end first, always: an answer that never rests must be cut too.
        if this.ended.as_ref().is_some_and(CancellationToken::is_cancelled) {
            this.held.end(Some(CutReason::Ended));
        }
        let mut state = this.held.state.lock();
        match &mut *state {
            State::Open { answer, waiting } => {
                let polled = Pin::new(answer).poll_frame(cx);
                match &polled {
                    Poll::Pending => match waiting {
                        Some(waker) => waker.clone_from(cx.waker()),
                        None => *waiting = Some(cx.waker().clone()),
                    },
                    Poll::Ready(_) => {
                        *waiting = None;
                        this.held.moved.store(this.overseer.now(), Ordering::Relaxed);
                    }
                }
                polled
            }
            State::Cut(over, words) => {
                let (over, words) = (*over, words.take());
                *state = State::Ended;
                Poll::Ready(Some(words.map(Frame::data).ok_or_else(|| T::error(over))))
            }
            State::Ended => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &*self.held.state.lock() {
            State::Open { answer, .. } => answer.is_end_stream(),
            State::Cut(..) => false,
            State::Ended => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &*self.held.state.lock() {
            State::Open { answer, .. } => answer.size_hint(),
            State::Cut(..) => SizeHint::default(),
            State::Ended => SizeHint::with_exact(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use http_body_util::BodyExt as _;

    use super::*;

    /// An answer that has something, or waits for ever.
    #[derive(Debug)]
    struct TestBody {
        ready: bool,
        words: Option<Bytes>,
        cut: Arc<Mutex<Option<CutReason>>>,
        dropped: Arc<AtomicBool>,
    }

    #[derive(Debug, PartialEq, Eq)]
    struct Broken(CutReason);

    impl Drop for TestBody {
        fn drop(&mut self) {
            self.dropped.store(true, Ordering::SeqCst);
        }
    }

    impl Body for TestBody {
        type Data = Bytes;
        type Error = Broken;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
            if self.ready {
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
            } else {
                Poll::Pending
            }
        }
    }

    impl OverseenBody for TestBody {
        fn cut(&mut self, over: CutReason) {
            *self.cut.lock() = Some(over);
        }

        fn last_words(&mut self) -> Option<Bytes> {
            self.words.take()
        }

        fn error(over: CutReason) -> Broken {
            Broken(over)
        }
    }

    struct Case {
        body: Watched<TestBody>,
        overseer: Arc<Overseer>,
        ended: CancellationToken,
        cut: Arc<Mutex<Option<CutReason>>>,
        dropped: Arc<AtomicBool>,
    }

    fn case(ready: bool, words: Option<&'static [u8]>) -> Case {
        let overseer = Overseer::start();
        let (cut, dropped) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let answer = TestBody {
            ready,
            words: words.map(Bytes::from_static),
            cut: Arc::clone(&cut),
            dropped: Arc::clone(&dropped),
        };
        let ended = CancellationToken::new();
        let until = WatchLimits { ended: Some(ended.clone()), idle: Some(Duration::from_secs(5)) };
        Case { body: overseer.watch(answer, until), overseer, ended, cut, dropped }
    }

    const LOOK: Duration = Duration::from_millis(150);

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_asks_is_ended_with_its_access() {
        let mut case = case(true, None);
        assert!(case.body.frame().await.unwrap().is_ok());
        case.ended.cancel();
        tokio::time::sleep(LOOK).await;
        assert!(case.dropped.load(Ordering::SeqCst), "what it held is free");
        assert_eq!(*case.cut.lock(), Some(CutReason::Ended));
        assert_eq!(case.body.frame().await.unwrap().unwrap_err(), Broken(CutReason::Ended));
        assert!(case.body.frame().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_never_rests_is_asked_for_its_end_first() {
        let mut case = case(true, None);
        case.ended.cancel();
        assert_eq!(case.body.frame().await.unwrap().unwrap_err(), Broken(CutReason::Ended));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_told_by_whose_it_is() {
        let untaken = case(true, None);
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(*untaken.cut.lock(), None);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(*untaken.cut.lock(), Some(CutReason::Untaken));
        let mut silent = case(false, None);
        // The cluster sends nothing; the cut wakes the waiting reader.
        assert_eq!(silent.body.frame().await.unwrap().unwrap_err(), Broken(CutReason::Silent));
        assert_eq!(*silent.cut.lock(), Some(CutReason::Silent));
    }

    #[tokio::test(start_paused = true)]
    async fn last_words_end_a_body_well() {
        let mut case = case(false, Some(b"over"));
        case.ended.cancel();
        let words = case.body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(&words[..], b"over");
        assert!(case.body.frame().await.is_none() && case.body.is_end_stream());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_dropped_leaves_nothing() {
        let case = case(true, None);
        drop(case.body);
        assert!(case.dropped.load(Ordering::SeqCst) && case.cut.lock().is_none());
        let left: usize =
            case.overseer.shards.iter().map(|shard| shard.lock().places.iter().flatten().count()).sum();
        assert_eq!(left, 0);
    }
}
