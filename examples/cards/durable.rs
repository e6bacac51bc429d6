//! The table is killed in the middle of a round, and the game goes on.

use room::prelude::*;
use room_client::testing::{TestClient, TestRoom, assert_never_received};

use crate::game::{Cards, Deck, Hand, Leak, Notice, Phase, Table};
use crate::leaks::Ledger;
use crate::play::decide;

const PLAYERS: usize = 3;
/// A few rounds.
const TARGET: u32 = 60;

/// When the room is killed in a move.
#[derive(Clone, Copy, PartialEq)]
enum Kill {
    /// While it is on its way: the room has not heard it.
    Said,
    /// Once the room has done it.
    Done,
}

/// What came of a game.
#[derive(Debug, PartialEq)]
struct Outcome {
    rounds: u32,
    moves: u32,
    turns: u32,
    winner: Option<PlayerId>,
    scores: Vec<u32>,
}

/// Plays a whole game, and kills the room in the moves that `kills` picks.
fn play(kills: impl Fn(u32) -> Option<Kill>) -> Outcome {
    let mut room = TestRoom::durable(|| Cards::new(PLAYERS, TARGET, 7, Leak::None));
    let names = ["ada", "bo", "cy"];
    let bots = names.map(|name| room.join(name));
    let mut shown = Ledger::default();
    for _ in 0..2000 {
        let table = room.room().state::<Table>().clone();
        if table.phase == Phase::Over {
            shown.merge(&room.game().ledger);
            assert!(bots.iter().all(|bot| leaks(&shown, bot) == 0 && bot.messages::<Notice>().is_empty()));
            let scores = table.seats.iter().map(|seat| seat.score).collect();
            let Table { round: rounds, moves, turns, winner, .. } = table;
            return Outcome { rounds, moves, turns, winner, scores };
        }
        let bot = bots.iter().find(|bot| bot.player() == table.turn).expect("somebody is in turn");
        let (seen, hand) = (bot.state::<Table>().unwrap(), bot.private::<Hand>().unwrap());
        bot.send(&decide(&seen, &hand, bot.player()).expect("she sees that she is in turn")).unwrap();
        let kill = kills(table.moves);
        if kill == Some(Kill::Said) {
            shown.merge(&room.game().ledger);
            room.kill_and_wake();
        }
        while room.room().state::<Table>().moves == table.moves {
            room.advance(1);
        }
        if kill == Some(Kill::Done) {
            shown.merge(&room.game().ledger);
            room.kill_and_wake();
        }
        if kill.is_some() {
            let stock = room.stored::<Deck>().remove(0).1.order;
            let secrets = || stock.iter().map(|card| card.token.to_string());
            bots.iter()
                .for_each(|bot| secrets().for_each(|secret| assert_never_received(bot, secret.as_bytes())));
        }
    }
    panic!("the game does not end");
}

fn leaks(shown: &Ledger, bot: &TestClient) -> usize {
    let (raw, plain) = bot.received();
    shown.leaks(bot.player().expect("she plays"), [&raw, &plain])
}

#[test]
fn a_table_that_is_killed_again_and_again_ends_as_if_nothing_had_happened() {
    let quiet = play(|_| None);
    assert!(quiet.rounds > 1 && quiet.moves > 20 && quiet.winner.is_some(), "{quiet:?}");
    assert_eq!(play(|moves| (moves % 5 == 3).then_some(Kill::Done)), quiet);
    assert_eq!(play(|moves| (moves % 7 == 2).then_some(Kill::Said)), quiet);
}
