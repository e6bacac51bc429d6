//! Chromium without a screen, over its own protocol: JSON on two pipes, each message ended by a zero byte.

use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything that should happen may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The names that the program has.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser; it ends with its pipes.
pub(crate) struct Browser {
    child: Child,
    say: RefCell<ChildStdin>,
    heard: Receiver<Value>,
    next: Cell<u64>,
    folder: PathBuf,
    // What pages complained of.
    errors: RefCell<Vec<String>>,
}

/// Where Chromium is, if anywhere.
pub(crate) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}

impl Browser {
    pub(crate) fn start(program: &Path, name: &str) -> Browser {
        let folder = std::env::temp_dir().join(format!("room-browser-{name}-{}", std::process::id()));
        let mut child = Command::new("sh")
            // The protocol's pipes are the third and the fourth.
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 >/dev/null 2>&1"#])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-dev-shm-usage", "--window-size=900,620"])
            .arg(format!("--user-data-dir={}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a browser");
        let say = RefCell::new(child.stdin.take().expect("a pipe"));
        let mut read = BufReader::new(child.stdout.take().expect("a pipe"));
        let (told, heard) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while read.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                let message = serde_json::from_slice(&bytes).expect("JSON");
                bytes.clear();
                if told.send(message).is_err() {
                    return;
                }
            }
        });
        Browser { child, say, heard, next: Cell::new(1), folder, errors: RefCell::default() }
    }

    /// Calls a method, of a tab or of the browser itself.
    fn call(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let id = self.next.replace(self.next.get() + 1);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let mut say = self.say.borrow_mut();
        say.write_all(&bytes).and_then(|()| say.flush()).expect("the browser lives");
        let until = Instant::now() + 6 * PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let heard = self.heard.recv_timeout(left).unwrap_or_else(|error| panic!("{method}: {error}"));
            if heard["id"] == id {
                assert!(heard.get("error").is_none(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
            self.note(&heard);
        }
    }

    /// Something happened of itself.
    fn note(&self, message: &Value) {
        let params = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => params["exceptionDetails"].to_string(),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" => params["args"].to_string(),
            _ => return,
        };
        self.errors.borrow_mut().push(complaint);
    }

    /// Opens a page in a window of its own.
    pub(crate) fn open(&self, url: &str) -> Tab<'_> {
        let opened = self.call(None, "Target.createTarget", json!({ "url": url, "newWindow": true }));
        let target = opened["targetId"].as_str().expect("a target").to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", attach);
        let session = attached["sessionId"].as_str().expect("a session").to_owned();
        let tab = Tab { browser: self, target, session };
        tab.call("Runtime.enable", json!({}));
        tab.call("Page.enable", json!({}));
        tab
    }

    /// What pages complained of.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.borrow().clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A page in a window.
pub(crate) struct Tab<'a> {
    browser: &'a Browser,
    target: String,
    session: String,
}

impl Tab<'_> {
    pub(crate) fn call(&self, method: &str, params: Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    /// The value of an expression in the page.
    pub(crate) fn run(&self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let done = self.call("Runtime.evaluate", params);
        assert!(done.get("exceptionDetails").is_none(), "{expression:.200}: {}", done["exceptionDetails"]);
        done["result"]["value"].clone()
    }

    /// What pages complained of.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.browser.errors()
    }

    /// Presses a key, or lets it go.
    pub(crate) fn key(&self, name: &str, down: bool) {
        let kind = if down { "keydown" } else { "keyup" };
        self.run(&format!("dispatchEvent(new KeyboardEvent({kind:?}, {{ key: {name:?} }})), 0"));
    }

    /// Goes to another page.
    pub(crate) fn go(&self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// Waits until there is a document.
    pub(crate) fn until_loaded(&self) {
        let until = Instant::now() + PATIENCE;
        while self.run("location.protocol + document.readyState") != "http:complete" {
            assert!(Instant::now() < until, "the page does not load");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn reload(&self) {
        self.call("Page.reload", json!({}));
    }

    /// Puts the window away, or brings it back.
    pub(crate) fn hide(&self, hidden: bool) {
        let window =
            self.browser.call(None, "Browser.getWindowForTarget", json!({ "targetId": self.target }));
        let state = if hidden { "minimized" } else { "normal" };
        let bounds = json!({ "windowId": window["windowId"], "bounds": { "windowState": state } });
        self.browser.call(None, "Browser.setWindowBounds", bounds);
    }

    /// Keeps a picture of the page.
    pub(crate) fn picture(&self, name: &str) {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/browser");
        std::fs::create_dir_all(&folder).expect("a folder");
        let bytes = base64(shot["data"].as_str().expect("a picture"));
        std::fs::write(folder.join(format!("{name}.png")), bytes).expect("a file");
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
