//! How often and how much: rates by distance, and byte budgets.

use super::{Grid, Part, Visibility};
use crate::limits;
use crate::room::Game;

impl<G: Game> Grid<G> {
    /// Sends what is farther away less often: distances, and within each how many sends lie between two records of
    /// an entity. Past the last distance its rate goes on. What has no distance is sent at every send, and so is
    /// everything where nothing is said.
    ///
    /// An entity sent every fourth time shows at most what it was four sends ago, and its newest value once it
    /// stands still. It is the same send for all who see it at that rate, so it is encoded once for them. Enters and
    /// leaves are never late. Where several parts show an entity, the fastest rate counts.
    ///
    /// ```
    /// # use room::prelude::*;
    /// # #[derive(Entity, Clone, Debug)]
    /// # pub struct Boat { pub x: f32, pub y: f32 }
    /// # struct Sea;
    /// # impl Game for Sea {
    /// #     type Event = ();
    /// #     type Scratch = ();
    /// #     fn schema() -> Schema { Schema::new().entity::<Boat>() }
    /// #     fn interest(&self) -> Visibility<Self> {
    /// grid::<Self>(32.0)
    ///     .dims(Xy)
    ///     .kind(|boat: &Boat| [boat.x, boat.y])
    ///     .around(|_, _| [0.0, 0.0])
    ///     .range(200.0)
    ///     .rates([(50.0, 1), (100.0, 2), (200.0, 4)])
    ///     .into()
    /// #     }
    /// # }
    /// ```
    ///
    /// # Panics
    /// If there are none or more than 8 of them, if the distances do not rise from 0, or if a number of sends is not
    /// 1 to 128.
    #[must_use]
    pub fn rates(mut self, bands: impl IntoIterator<Item = (f64, u32)>) -> Self {
        self.rates = bands.into_iter().collect();
        let most = limits::BANDS;
        assert!((1..=most).contains(&self.rates.len()), "a grid's rates are 1 to {most} pairs");
        let mut least = 0.0;
        for (distance, period) in &self.rates {
            assert!(
                *distance >= least && *distance < 1e150,
                "a grid's rates are by rising distances: {distance} does not follow {least}"
            );
            let most = limits::PERIOD;
            assert!((1..=most).contains(period), "a rate is every 1 to {most} sends, not every {period}");
            least = distance.next_up();
        }
        self
    }

    /// Gives each connection so many bytes a second; see [`Visibility::budget`].
    #[must_use]
    pub fn budget(self, bytes_per_second: usize) -> Visibility<G> {
        Visibility::from(self).budget(bytes_per_second)
    }
}

impl<G: Game> Part<G> {
    /// Gives each connection so many bytes a second; see [`Visibility::budget`].
    #[must_use]
    pub fn budget(self, bytes_per_second: usize) -> Visibility<G> {
        Visibility::from(self).budget(bytes_per_second)
    }
}

impl<G: Game> Visibility<G> {
    /// Gives each connection so many bytes of updates a second, counted as they are sent. Each send may use its
    /// share of them, and nothing is saved up. What does not fit waits: half of each share goes to what has waited
    /// longest, the rest by the limit's priority, without one by nearness. What waits is merged, never lost, and
    /// waits for [`longest_wait`](crate::longest_wait) sends at the most.
    ///
    /// Leaves, the room's state and private state count but never wait. An entity larger than a share goes alone,
    /// and the shares behind it pay for it. Over any time what can wait stays within the rate and one share. Events
    /// do not count.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    pub fn budget(mut self, bytes_per_second: usize) -> Visibility<G> {
        assert!(
            bytes_per_second > 0,
            "a budget of 0 bytes a second would show nothing: leave it out for none"
        );
        self.budget = Some(bytes_per_second);
        self
    }
}
