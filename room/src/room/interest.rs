//! Interest as games write it: grids, keys, combinations, limits.

mod pacing;
mod point;
mod presence;

use std::any::TypeId;
use std::fmt;

pub use self::point::{Coordinates, Point};
use super::{Connection, Game, Room};
use crate::entity::{Entity, EntityId, PlayerId, Visible};
use crate::limits;
pub use crate::sync::interest::Place;
use crate::sync::interest::{Reach, Shape};
pub use crate::sync::keys::{CellKey, Key, Keys};
use crate::sync::world::World;

/// A room to look at: reads through `Deref` to [`Room`], and the game's own fields.
pub struct RoomRef<'a, G: Game> {
    /// The game.
    pub game: &'a G,
    pub(crate) room: &'a Room<G>,
}

impl<G: Game> Clone for RoomRef<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Game> Copy for RoomRef<'_, G> {}

impl<G: Game> std::ops::Deref for RoomRef<'_, G> {
    type Target = Room<G>;
    fn deref(&self) -> &Room<G> {
        self.room
    }
}

/// An entity to look at, of any visible kind.
#[derive(Clone, Copy)]
pub struct EntityRef<'a> {
    pub(crate) world: &'a World,
    pub(crate) slot: u32,
}

impl<'a> EntityRef<'a> {
    /// Its ID.
    #[must_use]
    pub fn id(&self) -> EntityId {
        self.world.info(self.slot).id
    }

    /// The entity, if it is of kind `K`.
    #[must_use]
    pub fn get<K: Entity>(&self) -> Option<&'a K> {
        self.world.at(self.slot)
    }

    /// Whether it is of kind `K`.
    #[must_use]
    pub fn is<K: Entity>(&self) -> bool {
        self.world.is::<K>(self.slot)
    }

    /// The player who owns it.
    #[must_use]
    pub fn owner(&self) -> Option<PlayerId> {
        self.world.owner(self.slot)
    }

    /// The name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.world.kind_name(self.slot)
    }
}

impl fmt::Debug for EntityRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.id())
    }
}

/// Interest by the game's own keys: an entity is visible to a connection that subscribes to one of its keys.
pub trait Interest<G: Game>: Send + Sync + 'static {
    /// Keys of an entity. Called when it is created, when it changed, and after
    /// [`Room::rekey`](super::Room::rekey).
    fn keys(&self, room: RoomRef<'_, G>, entity: EntityRef<'_>, keys: &mut Keys);
    /// Keys that a connection subscribes to. Called for every connection at every send.
    fn subscriptions(&self, room: RoomRef<'_, G>, conn: &Connection<G>, keys: &mut Keys);
}

type Sees<G> = Box<dyn Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> bool + Send + Sync>;
type Priority<G> = Box<dyn Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> f64 + Send + Sync>;
/// Appends where each of some entities of a kind stands.
type PlaceOf = Box<dyn Fn(&World, &[u32], Axes, &mut Vec<Place>) + Send + Sync>;
type Around<G> = Box<dyn Fn(RoomRef<'_, G>, &Connection<G>) -> Option<Coordinates> + Send + Sync>;

pub(crate) enum Source<G: Game> {
    Everything,
    Keys(Box<dyn Interest<G>>),
    Grid { shape: Shape, axes: Axes, places: Vec<(&'static str, TypeId, PlaceOf)>, around: Option<Around<G>> },
}

impl<G: Game> Source<G> {
    /// Appends where a grid places the entities of living slots, one for each.
    pub(crate) fn place(&self, world: &World, slots: &[u32], out: &mut Vec<Place>) {
        let Source::Grid { places, axes, .. } = self else {
            out.extend(slots.iter().map(|_| Place::Nowhere));
            return;
        };
        for slots in slots.chunk_by(|a, b| world.info(*a).kind == world.info(*b).kind) {
            let kind = world.type_id(slots[0]);
            match places.iter().find(|(_, of, _)| *of == kind) {
                Some((_, _, place)) => place(world, slots, *axes, out),
                None => out.extend(slots.iter().map(|_| Place::Nowhere)),
            }
        }
    }

    /// Where a connection stands in a grid.
    pub(crate) fn around(&self, room: RoomRef<'_, G>, conn: &Connection<G>) -> Option<[f64; 3]> {
        let Source::Grid { around: Some(around), axes, .. } = self else { return None };
        Some(around(room, conn)?.on(*axes))
    }
}

/// A part of an interest: a grid, keys of the game's own, or everything.
pub struct Part<G: Game> {
    pub(crate) source: Source<G>,
    pub(crate) sees: Option<Sees<G>>,
    /// Distances, rising, and the sends from one record to the next within each.
    pub(crate) rates: Vec<(f64, u32)>,
}

impl<G: Game> Part<G> {
    fn new(source: Source<G>) -> Part<G> {
        Part { source, sees: None, rates: Vec::new() }
    }

    /// Narrows what this part shows: asked at every send for every pair of entity and connection that the part
    /// would show. Several narrow together.
    #[must_use]
    pub fn sees(
        mut self,
        sees: impl Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> bool + Send + Sync + 'static,
    ) -> Part<G> {
        self.sees = Some(match self.sees.take() {
            Some(before) => {
                Box::new(move |room, conn, entity| before(room, conn, entity) && sees(room, conn, entity))
            }
            None => Box::new(sees),
        });
        self
    }

    /// Cuts the view; see [`Visibility::limit`].
    #[must_use]
    pub fn limit(
        self,
        most: usize,
        priority: impl Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> f64 + Send + Sync + 'static,
    ) -> Visibility<G> {
        Visibility::from(self).limit(most, priority)
    }

    /// Lets clients keep what left their view; see [`Visibility::retain`].
    #[must_use]
    pub fn retain(self, entities: usize) -> Visibility<G> {
        Visibility::from(self).retain(entities)
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.source {
            Source::Grid { shape, .. } => *shape,
            Source::Everything | Source::Keys(_) => Shape::Keys,
        }
    }

    /// Whether it can show entities of a kind.
    pub(crate) fn can_show(&self, kind: &str) -> bool {
        match &self.source {
            Source::Grid { places, .. } => places.iter().any(|(name, ..)| *name == kind),
            Source::Everything | Source::Keys(_) => true,
        }
    }
}

/// Keys of the game's own as a part.
pub fn custom<G: Game>(interest: impl Interest<G>) -> Part<G> {
    Part::new(Source::Keys(Box::new(interest)))
}

/// Who sees what in a room: one or more parts, of which one alone is enough to show an entity, and maybe a
/// limit.
pub struct Visibility<G: Game> {
    pub(crate) parts: Vec<Part<G>>,
    pub(crate) limit: Option<(usize, bool, Priority<G>)>,
    pub(crate) budget: Option<usize>,
    pub(crate) retain: usize,
    pub(crate) presence_by_interest: bool,
}

impl<G: Game> Visibility<G> {
    /// Everyone sees everything but hidden kinds and others' private state.
    #[must_use]
    pub fn everything() -> Visibility<G> {
        Part::new(Source::Everything).into()
    }

    /// Of what is visible, keeps the `most` entities of the highest priority, and those already in view up to a
    /// tenth more, so that one on the edge does not flicker. Room state, private state and the entities a
    /// player owns do not count and are always kept. Ties break by ID; NaN ranks last. The priority is asked at
    /// every send for every candidate.
    #[must_use]
    pub fn limit(
        mut self,
        most: usize,
        priority: impl Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> f64 + Send + Sync + 'static,
    ) -> Visibility<G> {
        self.limit = Some((most, false, Box::new(priority)));
        self
    }

    /// Asks the limit's priority of new candidates and changed entities alone. For priorities that do not
    /// depend on where the connection is.
    #[must_use]
    pub fn on_change(mut self) -> Visibility<G> {
        if let Some((_, on_change, _)) = &mut self.limit {
            *on_change = true;
        }
        self
    }

    /// Lets each client keep up to `entities` that left its view; the ones that left first are forgotten first.
    /// When one enters again, the room sends what changed in it since this client last had it whole, so that
    /// walking back and forth over a border costs a few bytes an entity. 0, the default, keeps none.
    ///
    /// What is kept is no longer seen. A client's game finds it apart from what is, as it was when it left, and is
    /// not told when it is deleted. A client that resumes, and one that joins, starts with nothing kept. For each
    /// connection the room keeps a few words an entity, and the client keeps the entity.
    ///
    /// # Panics
    /// If `entities` is more than 65,536.
    #[must_use]
    pub fn retain(mut self, entities: usize) -> Visibility<G> {
        let most = limits::RETAIN;
        assert!(entities <= most, "the interest retains {entities} entities a client; at most {most} can be");
        self.retain = entities;
        self
    }
}

impl<G: Game> From<Part<G>> for Visibility<G> {
    fn from(part: Part<G>) -> Visibility<G> {
        Visibility { parts: vec![part], limit: None, budget: None, retain: 0, presence_by_interest: false }
    }
}

impl<G: Game> From<Grid<G>> for Visibility<G> {
    fn from(grid: Grid<G>) -> Visibility<G> {
        Part::from(grid).into()
    }
}

/// A tuple of parts.
pub trait Parts<G: Game> {
    /// The parts in order.
    fn into_parts(self) -> Vec<Part<G>>;
}

macro_rules! tuples {
    ($(($($name:ident),+))*) => { $(
        impl<G: Game, $($name: Into<Part<G>>),+> Parts<G> for ($($name,)+) {
            #[allow(non_snake_case)]
            fn into_parts(self) -> Vec<Part<G>> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    )* };
}

tuples! { (A) (A, B) (A, B, C) (A, B, C, D) (A, B, C, D, E) (A, B, C, D, E, F) (A, B, C, D, E, F, H) (A, B, C, D, E, F, H, I) }

impl<G: Game> Parts<G> for Vec<Part<G>> {
    fn into_parts(self) -> Vec<Part<G>> {
        self
    }
}

/// Several parts: an entity is visible when one of them alone would show it. Parts keep their keys apart.
pub fn combine<G: Game>(parts: impl Parts<G>) -> Visibility<G> {
    Visibility {
        parts: parts.into_parts(),
        limit: None,
        budget: None,
        retain: 0,
        presence_by_interest: false,
    }
}

/// The axes of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// The first two coordinates.
    Xy,
    /// The first and the third.
    Xz,
    /// All three.
    Xyz,
}

/// A grid of square or cubic cells; see [`grid`].
pub struct Grid<G: Game> {
    cell: f64,
    axes: Axes,
    prefix: u64,
    reach: Reach,
    release: Option<f64>,
    rates: Vec<(f64, u32)>,
    places: Vec<(&'static str, TypeId, PlaceOf)>,
    around: Option<Around<G>>,
}

/// A grid of cells with edges of `cell_size`. Say which kinds it places ([`Grid::kind`]), where each connection
/// stands ([`Grid::around`]), and how far it sees ([`Grid::range`] or [`Grid::radius`]; one cell around its own
/// if neither is said).
///
/// # Panics
/// If the size is not a positive finite number.
pub fn grid<G: Game>(cell_size: f64) -> Grid<G> {
    assert!(cell_size.is_finite() && cell_size > 0.0, "a grid's cell size must be positive, not {cell_size}");
    Grid {
        cell: cell_size,
        axes: Axes::Xyz,
        prefix: 0,
        reach: Reach::Radius(1, 1),
        release: None,
        rates: Vec::new(),
        places: Vec::new(),
        around: None,
    }
}

impl<G: Game> Grid<G> {
    /// The axes in use; all three if not said. Others do not count for cells and distances.
    #[must_use]
    pub fn dims(mut self, axes: Axes) -> Self {
        self.axes = axes;
        self
    }

    /// Places a kind. The function returns coordinates, or an option of them: `None` shows the entity to every
    /// connection. Coordinates that are not finite place it nowhere.
    #[must_use]
    pub fn kind<K: Visible, P: Point>(mut self, place: impl Fn(&K) -> P + Send + Sync + 'static) -> Self {
        self.places.push((
            K::KIND.name,
            TypeId::of::<K>(),
            Box::new(move |world, slots, axes, out| {
                world.each_at::<K>(slots, |entity| {
                    out.push(match place(entity).coordinates() {
                        Some(at) => Place::At(at.on(axes)),
                        None => Place::Everywhere,
                    });
                });
            }),
        ));
        self
    }

    /// Where a connection stands. While it is `None` the connection sees only what is placed everywhere.
    #[must_use]
    pub fn around<P: Point>(
        mut self,
        around: impl Fn(RoomRef<'_, G>, &Connection<G>) -> P + Send + Sync + 'static,
    ) -> Self {
        self.around = Some(Box::new(move |room, conn| around(room, conn).coordinates()));
        self
    }

    /// Keeps the cells of this grid apart from those of others where the game's own code uses
    /// [`cell_key`](Self::cell_key).
    #[must_use]
    pub fn prefix(mut self, prefix: u64) -> Self {
        self.prefix = prefix;
        self
    }

    /// Sees what is within this straight-line distance: exactly, wherever in its cell.
    ///
    /// # Panics
    /// If it is negative or not finite.
    #[must_use]
    pub fn range(mut self, units: f64) -> Self {
        assert!((0.0..1e150).contains(&units), "a grid's range must be a distance, not {units}");
        self.reach = Reach::Range(units, units);
        self
    }

    /// Sees its own cell and every cell within so many on each axis, whole.
    #[must_use]
    pub fn radius(mut self, cells: u16) -> Self {
        self.reach = Reach::Radius(cells, cells);
        self
    }

    /// What is in view stays up to this distance (with a radius: so many cells), so that what moves along the
    /// edge does not flicker.
    ///
    /// # Panics
    /// When the interest is put together, if it is less than the range or radius.
    #[must_use]
    pub fn release(mut self, units: f64) -> Self {
        self.release = Some(units);
        self
    }

    /// The grid's own key of a cell, for keys of the game's own.
    #[must_use]
    pub fn cell_key(&self, cell: [i64; 3]) -> Key {
        Key::from(CellKey { prefix: self.prefix, cell })
    }

    /// Narrows what the grid shows; see [`Part::sees`].
    #[must_use]
    pub fn sees(
        self,
        sees: impl Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> bool + Send + Sync + 'static,
    ) -> Part<G> {
        Part::from(self).sees(sees)
    }

    /// Cuts the view; see [`Visibility::limit`].
    #[must_use]
    pub fn limit(
        self,
        most: usize,
        priority: impl Fn(RoomRef<'_, G>, &Connection<G>, EntityRef<'_>) -> f64 + Send + Sync + 'static,
    ) -> Visibility<G> {
        Visibility::from(self).limit(most, priority)
    }

    /// Lets clients keep what left their view; see [`Visibility::retain`].
    #[must_use]
    pub fn retain(self, entities: usize) -> Visibility<G> {
        Visibility::from(self).retain(entities)
    }
}

impl<G: Game> From<Grid<G>> for Part<G> {
    fn from(grid: Grid<G>) -> Part<G> {
        let Grid { cell, axes, prefix, reach, release, rates, places, around } = grid;
        let reach = match (reach, release) {
            (reach, None) => reach,
            (Reach::Range(r, _), Some(units)) => {
                assert!(
                    (r..1e150).contains(&units),
                    "the release {units} must not be less than the range {r}"
                );
                Reach::Range(r, units)
            }
            (Reach::Radius(r, _), Some(units)) => {
                let cells = units as u16;
                assert!(cells >= r, "the release {units} must not be less than the radius {r}");
                Reach::Radius(r, cells)
            }
        };
        let used = match axes {
            Axes::Xy => [true, true, false],
            Axes::Xz => [true, false, true],
            Axes::Xyz => [true; 3],
        };
        let shape = Shape::Grid { cell, axes: used, prefix, reach };
        Part { rates, ..Part::new(Source::Grid { shape, axes, places, around }) }
    }
}
