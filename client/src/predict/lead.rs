//! How far ahead of the room a client plays, so that its inputs come just in time.

use std::time::Duration;

use room::wire::message::Report;

/// Ticks of margin at the start.
const START: f64 = 1.5;
/// The least and the most.
const LEAST: f64 = 0.25;
const MOST: f64 = 12.0;
/// What is added after inputs came too late.
const MORE: f64 = 0.75;
/// What is taken away after a while in which all came early.
const LESS: f64 = 0.25;
/// Answers in a row without a late input before anything is taken away.
const CALM: u32 = 5;
/// How fast the lead follows, as a part of the time that passes.
const SLEW: f64 = 0.1;
/// Ticks off past which it does not follow, but jumps.
const JUMP: f64 = 10.0;

/// The lead of a client's inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    margin: f64,
    calm: u32,
    /// The lead in ticks, and when it was that; none before the first look.
    now: Option<(Duration, f64)>,
}

impl Default for Lead {
    fn default() -> Lead {
        Lead { margin: START, calm: 0, now: None }
    }
}

impl Lead {
    /// The room says what became of the inputs since it last did.
    pub(crate) fn reported(&mut self, report: Report) {
        if report.late > 0 || report.starved > 0 {
            self.margin = (self.margin + MORE).min(MOST);
            self.calm = 0;
        } else if let Some(early) = report.early {
            self.calm += 1;
            if early >= 1 && self.calm >= CALM {
                self.margin = (self.margin - LESS).max(LEAST);
                self.calm = 0;
            }
        }
    }

    /// How many ticks ahead of the room's clock to play now, on a link with this round trip.
    pub(crate) fn ticks(&mut self, at: Duration, round_trip: Option<Duration>, tick_rate: u32) -> f64 {
        let rate = f64::from(tick_rate);
        let way = round_trip.map_or(0.0, |both| both.as_secs_f64() / 2.0);
        let wanted = way * rate + self.margin;
        let lead = match self.now {
            Some((before, lead)) if (wanted - lead).abs() < JUMP => {
                let most = at.saturating_sub(before).as_secs_f64() * rate * SLEW;
                lead + (wanted - lead).clamp(-most, most)
            }
            _ => wanted,
        };
        self.now = Some((at, lead));
        lead
    }

    /// The lead that was last asked for, in ticks.
    pub(crate) fn last(&self) -> f64 {
        self.now.map_or(0.0, |(_, lead)| lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_where_inputs_come_late_and_shrinks_where_all_is_calm() {
        let mut lead = Lead::default();
        let late = Report { late: 2, ..Report::default() };
        let early = Report { early: Some(3), ..Report::default() };
        (0..3).for_each(|_| lead.reported(late));
        assert_eq!(lead.margin, START + 3.0 * MORE);
        (0..200).for_each(|_| lead.reported(early));
        assert_eq!(lead.margin, LEAST);
        (0..200).for_each(|_| lead.reported(late));
        assert_eq!(lead.margin, MOST);
        let just = Report { early: Some(0), ..Report::default() };
        (0..200).for_each(|_| lead.reported(just));
        assert_eq!(lead.margin, MOST, "just in time is as it should be");
    }

    #[test]
    fn it_follows_the_link_without_a_leap() {
        let mut lead = Lead::default();
        let ms = Duration::from_millis;
        let first = lead.ticks(ms(0), Some(ms(100)), 20);
        assert_eq!(first, 1.0 + START);
        let mut before = first;
        for at in 1..100 {
            let now = lead.ticks(ms(at * 16), Some(ms(300)), 20);
            assert!(now >= before && now - before <= 0.0325, "{now} after {before}");
            before = now;
        }
        assert!((before - 3.0 - START).abs() < 0.5);
        assert_eq!(lead.ticks(ms(2000), Some(ms(3000)), 20), 30.0 + START);
    }
}
