//! The entities of one interpolated kind, each with its last states and as it is drawn.

use std::any::Any;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use room::entity::{Entity, EntityId, FieldMask, Visible, Visit, VisitMut};
use room::field::Codec;
use room::store::replica::{AnyTable, Table};

use super::Touch;
use super::clock::{Beat, DrawClock, Frame, Newest};
use super::glide::Glide;
use super::history::{History, Place};
use super::plan::Plan;
use crate::replica::Periods;

/// The slowest that an entity's drawn time runs, as a part of its pace, while its period grows.
const SLOWEST: f64 = 0.25;

/// An entity that is drawn.
#[derive(Debug)]
struct Track<K> {
    drawn: K,
    history: History,
    /// Its period in sends as it is drawn by, which follows the room's; none before it was drawn once.
    period: Option<f64>,
    /// The time that it was drawn at.
    time: Option<f64>,
    /// It stands in its newest state, and is drawn so.
    settled: bool,
    /// Where it is predicted.
    glide: Glide,
    /// Fields that are drawn as the player wrote them.
    written: FieldMask,
}

/// A kind of which some fields are drawn smoothly.
pub(super) struct Kind<K: Entity> {
    plan: Plan,
    tracks: BTreeMap<EntityId, Track<K>>,
    clock: DrawClock,
    // Numbers of one state.
    numbers: Vec<f64>,
    // What visitors of fields want to have.
    track: K::Track,
    // When it was last drawn.
    drawn_at: Duration,
}

/// An update that is being taken in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) tick: f64,
    pub(super) before: Newest,
    pub(super) beat: Beat,
}

/// A [`Kind`] without its type.
pub(super) trait AnyKind: Any + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    /// An entity of it entered or changed.
    fn touch(&mut self, table: &dyn AnyTable, touch: &Touch, moment: &Moment);
    /// It left.
    fn leave(&mut self, id: EntityId);
    /// All left.
    fn leave_all(&mut self);
    /// All stand where the newest states have them.
    fn settle(&mut self, tick: f64);
    /// Draws all as of a moment; returns how many of them went on past their last state.
    fn draw(&mut self, table: &dyn AnyTable, frame: &Frame, newest: Newest, periods: &Periods) -> u64;
    /// What is predicted looks otherwise than it was drawn.
    fn glide(&mut self, table: &dyn AnyTable);
}

impl<K: Visible> Kind<K> {
    pub(super) fn new(plan: Plan) -> Kind<K> {
        let numbers = vec![0.0; plan.width];
        Kind {
            plan,
            tracks: BTreeMap::new(),
            clock: DrawClock::default(),
            numbers,
            track: K::Track::default(),
            drawn_at: Duration::ZERO,
        }
    }

    /// An entity as it is drawn.
    pub(super) fn get(&self, id: EntityId) -> Option<&K> {
        self.tracks.get(&id).map(|track| &track.drawn)
    }

    /// The tick that an entity is drawn at.
    pub(super) fn time(&self, id: EntityId) -> Option<f64> {
        self.tracks.get(&id)?.time
    }

    /// All that are here stand where they are.
    pub(super) fn fill(&mut self, table: &Table<K>, tick: f64) {
        for (id, entity) in table.all_confirmed() {
            let mut track = Track::new(entity);
            read(entity, &self.track, &self.plan, &mut self.numbers);
            track.history.push(&self.plan, tick, &self.numbers, 1);
            self.tracks.insert(id, track);
        }
    }
}

impl<K: Visible> AnyKind for Kind<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn touch(&mut self, table: &dyn AnyTable, touch: &Touch, moment: &Moment) {
        let table = table.as_any().downcast_ref::<Table<K>>();
        // It may have left since.
        let Some(entity) = table.and_then(|table| table.confirmed(touch.id)) else { return };
        let Kind { plan, tracks, numbers, track: unsent, .. } = self;
        let track = match tracks.entry(touch.id) {
            Entry::Vacant(vacant) => vacant.insert(Track::new(entity)),
            Entry::Occupied(known) => {
                let known = known.into_mut();
                let (moved, fields) = plan.split(touch.mask);
                let Ok(()) = known.drawn.visit_mut(unsent, &mut Copy { from: entity, fields });
                if !moved {
                    return;
                }
                known
            }
        };
        read(entity, unsent, plan, numbers);
        let Moment { tick, before, beat } = *moment;
        track.history.rest(plan, before.still_before(tick, touch.period.into(), beat));
        // Of what nobody draws no more than a second is kept, besides what the game's delay needs.
        let most = beat.tick_rate + beat.ticks(plan.delay);
        track.history.push(plan, tick, numbers, most as usize + 2);
        track.settled = false;
    }

    fn leave(&mut self, id: EntityId) {
        self.tracks.remove(&id);
    }

    fn leave_all(&mut self) {
        self.tracks.clear();
    }

    fn settle(&mut self, tick: f64) {
        self.clock.reset();
        for track in self.tracks.values_mut() {
            track.history.settle(&self.plan, tick);
            track.settled = false;
        }
    }

    fn glide(&mut self, table: &dyn AnyTable) {
        let Some(table) = table.as_any().downcast_ref::<Table<K>>() else { return };
        let Kind { plan, tracks, numbers, track: unsent, .. } = self;
        let seconds = plan.correct.as_secs_f64();
        for (id, predicted) in table.previews() {
            let Some(track) = tracks.get_mut(&id).filter(|track| track.glide.is_on()) else { continue };
            read(predicted, unsent, plan, numbers);
            track.glide.correct(plan, numbers, seconds);
        }
    }

    fn draw(&mut self, table: &dyn AnyTable, frame: &Frame, newest: Newest, periods: &Periods) -> u64 {
        let passed_seconds = frame.now.saturating_sub(self.drawn_at).as_secs_f64();
        self.drawn_at = frame.now;
        let table = table.as_any().downcast_ref::<Table<K>>();
        let beat = frame.beat;
        let (least, extrapolate) = (beat.ticks(self.plan.delay), beat.ticks(self.plan.extrapolate));
        let before = self.clock.time();
        let jumped = self.clock.advance(frame, newest, (least, extrapolate));
        if jumped {
            self.tracks.values_mut().for_each(|track| {
                track.history.settle(&self.plan, newest.tick);
                track.settled = false;
            });
        }
        let Some(time) = self.clock.time() else { return 0 };
        let goes_on = before.is_some() && !jumped;
        let passed = before.map_or(0.0, |before| (time - before).max(0.0)) / beat.send_every;
        let mut extrapolated = 0;
        for (id, track) in &mut self.tracks {
            if let Some(predicted) = table.and_then(|table| table.preview(*id)) {
                track.draw_predicted(
                    &self.plan,
                    predicted,
                    passed_seconds,
                    &mut self.numbers,
                    &mut self.track,
                );
                continue;
            }
            let period = periods.get(id).copied().unwrap_or(1).into();
            let drawn_by = track.follow(period, passed);
            let at = time - self.clock.delay(least, drawn_by, beat);
            // While the clock waits, a rounding of time and delay would run back: before a jump that is drawn already.
            let at = track.time.filter(|_| goes_on).map_or(at, |drawn| drawn.max(at));
            let still = newest.still(period, beat);
            track.end_prediction(table.and_then(|table| table.confirmed(*id)));
            extrapolated +=
                u64::from(track.draw(&self.plan, at, still, extrapolate, &mut self.numbers, &mut self.track));
            if let Some(table) = table {
                track.draw_written(table, *id, &mut self.track);
            }
        }
        extrapolated
    }
}

impl<K: Visible> Track<K> {
    fn new(entity: &K) -> Track<K> {
        Track {
            drawn: entity.clone(),
            history: History::default(),
            period: None,
            time: None,
            settled: false,
            glide: Glide::default(),
            written: FieldMask::NONE,
        }
    }

    /// Draws it as this client predicts it.
    fn draw_predicted(
        &mut self,
        plan: &Plan,
        predicted: &K,
        passed: f64,
        numbers: &mut [f64],
        unsent: &mut K::Track,
    ) {
        if !self.glide.is_on() {
            read(&self.drawn, unsent, plan, numbers);
            self.glide.begin(numbers);
            read(predicted, unsent, plan, numbers);
            self.glide.correct(plan, numbers, plan.correct.as_secs_f64());
        }
        self.drawn.clone_from(predicted);
        read(predicted, unsent, plan, numbers);
        self.glide.draw(plan, numbers, passed);
        let Ok(()) = self.drawn.visit_mut(unsent, &mut Write { plan, numbers });
        self.settled = false;
    }

    /// Where it was predicted, and is not any more, it is drawn as others are.
    fn end_prediction(&mut self, room: Option<&K>) {
        if let Some(room) = room.filter(|_| self.glide.is_on()) {
            self.glide.end();
            self.drawn.clone_from(room);
            self.settled = false;
        }
    }

    /// Draws the fields that the player wrote as she wrote them.
    fn draw_written(&mut self, table: &Table<K>, id: EntityId, unsent: &mut K::Track) {
        let written = table.written(id);
        let mut fields = written;
        fields.union(self.written);
        if fields.is_empty() {
            return;
        }
        if let Some(entity) = table.get(id) {
            let Ok(()) = self.drawn.visit_mut(unsent, &mut Copy { from: entity, fields });
        }
        (self.written, self.settled) = (written, false);
    }

    /// Follows the period that the room says, after so many sends. Where it grows, the drawn time runs slower for a
    /// while, so that it is behind enough once the records come more rarely, and nothing is drawn twice.
    fn follow(&mut self, period: f64, passed: f64) -> f64 {
        let Some(by) = self.period else { return *self.period.insert(period) };
        if by != period {
            let slowest = (2.0 / period).clamp(SLOWEST, 0.5);
            let step = passed * (1.0 - slowest);
            self.period = Some(by + (period - by).clamp(-step, step));
        }
        self.period.unwrap_or(period)
    }

    /// Draws it as it was at a time; it is known to have stood still from its last state up to `still`. Returns
    /// whether it went on past its last state.
    fn draw(
        &mut self,
        plan: &Plan,
        time: f64,
        still: f64,
        extrapolate: f64,
        numbers: &mut [f64],
        unsent: &mut K::Track,
    ) -> bool {
        self.time = Some(time);
        if self.settled {
            return false;
        }
        let goes_on = self.history.last().is_some_and(|last| last >= still);
        self.history.forget(plan, time, goes_on);
        let place = self.history.place(time, if goes_on { extrapolate } else { 0.0 });
        self.settled = place == Place::At(0) && self.history.len() == 1;
        self.history.sample(plan, place, numbers);
        let Ok(()) = self.drawn.visit_mut(unsent, &mut Write { plan, numbers });
        matches!(place, Place::Past(_))
    }
}

/// Copies fields from one entity to another, into the memory that is there.
struct Copy<'a, K: Entity> {
    from: &'a K,
    fields: FieldMask,
}

impl<K: Entity> VisitMut for Copy<'_, K> {
    type Error = std::convert::Infallible;
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        _: &mut C::Track,
    ) -> Result<(), Self::Error> {
        if self.fields.has(index) {
            self.from.visit(&K::Track::default(), &mut CopyTo { index, to: value });
        }
        Ok(())
    }
}

/// Copies one field to where the same field of another entity is.
struct CopyTo<'a> {
    index: usize,
    to: &'a mut dyn Any,
}

impl Visit for CopyTo<'_> {
    fn field<C: Codec>(&mut self, index: usize, value: &C::Value, _: &C::Track) {
        if index == self.index
            && let Some(to) = self.to.downcast_mut::<C::Value>()
        {
            to.clone_from(value);
        }
    }
}

/// Writes down the numbers of an entity.
fn read<K: Entity>(entity: &K, track: &K::Track, plan: &Plan, numbers: &mut [f64]) {
    entity.visit(track, &mut Read { plan, numbers });
}

struct Read<'a> {
    plan: &'a Plan,
    numbers: &'a mut [f64],
}

impl Visit for Read<'_> {
    fn field<C: Codec>(&mut self, index: usize, value: &C::Value, _: &C::Track) {
        if let Some(column) = self.plan.column(index) {
            C::numbers(value, &mut self.numbers[column.numbers.clone()]);
        }
    }
}

struct Write<'a> {
    plan: &'a Plan,
    numbers: &'a [f64],
}

impl VisitMut for Write<'_> {
    type Error = std::convert::Infallible;
    fn field<C: Codec>(
        &mut self,
        index: usize,
        value: &mut C::Value,
        _: &mut C::Track,
    ) -> Result<(), Self::Error> {
        if let Some(column) = self.plan.column(index) {
            C::set_numbers(value, &self.numbers[column.numbers.clone()]);
        }
        Ok(())
    }
}
