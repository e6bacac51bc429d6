//! The page: frames, keys, and what stands beside the field.

use std::cell::RefCell;
use std::rc::Rc;

use room_client::web::{self, Page};
use room_client::{Client, Event};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use web_sys::{Document, Window};

use crate::draw::Canvas;
use crate::game::{Deed, Field, News, Walk};
use crate::keys::Keys;
use crate::look::{Meter, look};

thread_local! {
    static RUNNING: RefCell<Option<Rc<RefCell<Running>>>> = const { RefCell::new(None) };
}

/// The game as it runs.
struct Running {
    window: Window,
    document: Document,
    page: Page,
    keys: Keys,
    canvas: Canvas,
    meter: Meter,
    frames: u64,
    updates: u64,
    news: u64,
    jumped: Vec<u64>,
}

/// Starts once the module is loaded: `?room=NAME&name=WHO` says where, and who.
///
/// # Errors
/// Fails where the page lacks what is drawn on, or no try to connect could succeed.
#[wasm_bindgen(start)]
pub fn start() -> Result<(), JsValue> {
    std::panic::set_hook(Box::new(|panic| web_sys::console::error_1(&panic.to_string().into())));
    let window = web_sys::window().ok_or("no window")?;
    let document = window.document().ok_or("no document")?;
    let search = window.location().search()?;
    let room = asked(&search, "room").unwrap_or("field");
    let url = web::room_url(&format!("/rooms/{room}"));
    let connect = web::connect(url, Field::kinds()).name(asked(&search, "name").unwrap_or("somebody"));
    let page = connect.start().map_err(|error| error.to_string())?;
    let canvas = Canvas::of(&document).ok_or("no canvas")?;
    let keys = Keys::of(&window);
    let running = Running {
        window,
        document,
        page,
        keys,
        canvas,
        meter: Meter::default(),
        frames: 0,
        updates: 0,
        news: 0,
        jumped: Vec::new(),
    };
    let running = Rc::new(RefCell::new(running));
    RUNNING.set(Some(running.clone()));
    each_frame(running);
    Ok(())
}

/// All that there is to see, as JSON: for tests.
#[wasm_bindgen]
#[must_use]
pub fn state() -> String {
    RUNNING.with_borrow(|running| {
        let Some(running) = running else { return "null".to_owned() };
        let running = running.borrow();
        let look = look(&running.page.client(), running.frames, running.news, &running.jumped);
        serde_json::to_string(&look).unwrap_or_default()
    })
}

/// The value of a parameter in the page's URL, as it stands there.
fn asked<'a>(search: &'a str, name: &str) -> Option<&'a str> {
    let pairs = search.trim_start_matches('?').split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value).next()
}

/// Runs a frame whenever the browser asks for one.
fn each_frame(running: Rc<RefCell<Running>>) {
    let again = Rc::new(RefCell::new(None::<Closure<dyn FnMut(f64)>>));
    let next = again.clone();
    let window = running.borrow().window.clone();
    let ask = move |closure: &Closure<dyn FnMut(f64)>| {
        // A page on its way out has no more frames.
        let _ = window.request_animation_frame(closure.as_ref().unchecked_ref());
    };
    let ask_again = ask.clone();
    *again.borrow_mut() = Some(Closure::new(move |now: f64| {
        running.borrow_mut().frame(now);
        next.borrow().as_ref().map(&ask_again);
    }));
    again.borrow().as_ref().map(ask);
}

impl Running {
    fn frame(&mut self, now: f64) {
        self.frames += 1;
        let (steer, plants) = self.keys.look();
        let page = self.page.clone();
        page.client().input::<Walk>(steer);
        let mut client = page.update(now);
        for _ in 0..plants {
            // Past what a client keeps, a flower is not planted.
            let _ = client.send(&Deed::Plant);
        }
        let updates = client.stats().updates;
        if client.jumped() {
            self.jumped.push(updates - self.updates);
        }
        self.updates = updates;
        self.canvas.draw(&client);
        let line = self.meter.line(&client, now);
        self.say("line", &line);
        self.tell(&mut client);
    }

    fn tell(&mut self, client: &mut Client) {
        let notice = client.notice().map(|notice| notice.text).unwrap_or_default();
        self.say("notice", &notice);
        let names: Vec<&str> = client.presences().iter().map(|presence| presence.name.as_str()).collect();
        self.say("names", &names.join(", "));
        for event in client.events() {
            match event {
                Event::SessionLost { undelivered } => {
                    let many = undelivered.len();
                    self.say("news", &format!("Your place was gone; {many} of your deeds were lost."));
                }
                Event::Message(message) => {
                    let Ok(News::Planted(player, nth)) = message.decode() else { continue };
                    let name = client.presence(player).map_or("Somebody", |presence| &presence.name);
                    self.say("news", &format!("{name} has planted flower number {nth}."));
                    self.news += 1;
                }
                _ => {}
            }
        }
    }

    fn say(&self, id: &str, text: &str) {
        if let Some(element) = self.document.get_element_by_id(id)
            && element.text_content().as_deref() != Some(text)
        {
            element.set_text_content(Some(text));
        }
    }
}
