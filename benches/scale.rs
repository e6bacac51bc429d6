//! How a tick's cost grows: instructions, counted by valgrind, at one, two, four and eight times the entities, the
//! connections, what each sees, and what of it moves; and what each rule of an interest adds.
//!
//! ```text
//! cargo bench --bench scale             # tables in Markdown
//! cargo bench --bench scale -- --json   # a JSON line for each row of them
//! ```
//!
//! Instructions and not time: they are the same in every run, on a busy machine too. Only ticks are counted; what
//! the game does before them and what the driver does behind them is not. Needs `valgrind`.

#[path = "scale/table.rs"]
mod table;
#[path = "scale/world.rs"]
mod world;

use std::process::{Command, ExitCode};

use table::{Row, Rule};
use world::World;

/// Ticks that are counted, behind some that grow the buffers.
const TICKS: usize = 10;
const WARM_UP: usize = 6;
/// The factors by which a dimension grows.
const STEPS: [usize; 4] = [1, 2, 4, 8];

/// The world from which each dimension grows.
const BASE: Shape = Shape { entities: 2_500, connections: 125, view: 50, moving: 8, rule: 0 };

/// What a tick's cost may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Entities of the world.
    pub entities: usize,
    /// Connections to it.
    pub connections: usize,
    /// Entities that each connection sees, about.
    pub view: usize,
    /// Eighths of the entities that move each tick.
    pub moving: usize,
    /// What stands beside the range, as a place in [`world::RULES`].
    pub rule: usize,
}

impl Shape {
    fn words(self) -> String {
        format!("{} {} {} {} {}", self.entities, self.connections, self.view, self.moving, self.rule)
    }

    fn of_words(words: &str) -> Option<Shape> {
        let numbers: Vec<usize> = words.split(' ').map_while(|word| word.parse().ok()).collect();
        let [entities, connections, view, moving, rule] = numbers[..] else { return None };
        Some(Shape { entities, connections, view, moving, rule })
    }
}

/// A dimension: its name, what else is so, the base, and the shape at a factor.
type Dimension = (&'static str, &'static str, fn(usize) -> Shape);

const DIMENSIONS: &[Dimension] = &[
    ("entities", "all move", |by| Shape { entities: by * BASE.entities, ..BASE }),
    ("connections", "all move", |by| Shape { connections: by * BASE.connections, ..BASE }),
    ("view", "all move", |by| Shape { view: by * BASE.view, ..BASE }),
    ("moving", "of all entities", |by| Shape { moving: by, ..BASE }),
    ("entities", "none moves", |by| Shape { entities: by * BASE.entities, moving: 0, ..BASE }),
    ("connections", "none moves", |by| Shape { connections: by * BASE.connections, moving: 0, ..BASE }),
    ("view", "none moves", |by| Shape { view: by * BASE.view, moving: 0, ..BASE }),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let Some(index) = args.iter().position(|arg| arg == "--world") {
        let shape = args.get(index + 1).and_then(|words| Shape::of_words(words));
        run(shape.expect("five numbers"), TICKS);
        return ExitCode::SUCCESS;
    }
    if !args.iter().any(|arg| arg == "--bench") {
        // `cargo test --benches` runs this too: one small world shows that it works.
        for rule in 0..world::RULES.len() {
            run(Shape { entities: 500, connections: 10, view: 20, moving: 8, rule }, 2);
        }
        return ExitCode::SUCCESS;
    }
    let json = args.iter().any(|arg| arg == "--json");
    match measure(json).and_then(|rows| Ok((rows, rules(json)?))) {
        Ok((rows, rules)) if json => {
            rows.iter().for_each(|row| println!("{}", row.json()));
            rules.iter().for_each(|rule| println!("{}", rule.json()));
        }
        Ok((rows, rules)) => println!("{}\n{}", table::markdown(&rows), table::rules_markdown(&rules)),
        Err(error) => {
            eprintln!("scale: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What each rule costs in the base world, while all moves and while nothing does.
fn rules(quiet: bool) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    for (rule, name) in world::RULES.iter().enumerate() {
        let moving = count(Shape { rule, ..BASE })? / TICKS as u64;
        let still = count(Shape { rule, moving: 0, ..BASE })? / TICKS as u64;
        if !quiet {
            eprintln!("{name}: {moving} instructions a tick while all move, {still} while none does");
        }
        rules.push(Rule { name, moving, still });
    }
    Ok(rules)
}

fn measure(quiet: bool) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (name, what, shape) in DIMENSIONS {
        let mut row = Row { name, what, steps: Vec::new() };
        for by in STEPS {
            let shape = shape(by);
            let instructions = count(shape)? / TICKS as u64;
            if !quiet {
                eprintln!("{name}, {what}: {shape:?}: {instructions} instructions a tick");
            }
            row.steps.push((by, instructions));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Runs a world under valgrind; returns the instructions of its ticks.
fn count(shape: Shape) -> Result<u64, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = std::env::temp_dir().join(format!("room-scale-{}.out", std::process::id()));
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*counted_tick*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(own)
        .args(["--world", &shape.words()])
        .output()
        .map_err(|error| format!("valgrind does not run ({error}); install it to count instructions"))?;
    let text = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(&file);
    if !run.status.success() {
        return Err(format!("the world ended badly: {}", String::from_utf8_lossy(&run.stderr)));
    }
    let text = text.map_err(|error| format!("valgrind left no figures: {error}"))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.filter(|total| *total > 0).ok_or_else(|| "valgrind counted nothing".to_owned())
}

fn run(shape: Shape, ticks: usize) {
    let mut world = World::new(shape);
    for _ in 0..WARM_UP {
        world.step(World::tick);
    }
    for _ in 0..ticks {
        world.step(counted_tick);
    }
}

/// By this name valgrind knows when to count.
#[inline(never)]
fn counted_tick(world: &mut World) {
    world.tick();
}
