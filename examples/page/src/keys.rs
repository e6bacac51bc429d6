//! The keys that are held.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{KeyboardEvent, Window};

use crate::game::Steer;

/// What the keyboard says.
#[derive(Clone, Default)]
pub(crate) struct Keys(Rc<RefCell<Held>>);

#[derive(Default)]
struct Held {
    down: BTreeSet<String>,
    // Pressed since the last look.
    jump: bool,
    plants: u32,
}

impl Keys {
    /// Listens for as long as the page lives.
    pub(crate) fn of(window: &Window) -> Keys {
        let keys = Keys::default();
        let held = keys.0.clone();
        keys.on(window, "keydown", move |event| {
            let mut held = held.borrow_mut();
            if !event.repeat() {
                held.jump |= event.key() == " ";
                held.plants += u32::from(event.key() == "f");
            }
            held.down.insert(event.key());
        });
        let held = keys.0.clone();
        keys.on(window, "keyup", move |event| {
            held.borrow_mut().down.remove(&event.key());
        });
        let held = keys.0.clone();
        // The page does not hear of keys that are let go elsewhere.
        keys.on(window, "blur", move |_| held.borrow_mut().down.clear());
        keys
    }

    fn on(&self, window: &Window, name: &str, mut hear: impl FnMut(&KeyboardEvent) + 'static) {
        let closure = Closure::<dyn FnMut(KeyboardEvent)>::new(move |event: KeyboardEvent| hear(&event));
        let _ = window.add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
        closure.forget();
    }

    /// What the player does now, and how many flowers she plants.
    pub(crate) fn look(&self) -> (Steer, u32) {
        let mut held = self.0.borrow_mut();
        let way = |back: &str, on: &str| {
            f32::from(i8::from(held.down.contains(on)) - i8::from(held.down.contains(back)))
        };
        let (right, down) = (way("ArrowLeft", "ArrowRight"), way("ArrowUp", "ArrowDown"));
        let jump = std::mem::take(&mut held.jump);
        (Steer { right, down, jump }, std::mem::take(&mut held.plants))
    }
}
