//! The game of the random worlds.

use room::prelude::*;

use super::interest::{Eyes, Spec, Word};
use super::kinds::{Board, Chest, Hand, Spark, Unit, Vault, hand_of};

/// What the hooks did, for the model to follow.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Joined { player: PlayerId, unit: Id<Unit> },
    Left { player: PlayerId, guest: bool, deleted: Option<Id<Unit>> },
}

pub(crate) struct World {
    pub(crate) spec: Spec,
    /// The keys of the teams.
    pub(crate) alias: [u64; 4],
    /// Whether players' units stay when they leave.
    pub(crate) keeps: bool,
    pub(crate) news: Vec<News>,
    pub(crate) own: Vec<(PlayerId, bool, Id<Unit>)>,
}

impl Game for World {
    type Event = u64;
    type Scratch = Eyes;

    fn schema() -> Schema {
        let schema = Schema::new().without_presence().state::<Board>().private::<Hand>();
        schema.entity::<Unit>().entity::<Chest>().entity::<Vault>().entity::<Spark>()
    }

    fn interest(&self) -> Visibility<Self> {
        self.spec.build()
    }

    fn on_join(&mut self, room: &mut Room<Self>, peer: Peer) -> Result<(), Refused> {
        let conn = room.connection_mut(peer.conn).expect("the connection is seated");
        conn.scratch =
            Eyes { around: [Some([0.0; 3]), Some([4.0; 3])], words: vec![Word::Number(1)], mask: 7 };
        let guest = conn.account().is_none();
        let hand = hand_of(peer.player);
        let mut private =
            room.private_mut::<Hand>(peer.player).expect("private state is there from the join on");
        private.set_secret(hand.secret);
        private.set_note(hand.note).expect("the note fits");
        private.set_cards(hand.cards).expect("the cards fit");
        let unit =
            room.create(Unit::new(peer.player, Some([1.0, 0.0, 0.0]), 0)).expect("the unit is created");
        self.own.push((peer.player, guest, unit));
        self.news.push(News::Joined { player: peer.player, unit });
        Ok(())
    }

    fn on_leave(&mut self, room: &mut Room<Self>, player: PlayerId, _why: LeaveReason) {
        let own = self.own.iter().position(|(owner, ..)| *owner == player).expect("who leaves has joined");
        let (_, guest, unit) = self.own.remove(own);
        let deleted = (!self.keeps && room.get(unit).is_some() && room.delete(unit)).then_some(unit);
        self.news.push(News::Left { player, guest, deleted });
    }
}
