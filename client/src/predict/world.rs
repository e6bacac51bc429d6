//! What a client sees, as a step meets it.

use std::any::TypeId;

use room::entity::{Id, Visible};
use room::step::StepWorld;
use room::store::ahead::Writer;
use room::{PlayerId, Presence, Tick};

use crate::replica::Replica;

/// A replica that is stepped ahead of the room.
pub(super) struct Predicted<'a> {
    pub(super) replica: &'a mut Replica,
    pub(super) player: PlayerId,
    pub(super) tick: Tick,
}

impl StepWorld for Predicted<'_> {
    fn player(&self) -> PlayerId {
        self.player
    }
    fn tick(&self) -> Tick {
        self.tick
    }
    fn get<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        self.replica.get(id)
    }
    fn get_mut<K: Visible>(&mut self, id: Id<K>) -> Option<K::Writer<'_>> {
        if TypeId::of::<K>() == TypeId::of::<Presence>() {
            return None;
        }
        Some(K::writer(self.replica.open(id, Writer::Step)?))
    }
    fn all<K: Visible>(&self) -> impl Iterator<Item = (Id<K>, &K)> + '_ {
        self.replica.all()
    }
    fn own<K: Visible>(&self) -> Option<Id<K>> {
        K::KIND.owner?;
        self.replica.all::<K>().find(|(_, entity)| entity.owner() == Some(self.player)).map(|(id, _)| id)
    }
    fn state<K: Visible>(&self) -> Option<&K> {
        self.replica.state()
    }
    fn private<K: Visible>(&self) -> Option<&K> {
        self.replica.private()
    }
    fn private_mut<K: Visible>(&mut self) -> Option<K::Writer<'_>> {
        Some(K::writer(self.replica.open_private::<K>()?))
    }
}
