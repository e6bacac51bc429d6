//! Random cases: an interest, settings, and what happens.

use proptest::collection::vec;
use proptest::prelude::*;

use super::fresh::PERIOD_MOST;
use super::interest::{GridSpec, Measure, PartSpec, Rank, Sees, Source, Spec, Word};
use super::link::Pace;
use super::model::{Blocks, Fill};

/// A room's settings, an interest, and a story.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) spec: Spec,
    pub(crate) send_every: u32,
    /// An update cap of one part, which large entities pass.
    pub(crate) small_cap: bool,
    /// A window that a slow client fills.
    pub(crate) small_window: bool,
    pub(crate) view_hash: bool,
    pub(crate) keeps: bool,
    /// Into how many jobs sends are cut, and a seed of their order; none for what a room does by itself.
    pub(crate) jobs: Option<(usize, u64)>,
    /// Entities that are there at the start.
    pub(crate) crowd: Vec<(u8, Option<[f64; 3]>, u64)>,
    pub(crate) steps: Vec<Step>,
}

/// One thing that happens. Numbers that pick an entity or a client count modulo how many there are.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create {
        kind: u8,
        explicit: Option<u64>,
        at: Option<[f64; 3]>,
        raw: u64,
    },
    Delete {
        pick: u16,
    },
    /// Deletes, and creates another under the same ID at once.
    Reuse {
        pick: u16,
        kind: u8,
        at: Option<[f64; 3]>,
        raw: u64,
    },
    /// Created and deleted between two seals.
    Blink {
        kind: u8,
        raw: u64,
    },
    Write {
        pick: u16,
        field: u8,
        raw: u64,
    },
    SetBack {
        pick: u16,
        field: u8,
        raw: u64,
    },
    Move {
        pick: u16,
        at: Option<[f64; 3]>,
    },
    Blocks {
        pick: u16,
        how: Blocks,
    },
    Board {
        field: u8,
        raw: u64,
    },
    Hand {
        client: u8,
        field: u8,
        raw: u64,
    },
    Alias {
        team: u8,
        alias: u64,
    },
    Walk {
        client: u8,
        eye: bool,
        around: Option<[f64; 3]>,
    },
    /// Many are written in one tick, and a client walks in the next: whatever waits for its turn changes its rate.
    Rush {
        client: u8,
        by: [f64; 3],
        seed: u32,
    },
    /// A few steps from where it stands.
    Stroll {
        client: u8,
        by: [f64; 3],
    },
    Words {
        client: u8,
        words: Vec<Word>,
    },
    Mask {
        client: u8,
        mask: u16,
    },
    Pace {
        client: u8,
        pace: Pace,
    },
    Join {
        account: Option<u8>,
    },
    Leave {
        client: u8,
    },
    Drop {
        client: u8,
    },
    /// A client opens another connection for its session, with what it holds.
    Resume {
        client: u8,
    },
    Kick {
        client: u8,
    },
    /// Many large changes at once: an update is full.
    Storm {
        chests: u8,
        seed: u32,
    },
    /// Large changes that everybody sees, so many ticks in a row: windows fill.
    Flood {
        ticks: u8,
        seed: u32,
    },
    Tick,
}

fn axis() -> impl Strategy<Value = f64> {
    let lattice = || (-13_i32..14).prop_map(f64::from);
    prop_oneof![
        60 => lattice(),
        8 => lattice().prop_map(f64::next_up),
        6 => lattice().prop_map(f64::next_down),
        8 => -20.0..20.0,
        2 => (-60_i32..60).prop_map(f64::from),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e30, -0.0]),
    ]
}

fn point() -> impl Strategy<Value = [f64; 3]> {
    let flat = (axis(), axis()).prop_map(|(x, z)| [x, 0.0, z]);
    prop_oneof![3 => flat, 1 => [axis(), axis(), axis()]]
}

fn place() -> impl Strategy<Value = Option<[f64; 3]>> {
    prop_oneof![14 => point().prop_map(Some), 1 => Just(None)]
}

fn explicit() -> impl Strategy<Value = Option<u64>> {
    let ids = prop_oneof![
        6 => 2_u64..9,
        1 => prop::sample::select(vec![(1 << 32) - 1_000_000, 1 << 32, (1 << 32) + 1, (1 << 52) - 1, 1 << 52]),
    ];
    prop_oneof![2 => ids.prop_map(Some), 3 => Just(None)]
}

fn blocks() -> impl Strategy<Value = Blocks> {
    let fill = prop_oneof![any::<u8>().prop_map(Fill::Flat), any::<u32>().prop_map(Fill::Noise)];
    let small = (0_u32..300, 0_u32..40, fill.clone());
    let large = (0_u32..50_000, 0_u32..3000, fill.clone());
    prop_oneof![
        8 => small.prop_map(|(offset, len, fill)| Blocks::Patch { offset, len, fill }),
        2 => large.prop_map(|(offset, len, fill)| Blocks::Patch { offset, len, fill }),
        2 => (0_u32..200, fill.clone()).prop_map(|(len, fill)| Blocks::Replace { len, fill }),
        2 => (1000_u32..49_400, fill).prop_map(|(len, fill)| Blocks::Replace { len, fill }),
        1 => (0_u16..17_000).prop_map(|len| Blocks::Label { len }),
        1 => (0_u16..4000).prop_map(|len| Blocks::Tags { len }),
    ]
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        4 => (0_u64..6).prop_map(Word::Number),
        4 => (0_u64..6).prop_map(|n| Word::Text(n.to_string())),
        1 => Just(Word::Text(String::from("a"))),
        1 => Just(Word::Text(String::from("é"))),
        2 => (0_i64..9).prop_map(Word::Cell),
    ]
}

fn pace() -> impl Strategy<Value = Pace> {
    prop_oneof![
        3 => Just(Pace::Prompt),
        2 => (1_u64..8).prop_map(Pace::Late),
        2 => Just(Pace::Silent),
        2 => Just(Pace::Stalled),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let who = || 0_u8..16;
    let pick = any::<u16>;
    prop_oneof![
        6 => (0_u8..8, explicit(), place(), any::<u64>())
            .prop_map(|(kind, explicit, at, raw)| Step::Create { kind, explicit, at, raw }),
        1 => pick().prop_map(|pick| Step::Delete { pick }),
        2 => (pick(), 0_u8..8, place(), any::<u64>())
            .prop_map(|(pick, kind, at, raw)| Step::Reuse { pick, kind, at, raw }),
        1 => (0_u8..8, any::<u64>()).prop_map(|(kind, raw)| Step::Blink { kind, raw }),
        14 => (pick(), any::<u8>(), any::<u64>()).prop_map(|(pick, field, raw)| Step::Write { pick, field, raw }),
        3 => (pick(), any::<u8>(), any::<u64>()).prop_map(|(pick, field, raw)| Step::SetBack { pick, field, raw }),
        8 => (pick(), place()).prop_map(|(pick, at)| Step::Move { pick, at }),
        8 => (pick(), blocks()).prop_map(|(pick, how)| Step::Blocks { pick, how }),
        1 => (0_u8..3, any::<u64>()).prop_map(|(field, raw)| Step::Board { field, raw }),
        1 => (who(), 0_u8..3, any::<u64>()).prop_map(|(client, field, raw)| Step::Hand { client, field, raw }),
        1 => (0_u8..4, 0_u64..6).prop_map(|(team, alias)| Step::Alias { team, alias }),
        3 => (who(), any::<bool>(), place()).prop_map(|(client, eye, around)| Step::Walk { client, eye, around }),
        4 => (who(), [-2.0..2.0, -0.5..0.5, -2.0..2.0]).prop_map(|(client, by)| Step::Stroll { client, by }),
        3 => (who(), [-9.0..9.0, -0.5..0.5, -9.0..9.0], any::<u32>())
            .prop_map(|(client, by, seed)| Step::Rush { client, by, seed }),
        2 => (who(), vec(word(), 0..6)).prop_map(|(client, words)| Step::Words { client, words }),
        1 => (who(), any::<u16>()).prop_map(|(client, mask)| Step::Mask { client, mask }),
        3 => (who(), pace()).prop_map(|(client, pace)| Step::Pace { client, pace }),
        5 => prop::option::of(0_u8..3).prop_map(|account| Step::Join { account }),
        1 => who().prop_map(|client| Step::Leave { client }),
        1 => who().prop_map(|client| Step::Drop { client }),
        3 => who().prop_map(|client| Step::Resume { client }),
        1 => who().prop_map(|client| Step::Kick { client }),
        2 => (1_u8..6, any::<u32>()).prop_map(|(chests, seed)| Step::Storm { chests, seed }),
        2 => (2_u8..9, any::<u32>()).prop_map(|(ticks, seed)| Step::Flood { ticks, seed }),
        30 => Just(Step::Tick),
    ]
}

fn measure() -> impl Strategy<Value = Measure> {
    let range = (
        prop::sample::select(vec![0.0, 5.0, 10.0, 10.0, 13.0, 13.0, 15.0, 7.5, 30.0]),
        prop::sample::select(vec![0.0, 0.0, 3.0]),
    );
    prop_oneof![
        2 => range.prop_map(|(range, more)| Measure::Range(range, range + more)),
        1 => (0_u16..4, 0_u16..2).prop_map(|(cells, more)| Measure::Radius(cells, cells + more)),
    ]
}

/// Rates of up to three bands; mostly none.
fn rates() -> impl Strategy<Value = Vec<(f64, u32)>> {
    let band = (prop::sample::select(vec![1.0, 2.5, 5.0, 8.0]), 1..=PERIOD_MOST as u32);
    let rising = |mut bands: Vec<(f64, u32)>| {
        let mut distance = -1.0;
        for (more, _) in &mut bands {
            distance += *more;
            *more = distance;
        }
        bands
    };
    prop_oneof![3 => Just(vec![]), 2 => vec(band, 1..4).prop_map(rising)]
}

fn part() -> impl Strategy<Value = PartSpec> {
    let cells = prop::sample::select(vec![4.0, 5.0, 8.0, 3.3, 50.0]);
    let grid = (
        cells,
        0_u8..3,
        prop_oneof![3 => Just(7_u8), 2 => 1_u8..8],
        prop::sample::select(vec![0_usize, 0, 1]),
        measure(),
        rates(),
    )
        .prop_map(|(cell, axes, kinds, eye, measure, rates)| {
            // A far range of small cells would pass the bound of subscriptions.
            let far = matches!(measure, Measure::Range(range, _) if range > 15.0);
            let cell = if far { f64::max(cell, 8.0) } else { cell };
            Source::Grid(GridSpec { cell, axes, kinds, eye, measure, rates })
        });
    let source = prop_oneof![3 => grid, 1 => Just(Source::Keys)];
    let sees = prop_oneof![6 => Just(Sees::All), 1 => Just(Sees::Mask), 1 => Just(Sees::Round)];
    (source, sees).prop_map(|(source, sees)| PartSpec { source, sees })
}

/// A part whose views can be compared cell by cell.
fn plain_part() -> impl Strategy<Value = PartSpec> {
    part().prop_map(|mut part| {
        part.sees = Sees::All;
        if let Source::Grid(grid) = &mut part.source {
            grid.rates = vec![];
            grid.measure = match grid.measure {
                Measure::Range(range, _) => Measure::Range(range, range),
                Measure::Radius(cells, _) => Measure::Radius(cells, cells),
            };
        }
        part
    })
}

/// An interest whose views can be compared cell by cell, wherever no entity has several keys.
fn plain_spec() -> impl Strategy<Value = Spec> {
    let grid = |part: PartSpec| matches!(part.source, Source::Grid(_)).then_some(Some(vec![part]));
    let parts = prop_oneof![
        1 => Just(None),
        5 => plain_part().prop_filter_map("a grid", grid),
        4 => vec(plain_part(), 1..4).prop_map(Some),
    ];
    parts.prop_map(|parts| Spec { parts, limit: None, budget: None, retain: 0 })
}

fn spec() -> impl Strategy<Value = Spec> {
    let parts = prop_oneof![1 => Just(None), 7 => vec(part(), 1..4).prop_map(Some)];
    let rank = prop::sample::select(vec![Rank::Field, Rank::FieldOnChange, Rank::Near, Rank::Flat]);
    let limit = (prop::sample::select(vec![1_usize, 3, 5, 10, 11, 25]), rank);
    let limit = prop_oneof![3 => Just(None), 2 => limit.prop_map(Some)];
    let budget = prop::sample::select(vec![None, None, None, Some(40_000), Some(200_000), Some(1_000_000)]);
    let retain = prop::sample::select(vec![0_usize, 0, 1, 3, 8, 1000]);
    let made = (parts, limit, budget, retain);
    made.prop_map(|(parts, limit, budget, retain)| Spec { parts, limit, budget, retain })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let knobs = (
        prop::sample::select(vec![1_u32, 1, 1, 2, 3]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    // Cells with more members than a word has bits, too.
    let crowd = prop_oneof![5 => 0_usize..60, 1 => 60_usize..260];
    let crowd = crowd.prop_flat_map(|many| vec((0_u8..8, place(), any::<u64>()), many));
    let jobs = prop::option::of((prop::sample::select(vec![1_usize, 2, 3, 8, 40]), any::<u64>()));
    let spec = prop_oneof![3 => spec(), 2 => plain_spec()];
    (spec, knobs, jobs, crowd, vec(step(), 1..300)).prop_map(|(spec, knobs, jobs, crowd, steps)| {
        let (send_every, small_cap, small_window, view_hash, keeps) = knobs;
        Case { spec, send_every, small_cap, small_window, view_hash, keeps, jobs, crowd, steps }
    })
}
