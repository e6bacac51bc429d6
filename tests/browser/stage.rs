//! A server, a browser, and players in pages.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::chromium::{Browser, PATIENCE, Tab, program};
use crate::server::{Host, page};

/// One browser at a time, for they are heavy; and one beside it that does little but wait.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) browser: Browser,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Stage {
    /// None where there is no browser or no page, which is said.
    pub(crate) fn set(name: &str) -> Option<Stage> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Stage::set_now(name, Some(turn))
    }

    /// As [`set`](Self::set), for what takes long and little.
    pub(crate) fn set_beside(name: &str) -> Option<Stage> {
        Stage::set_now(name, None)
    }

    fn set_now(name: &str, turn: Option<MutexGuard<'static, ()>>) -> Option<Stage> {
        let built = page().join("index.html").is_file();
        match program().filter(|_| built) {
            Some(program) => {
                let browser = Browser::start(&program, name);
                Some(Stage { host: Host::start(name), browser, _turn: turn })
            }
            None => {
                let lacks = if built {
                    "there is no Chromium: install it, for instance with `apt-get install chromium`"
                } else {
                    "there is no page: `cargo web build examples/page --release --features steps`"
                };
                assert!(std::env::var_os("ROOM_BROWSER").is_none(), "{lacks}");
                eprintln!("SKIPPED: {lacks}");
                None
            }
        }
    }

    /// No page complained.
    pub(crate) fn end(self) {
        let errors = self.browser.errors();
        // A socket that does not open while the server is away, and a page that is none, are lines of the browser's own.
        let own: Vec<&String> = errors
            .iter()
            .filter(|error| !error.contains("WebSocket connection") && !error.contains("404"))
            .collect();
        assert!(own.is_empty(), "{own:#?}");
    }
}

/// A player's page, once she is in the field.
pub(crate) fn join<'a>(browser: &'a Browser, host: &Host, name: &str) -> Player<'a> {
    let player = Player::at(browser.open(&host.url(name)), name);
    player.until("she has joined", |state| state["status"] == "joined" && state["squares"][0].is_object());
    player
}

/// Somebody at a page.
pub(crate) struct Player<'a> {
    pub(crate) tab: Tab<'a>,
    name: String,
}

impl<'a> Player<'a> {
    pub(crate) fn at(tab: Tab<'a>, name: &str) -> Player<'a> {
        Player { tab, name: name.to_owned() }
    }

    /// What the page has; null while it is being loaded.
    pub(crate) fn state(&self) -> Value {
        let text = self.tab.run("window.page ? page.state() : 'null'");
        serde_json::from_str(text.as_str().unwrap_or("null")).expect("JSON")
    }

    /// Waits until the page is so, and returns it.
    pub(crate) fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let state = self.state();
            if is(&state) {
                return state;
            }
            if began.elapsed() > PATIENCE {
                self.tab.picture(&format!("failed-{}", self.name));
                panic!("{}: not {what}: {state:#}\n{:#?}", self.name, self.tab.errors());
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.state()["player"].as_u64().expect("she is somebody")
    }

    /// Holds a key for a while.
    pub(crate) fn hold(&self, key: &str, milliseconds: u64) {
        self.tab.key(key, true);
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        self.tab.key(key, false);
    }
}

/// A player's square as a page has it.
pub(crate) fn square(state: &Value, player: u64) -> &Value {
    let squares = state["squares"].as_array().map(Vec::as_slice).unwrap_or_default();
    squares.iter().find(|square| square["owner"] == player).unwrap_or(&Value::Null)
}

/// Where it stands, from the left.
pub(crate) fn x(state: &Value, player: u64) -> f64 {
    square(state, player)["x"].as_f64().unwrap_or(f64::NAN)
}
