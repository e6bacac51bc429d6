//! What of a kind is drawn smoothly, and how: as games say it, and as it is worked with.

use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

use room::entity::{Entity, FieldMask, FieldRef};
use room::limits;

/// Fields of a kind that are drawn smoothly: one, or a tuple of up to 8, which may hold further tuples.
///
/// They are numbers, arrays of numbers, or vectors. What is not said of how they move is as for a coordinate.
///
/// ```
/// # use room::prelude::*;
/// use std::f64::consts::TAU;
/// use room_client::Smooth;
///
/// # #[derive(Entity, Clone, Debug)]
/// # struct Avatar { x: f32, y: f32, heading: f32 }
/// # fn play(client: &mut room_client::machine::Machine) {
/// let place = (Avatar::X, Avatar::Y).snap(10.0); // farther than that at once is no walk
/// client.interpolate::<Avatar>((place, Avatar::HEADING.angle(TAU)));
/// # }
/// ```
pub trait Smooth<K: Entity>: Sized {
    #[doc(hidden)]
    fn add_to(self, plan: &mut Plan);

    /// These are angles, of which `turn` is a whole turn (TAU, 360.0, 256.0): they go the short way.
    ///
    /// # Panics
    /// If `turn` is not above 0.
    fn angle(self, turn: f64) -> Smoothed<K> {
        assert!(turn > 0.0 && turn.is_finite(), "a turn of {turn} is none: give what a whole turn measures");
        self.marked(Way::Angle(turn))
    }

    /// These are rotations, quaternions of four numbers each: they go the short way and keep their length.
    ///
    /// # Panics
    /// If a field does not have four numbers.
    fn rotation(self) -> Smoothed<K> {
        self.marked(Way::Rotation)
    }

    /// Where these are farther apart than that, from one state to the next, they are not drawn between the two. Angles
    /// and rotations do not count, unless there is nothing else.
    ///
    /// # Panics
    /// If `distance` is below 0 or not a number.
    fn snap(self, distance: f64) -> Smoothed<K> {
        assert!(distance >= 0.0, "a distance of {distance} is none: give 0 or more");
        let mut plan = Plan::of(self);
        plan.groups.push(Group { columns: 0..plan.columns.len(), most: distance * distance });
        plan.into()
    }

    /// The kind is drawn behind the room's clock by at least that, instead of 100 ms: more for smoother movement on
    /// bad links, less to be closer to the room. It is never less than two sends, or an entity's period and one send.
    fn delay(self, delay: Duration) -> Smoothed<K> {
        let mut plan = Plan::of(self);
        plan.delay = delay;
        plan.into()
    }

    /// The kind goes on as it moved for at most that, instead of 100 ms, where nothing newer has come.
    fn extrapolate(self, most: Duration) -> Smoothed<K> {
        let mut plan = Plan::of(self);
        plan.extrapolate = most;
        plan.into()
    }

    /// What this client predicted and the room has otherwise is drawn where it is within that, instead of 100 ms.
    fn correct(self, within: Duration) -> Smoothed<K> {
        let mut plan = Plan::of(self);
        plan.correct = within;
        plan.into()
    }

    #[doc(hidden)]
    fn marked(self, way: Way) -> Smoothed<K> {
        let mut plan = Plan::of(self);
        for column in &mut plan.columns {
            let Column { field, numbers, .. } = column;
            assert!(
                way != Way::Rotation || numbers.len() == 4,
                "`{}.{}` is no rotation: that takes a quaternion, or an array of its four numbers",
                K::KIND.name,
                K::KIND.fields[*field].name
            );
            column.way = way;
        }
        plan.into()
    }
}

/// Fields of which more is said than which: see [`Smooth`].
#[derive(Clone, Debug)]
pub struct Smoothed<K> {
    plan: Plan,
    kind: PhantomData<fn() -> K>,
}

impl<K> From<Plan> for Smoothed<K> {
    fn from(plan: Plan) -> Smoothed<K> {
        Smoothed { plan, kind: PhantomData }
    }
}

/// How a field's numbers go from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub enum Way {
    /// Straight.
    Line,
    /// The short way round, of a turn of that size.
    Angle(f64),
    /// The short way over the sphere of quaternions.
    Rotation,
}

/// One field.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) field: usize,
    /// Its numbers among those of a state.
    pub(super) numbers: Range<usize>,
    pub(super) way: Way,
}

/// Fields that jump together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) columns: Range<usize>,
    /// The square of the distance past which they do.
    pub(super) most: f64,
}

/// The fields of a kind, with their numbers one behind the other.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Plan {
    pub(super) columns: Vec<Column>,
    pub(super) groups: Vec<Group>,
    pub(super) mask: FieldMask,
    pub(super) width: usize,
    pub(super) delay: Duration,
    pub(super) extrapolate: Duration,
    pub(super) correct: Duration,
}

const DELAY: Duration = Duration::from_millis(limits::DRAW_DELAY_MS);
const EXTRAPOLATE: Duration = Duration::from_millis(limits::EXTRAPOLATE_MS);
const CORRECT: Duration = Duration::from_millis(limits::CORRECT_MS);

impl Plan {
    pub(super) fn of<K: Entity>(fields: impl Smooth<K>) -> Plan {
        let mut plan = Plan {
            columns: Vec::new(),
            groups: Vec::new(),
            mask: FieldMask::NONE,
            width: 0,
            delay: DELAY,
            extrapolate: EXTRAPOLATE,
            correct: CORRECT,
        };
        fields.add_to(&mut plan);
        plan
    }

    fn add<K: Entity>(&mut self, field: usize, way: Way) {
        let (kind, info) = (K::KIND.name, &K::KIND.fields[field]);
        let numbers = info.wire.numbers();
        assert!(
            numbers > 0,
            "`{kind}.{}` cannot be interpolated: it is a {}, and only numbers, and arrays and vectors of them, can",
            info.name,
            info.wire
        );
        assert!(!self.mask.has(field), "`{kind}.{}` is interpolated already: name it once", info.name);
        assert!(
            self.columns.len() < limits::INTERPOLATED,
            "`{kind}` has more than {} interpolated fields: put some into an array",
            limits::INTERPOLATED
        );
        self.mask.insert(field);
        self.columns.push(Column { field, numbers: self.width..self.width + numbers, way });
        self.width += numbers;
    }

    /// Whether any of some fields is drawn smoothly, and those that are not.
    pub(super) fn split(&self, mut fields: FieldMask) -> (bool, FieldMask) {
        let before = fields;
        self.columns.iter().for_each(|column| fields.remove(column.field));
        (fields != before, fields)
    }

    /// The column of a field.
    pub(super) fn column(&self, field: usize) -> Option<&Column> {
        self.columns.iter().find(|column| column.field == field)
    }
}

impl<K: Entity> Smooth<K> for FieldRef<K> {
    fn add_to(self, plan: &mut Plan) {
        plan.add::<K>(self.index(), Way::Line);
    }
}

impl<K: Entity> Smooth<K> for Smoothed<K> {
    fn add_to(self, plan: &mut Plan) {
        let before = plan.columns.len();
        for column in self.plan.columns {
            plan.add::<K>(column.field, column.way);
        }
        for Group { columns, most } in self.plan.groups {
            plan.groups.push(Group { columns: before + columns.start..before + columns.end, most });
        }
        // Of several settings, those that differ from what is usual count.
        if self.plan.delay != DELAY {
            plan.delay = self.plan.delay;
        }
        if self.plan.extrapolate != EXTRAPOLATE {
            plan.extrapolate = self.plan.extrapolate;
        }
        if self.plan.correct != CORRECT {
            plan.correct = self.plan.correct;
        }
    }
}

macro_rules! tuples {
    ($($($name:ident)+),+) => { $(
        impl<K: Entity, $($name: Smooth<K>),+> Smooth<K> for ($($name,)+) {
            fn add_to(self, plan: &mut Plan) {
                #[allow(non_snake_case, reason = "each is named as its type")]
                let ($($name,)+) = self;
                $($name.add_to(plan);)+
            }
        }
    )+ };
}

tuples!(A, A B, A B C, A B C D, A B C D E, A B C D E F, A B C D E F G, A B C D E F G H);
