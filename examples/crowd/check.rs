//! What a player should see, worked out the slow way, and held against what her client has.

use serde::{Deserialize, Serialize};

use crate::game::{RANGE, Snapshot, Spot};

/// What a client holds after the update of a tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub tick: u64,
    pub player: u32,
    pub spots: Vec<Spot>,
}

/// Dots within range of a place.
fn near(snapshot: &Snapshot, from: [f64; 2]) -> impl Iterator<Item = &Spot> {
    snapshot.spots.iter().filter(move |spot| {
        let [x, y] = spot.place();
        (x - from[0]).powi(2) + (y - from[1]).powi(2) <= RANGE * RANGE
    })
}

fn own(snapshot: &Snapshot, player: u32) -> Option<&Spot> {
    snapshot.spots.iter().find(|spot| spot.owner == player)
}

/// How many dots a client lacks, has too many, or has with another value.
pub fn mismatches(snapshot: &Snapshot, view: &View) -> usize {
    let Some(own) = own(snapshot, view.player) else { return 1 + view.spots.len() };
    let mut wrong = 0;
    let mut held = view.spots.iter().peekable();
    for spot in near(snapshot, own.place()) {
        while held.next_if(|other| other.id < spot.id).is_some() {
            wrong += 1;
        }
        wrong += usize::from(held.next_if(|other| other.id == spot.id) != Some(spot));
    }
    wrong + held.count()
}

/// How many dots a player sees on average.
pub fn visible(snapshot: &Snapshot) -> f64 {
    let players = snapshot.spots.iter().filter(|spot| spot.owner != 0);
    let (mut seen, mut count) = (0, 0);
    for player in players {
        seen += near(snapshot, player.place()).count();
        count += 1;
    }
    seen as f64 / f64::from(count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(id: u64, owner: u32, x: f32) -> Spot {
        Spot { id, owner, x: x.to_bits(), y: 0f32.to_bits() }
    }

    fn world() -> Snapshot {
        Snapshot {
            tick: 9,
            spots: vec![spot(2, 1, 0.0), spot(3, 0, 80.0), spot(4, 2, 80.01), spot(5, 0, 7.0)],
        }
    }

    #[test]
    fn a_true_view_has_no_mismatch_and_each_difference_is_one() {
        let world = world();
        let mut view =
            View { tick: 9, player: 1, spots: vec![spot(2, 1, 0.0), spot(3, 0, 80.0), spot(5, 0, 7.0)] };
        assert_eq!(mismatches(&world, &view), 0);
        view.spots[2] = spot(5, 0, 7.01);
        assert_eq!(mismatches(&world, &view), 1, "another value");
        view.spots.insert(2, spot(4, 2, 80.01));
        assert_eq!(mismatches(&world, &view), 2, "one too many");
        view.spots.remove(0);
        assert_eq!(mismatches(&world, &view), 3, "one too few");
        view.spots.clear();
        assert_eq!(mismatches(&world, &view), 3, "all of them");
        assert_eq!(mismatches(&world, &View { player: 7, ..view }), 1, "a player without a dot");
    }

    #[test]
    fn the_mean_of_what_players_see() {
        assert_eq!(visible(&world()), 3.0);
    }
}
