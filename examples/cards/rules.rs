//! Crazy Eights for two to five: the rules alone, with no word of rooms or sockets.
//!
//! Two players get seven cards each, more get five. The top of the stock is turned up; an eight is buried and the
//! next turned. In turn a player plays a card of the suit or rank on the pile, or an eight, and names the suit that
//! must follow. Who cannot play draws until she can, three cards at the most. When the stock is out, the pile below
//! its top is shuffled and becomes the stock. Who cannot play after three cards, or with nothing to draw, passes.
//! The first without cards wins what the others hold: 50 for an eight, 10 for a court card, else its number. When
//! all pass in a row and nobody could draw, the round is blocked, and the lowest hand wins what the others hold
//! above it; nobody does where two are lowest.

use std::cmp::Ordering;

use rand_chacha::rand_core::RngCore;
use room::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The rank that is wild.
pub const EIGHT: u8 = 8;
/// Cards that a player draws in one turn at the most.
pub const DRAWS: u8 = 3;

/// The four suits.
#[derive(FieldEnum, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Suit {
    #[default]
    Clubs,
    Diamonds,
    Hearts,
    Spades,
}

impl Suit {
    /// All of them.
    pub const ALL: [Suit; 4] = [Suit::Clubs, Suit::Diamonds, Suit::Hearts, Suit::Spades];
}

/// A card. Its token is a secret: whoever knows the token has seen the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// 1 for an ace, 11 to 13 for jack, queen and king.
    pub rank: u8,
    /// Its suit.
    pub suit: Suit,
    /// Random, new at every deal and at every shuffle.
    pub token: u64,
}

impl Card {
    /// Whether it may follow a card where this suit is asked for.
    pub fn follows(&self, top: &Card, suit: Suit) -> bool {
        self.rank == EIGHT || self.suit == suit || self.rank == top.rank
    }

    /// What it costs its holder at the end of a round.
    pub fn points(&self) -> u32 {
        match self.rank {
            EIGHT => 50,
            11.. => 10,
            rank => u32::from(rank),
        }
    }
}

/// What a player does in her turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Move {
    /// Plays a card; with an eight, and only then, names the suit that must follow.
    Play { rank: u8, suit: Suit, names: Option<Suit> },
    /// Draws a card, and is still in turn.
    Draw,
    /// Cannot play, and cannot draw either.
    Pass,
}

/// Why a move is against the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Illegal {
    #[error("it is another player's turn")]
    NotYourTurn,
    #[error("you do not hold that card")]
    NotHeld,
    #[error("that card fits neither suit nor rank")]
    DoesNotFollow,
    #[error("an eight needs a suit named")]
    NamesNoSuit,
    #[error("only an eight names a suit")]
    NamesASuit,
    #[error("you can play, so you cannot draw or pass")]
    CanPlay,
    #[error("there is nothing to draw: pass")]
    NothingToDraw,
    #[error("you have drawn three cards: pass")]
    DrawnEnough,
    #[error("draw before you pass")]
    CanDraw,
}

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The winner's seat; none where a blocked round has two lowest hands.
    pub winner: Option<usize>,
    /// What she wins.
    pub points: u32,
}

/// A round in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The stock, face down; the top is the last.
    pub stock: Vec<Card>,
    /// The pile, face up; the top is the last. Never empty.
    pub pile: Vec<Card>,
    /// The players' hands, by seat.
    pub hands: Vec<Vec<Card>>,
    /// The suit that must follow.
    pub suit: Suit,
    /// Whose turn it is.
    pub turn: usize,
    /// Cards drawn in this turn.
    pub drawn: u8,
    /// Passes in a row of players who could not draw.
    pub passes: usize,
}

impl Round {
    /// Shuffles and deals to two to five players; the one after the dealer begins.
    pub fn deal(players: usize, dealer: usize, rng: &mut impl RngCore) -> Round {
        debug_assert!((2..=5).contains(&players));
        let ranks = (1..=13).flat_map(|rank| Suit::ALL.map(|suit| Card { rank, suit, token: 0 }));
        let mut stock: Vec<Card> = ranks.collect();
        shuffle(&mut stock, rng);
        let each = if players == 2 { 7 } else { 5 };
        let hands = (0..players).map(|_| stock.split_off(stock.len() - each)).collect();
        // An eight is buried in the middle; there are four, so this ends.
        while stock.last().is_some_and(|card| card.rank == EIGHT) {
            let (top, middle) = (stock.len() - 1, stock.len() / 2);
            stock.swap(top, middle - below(4, rng));
        }
        let pile = stock.split_off(stock.len() - 1);
        Round { suit: pile[0].suit, stock, pile, hands, turn: (dealer + 1) % players, drawn: 0, passes: 0 }
    }

    /// The card on the pile.
    pub fn top(&self) -> Card {
        *self.pile.last().expect("the pile has its first card from the deal on")
    }

    /// Makes a move, or says why it is against the rules. Returns the end of the round where this was its last.
    pub fn apply(&mut self, seat: usize, play: Move, rng: &mut impl RngCore) -> Result<Option<End>, Illegal> {
        if seat != self.turn {
            return Err(Illegal::NotYourTurn);
        }
        match play {
            Move::Play { rank, suit, names } => self.play(seat, rank, suit, names)?,
            Move::Draw => self.draw(seat, rng)?,
            Move::Pass => self.pass(seat)?,
        }
        Ok(self.end(seat))
    }

    /// Takes a player who leaves out: her cards go under the stock as new ones.
    pub fn remove(&mut self, seat: usize, rng: &mut impl RngCore) {
        for mut card in self.hands.remove(seat) {
            card.token = token(rng);
            self.stock.insert(0, card);
        }
        match self.turn.cmp(&seat) {
            Ordering::Less => {}
            Ordering::Equal => self.drawn = 0,
            Ordering::Greater => self.turn -= 1,
        }
        self.turn %= self.hands.len().max(1);
        self.passes = 0;
    }

    fn play(&mut self, seat: usize, rank: u8, suit: Suit, names: Option<Suit>) -> Result<(), Illegal> {
        let held = self.hands[seat].iter().position(|card| (card.rank, card.suit) == (rank, suit));
        let held = held.ok_or(Illegal::NotHeld)?;
        let card = self.hands[seat][held];
        if !card.follows(&self.top(), self.suit) {
            return Err(Illegal::DoesNotFollow);
        }
        self.suit = match (rank, names) {
            (EIGHT, None) => return Err(Illegal::NamesNoSuit),
            (EIGHT, Some(named)) => named,
            (_, Some(_)) => return Err(Illegal::NamesASuit),
            (_, None) => suit,
        };
        self.hands[seat].remove(held);
        self.pile.push(card);
        self.passes = 0;
        self.next();
        Ok(())
    }

    fn draw(&mut self, seat: usize, rng: &mut impl RngCore) -> Result<(), Illegal> {
        if self.can_play(seat) {
            return Err(Illegal::CanPlay);
        }
        if self.drawn >= DRAWS {
            return Err(Illegal::DrawnEnough);
        }
        if self.stock.is_empty() {
            let top = self.top();
            self.stock = std::mem::replace(&mut self.pile, vec![top]);
            self.stock.pop();
            shuffle(&mut self.stock, rng);
        }
        let card = self.stock.pop().ok_or(Illegal::NothingToDraw)?;
        self.hands[seat].push(card);
        self.drawn += 1;
        Ok(())
    }

    fn pass(&mut self, seat: usize) -> Result<(), Illegal> {
        if self.can_play(seat) {
            return Err(Illegal::CanPlay);
        }
        if self.drawn < DRAWS && (!self.stock.is_empty() || self.pile.len() > 1) {
            return Err(Illegal::CanDraw);
        }
        self.passes = if self.drawn == 0 { self.passes + 1 } else { 0 };
        self.next();
        Ok(())
    }

    fn can_play(&self, seat: usize) -> bool {
        self.hands[seat].iter().any(|card| card.follows(&self.top(), self.suit))
    }

    fn next(&mut self) {
        self.drawn = 0;
        self.turn = (self.turn + 1) % self.hands.len();
    }

    fn end(&self, seat: usize) -> Option<End> {
        let held: Vec<u32> = self.hands.iter().map(|hand| hand.iter().map(Card::points).sum()).collect();
        if self.hands[seat].is_empty() {
            return Some(End { winner: Some(seat), points: held.iter().sum() });
        }
        if self.passes < self.hands.len() {
            return None;
        }
        let least = held.iter().copied().min()?;
        let mut lowest = (0..held.len()).filter(|seat| held[*seat] == least);
        match (lowest.next(), lowest.next()) {
            (winner, None) => Some(End { winner, points: held.iter().map(|points| points - least).sum() }),
            _ => Some(End { winner: None, points: 0 }),
        }
    }
}

/// The points that win the game.
pub fn target(players: usize) -> u32 {
    50 * players as u32
}

/// Gives every card a new token and a random place.
fn shuffle(cards: &mut Vec<Card>, rng: &mut impl RngCore) {
    for i in (1..cards.len()).rev() {
        cards.swap(i, below(i + 1, rng));
    }
    for card in cards {
        card.token = token(rng);
    }
}

/// A random number below `n`. Modulo leans towards low numbers by less than 2^-58 here.
fn below(n: usize, rng: &mut impl RngCore) -> usize {
    (rng.next_u64() % n as u64) as usize
}

/// 64 random bits that have 16 digits in hexadecimal, so that a scan finds them as text.
fn token(rng: &mut impl RngCore) -> u64 {
    loop {
        let token = rng.next_u64();
        if token >> 60 != 0 {
            return token;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::strategy::choose;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    fn card(rank: u8, suit: Suit) -> Card {
        Card { rank, suit, token: u64::from(rank) << 60 | suit as u64 }
    }

    /// Seat 0 is in turn; a five of hearts lies on a seven of clubs; the stock is a two of spades.
    fn round(hands: [&[Card]; 2]) -> Round {
        Round {
            stock: vec![card(2, Suit::Spades)],
            pile: vec![card(7, Suit::Clubs), card(5, Suit::Hearts)],
            hands: hands.map(<[Card]>::to_vec).to_vec(),
            suit: Suit::Hearts,
            turn: 0,
            drawn: 0,
            passes: 0,
        }
    }

    fn play(rank: u8, suit: Suit) -> Move {
        Move::Play { rank, suit, names: None }
    }

    #[test]
    fn a_deal_has_every_card_once_with_a_token_of_its_own_and_no_eight_on_top() {
        for seed in 0..200 {
            let players = 2 + (seed % 4) as usize;
            let round = Round::deal(players, 0, &mut rng(seed));
            let cards: Vec<&Card> =
                round.hands.iter().flatten().chain(&round.stock).chain(&round.pile).collect();
            assert_eq!(cards.len(), 52);
            assert_eq!(cards.iter().map(|c| (c.rank, c.suit)).collect::<BTreeSet<_>>().len(), 52);
            assert_eq!(cards.iter().map(|c| c.token).collect::<BTreeSet<_>>().len(), 52);
            assert!(round.hands.iter().all(|hand| hand.len() == if players == 2 { 7 } else { 5 }));
            assert_ne!(round.top().rank, EIGHT);
            assert_eq!((round.suit, round.turn), (round.top().suit, 1));
        }
        assert_eq!(Round::deal(4, 0, &mut rng(1)), Round::deal(4, 0, &mut rng(1)));
        assert_ne!(Round::deal(4, 0, &mut rng(1)), Round::deal(4, 0, &mut rng(2)));
    }

    #[test]
    fn a_card_follows_by_suit_or_rank() {
        let hand = [card(9, Suit::Hearts), card(5, Suit::Spades), card(9, Suit::Clubs)];
        for (play, allowed) in [
            (play(9, Suit::Hearts), Ok(None)),
            (play(5, Suit::Spades), Ok(None)),
            (play(9, Suit::Clubs), Err(Illegal::DoesNotFollow)),
            (play(1, Suit::Hearts), Err(Illegal::NotHeld)),
            (Move::Play { rank: 9, suit: Suit::Hearts, names: Some(Suit::Clubs) }, Err(Illegal::NamesASuit)),
            (Move::Draw, Err(Illegal::CanPlay)),
            (Move::Pass, Err(Illegal::CanPlay)),
        ] {
            let mut round = round([&hand, &hand]);
            let before = round.clone();
            assert_eq!(round.apply(0, play, &mut rng(0)), allowed);
            assert_eq!(round == before, allowed.is_err(), "an illegal move changes nothing");
        }
        assert_eq!(round([&hand, &hand]).apply(1, Move::Draw, &mut rng(0)), Err(Illegal::NotYourTurn));
    }

    #[test]
    fn an_eight_is_wild_and_names_the_suit_that_follows() {
        let mut round = round([
            &[card(8, Suit::Clubs), card(2, Suit::Hearts)],
            &[card(8, Suit::Hearts), card(3, Suit::Spades)],
        ]);
        assert_eq!(round.apply(0, play(8, Suit::Clubs), &mut rng(0)), Err(Illegal::NamesNoSuit));
        let eight = Move::Play { rank: 8, suit: Suit::Clubs, names: Some(Suit::Spades) };
        assert_eq!(round.apply(0, eight, &mut rng(0)), Ok(None));
        assert_eq!((round.suit, round.turn), (Suit::Spades, 1));
        assert_eq!(round.apply(1, play(3, Suit::Spades), &mut rng(0)), Ok(None));
        assert_eq!(round.suit, Suit::Spades);
    }

    #[test]
    fn who_cannot_play_draws_three_cards_at_the_most_and_then_passes() {
        let stuck = [card(3, Suit::Clubs), card(4, Suit::Diamonds)];
        let mut round = round([&stuck, &stuck]);
        round.stock = [1, 2, 3, 4].map(|rank| card(rank, Suit::Spades)).to_vec();
        for cards in 3..=5 {
            assert_eq!(round.apply(0, Move::Pass, &mut rng(0)), Err(Illegal::CanDraw));
            assert_eq!(round.apply(0, Move::Draw, &mut rng(0)), Ok(None));
            assert_eq!((round.hands[0].len(), round.turn), (cards, 0));
        }
        assert_eq!(round.apply(0, Move::Draw, &mut rng(0)), Err(Illegal::DrawnEnough));
        assert_eq!(round.apply(0, Move::Pass, &mut rng(0)), Ok(None));
        assert_eq!((round.turn, round.drawn, round.passes), (1, 0, 0));
    }

    #[test]
    fn the_pile_below_its_top_becomes_the_stock_and_with_nothing_to_draw_the_round_is_blocked() {
        let stuck = [card(3, Suit::Clubs), card(4, Suit::Diamonds)];
        let mut round = round([&stuck, &stuck]);
        let tokens: BTreeSet<u64> = round.pile.iter().map(|card| card.token).collect();
        assert_eq!(round.apply(0, Move::Draw, &mut rng(0)), Ok(None), "the last of the stock");
        assert_eq!(round.apply(0, Move::Draw, &mut rng(0)), Ok(None), "the seven of the pile");
        assert!(!tokens.contains(&round.hands[0][3].token), "shuffled cards are new");
        assert_eq!((round.pile.len(), round.top()), (1, card(5, Suit::Hearts)));
        assert_eq!(round.apply(0, Move::Draw, &mut rng(0)), Err(Illegal::NothingToDraw));
        assert_eq!(round.apply(0, Move::Pass, &mut rng(0)), Ok(None));
        assert_eq!(round.apply(1, Move::Pass, &mut rng(0)), Ok(None));
        // Seat 1 holds 3 + 4, seat 0 that and 2 + 7.
        let end = round.apply(0, Move::Pass, &mut rng(0));
        assert_eq!(end, Ok(Some(End { winner: Some(1), points: 9 })));
    }

    #[test]
    fn the_first_without_cards_wins_what_the_others_hold() {
        let others =
            [card(8, Suit::Spades), card(13, Suit::Clubs), card(1, Suit::Clubs), card(6, Suit::Clubs)];
        let mut round = round([&[card(9, Suit::Hearts)], &others]);
        let end = round.apply(0, play(9, Suit::Hearts), &mut rng(0));
        assert_eq!(end, Ok(Some(End { winner: Some(0), points: 50 + 10 + 1 + 6 })));
    }

    #[test]
    fn a_blocked_round_with_two_lowest_hands_has_no_winner() {
        let stuck = [card(3, Suit::Clubs)];
        let mut round = round([&stuck, &stuck]);
        (round.stock, round.pile) = (vec![], vec![card(5, Suit::Hearts)]);
        assert_eq!(round.apply(0, Move::Pass, &mut rng(0)), Ok(None));
        assert_eq!(round.apply(1, Move::Pass, &mut rng(0)), Ok(Some(End { winner: None, points: 0 })));
    }

    #[test]
    fn a_leaver_gives_her_cards_back_and_the_turn_goes_on() {
        let mut round = Round::deal(3, 0, &mut rng(4));
        let turn_after = round.hands[2].clone();
        round.remove(1, &mut rng(5));
        assert_eq!((round.hands.len(), round.turn), (2, 1));
        assert_eq!(round.hands[round.turn], turn_after);
        assert_eq!(
            round.hands.iter().map(Vec::len).sum::<usize>() + round.stock.len() + round.pile.len(),
            52
        );
        round.remove(1, &mut rng(5));
        assert_eq!(round.turn, 0);
    }

    #[test]
    fn every_game_ends_and_no_card_is_lost() {
        for seed in 0..500 {
            let (mut rng, players) = (rng(seed), 2 + (seed % 4) as usize);
            let mut round = Round::deal(players, 0, &mut rng);
            let mut moves = 0;
            loop {
                let seat = round.turn;
                let can_draw = round.drawn < DRAWS && round.stock.len() + round.pile.len() > 1;
                let play = choose(&round.hands[seat], &round.top(), round.suit, can_draw);
                let end =
                    round.apply(seat, play, &mut rng).unwrap_or_else(|e| panic!("{seed}: {play:?}: {e}"));
                let cards =
                    round.hands.iter().map(Vec::len).sum::<usize>() + round.stock.len() + round.pile.len();
                assert_eq!(cards, 52);
                moves += 1;
                assert!(moves < 2000, "seed {seed} does not end");
                if end.is_some() {
                    break;
                }
            }
        }
    }
}
