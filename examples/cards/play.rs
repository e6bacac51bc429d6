//! A whole game by bots over real WebSockets, and the report at its end.

use std::error::Error;
use std::time::{Duration, Instant};

use room::PlayerId;
use room::runtime::Identity;
use room::server::{Server, ServerHandle};
use room_client::{Client, Event, Status};
use serde::Serialize;

use crate::game::{Cards, Deck, Hand, Leak, Notice, Phase, Seat, Table, schema};
use crate::keep::Keep;
use crate::rules::{DRAWS, Move};
use crate::strategy::choose;

const ROOM: &str = "table";
/// How often bots look at the table.
const LOOK: Duration = Duration::from_millis(2);
/// Bots need no time to think, so the room steps fast.
const TICK_RATE: u32 = 100;
/// How long the table may stand still.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whatever ends a run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What to play.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// How many bots.
    pub bots: usize,
    /// How the cards fall.
    pub seed: u64,
    /// Points that win the game.
    pub target: u32,
    /// The mistake to plant.
    pub leak: Leak,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Report {
    example: &'static str,
    players: usize,
    seed: u64,
    rounds: u32,
    /// Turns taken by all.
    pub turns: u32,
    /// The winner's name.
    pub winner: String,
    scores: Vec<u32>,
    refused: usize,
    /// Cards that a client was sent and that the rules did not show it.
    pub leaks: usize,
    bytes_sent: u64,
}

/// Plays a game to its end and scans every byte that the players were sent. A game that a killed process left in the
/// store goes on: its bots are known again by their names.
pub async fn game(run: Run, keep: &Keep) -> Result<Report, Failure> {
    let make = move |_: &str| Cards::new(run.bots, run.target, run.seed, run.leak);
    let server = keep.attach(Server::new(make));
    // Bots are who they say they are.
    let server = server.authenticate(|bot| async { Ok(Identity::account(bot.name)) });
    let server = server.port(0).max_players(run.bots).tick_rate(TICK_RATE).sleep_seconds(0).start().await?;
    let url = server.url(ROOM);
    let mut bots = Vec::new();
    for number in 1..=run.bots {
        bots.push(Bot::join(&url, number).await?);
    }
    play(&mut bots).await?;
    let report = report(&server, &bots).await;
    for bot in &mut bots {
        bot.client.leave().await;
    }
    // The room goes with the last of them.
    let since = Instant::now();
    while !server.rooms().is_empty() && since.elapsed() < PATIENCE {
        tokio::time::sleep(LOOK).await;
    }
    server.shutdown().await;
    report
}

/// What a player does, if she is in turn, from what she sees.
pub fn decide(table: &Table, hand: &Hand, player: Option<PlayerId>) -> Option<Move> {
    let in_turn = table.phase == Phase::Playing && table.turn == player;
    let top = table.top.filter(|_| in_turn)?;
    let can_draw = table.drawn < DRAWS && table.stock + table.pile > 1;
    Some(choose(&hand.cards, &top, table.suit, can_draw))
}

struct Bot {
    client: Client,
    // The table's count of moves when the bot last moved, so that it moves once a turn.
    moved_at: Option<u32>,
    refused: usize,
}

impl Bot {
    /// Connects and waits to be seated, so that seats are in order of numbers.
    async fn join(url: &str, number: usize) -> Result<Bot, Failure> {
        let client = room_client::connect(url, schema()).name(format!("bot {number}")).record(true).await?;
        let mut bot = Bot { client, moved_at: None, refused: 0 };
        let deadline = Instant::now() + PATIENCE;
        while bot.client.state::<Table>().is_none() {
            bot.update()?;
            if Instant::now() > deadline {
                return Err(format!("bot {number} was not seated in {PATIENCE:?}").into());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(bot)
    }

    /// Takes what has come; an error where the room ended the connection.
    fn update(&mut self) -> Result<(), Failure> {
        self.client.update(Instant::now());
        for event in self.client.events() {
            if let Event::Message(message) = event
                && let Notice::Refused { .. } = message.decode()?
            {
                self.refused += 1;
            }
        }
        match self.client.status() {
            Status::Closed { code, reason } => Err(format!("the room closed: {reason} ({code:?})").into()),
            _ => Ok(()),
        }
    }

    /// Moves, if it is its turn.
    fn act(&mut self) -> Result<(), Failure> {
        let (Some(table), Some(hand)) = (self.client.state::<Table>(), self.client.private::<Hand>()) else {
            return Ok(());
        };
        if self.moved_at != Some(table.moves)
            && let Some(play) = decide(table, hand, self.client.player())
        {
            self.moved_at = Some(table.moves);
            self.client.send(&play)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.client.state::<Table>().is_some_and(|table| table.phase == Phase::Over)
    }
}

/// Until all have seen the end; a line of progress a round.
async fn play(bots: &mut [Bot]) -> Result<(), Failure> {
    let (mut round, mut moves, mut since) = (0, 0, Instant::now());
    while !bots.iter().all(Bot::is_over) {
        for bot in bots.iter_mut() {
            bot.update()?;
            bot.act()?;
        }
        if let Some(table) = bots[0].client.state::<Table>() {
            if table.moves != moves {
                (moves, since) = (table.moves, Instant::now());
            }
            if table.round != round {
                round = table.round;
                let players: Vec<String> =
                    table.seats.iter().map(|seat| player(&bots[0].client, seat)).collect();
                eprintln!("round {round}: {} after {} turns", players.join(", "), table.turns);
            }
        }
        if since.elapsed() > PATIENCE {
            return Err(format!("nobody moved for {PATIENCE:?}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// A player as the table's list has her: what she is called, her points, and whether her seat is held.
fn player(client: &Client, seat: &Seat) -> String {
    match client.presence(seat.player) {
        Some(presence) if presence.is_connected() => format!("{} {}", presence.name, seat.score),
        Some(presence) => format!("{} (away) {}", presence.name, seat.score),
        None => format!("player {} (gone) {}", seat.player, seat.score),
    }
}

async fn report(server: &ServerHandle<Cards>, bots: &[Bot]) -> Result<Report, Failure> {
    let look = server.inspect(ROOM, |game, room| {
        let table = room.state::<Table>().clone();
        let winner = table.winner.and_then(|player| room.presence(player));
        let winner = winner.map(|presence| presence.name.clone()).unwrap_or_default();
        let seed = room.get(Deck::id()).map_or(0, |deck| deck.seed);
        (game.ledger.clone(), table, winner, seed, room.stats().bytes_sent)
    });
    let (ledger, table, winner, seed, bytes_sent) = look.await.ok_or("the room has ended")?;
    let leaks = |bot: &Bot| {
        let (raw, inflated) = bot.client.received();
        bot.client.player().map_or(0, |player| ledger.leaks(player, [raw, inflated]))
    };
    Ok(Report {
        example: "cards",
        players: table.seats.len(),
        seed,
        rounds: table.round,
        turns: table.turns,
        winner,
        scores: table.seats.iter().map(|seat| seat.score).collect(),
        refused: bots.iter().map(|bot| bot.refused).sum(),
        leaks: bots.iter().map(leaks).sum(),
        bytes_sent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn short_game(leak: Leak) -> Report {
        game(Run { bots: 3, seed: 7, target: 1, leak }, &Keep::temporary().unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn a_game_is_played_to_its_end_and_leaks_nothing() {
        let report = short_game(Leak::None).await;
        assert_eq!((report.leaks, report.refused), (0, 0));
        assert!(report.turns > 5 && report.winner.starts_with("bot"), "{report:?}");
        let again = short_game(Leak::None).await;
        assert_eq!((again.turns, again.winner), (report.turns, report.winner), "a seed is a game");
    }

    #[tokio::test]
    async fn planted_leaks_are_caught() {
        assert!(short_game(Leak::Table).await.leaks > 0);
        assert!(short_game(Leak::Event).await.leaks > 0);
    }
}
