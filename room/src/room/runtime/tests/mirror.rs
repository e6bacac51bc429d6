//! What a log should say, and whether it does.

use std::collections::{BTreeMap, BTreeSet};

use super::Zoo;
use crate::entity::{EntityId, PlayerId, SessionId};
use crate::room::journal::Entry;
use crate::room::journal::entry::StoredSession;
use crate::room::journal::image::Image;
use crate::room::runtime::Runtime;
use crate::room::runtime::durable::stored;
use crate::tick::Tick;

/// A room at a seal, as its log should have it. Entities without the values of coarse fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mirror {
    pub(super) tick: Tick,
    pub(super) entities: BTreeMap<EntityId, (u8, Tick, Vec<Tick>, Option<PlayerId>)>,
    pub(super) records: BTreeMap<EntityId, Vec<u8>>,
    pub(super) sessions: BTreeMap<SessionId, Vec<u8>>,
    pub(super) messages: BTreeMap<SessionId, (u64, Vec<Vec<u8>>)>,
    pub(super) accounts: BTreeMap<String, (PlayerId, Option<u64>)>,
    pub(super) effects: BTreeMap<u64, String>,
    pub(super) numbers: (u64, u32, u64, u64),
    pub(super) place: u128,
}

/// The place of the coarse field.
pub(super) const COARSE: usize = 1;

fn session_bytes(session: &StoredSession<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    Entry::Session(Box::new(StoredSession { acknowledged: 0, ..session.clone() })).put(&mut out);
    out
}

impl Mirror {
    pub(super) fn of(runtime: &Runtime<Zoo>) -> Mirror {
        let (room, durable) = (&runtime.room, runtime.durable.as_ref().expect("it has a store"));
        let world = &room.world;
        let mut mirror = Mirror { tick: room.tick, ..Mirror::default() };
        for slot in
            (0..world.slot_count() as u32).filter(|slot| world.is_live(*slot) && world.is_stored(*slot))
        {
            let info = world.info(slot);
            let mut changed = world.change_ticks(slot).to_vec();
            let coarse = world.coarse(slot);
            coarse.iter().for_each(|field| changed[field] = Tick::ZERO);
            let entity = (info.kind, info.created, changed, info.private_to);
            mirror.entities.insert(info.id, entity);
            if !durable.coarse.contains(slot) {
                let mut record = Vec::new();
                world.put_stored(slot, &mut record);
                mirror.records.insert(info.id, record);
            }
        }
        for (id, session) in room.sessions.iter() {
            mirror.sessions.insert(id, session_bytes(&stored(id, session)));
            let kept = session.outbox.after(0).map(|(_, message)| message.to_vec()).collect();
            mirror.messages.insert(id, (session.outbox.acknowledged(), kept));
        }
        let accounts = runtime.accounts.iter();
        mirror.accounts = accounts.map(|(name, a)| (name.clone(), (a.player, a.left))).collect();
        mirror.effects =
            durable.effects.iter().map(|(number, (key, _))| (*number, key.to_string())).collect();
        mirror.numbers = (
            durable.numbers.automatic,
            runtime.next_player,
            room.sessions.last().0,
            room.outside.next_effect,
        );
        mirror.place = room.rng.get_word_pos();
        mirror
    }

    /// Whether a log says the same.
    pub(super) fn check(&self, image: &Image<'_>, coarse: &[FieldMaskOf]) {
        assert_eq!(image.tick, self.tick);
        assert_eq!(
            image.entities.keys().collect::<Vec<_>>(),
            self.entities.keys().collect::<Vec<_>>(),
            "tick {:?}",
            self.tick
        );
        for (id, entity) in &image.entities {
            let (kind, created, changed, private_to) = &self.entities[id];
            let mut stamps = entity.changed.clone();
            stamps.resize(changed.len(), entity.created);
            let coarse = &coarse[usize::from(*kind)];
            coarse.iter().for_each(|field| stamps[*field] = Tick::ZERO);
            let stored = (entity.kind, entity.created, stamps, entity.private_to);
            assert_eq!(stored, (*kind, *created, changed.clone(), *private_to), "{id} in {:?}", self.tick);
            if let Some(record) = self.records.get(id) {
                assert_eq!(entity.record, record, "{id} in {:?}", self.tick);
            }
        }
        let sessions: BTreeMap<_, _> =
            image.sessions.iter().map(|(id, session)| (*id, session_bytes(session))).collect();
        assert_eq!(sessions, self.sessions);
        for (id, (acknowledged, kept)) in &self.messages {
            let known = image.sessions[id].acknowledged;
            assert!(known <= *acknowledged, "{id:?} has acknowledged {acknowledged}, and not {known}");
            let messages: Vec<(u64, &[u8])> = image
                .messages
                .get(id)
                .into_iter()
                .flatten()
                .map(|(number, message)| (*number, *message))
                .collect();
            let behind: Vec<&[u8]> = messages
                .iter()
                .filter(|(number, _)| number > acknowledged)
                .map(|(_, message)| *message)
                .collect();
            assert_eq!(
                behind,
                kept.iter().map(Vec::as_slice).collect::<Vec<_>>(),
                "{id:?} in {:?}",
                self.tick
            );
        }
        let accounts: BTreeMap<_, _> =
            image.accounts.iter().map(|(name, account)| ((*name).to_owned(), *account)).collect();
        assert_eq!(accounts, self.accounts);
        let effects: BTreeMap<_, _> =
            image.effects.iter().map(|(number, (key, _))| (*number, (*key).to_owned())).collect();
        assert_eq!(effects, self.effects);
        let numbers = (image.automatic, image.next_player, image.last_session, image.next_effect);
        assert_eq!(numbers, self.numbers);
        assert_eq!(image.generator.map_or(0, |(_, place)| place), self.place);
    }
}

pub(super) type FieldMaskOf = BTreeSet<usize>;
