//! The kinds of the random worlds, and how random writes reach them.

use std::collections::BTreeMap;

use room::wire::record::StoredRecord;
use room::{Bytes, Entity, FieldEnum, Json, PlayerId, WriteError, limits};

#[derive(FieldEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Calm,
    Cross = 7,
    Wild = 255,
}

/// The room's state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Board {
    pub(crate) round: u64,
    pub(crate) title: String,
    pub(crate) scores: Json<BTreeMap<String, i64>>,
}

/// Private state.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Hand {
    pub(crate) secret: u64,
    pub(crate) note: String,
    pub(crate) cards: Bytes,
}

#[derive(Entity, Clone, Debug)]
#[entity(owner = owner)]
pub(crate) struct Unit {
    pub(crate) owner: PlayerId,
    pub(crate) at: Option<[f64; 3]>,
    pub(crate) team: u8,
    pub(crate) name: String,
    pub(crate) rank: f64,
    pub(crate) a: i8,
    pub(crate) b: i16,
    pub(crate) c: i32,
    pub(crate) d: i64,
    pub(crate) e: u16,
    pub(crate) f: u32,
    pub(crate) g: u64,
    pub(crate) h: f32,
    pub(crate) on: bool,
    pub(crate) mood: Mood,
    pub(crate) maybe: Option<u16>,
    pub(crate) trio: [i16; 3],
    #[field(quantize(step = 0.01, min = -1000.0, max = 1000.0))]
    pub(crate) qx: f32,
    #[field(quantize(step = 0.001, min = -1000000.0, max = 1000000.0))]
    pub(crate) qy: f64,
}

/// An entity with fields that can be large.
#[derive(Entity, Clone, Debug, Default)]
pub(crate) struct Chest {
    pub(crate) at: [f64; 3],
    pub(crate) team: u8,
    pub(crate) blocks: Bytes,
    pub(crate) label: String,
    pub(crate) tags: Json<Vec<i64>>,
    pub(crate) size: u32,
}

#[derive(Entity, Clone, Debug)]
#[entity(ids = "random")]
pub(crate) struct Spark {
    pub(crate) at: [f32; 3],
    pub(crate) team: u8,
    pub(crate) heat: i16,
}

/// Seen by nobody.
#[derive(Entity, Clone, Debug)]
#[entity(hidden)]
pub(crate) struct Vault {
    pub(crate) secret: u64,
    pub(crate) note: String,
    pub(crate) heap: Bytes,
}

/// What every hidden or private value begins with, wherever one is; whose it is follows.
pub(crate) const MARK: &str = "§§";

/// A vault's secret: the mark and what is no player's number.
pub(crate) fn vault_secret() -> u64 {
    hand_secret(PlayerId(u32::MAX))
}

pub(crate) const VAULT_NOTE: &str = "§§vault!";

/// A player's own secrets.
pub(crate) fn hand_of(player: PlayerId) -> Hand {
    Hand { secret: hand_secret(player), note: hand_note(player), cards: Bytes::from(vec![7; 40]) }
}

pub(crate) fn hand_secret(player: PlayerId) -> u64 {
    let mark = u32::from_le_bytes(MARK.as_bytes().try_into().expect("the mark is four bytes long"));
    u64::from(player.0) << 32 | u64::from(mark)
}

pub(crate) fn hand_note(player: PlayerId) -> String {
    format!("{MARK}{:04}", player.0)
}

impl Unit {
    pub(crate) fn new(owner: PlayerId, at: Option<[f64; 3]>, raw: u64) -> Unit {
        let mut unit = Unit {
            owner,
            at,
            team: (raw % 5) as u8,
            name: String::new(),
            rank: 0.0,
            a: 0,
            b: 0,
            c: 0,
            d: 0,
            e: 0,
            f: 0,
            g: 0,
            h: 0.0,
            on: false,
            mood: Mood::Calm,
            maybe: None,
            trio: [0; 3],
            qx: 0.0,
            qy: 0.0,
        };
        unit.mutate(4, raw >> 3);
        unit
    }
}

/// Kinds that the tests can write by a field's number.
pub(crate) trait Writable: Entity {
    const FIELDS: u8;
    /// Gives a field another value, drawn from `raw`.
    fn mutate(&mut self, field: u8, raw: u64);
    /// Writes a field of a room's entity as it is in `from`.
    fn write(writer: Self::Writer<'_>, field: u8, from: &Self) -> Result<(), WriteError>;
    /// Rounds what the kind rounds, as the specification says it, and checks that the room did so.
    fn settle(&mut self, _room: &Self) {}
    /// Bytes of a field, where its size is bounded, and the bound.
    fn bounded(&self, _field: u8) -> Option<(usize, usize)> {
        None
    }
    /// Whether an entity like this may be: no field and not the whole is too large.
    fn fits(&self) -> bool {
        let fields =
            (0..Self::FIELDS).filter_map(|field| self.bounded(field)).all(|(size, most)| size <= most);
        fields && StoredRecord::of(self).as_bytes().len() <= limits::ENTITY
    }
}

/// Setters of most fields return nothing, those of bounded ones a result.
trait Wrote {
    fn result(self) -> Result<(), WriteError>;
}

impl Wrote for () {
    fn result(self) -> Result<(), WriteError> {
        Ok(())
    }
}

impl Wrote for Result<(), WriteError> {
    fn result(self) -> Result<(), WriteError> {
        self
    }
}

macro_rules! write_field {
    ($writer:ident, $field:ident, $from:ident, { $($number:literal => $set:ident $name:ident),+ $(,)? }) => {
        match $field {
            $($number => $writer.$set($from.$name.clone()).result(),)+
            _ => unreachable!("no such field"),
        }
    };
}

/// A number that is an extreme, near the current one, or anything.
fn number(raw: u64, current: i64, low: i64, high: i64) -> i64 {
    match raw % 8 {
        0 => low,
        1 => high,
        2 => 0,
        3 => current,
        4 | 5 => current.wrapping_add((raw >> 8) as i64 % 64 - 32).clamp(low, high),
        6 => (raw >> 40) as i64,
        _ => (raw.rotate_left(17) ^ raw) as i64,
    }
}

fn float(raw: u64, current: f64) -> f64 {
    match raw % 12 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -0.0,
        3 => 0.0,
        4 => 1e9,
        5 => f64::from_bits(raw),
        6 => -1e9,
        7 | 8 => current + ((raw >> 8) as i64 % 100 - 50) as f64 * 0.01,
        _ => ((raw >> 8) % 4000) as f64 * 0.5 - 1000.0,
    }
}

fn text(raw: u64) -> String {
    match raw % 4 {
        0 => String::new(),
        1 => String::from("a"),
        2 => String::from("5"),
        _ => "é".repeat((raw >> 8) as usize % 5),
    }
}

impl Writable for Board {
    const FIELDS: u8 = 3;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            0 => self.round = number(raw, self.round as i64, i64::MIN, i64::MAX) as u64,
            1 => self.title = text(raw),
            _ => {
                let mut scores = (*self.scores).clone();
                scores.insert(text(raw), (raw >> 9) as i64);
                self.scores = Json::new(scores);
            }
        }
    }

    fn write(mut w: BoardMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        if field == 2 {
            return w.update_scores(|scores| scores.clone_from(&from.scores));
        }
        write_field!(w, field, from, { 0 => set_round round, 1 => set_title title })
    }
}

impl Writable for Hand {
    const FIELDS: u8 = 3;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            // The secrets stay what is searched for.
            0 => self.secret = self.secret.swap_bytes().swap_bytes(),
            1 => {
                let base: String = self.note.chars().take(6).collect();
                self.note = base + &text(raw);
            }
            _ => self.cards = Bytes::from(raw.to_le_bytes().repeat(raw as usize % 9)),
        }
    }

    fn write(mut w: HandMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        write_field!(w, field, from, { 0 => set_secret secret, 1 => set_note note, 2 => set_cards cards })
    }
}

impl Writable for Unit {
    const FIELDS: u8 = 19;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            0 => self.owner = PlayerId(raw as u32 % 6),
            1 => {
                self.at = self.at.map(|[x, y, z]| [x + (raw % 3) as f64 - 1.0, y, z + (raw % 5) as f64 - 2.0])
            }
            2 => self.team = (raw % 9) as u8,
            3 => self.name = text(raw),
            4 => {
                self.rank = if raw.is_multiple_of(3) { float(raw >> 2, self.rank) } else { (raw % 7) as f64 }
            }
            5 => self.a = number(raw, self.a.into(), i8::MIN.into(), i8::MAX.into()) as i8,
            6 => self.b = number(raw, self.b.into(), i16::MIN.into(), i16::MAX.into()) as i16,
            7 => self.c = number(raw, self.c.into(), i32::MIN.into(), i32::MAX.into()) as i32,
            8 => self.d = number(raw, self.d, i64::MIN, i64::MAX),
            9 => self.e = number(raw, self.e.into(), 0, u16::MAX.into()) as u16,
            10 => self.f = number(raw, self.f.into(), 0, u32::MAX.into()) as u32,
            11 => {
                self.g = if raw.is_multiple_of(5) {
                    u64::MAX
                } else {
                    number(raw, self.g as i64, 0, i64::MAX) as u64
                }
            }
            12 => self.h = float(raw, self.h.into()) as f32,
            13 => self.on = !self.on,
            14 => self.mood = [Mood::Calm, Mood::Cross, Mood::Wild][raw as usize % 3],
            15 => self.maybe = (!raw.is_multiple_of(3)).then_some(raw as u16),
            16 => self.trio[raw as usize % 3] = number(raw >> 2, 0, i16::MIN.into(), i16::MAX.into()) as i16,
            17 => self.qx = float(raw, self.qx.into()) as f32,
            _ => self.qy = float(raw, self.qy),
        }
    }

    fn write(mut w: UnitMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        write_field!(w, field, from, {
            0 => set_owner owner, 1 => set_at at, 2 => set_team team, 3 => set_name name, 4 => set_rank rank,
            5 => set_a a, 6 => set_b b, 7 => set_c c, 8 => set_d d, 9 => set_e e, 10 => set_f f, 11 => set_g g,
            12 => set_h h, 13 => set_on on, 14 => set_mood mood, 15 => set_maybe maybe, 16 => set_trio trio,
            17 => set_qx qx, 18 => set_qy qy,
        })
    }

    fn settle(&mut self, room: &Self) {
        let near = |ours: f64, theirs: f64, step: f64, most: f64, slack: f64| {
            let ours = if ours.is_nan() { -most } else { ours.clamp(-most, most) };
            assert!((ours - theirs).abs() <= step * 0.5 + slack, "{ours} was rounded to {theirs}");
        };
        near(self.qx.into(), room.qx.into(), 0.01, 1000.0, 1e-4);
        near(self.qy, room.qy, 0.001, 1e6, 1e-9);
        (self.qx, self.qy) = (room.qx, room.qy);
    }
}

impl Writable for Chest {
    const FIELDS: u8 = 6;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            0 => self.at[raw as usize % 3] += (raw >> 4) as f64 % 5.0 - 2.0,
            1 => self.team = (raw % 9) as u8,
            2 => self.blocks = Bytes::from(raw.to_le_bytes()[..raw as usize % 9].to_vec()),
            3 => self.label = text(raw),
            4 => self.tags = Json::new(vec![raw as i64; raw as usize % 4]),
            _ => self.size = number(raw, self.size.into(), 0, u32::MAX.into()) as u32,
        }
    }

    fn write(mut w: ChestMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        if field == 4 && from.tags.len() == 2 {
            return w.update_tags(|tags| tags.clone_from(&from.tags));
        }
        write_field!(w, field, from, {
            0 => set_at at, 1 => set_team team, 2 => set_blocks blocks, 3 => set_label label,
            4 => set_tags tags, 5 => set_size size,
        })
    }

    fn bounded(&self, field: u8) -> Option<(usize, usize)> {
        match field {
            2 => Some((self.blocks.len(), limits::BLOB)),
            3 => Some((self.label.len(), limits::TEXT)),
            4 => Some((self.tags.text().len(), limits::JSON)),
            _ => None,
        }
    }
}

impl Writable for Spark {
    const FIELDS: u8 = 3;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            0 => self.at[raw as usize % 3] += (raw >> 4) as f32 % 5.0 - 2.0,
            1 => self.team = (raw % 9) as u8,
            _ => self.heat = number(raw, self.heat.into(), i16::MIN.into(), i16::MAX.into()) as i16,
        }
    }

    fn write(mut w: SparkMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        write_field!(w, field, from, { 0 => set_at at, 1 => set_team team, 2 => set_heat heat })
    }
}

impl Writable for Vault {
    const FIELDS: u8 = 3;

    fn mutate(&mut self, field: u8, raw: u64) {
        match field {
            0 => self.secret = vault_secret(),
            1 => self.note = format!("{VAULT_NOTE}{}", text(raw)),
            _ => self.heap = Bytes::from(vault_secret().to_le_bytes().repeat(raw as usize % 100)),
        }
    }

    fn write(mut w: VaultMut<'_>, field: u8, from: &Self) -> Result<(), WriteError> {
        write_field!(w, field, from, { 0 => set_secret secret, 1 => set_note note, 2 => set_heap heap })
    }
}
