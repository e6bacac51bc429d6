//! How a bot plays: what it can get rid of first, eights last.

use crate::rules::{Card, EIGHT, Move, Suit};

/// A legal move for the player in turn, from what she sees alone.
pub fn choose(hand: &[Card], top: &Card, suit: Suit, can_draw: bool) -> Move {
    let follows = |card: &&Card| card.follows(top, suit);
    let costliest =
        hand.iter().filter(|card| card.rank != EIGHT).filter(follows).max_by_key(|card| card.points());
    if let Some(card) = costliest {
        return Move::Play { rank: card.rank, suit: card.suit, names: None };
    }
    if let Some(eight) = hand.iter().find(|card| card.rank == EIGHT) {
        let others =
            |suit: &Suit| hand.iter().filter(|card| card.suit == *suit && card.rank != EIGHT).count();
        let names = Suit::ALL.into_iter().max_by_key(others);
        return Move::Play { rank: EIGHT, suit: eight.suit, names };
    }
    if can_draw { Move::Draw } else { Move::Pass }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(rank: u8, suit: Suit) -> Card {
        Card { rank, suit, token: 0 }
    }

    #[test]
    fn eights_are_kept_for_when_nothing_else_follows() {
        let top = card(5, Suit::Hearts);
        let hand =
            [card(8, Suit::Clubs), card(2, Suit::Hearts), card(12, Suit::Hearts), card(9, Suit::Spades)];
        let first = choose(&hand, &top, Suit::Hearts, true);
        assert_eq!(first, Move::Play { rank: 12, suit: Suit::Hearts, names: None });
        let eight = choose(&[hand[0], hand[3]], &top, Suit::Hearts, true);
        assert_eq!(eight, Move::Play { rank: 8, suit: Suit::Clubs, names: Some(Suit::Spades) });
        assert_eq!(choose(&hand[3..], &top, Suit::Hearts, true), Move::Draw);
        assert_eq!(choose(&hand[3..], &top, Suit::Hearts, false), Move::Pass);
    }
}
