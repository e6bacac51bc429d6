//! Random interests: as the game gives them to the room, and as the oracle reads the specification.

use room::prelude::*;
use room::room::interest::CellKey;
use room::{Key, Keys, Part};

use super::game::World;
use super::kinds::{Board, Chest, Spark, Unit};
use super::model::{Model, Thing};

/// Whom an interest shows what.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// None: no interest at all, everyone sees everything.
    pub(crate) parts: Option<Vec<PartSpec>>,
    pub(crate) limit: Option<(usize, Rank)>,
    /// Bytes a second.
    pub(crate) budget: Option<usize>,
    /// How many entities clients keep after they left.
    pub(crate) retain: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct PartSpec {
    pub(crate) source: Source,
    pub(crate) sees: Sees,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Grid(GridSpec),
    Keys,
}

#[derive(Clone, Debug)]
pub(crate) struct GridSpec {
    pub(crate) cell: f64,
    pub(crate) axes: u8,
    /// Units, chests, sparks: a bit each.
    pub(crate) kinds: u8,
    /// Which of a connection's two places counts.
    pub(crate) eye: usize,
    pub(crate) measure: Measure,
    /// Distances and periods; empty for none.
    pub(crate) rates: Vec<(f64, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// Range and release.
    Range(f64, f64),
    /// The same in cells.
    Radius(u16, u16),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sees {
    All,
    /// By a mask that the connection has.
    Mask,
    /// By a mask and the room's state.
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rank {
    Field,
    FieldOnChange,
    Near,
    Flat,
}

/// A key to subscribe to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Word {
    Everywhere,
    Number(u64),
    Text(String),
    Cell(i64),
}

/// Scratch data of a connection: where it stands, what it subscribes to, what it may see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eyes {
    pub(crate) around: [Option<[f64; 3]>; 2],
    pub(crate) words: Vec<Word>,
    pub(crate) mask: u16,
}

fn key_of(word: &Word) -> Key {
    match word {
        Word::Everywhere => Key::EVERYWHERE,
        Word::Number(number) => (*number).into(),
        Word::Text(text) => text.as_str().into(),
        Word::Cell(cell) => CellKey { prefix: 9, cell: [*cell, 0, 0] }.into(),
    }
}

/// What both the game and the oracle look at.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    id: u64,
    owner: Option<PlayerId>,
    team: u8,
    kind: u8,
    rank: f64,
    pub(crate) at: Option<[f64; 3]>,
    name: &'a str,
    heat: i16,
}

impl<'a> Look<'a> {
    fn unit(id: u64, unit: &'a Unit) -> Look<'a> {
        let Unit { owner, team, rank, at, ref name, .. } = *unit;
        Look { id, owner: Some(owner), team, kind: 0, rank, at, name, heat: 0 }
    }

    fn chest(id: u64, chest: &'a Chest) -> Look<'a> {
        let name = if chest.label.len() < 9 { chest.label.as_str() } else { "" };
        let (rank, at) = (f64::from(chest.size), Some(chest.at));
        Look { id, owner: None, team: chest.team, kind: 1, rank, at, name, heat: 0 }
    }

    fn spark(id: u64, spark: &'a Spark) -> Look<'a> {
        let (rank, at) = (f64::from(spark.heat), Some(spark.at.map(f64::from)));
        Look { id, owner: None, team: spark.team, kind: 2, rank, at, name: "", heat: spark.heat }
    }

    /// None for what no interest is asked about.
    pub(crate) fn of(id: u64, thing: &'a Thing) -> Option<Look<'a>> {
        match thing {
            Thing::Unit(unit) => Some(Look::unit(id, unit)),
            Thing::Chest(chest) => Some(Look::chest(id, chest)),
            Thing::Spark(spark) => Some(Look::spark(id, spark)),
            Thing::Vault(_) => None,
        }
    }

    fn entity(entity: EntityRef<'a>) -> Look<'a> {
        let id = entity.id().get();
        let unit = entity.get::<Unit>().map(|unit| Look::unit(id, unit));
        let chest = || entity.get::<Chest>().map(|chest| Look::chest(id, chest));
        let spark = || entity.get::<Spark>().map(|spark| Look::spark(id, spark));
        unit.or_else(chest).or_else(spark).expect("interests are asked about visible kinds alone")
    }

    /// Keys in a part of keys. Sparks have none but when they are cold.
    fn words(&self, alias: &[u64; 4]) -> Vec<Word> {
        let mut words = Vec::new();
        let alias = alias[self.team as usize % 4];
        match self.kind {
            0 => words.push(Word::Number(alias)),
            1 => words.extend([Word::Text(alias.to_string()), Word::Cell(self.team.into())]),
            _ if self.heat < 0 => words.push(Word::Everywhere),
            _ => {}
        }
        if !self.name.is_empty() {
            words.push(Word::Text(self.name.to_owned()));
        }
        words
    }

    fn seen(&self, sees: Sees, eyes: &Eyes, round: u64) -> bool {
        let mask = eyes.mask & (1 << self.team) != 0;
        match sees {
            Sees::All => true,
            Sees::Mask => mask,
            Sees::Round => mask || round.is_multiple_of(2),
        }
    }

    fn priority(&self, rank: Rank, eyes: &Eyes) -> f64 {
        match (rank, eyes.around[0], self.at) {
            (Rank::Field | Rank::FieldOnChange, ..) => self.rank,
            (Rank::Flat, ..) => 1.0,
            (Rank::Near, Some(a), Some(b)) => -(a[0] - b[0]).abs(),
            (Rank::Near, ..) => f64::NAN,
        }
    }
}

struct Words;

impl Interest<World> for Words {
    fn keys(&self, room: RoomRef<'_, World>, entity: EntityRef<'_>, keys: &mut Keys) {
        Look::entity(entity).words(&room.game.alias).iter().for_each(|word| keys.add(key_of(word)));
    }

    fn subscriptions(&self, _room: RoomRef<'_, World>, conn: &Connection<World>, keys: &mut Keys) {
        conn.scratch.words.iter().for_each(|word| keys.add(key_of(word)));
    }
}

impl Spec {
    /// The interest as a game writes it.
    pub(crate) fn build(&self) -> Visibility<World> {
        let visibility = match &self.parts {
            None => Visibility::everything(),
            Some(parts) => combine(parts.iter().map(PartSpec::build).collect::<Vec<Part<World>>>()),
        };
        let visibility = match self.budget {
            Some(bytes) => visibility.budget(bytes),
            None => visibility,
        };
        let visibility = visibility.retain(self.retain);
        let Some((most, rank)) = self.limit else { return visibility };
        let visibility =
            visibility.limit(most, move |_, conn, entity| Look::entity(entity).priority(rank, &conn.scratch));
        if rank == Rank::FieldOnChange { visibility.on_change() } else { visibility }
    }
}

impl PartSpec {
    fn build(&self) -> Part<World> {
        let part = match &self.source {
            Source::Keys => custom(Words),
            Source::Grid(grid) => grid.build(),
        };
        match self.sees {
            Sees::All => part,
            sees => part.sees(move |room, conn, entity| {
                Look::entity(entity).seen(sees, &conn.scratch, room.state::<Board>().round)
            }),
        }
    }
}

impl GridSpec {
    fn build(&self) -> Part<World> {
        let (eye, axes) = (self.eye, [Xy, Xz, Xyz][self.axes as usize]);
        let mut made =
            grid(self.cell).dims(axes).around(move |_, conn: &Connection<World>| conn.scratch.around[eye]);
        if self.kinds & 1 != 0 {
            made = made.kind::<Unit, _>(|unit| unit.at);
        }
        if self.kinds & 2 != 0 {
            made = made.kind::<Chest, _>(|chest| chest.at);
        }
        if self.kinds & 4 != 0 {
            made = made.kind::<Spark, _>(|spark| spark.at);
        }
        if !self.rates.is_empty() {
            made = made.rates(self.rates.iter().copied());
        }
        match self.measure {
            Measure::Range(range, release) => made.range(range).release(release),
            Measure::Radius(cells, release) => made.radius(cells).release(f64::from(release)),
        }
        .into()
    }

    /// The axes in use of a point.
    pub(crate) fn used(&self, [x, y, z]: [f64; 3]) -> Option<[f64; 3]> {
        let used = match self.axes {
            0 => [x, y, 0.0],
            1 => [x, 0.0, z],
            _ => [x, y, z],
        };
        used.iter().all(|axis| axis.is_finite()).then_some(used)
    }

    /// Whether it shows a point: now, and to one who was shown it before.
    fn reaches(&self, around: [f64; 3], at: [f64; 3], before: bool) -> bool {
        match self.measure {
            Measure::Range(range, release) => {
                let [x, y, z] = [0, 1, 2].map(|axis| (at[axis] - around[axis]).powi(2));
                let reach = if before { release } else { range };
                x + y + z <= reach * reach
            }
            Measure::Radius(cells, release) => {
                let reach = f64::from(if before { release } else { cells });
                let cell = |point: [f64; 3]| point.map(|axis| (axis / self.cell).floor());
                let (a, b) = (cell(around), cell(at));
                (0..3).all(|axis| (a[axis] - b[axis]).abs() <= reach)
            }
        }
    }

    fn shows(&self, look: &Look<'_>, eyes: &Eyes, before: bool) -> bool {
        if self.kinds & (1 << look.kind) == 0 {
            return false;
        }
        let Some(at) = look.at else { return true };
        let around = eyes.around[self.eye].and_then(|around| self.used(around));
        match (around, self.used(at)) {
            (Some(around), Some(at)) => self.reaches(around, at, before),
            _ => false,
        }
    }
}

impl PartSpec {
    /// Whether this part shows it to one who was, or was not, shown it by this part before.
    fn shows(&self, look: &Look<'_>, eyes: &Eyes, model: &Model, before: bool) -> bool {
        let shared = match &self.source {
            Source::Grid(grid) => grid.shows(look, eyes, before),
            Source::Keys => {
                let words = look.words(&model.alias);
                words.iter().any(|word| *word == Word::Everywhere || eyes.words.contains(word))
            }
        };
        shared && look.seen(self.sees, eyes, model.board.round)
    }
}

/// What release and limit remember of a connection. Entities are named by their serial: an ID used again is
/// another entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) shown: Vec<Vec<u64>>,
    members: Vec<u64>,
}

/// What a connection sees at the least and at the most; equal where its memory is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) least: Vec<u64>,
    pub(crate) most: Vec<u64>,
}

/// One who looks.
pub(crate) struct Viewer<'a> {
    pub(crate) player: PlayerId,
    pub(crate) eyes: &'a Eyes,
}

impl Spec {
    /// The exact view at a send, and the memory after it. The view is in order of IDs.
    pub(crate) fn view(&self, model: &Model, viewer: &Viewer<'_>, memory: &mut Memory) -> Vec<u64> {
        let shown: Vec<Vec<u64>> = self
            .parts
            .iter()
            .flatten()
            .enumerate()
            .map(|(part, spec)| {
                let before =
                    |serial: u64| memory.shown.get(part).is_some_and(|shown| shown.contains(&serial));
                let shows = |&(serial, look): &(u64, Look<'_>)| {
                    spec.shows(&look, viewer.eyes, model, before(serial)).then_some(serial)
                };
                model.looks().filter_map(|it| shows(&it)).collect()
            })
            .collect();
        let candidates: Vec<(u64, Look<'_>)> = model
            .looks()
            .filter(|(serial, _)| self.parts.is_none() || shown.iter().any(|part| part.contains(serial)))
            .collect();
        let kept = self.cut(candidates, viewer, |serial| memory.members.contains(&serial));
        memory.shown = shown;
        memory.members = kept.iter().map(|(serial, _)| *serial).collect();
        let mut ids: Vec<u64> = kept.iter().map(|(_, look)| look.id).collect();
        ids.sort_unstable();
        ids
    }

    fn cut<'a>(
        &self,
        candidates: Vec<(u64, Look<'a>)>,
        viewer: &Viewer<'_>,
        member: impl Fn(u64) -> bool,
    ) -> Vec<(u64, Look<'a>)> {
        let Some((most, rank)) = self.limit else { return candidates };
        let own = |look: &Look<'_>| look.owner == Some(viewer.player);
        let (mut kept, mut counted): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|(_, look)| own(look));
        counted.sort_by(|(_, a), (_, b)| {
            let (pa, pb) = (a.priority(rank, viewer.eyes), b.priority(rank, viewer.eyes));
            let by_priority = pb.partial_cmp(&pa).unwrap_or_else(|| pa.is_nan().cmp(&pb.is_nan()));
            by_priority.then(a.id.cmp(&b.id))
        });
        let stays = most + most.div_ceil(10);
        let of_rank = |(index, (serial, look)): (usize, (u64, Look<'a>))| {
            (index < most || index < stays && member(serial)).then_some((serial, look))
        };
        kept.extend(counted.into_iter().enumerate().filter_map(of_rank));
        kept
    }

    /// The bounds of the view of one whose memory is not known.
    pub(crate) fn bounds(&self, model: &Model, viewer: &Viewer<'_>) -> View {
        let shown = |before: bool| {
            let parts = self.parts.as_deref();
            let shows = move |look: &Look<'_>| {
                parts
                    .is_none_or(|parts| parts.iter().any(|part| part.shows(look, viewer.eyes, model, before)))
            };
            model.looks().filter(move |(_, look)| shows(look)).collect::<Vec<_>>()
        };
        let (surely, maybe) = (shown(false), shown(true));
        let ids = |kept: Vec<(u64, Look<'_>)>| {
            let mut ids: Vec<u64> = kept.iter().map(|(_, look)| look.id).collect();
            ids.sort_unstable();
            ids
        };
        // At least what ranks high enough against all that may be there; at the most what ranks high enough
        // against nothing but what surely is.
        let sure: Vec<u64> = surely.iter().map(|(serial, _)| *serial).collect();
        let mut least = self.cut(maybe.clone(), viewer, |_| false);
        least.retain(|(serial, _)| sure.contains(serial));
        let most = maybe.iter().filter(|it| {
            let mut against: Vec<_> = surely.iter().filter(|(serial, _)| *serial != it.0).copied().collect();
            against.push(**it);
            self.cut(against, viewer, |_| true).iter().any(|(serial, _)| *serial == it.0)
        });
        View { least: ids(least), most: ids(most.copied().collect()) }
    }
}
