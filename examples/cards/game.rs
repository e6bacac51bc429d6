//! The table as a room: a hidden deck, a private hand a player, and a state for all. The game keeps nothing else that a
//! round needs, so a room whose process was killed goes on with the very next card.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use room::prelude::*;
use serde::{Deserialize, Serialize};

use crate::leaks::Ledger;
use crate::rules::{Card, End, Move, Round, Suit};

/// What all see.
#[derive(Entity, Clone, Debug, Default)]
pub struct Table {
    /// How far the game is.
    pub phase: Phase,
    /// How many play.
    pub places: u8,
    /// Points that win the game.
    pub target: u32,
    /// The players in order of play.
    pub seats: Json<Vec<Seat>>,
    /// Whose turn it is.
    pub turn: Option<PlayerId>,
    /// The card on the pile.
    pub top: Json<Option<Card>>,
    /// The suit that must follow.
    pub suit: Suit,
    /// Cards to draw.
    pub stock: u8,
    /// Cards on the pile.
    pub pile: u8,
    /// Cards that the player in turn has drawn.
    pub drawn: u8,
    /// Passes in a row of players who could not draw.
    pub passes: u8,
    /// Rounds dealt.
    pub round: u32,
    /// Turns taken.
    pub turns: u32,
    /// Moves made; a player who waits for it to change acts once a move.
    pub moves: u32,
    /// Who won the game.
    pub winner: Option<PlayerId>,
    /// What happened last, in words.
    pub said: String,
}

/// How far the game is.
#[derive(FieldEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for players.
    #[default]
    Gathering,
    /// Cards are dealt.
    Playing,
    /// Somebody won.
    Over,
}

/// What all see of a player. Her name, and whether she is held, are in her presence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// Who sits there.
    pub player: PlayerId,
    /// How many cards she holds.
    pub cards: usize,
    /// Her points in the game.
    pub score: u32,
}

/// What one player sees.
#[derive(Entity, Clone, Debug, Default)]
pub struct Hand {
    /// Her cards.
    pub cards: Json<Vec<Card>>,
}

/// What nobody sees: no client can be sent a hidden kind.
#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub struct Deck {
    /// The stock, face down; the next card is the last.
    pub order: Json<Vec<Card>>,
    /// The pile. All have seen its cards, but which lie in it is for players to remember.
    pub pile: Json<Vec<Card>>,
    /// Where the table's chance comes from, and how much of it is drawn.
    pub seed: u64,
    pub drawn: u64,
}

impl Deck {
    /// The ID of the one deck there is.
    pub fn id() -> Id<Deck> {
        Id::assume(EntityId::explicit(DECK).expect("games may give it"))
    }

    /// The table's chance, where it stands. It is stored with the cards that it shuffled, and hidden like them: a
    /// round that goes on after a kill falls as it would have fallen.
    fn chance(&self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_word_pos(self.drawn.into());
        rng
    }
}

const DECK: u64 = 2;

/// Every kind, in the order that both ends agree on.
pub fn schema() -> Schema {
    Schema::new().state::<Table>().private::<Hand>().entity::<Deck>()
}

/// What the room tells a player besides the state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Notice {
    /// A move was against the rules.
    Refused { why: String },
    /// A hand, for all to see: nothing sends it but a planted leak.
    Shown { cards: Vec<Card> },
}

/// A mistake to plant, for the scan to catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// None.
    None,
    /// The table's text, which all see, names the next card of the stock.
    Table,
    /// An event shows all the hand of the player in turn.
    Event,
}

/// The game. How a table begins; what it needs to go on is in the room's entities.
pub struct Cards {
    players: usize,
    target: u32,
    seed: u64,
    leak: Leak,
    /// Who was shown which card, for the scan alone.
    pub ledger: Ledger,
}

/// A round as it is taken from the room's entities, played on, and put back.
struct Hands {
    round: Round,
    chance: ChaCha8Rng,
}

impl Game for Cards {
    type Event = Move;
    type Scratch = ();

    fn schema() -> Schema {
        schema()
    }

    fn on_create(&mut self, room: &mut Room<Self>) {
        let mut table = room.state_mut::<Table>();
        table.set_places(self.players as u8);
        table.set_target(self.target);
        let deck = Deck { order: Json::default(), pile: Json::default(), seed: self.seed, drawn: 0 };
        room.create_with_id(DECK, deck).expect("the room is new");
    }

    /// The round goes on as it lies. The ledger is as new as this process, so it takes note of what lies there.
    fn on_wake(&mut self, room: &mut Room<Self>) {
        if let Some(hands) = self.load(room) {
            self.note(&room.state::<Table>().seats, &hands.round);
        }
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        if room.state::<Table>().phase != Phase::Gathering {
            return Err(Refused::new("the game has begun"));
        }
        let name = name_of(room, peer.player);
        if name.trim().is_empty() || name.len() > 40 {
            return Err(Refused::new("a player needs a name of at most 40 bytes"));
        }
        let mut seats = room.state::<Table>().seats.to_vec();
        seats.push(Seat { player: peer.player, cards: 0, score: 0 });
        let full = seats.len() == usize::from(room.state::<Table>().places);
        set_seats(room, seats);
        if full {
            self.deal(room);
        }
        Ok(())
    }

    fn on_event(&mut self, room: &mut Room<Self>, peer: Peer, play: Move) {
        if let Err(why) = self.play(room, peer.player, play) {
            room.send(peer.conn, &Notice::Refused { why }).expect("a notice is far below the limit");
        }
    }

    /// The cards of who leaves go back under the stock; the last one at the table wins.
    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _why: LeaveReason) {
        let table = room.state::<Table>();
        let (phase, mut seats) = (table.phase, table.seats.to_vec());
        let Some(seat) = seats.iter().position(|seat| seat.player == player) else { return };
        if phase == Phase::Over {
            return;
        }
        let hands = self.load(room);
        seats.remove(seat);
        set_seats(room, seats);
        if let Some(Hands { mut round, mut chance }) = hands {
            round.remove(seat, &mut chance);
            if let Some(mut hand) = room.private_mut::<Hand>(player) {
                hand.set_cards(Json::default()).expect("an empty hand fits");
            }
            let name = name_of(room, player);
            self.store(room, Hands { round, chance }, format!("{name} left"));
            self.end_if_alone(room);
        }
    }
}

impl Cards {
    /// A table for so many players, who play until one has `target` points.
    pub fn new(players: usize, target: u32, seed: u64, leak: Leak) -> Cards {
        Cards { players, target, seed, leak, ledger: Ledger::default() }
    }

    fn deal(&mut self, room: &mut Room<Self>) {
        let table = room.state::<Table>();
        let (players, number) = (table.seats.len(), table.round + 1);
        let Some(mut chance) = room.get(Deck::id()).map(Deck::chance) else { return };
        let round = Round::deal(players, number as usize % players, &mut chance);
        let mut table = room.state_mut::<Table>();
        table.set_phase(Phase::Playing);
        table.set_round(number);
        self.store(room, Hands { round, chance }, format!("round {number} is dealt"));
    }

    fn play(&mut self, room: &mut Room<Self>, player: PlayerId, play: Move) -> Result<(), String> {
        let seats = room.state::<Table>().seats.to_vec();
        let seat = seats.iter().position(|seat| seat.player == player).ok_or("you are not at the table")?;
        let Hands { mut round, mut chance } = self.load(room).ok_or("no cards are dealt")?;
        let end = round.apply(seat, play, &mut chance).map_err(|illegal| illegal.to_string())?;
        let mut table = room.state_mut::<Table>();
        let (moves, turns) = (table.moves + 1, table.turns + u32::from(play != Move::Draw));
        table.set_moves(moves);
        table.set_turns(turns);
        let name = name_of(room, player);
        self.store(room, Hands { round, chance }, format!("{name}: {}", in_words(play)));
        if let Some(end) = end {
            self.score(room, end);
        }
        Ok(())
    }

    /// Writes down what a round's winner won; deals again, or ends the game.
    fn score(&mut self, room: &mut Room<Self>, end: End) {
        let (mut seats, target) = (room.state::<Table>().seats.to_vec(), room.state::<Table>().target);
        let winner = end.winner.map(|seat| &mut seats[seat]);
        let won = winner.and_then(|seat| {
            seat.score += end.points;
            (seat.score >= target).then_some(seat.player)
        });
        set_seats(room, seats);
        match won {
            Some(player) => finish(room, player),
            None => self.deal(room),
        }
    }

    fn end_if_alone(&self, room: &mut Room<Self>) {
        if let [last] = &room.state::<Table>().seats[..] {
            let player = last.player;
            finish(room, player);
        }
    }

    /// The round as the room's entities hold it; none where no cards are dealt.
    fn load(&self, room: &Room<Self>) -> Option<Hands> {
        let table = room.state::<Table>();
        if table.phase != Phase::Playing {
            return None;
        }
        let deck = room.get(Deck::id())?;
        let hand =
            |seat: &Seat| room.private::<Hand>(seat.player).map_or_else(Vec::new, |hand| hand.cards.to_vec());
        let round = Round {
            stock: deck.order.to_vec(),
            pile: deck.pile.to_vec(),
            hands: table.seats.iter().map(hand).collect(),
            suit: table.suit,
            turn: table.seats.iter().position(|seat| Some(seat.player) == table.turn)?,
            drawn: table.drawn,
            passes: usize::from(table.passes),
        };
        Some(Hands { round, chance: deck.chance() })
    }

    /// Puts the round back into the room's entities, and notes who may know what of it.
    fn store(&mut self, room: &mut Room<Self>, Hands { round, chance }: Hands, mut said: String) {
        let mut seats = room.state::<Table>().seats.to_vec();
        for (seat, cards) in seats.iter_mut().zip(&round.hands) {
            seat.cards = cards.len();
            if let Some(mut hand) = room.private_mut::<Hand>(seat.player) {
                hand.set_cards(Json::new(cards.clone())).expect(FITS);
            }
        }
        if let Some(mut deck) = room.get_mut(Deck::id()) {
            deck.set_order(Json::new(round.stock.clone())).expect(FITS);
            deck.set_pile(Json::new(round.pile.clone())).expect(FITS);
            deck.set_drawn(chance.get_word_pos() as u64);
        }
        self.note(&seats, &round);
        self.plant(room, &round, &mut said);
        let mut table = room.state_mut::<Table>();
        table.set_turn(seats.get(round.turn).map(|seat| seat.player));
        table.set_seats(Json::new(seats)).expect(FITS);
        table.set_top(Json::new(Some(round.top()))).expect(FITS);
        table.set_suit(round.suit);
        table.set_stock(round.stock.len() as u8);
        table.set_pile(round.pile.len() as u8);
        table.set_drawn(round.drawn);
        table.set_passes(round.passes as u8);
        table.set_said(said).expect(FITS);
    }

    /// A hand is its player's to see, the top of the pile everyone's, the stock nobody's.
    fn note(&mut self, seats: &[Seat], round: &Round) {
        for card in round.stock.iter().chain(&round.pile) {
            self.ledger.mint(card.token);
        }
        for (seat, hand) in seats.iter().zip(&round.hands) {
            for card in hand.iter().chain([&round.top()]) {
                self.ledger.show(seat.player, card.token);
            }
        }
    }

    /// The planted mistakes.
    fn plant(&self, room: &mut Room<Self>, round: &Round, said: &mut String) {
        match self.leak {
            Leak::None => {}
            Leak::Table => {
                if let Some(next) = round.stock.last() {
                    said.push_str(&format!(" (next is {next:?})"));
                }
            }
            Leak::Event => {
                let cards = round.hands[round.turn].clone();
                room.broadcast(&Notice::Shown { cards }).expect(FITS);
            }
        }
    }
}

const FITS: &str = "52 cards and a few names are far below every limit";

/// What a player is called, until her last session has ended and `on_leave` has run.
fn name_of(room: &Room<Cards>, player: PlayerId) -> String {
    room.presence(player).map(|presence| presence.name.clone()).unwrap_or_default()
}

fn set_seats(room: &mut Room<Cards>, seats: Vec<Seat>) {
    room.state_mut::<Table>().set_seats(Json::new(seats)).expect(FITS);
}

fn finish(room: &mut Room<Cards>, winner: PlayerId) {
    let mut table = room.state_mut::<Table>();
    table.set_phase(Phase::Over);
    table.set_winner(Some(winner));
    table.set_turn(None);
    // One game is all that this table is for.
    room.discard_when_empty(true);
}

fn in_words(play: Move) -> String {
    match play {
        Move::Play { rank, suit, names: None } => format!("plays {rank} of {suit:?}"),
        Move::Play { suit, names: Some(named), .. } => {
            format!("plays the eight of {suit:?} and names {named:?}")
        }
        Move::Draw => "draws".to_owned(),
        Move::Pass => "passes".to_owned(),
    }
}
