//! The room's store, as bad as stores are: slow, now and then full or away, with answers that are lost, and torn
//! where it was cut off in the middle of a commit.

use std::sync::Arc;

use room::storage::{Commit, MemoryStore, Store, StoreError, Taken};

use super::plan::Keep;
use super::rng::Rng;

/// The room's name.
pub(crate) const ROOM: &str = "sim";

/// A store of one room, on the run's clock.
pub(crate) struct FaultyStore {
    keep: Keep,
    rng: Rng,
    /// Commits that are whole and in order.
    whole: MemoryStore,
    /// What was written of a commit that is not whole: any of its rows, without the mark behind the last one.
    torn: Vec<Vec<u8>>,
    under_way: Option<UnderWay>,
    /// The last commit that is kept.
    last: Option<Arc<Commit>>,
    /// Nothing is taken before.
    away_until: u64,
}

struct UnderWay {
    commit: Arc<Commit>,
    /// When it is kept, if it is; and when its answer comes.
    kept_at: Option<u64>,
    answer_at: u64,
    answer: Result<(), StoreError>,
}

impl FaultyStore {
    pub(crate) fn new(keep: Keep, rng: Rng) -> FaultyStore {
        FaultyStore {
            keep,
            rng,
            whole: MemoryStore::new(),
            torn: Vec::new(),
            under_way: None,
            last: None,
            away_until: 0,
        }
    }

    /// From now on it takes everything, fast.
    pub(crate) fn calm(&mut self, calm: bool, keep: Keep) {
        self.keep = if calm { Keep { slow: 20, refused: 0, outages: 0, ..keep } } else { keep };
        if calm {
            self.away_until = 0;
        }
    }

    /// One step; returns whether a spell begins in which it takes nothing.
    pub(crate) fn step(&mut self, now: u64) -> bool {
        let begins = now >= self.away_until && self.rng.millionths(self.keep.outages);
        if begins {
            self.away_until = now + self.rng.between(200, 9000);
        }
        begins
    }

    /// A commit comes, or comes again.
    pub(crate) fn give(&mut self, now: u64, commit: Arc<Commit>) {
        assert!(self.under_way.is_none(), "a room gives one commit at a time");
        let answer_at = now + self.rng.below(self.keep.slow + 1);
        let kept_at = self.rng.between(now, answer_at);
        let full = || StoreError::Full(String::from("no space is left"));
        let away = || StoreError::Unavailable(String::from("it is locked"));
        let (kept_at, answer) = if now < self.away_until {
            (None, Err(if self.away_until.is_multiple_of(2) { full() } else { away() }))
        } else if self.rng.below(1000) >= self.keep.refused {
            (Some(kept_at), Ok(()))
        } else {
            // Refused, or kept although nobody hears so.
            (self.rng.one_in(2).then_some(kept_at), Err(away()))
        };
        self.under_way = Some(UnderWay { commit, kept_at, answer_at, answer });
        self.write(now);
    }

    /// Keeps what is due.
    fn write(&mut self, now: u64) {
        let Some(it) = &mut self.under_way else { return };
        if it.kept_at.is_some_and(|at| at <= now) {
            it.kept_at = None;
            self.whole.keep(&it.commit).expect("the room's commits fit its log");
            self.last = Some(it.commit.clone());
        }
    }

    /// What became of the commit under way, once that is known.
    pub(crate) fn answer(&mut self, now: u64) -> Option<Result<(), StoreError>> {
        self.write(now);
        let it = self.under_way.take_if(|it| it.answer_at <= now)?;
        Some(it.answer)
    }

    /// Whoever gave the commit under way is gone: it is kept whole, or leaves some of its rows behind, or nothing.
    pub(crate) fn cut(&mut self, now: u64) {
        self.write(now);
        let Some(it) = self.under_way.take() else { return };
        if it.kept_at.is_some() && self.rng.one_in(2) {
            self.whole.keep(&it.commit).expect("the room's commits fit its log");
            self.last = Some(it.commit);
        } else if !self.has(&it.commit) {
            // A process dies between two rows; a machine may have written any of them, and in any order.
            let rows = it.commit.rows.len() as u64;
            let until = self.rng.below(rows + 1);
            let power = self.keep.power;
            let rng = &mut self.rng;
            let rows = it.commit.rows.iter().zip(0..);
            let rows = rows.filter(|(_, n)| if power { rng.one_in(2) } else { *n < until });
            self.torn = rows.map(|(row, _)| row.clone()).collect();
        }
    }

    /// Whether a commit is kept.
    pub(crate) fn has(&self, commit: &Arc<Commit>) -> bool {
        self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, commit))
    }

    /// The room's next run begins: rows behind the last commit that is whole are none.
    pub(crate) fn take(&mut self) -> Taken {
        self.torn.clear();
        self.whole.take(ROOM).expect("it has every room")
    }

    /// Whether the room was awake when it was last committed; none where it never was.
    pub(crate) fn is_awake(&self) -> Option<bool> {
        let rooms = self.whole.rooms().expect("it has every room");
        rooms.iter().find(|room| room.name == ROOM).map(|room| room.awake)
    }
}
