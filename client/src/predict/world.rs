//! What a client sees, as a step meets it.

use std::any::TypeId;
use std::fmt;

use room::entity::{Id, Visible};
use room::step::StepWorld;
use room::store::ahead::Writer;
use room::{PlayerId, Presence, Tick};

use crate::replica::Replica;

/// What a client sees, as it is expected to be: for steps, and for what calls are expected to do.
pub struct Predicted<'a> {
    pub(super) replica: &'a mut Replica,
    pub(super) player: PlayerId,
    pub(super) tick: Tick,
    pub(super) writer: Writer,
}

impl fmt::Debug for Predicted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicted")
            .field("player", &self.player)
            .field("tick", &self.tick)
            .finish_non_exhaustive()
    }
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
        Some(K::writer(self.replica.open(id, self.writer)?))
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
        Some(K::writer(self.replica.open_private::<K>(self.writer)?))
    }
}
