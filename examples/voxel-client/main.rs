//! A terminal client for the `voxel` example: the ground around the player from above, live.
//!
//! ```text
//! cargo run --release --example voxel            # in one terminal
//! cargo run --release --example voxel-client     # in another
//! ```

#![allow(unreachable_pub, reason = "in a program `pub` says what a module offers the others")]

#[path = "../common/args.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod args;
#[path = "../voxel/blocks.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod blocks;
mod hands;
mod map;
mod screen;
#[path = "../voxel/shared.rs"]
#[allow(dead_code, reason = "other examples use the rest")]
mod shared;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use room_client::{Client, ConnectError, Event, Status};

use args::{Args, Flag};
use blocks::Palette;
use hands::{Facing, Hands, Key, key_of};
use map::Frame;
use screen::Screen;
use shared::{Avatar, Chunk, Notice, SPEED, World};

const FLAGS: &[Flag] = &[
    Flag { name: "url", value: "URL", help: "the room (ws://127.0.0.1:8787/rooms/forest)" },
    Flag { name: "name", value: "NAME", help: "your name in the world" },
    Flag { name: "snapshot", value: "", help: "print one picture as text and end, without a terminal" },
    Flag {
        name: "watch",
        value: "S",
        help: "print for S seconds what the player is told, without a terminal",
    },
    Flag { name: "keys", value: "KEYS", help: "with --snapshot: keys to press first, such as \"ddd p\"" },
];

/// Time between two pictures.
const FRAME: Duration = Duration::from_millis(50);
/// Time between two steps, so that a held key walks no faster than the room allows.
const STEP: Duration = Duration::from_millis((1100.0 / SPEED) as u64);
/// How long a server is looked for at the start; later, as long as the library does by itself.
const FIRST: Duration = Duration::from_secs(5);
/// How long a snapshot waits for the world to come.
const PATIENCE: Duration = Duration::from_secs(20);
const HELP: &str = "wasd or arrows: walk   space: dig   x: dig down   p: place   b: next block   q: quit";

fn main() -> ExitCode {
    let args = Args::of_process("A terminal client for the voxel example.", FLAGS);
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("voxel-client: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let url = args.text("url").unwrap_or("ws://127.0.0.1:8787/rooms/forest").to_owned();
    let name =
        args.text("name").map_or_else(|| format!("guest-{}", std::process::id() % 1000), str::to_owned);
    let client = runtime
        .block_on(async {
            // A server that starts again begins a new world: play goes on in it as a new player.
            let connect = room_client::connect(&url, shared::schema()).name(&name).rejoin(true);
            if args.has("watch") { connect.start() } else { connect.give_up(FIRST).await }
        })
        .map_err(|error| match error {
            ConnectError::Dial { .. } => format!("{error}; first run: cargo run --release --example voxel"),
            _ => format!("{url}: {error}"),
        })?;
    let _on_runtime = runtime.enter();
    let mut game = Game::new(client);
    if args.has("watch") {
        game.watch(Duration::from_secs(args.number("watch", 60, 1..=86_400)?))?;
    } else if args.has("snapshot") {
        print!("{}", game.snapshot(args.text("keys").unwrap_or(""))?.to_plain_text());
    } else {
        game.play()?;
    }
    runtime.block_on(game.client.leave());
    Ok(())
}

/// The player's end of the game.
struct Game {
    client: Client,
    palette: Option<Palette>,
    hands: Hands,
    stepped: Instant,
    notice: String,
}

impl Game {
    fn new(client: Client) -> Game {
        let notice = HELP.to_owned();
        Game { client, palette: None, hands: Hands::default(), stepped: Instant::now(), notice }
    }

    /// Plays on the terminal until she quits or the room ends it.
    fn play(&mut self) -> Result<(), Box<dyn Error>> {
        let mut screen = Screen::open()?;
        loop {
            self.update()?;
            while event::poll(Duration::ZERO)? {
                match key_of_terminal(&event::read()?) {
                    Some(Key::Quit) => return Ok(()),
                    Some(key) => self.press(key)?,
                    None => {}
                }
            }
            let (width, height) = screen.size()?;
            screen.show(self.picture(width, height))?;
            // Keys wake it at once, updates at the next picture.
            event::poll(FRAME)?;
        }
    }

    /// Prints a line whenever who she is, or what she is told, changes.
    fn watch(&mut self, time: Duration) -> Result<(), Box<dyn Error>> {
        let deadline = Instant::now() + time;
        let mut last = String::new();
        while Instant::now() < deadline {
            self.update()?;
            let who = match (self.client.status(), self.me()) {
                (Status::Joined, Some(me)) => format!("{} plays as player {}", me.name, me.owner),
                _ => self.told(),
            };
            if !who.is_empty() && who != last {
                println!("{who}");
                last = who;
            }
            std::thread::sleep(FRAME);
        }
        Ok(())
    }

    /// Waits for the world, presses the keys, one a step, and draws what is seen then.
    fn snapshot(&mut self, keys: &str) -> Result<Frame, Box<dyn Error>> {
        let deadline = Instant::now() + PATIENCE;
        while self.me().is_none() || self.palette.is_none() || self.client.complete() < self.client.tick() {
            if Instant::now() > deadline {
                return Err(format!("no world after {} seconds", PATIENCE.as_secs()).into());
            }
            std::thread::sleep(FRAME);
            self.update()?;
        }
        for character in keys.chars() {
            let key = key_of(character).ok_or_else(|| format!("`{character}` is no key: {HELP}"))?;
            std::thread::sleep(STEP);
            self.update()?;
            self.press(key)?;
        }
        for _ in 0..10 {
            std::thread::sleep(FRAME);
            self.update()?;
        }
        Ok(self.picture(80, 24))
    }

    /// Takes what has come.
    fn update(&mut self) -> Result<(), Box<dyn Error>> {
        self.client.update(Instant::now());
        if let Status::Closed { code, reason } = self.client.status() {
            return Err(format!("the room closed the connection: {reason} ({code:?})").into());
        }
        if self.palette.is_none() {
            self.palette =
                self.client.state::<World>().and_then(|world| Palette::new(world.palette.to_vec()));
        }
        let events: Vec<Event> = self.client.events().collect();
        for event in events {
            if let Event::Message(message) = event {
                self.notice = self.tell(&message.decode()?);
            }
        }
        Ok(())
    }

    fn tell(&self, notice: &Notice) -> String {
        let name =
            |block: u8| self.palette.as_ref().map_or("", |palette| palette.name(block)).replace('_', " ");
        match notice {
            Notice::Refused { why } => why.clone(),
            Notice::Dug { who, block } => format!("{who} dug {}", name(*block)),
            Notice::Placed { who, block } => format!("{who} placed {}", name(*block)),
        }
    }

    fn me(&self) -> Option<&Avatar> {
        let player = self.client.player()?;
        self.client.all::<Avatar>().map(|(_, avatar)| avatar).find(|avatar| avatar.owner == player)
    }

    fn press(&mut self, key: Key) -> Result<(), Box<dyn Error>> {
        let player = self.client.player();
        let me = self.client.all::<Avatar>().map(|(_, avatar)| avatar).find(|a| Some(a.owner) == player);
        let (Some(me), Some(palette)) = (me, &self.palette) else { return Ok(()) };
        if self.client.status() != &Status::Joined {
            // What she does now is of no use later.
            return Ok(());
        }
        if matches!(key, Key::Walk(_)) {
            if self.stepped.elapsed() < STEP {
                return Ok(());
            }
            self.stepped = Instant::now();
        }
        if let Some(action) = self.hands.press(key, &self.client, palette, me) {
            self.client.send(&action)?;
        }
        Ok(())
    }

    /// The map, and two lines under it.
    fn picture(&self, width: usize, height: usize) -> Frame {
        let mut frame = Frame::new(width, height);
        let rows = height.saturating_sub(2);
        let status = match (self.me(), &self.palette) {
            (Some(me), Some(palette)) => {
                let avatars = self.client.all::<Avatar>().map(|(_, avatar)| avatar);
                map::draw(&mut frame, rows, &self.client, palette, me, avatars);
                self.status(me, palette)
            }
            _ => "waiting for the world".to_owned(),
        };
        frame.text(rows, &status);
        frame.text(rows + 1, &self.told());
        frame
    }

    /// The line under the status: what the connection has to say goes before what the game does.
    fn told(&self) -> String {
        self.client.notice().map_or_else(|| self.notice.clone(), |notice| notice.text)
    }

    fn status(&self, me: &Avatar, palette: &Palette) -> String {
        let facing: Facing = self.hands.facing(me);
        let present = self.client.presences();
        let away = match present.iter().filter(|presence| !presence.is_connected()).count() {
            0 => String::new(),
            away => format!(" ({away} away)"),
        };
        format!(
            "{} {:.0} {:.0} {:.0} {}  holds {}  players {} of {}{away}  chunks {}  tick {}  {} KiB",
            me.name,
            me.x.floor(),
            me.y,
            me.z.floor(),
            facing.name(),
            palette.name(self.hands.block(palette)),
            self.client.all::<Avatar>().count(),
            present.len(),
            self.client.all::<Chunk>().count(),
            self.client.tick(),
            self.client.stats().bytes_received / 1024,
        )
    }
}

/// The key of a terminal event; ctrl-c quits, for the raw terminal sends no signal.
fn key_of_terminal(event: &TerminalEvent) -> Option<Key> {
    let TerminalEvent::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Quit),
        KeyCode::Char(character) => key_of(*character),
        KeyCode::Up => Some(Key::Walk(Facing::North)),
        KeyCode::Down => Some(Key::Walk(Facing::South)),
        KeyCode::Left => Some(Key::Walk(Facing::West)),
        KeyCode::Right => Some(Key::Walk(Facing::East)),
        KeyCode::Esc => Some(Key::Quit),
        _ => None,
    }
}
