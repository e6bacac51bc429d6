//! The time that is drawn: the room's clock, made smooth, and how much of what lies behind it has come.

use std::time::Duration;

use room::Tick;
use room::limits;

/// How fast the drawn time may be out of step with the room's clock, as a part of the room's pace. So it never stands
/// or runs back where the estimate of that clock is corrected.
const SLEW: f64 = 0.5;
/// The part of what is missing that is made up in a second.
const MAKE_UP: f64 = 4.0;
/// The same where the room is faster than its clock says, by 16 times at the most.
const MAKE_UP_SPED: f64 = 16.0;
/// How fast the room for late updates grows and shrinks, in ticks a tick.
const LATE_SLEW: f64 = 0.1;
/// How much of how late each update is goes into the average, and how many deviations above it are made room for.
const LATE_GAIN: f64 = 1.0 / 16.0;
const LATE_DEVIATIONS: f64 = 2.0;

/// A room's beat.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Beat {
    /// Ticks a second.
    pub(crate) tick_rate: f64,
    /// Ticks between two sends.
    pub(crate) send_every: f64,
}

impl Beat {
    pub(crate) fn new(tick_rate: u32, send_every: u32) -> Beat {
        Beat { tick_rate: tick_rate.max(1).into(), send_every: send_every.max(1).into() }
    }

    /// A duration in ticks.
    pub(super) fn ticks(&self, duration: Duration) -> f64 {
        duration.as_secs_f64() * self.tick_rate
    }
}

/// A moment in which is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) now: Duration,
    /// The room's clock in ticks, as the client estimates it.
    pub(crate) estimate: f64,
    /// How many of them pass in a second just now.
    pub(crate) pace: f64,
    pub(crate) beat: Beat,
}

/// The last update, as far as it says what is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newest {
    /// Its tick.
    pub(super) tick: f64,
    /// Up to there nothing lagged behind, in it or in one before: what is held was so then already, unless a record
    /// came later.
    known: f64,
    /// How much of what lies behind it may be missing.
    lag: f64,
    /// There was nothing in it, and there is nothing to say until the next one.
    empty: bool,
    /// The longest period of anything that is held, in sends.
    pub(super) longest: f64,
}

impl Newest {
    /// The update that follows.
    pub(super) fn next(&self, tick: Tick, complete: Tick, changed: bool, longest: u32) -> Newest {
        let (tick, complete) = (tick.0 as f64, complete.0 as f64);
        let lag = tick - complete;
        // In another run of the room ticks may start over.
        let known = if tick > self.tick { self.known.max(complete) } else { complete };
        Newest { tick, known, lag, empty: !changed, longest: longest.into() }
    }

    /// Whether what lags behind does so for its period alone, and nothing is held back for want of room.
    fn only_periods(&self, beat: Beat) -> bool {
        self.lag <= (self.longest - 1.0) * beat.send_every
    }

    /// Up to which tick an entity of a period stood still, of which this update and all since its last record say
    /// nothing.
    pub(super) fn still(&self, period: f64, beat: Beat) -> f64 {
        if self.only_periods(beat) {
            self.known.max(self.tick - (period - 1.0) * beat.send_every)
        } else {
            self.known
        }
    }

    /// Up to which tick it stood still, if the next thing that is heard of it is a record in a later update.
    pub(super) fn still_before(&self, tick: f64, period: f64, beat: Beat) -> f64 {
        let due_before = tick - period * beat.send_every;
        match (self.only_periods(beat), self.empty) {
            (true, true) => due_before.max(self.known),
            (true, false) => due_before.min(self.tick).max(self.known),
            (false, _) => self.known,
        }
    }

    /// The last tick of which it may be that nothing is said, where no update is late.
    fn awaited(&self, beat: Beat) -> f64 {
        // Behind an empty one the next comes when something is due.
        if self.empty { self.tick + (self.longest - 1.0) * beat.send_every } else { self.tick }
    }

    /// Whether nothing moves until the next one.
    fn rests(&self) -> bool {
        self.empty && self.lag == 0.0
    }
}

/// How late updates are.
#[derive(Debug, Default)]
struct Late {
    mean: f64,
    deviation: f64,
    known: bool,
}

impl Late {
    fn add(&mut self, late: f64, beat: Beat) {
        if !std::mem::replace(&mut self.known, true) {
            self.mean = late;
            return;
        }
        // One that the link held up says little of the others.
        let off = (late - self.mean).min(self.most() - self.mean + beat.send_every);
        self.mean += off * LATE_GAIN;
        self.deviation += (off.abs() - self.deviation) * LATE_GAIN;
    }

    /// What most of them are no older than.
    fn most(&self) -> f64 {
        self.mean + LATE_DEVIATIONS * self.deviation
    }
}

/// The room's clock as it is drawn by, in ticks.
#[derive(Debug, Default)]
pub(super) struct DrawClock {
    // None before the first estimate.
    time: Option<f64>,
    at: Duration,
    late: Late,
    // The room that is made for late updates, in ticks.
    made: f64,
    // The update that was looked at last.
    looked: Newest,
}

impl DrawClock {
    /// The time, in ticks. What is drawn lies behind it.
    pub(super) fn time(&self) -> Option<f64> {
        self.time
    }

    /// How many ticks behind it something of a period is drawn, where the game wants at least so many.
    pub(super) fn delay(&self, least: f64, period: f64, beat: Beat) -> f64 {
        // One send more than the period; or as much as updates take, where that is longer.
        least.max(period * beat.send_every + self.made.max(beat.send_every))
    }

    /// Begins anew, at the room's clock.
    pub(super) fn reset(&mut self) {
        self.time = None;
    }

    /// Time passes, for a kind that is drawn so many ticks behind it at the least, and goes on for so many. Returns
    /// whether the clock was off by more than a second, so that nothing can be drawn from before to after.
    pub(super) fn advance(
        &mut self,
        frame: &Frame,
        newest: Newest,
        (least, extrapolate): (f64, f64),
    ) -> bool {
        let Frame { now, estimate, pace, beat } = *frame;
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.look(estimate, beat, newest, passed);
        // While updates fail to come it waits with the last of them, and goes on from there; it would be drawn no
        // differently. A room at rest has nothing to say.
        let held = newest.awaited(beat) + self.delay(least, 1.0, beat) + extrapolate;
        // The room has come as far as its updates, whatever the estimate says: a tool may speed it.
        let sped = newest.tick > estimate + beat.send_every;
        let estimate = estimate.max(newest.tick);
        let goal = if newest.rests() { estimate } else { estimate.min(held) };
        let Some(time) = self.time else {
            self.time = Some(goal);
            return false;
        };
        let on = time + passed * pace;
        let most = SLEW * beat.tick_rate * passed;
        let made_up = |in_a_second: f64| (goal - on) * (in_a_second * passed).min(1.0);
        let step = if sped { made_up(MAKE_UP_SPED) } else { made_up(MAKE_UP).clamp(-most, most) };
        let next = (on + step).max(time);
        let next = if newest.rests() { next } else { next.min(held) };
        let jumped = (goal - next).abs() > beat.tick_rate;
        self.time = Some(if jumped { goal } else { next });
        jumped
    }

    /// Looks at each update once: how old what was known had become when it came. Of that a send is no news.
    fn look(&mut self, estimate: f64, beat: Beat, newest: Newest, passed: f64) {
        let most = beat.ticks(Duration::from_millis(limits::DRAW_LATE_MOST_MS));
        let Newest { tick, empty, .. } = std::mem::replace(&mut self.looked, newest);
        if newest.tick != tick {
            // Behind silence, or as the first of all, it came unlooked for.
            let since = if empty || tick == 0.0 { newest.tick } else { tick + beat.send_every };
            let late = estimate - since;
            if (0.0..=most).contains(&late) {
                self.late.add(late, beat);
                if self.time.is_none() {
                    self.made = late;
                }
            }
        }
        let step = passed * beat.tick_rate * LATE_SLEW;
        self.made += (self.late.most().min(most) - self.made).clamp(-step, step);
    }
}
