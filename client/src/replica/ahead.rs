//! What is shown ahead of the room: what the player wrote, and what was predicted.

use room::Tick;
use room::entity::{EntityId, Id, Visible, Write};
use room::store::ahead::Writer;
use room::store::replica::Table;

use super::Replica;

impl Replica {
    /// Opens an entity for writing ahead of the room.
    pub(crate) fn open<K: Visible>(&mut self, id: Id<K>, writer: Writer) -> Option<Write<'_, K>> {
        let mut tables = self.tables.by_wire_kind.iter_mut();
        tables.find_map(|table| table.as_any_mut().downcast_mut::<Table<K>>())?.open(id.entity(), writer)
    }

    /// Opens the player's own private state for writing ahead of the room.
    pub(crate) fn open_private<K: Visible>(&mut self, writer: Writer) -> Option<Write<'_, K>> {
        let id = self.tables.private_id?;
        self.open(Id::assume(id), writer)
    }

    /// Takes back what calls are expected to do.
    pub(crate) fn uncall(&mut self) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.uncall());
    }

    /// Calls `put` with the kind, the ID and the fields of what is written and still to go. It returns whether that goes
    /// now, in a message of this number.
    pub(crate) fn send_writes(&mut self, number: u64, put: &mut dyn FnMut(u8, EntityId, &[u8]) -> bool) {
        for (table, kind) in self.tables.by_wire_kind.iter_mut().zip(0..) {
            table.send_writes(number, &mut |id, fields| put(kind, id, fields));
        }
    }

    /// What is written and the room has said nothing of is to go once more.
    pub(crate) fn write_again(&mut self) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.send_writes_again());
    }

    /// What the room has is what it made of writes up to a number.
    pub(crate) fn settle_writes(&mut self, number: u64) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.settle_writes(number));
    }

    /// Takes back what was predicted.
    pub(crate) fn unstep(&mut self) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.unstep());
    }

    /// A tick was predicted.
    pub(crate) fn stepped(&mut self, tick: Tick) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.stepped(tick));
    }

    /// Whether what was predicted for a tick is another end than the room came to.
    pub(crate) fn differs(&self, tick: Tick) -> bool {
        self.tables.by_wire_kind.iter().any(|table| table.differs(tick))
    }

    /// What was predicted up to a tick came true, or does not count any more.
    pub(crate) fn forget_steps(&mut self, tick: Tick) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.forget_steps(tick));
    }

    /// What is stepped from here on is a look between two ticks.
    pub(crate) fn begin_preview(&mut self) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.begin_preview());
    }

    /// It was.
    pub(crate) fn end_preview(&mut self) {
        self.tables.by_wire_kind.iter_mut().for_each(|table| table.end_preview());
    }

    /// What is predicted looks otherwise than it was drawn: it is to glide there.
    pub(crate) fn glide(&mut self) {
        self.tables.drawn.glide(&self.tables.by_wire_kind);
    }

    /// An entity as it looks between two ticks, where this client predicts it; else as it is shown.
    #[must_use]
    pub fn preview<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        let table = self.table::<K>()?;
        table.get(id.entity()).map(|shown| table.preview(id.entity()).unwrap_or(shown))
    }

    /// An entity as the room has it, without what this client wrote and predicts.
    #[must_use]
    pub fn confirmed<K: Visible>(&self, id: Id<K>) -> Option<&K> {
        self.table::<K>()?.confirmed(id.entity())
    }
}
