//! What the browser tells, and a clock of its own.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Event, EventTarget, Window};

/// A function that hears of an event of the browser until it is dropped.
pub(super) struct Listener {
    target: EventTarget,
    name: &'static str,
    heard: Closure<dyn FnMut(Event)>,
}

impl Listener {
    pub(super) fn new(
        target: &EventTarget,
        name: &'static str,
        hear: impl FnMut(Event) + 'static,
    ) -> Listener {
        let heard = Closure::<dyn FnMut(Event)>::new(hear);
        // It fails for a target that is none, which the type rules out.
        let _ = target.add_event_listener_with_callback(name, heard.as_ref().unchecked_ref());
        Listener { target: target.clone(), name, heard }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let heard = self.heard.as_ref().unchecked_ref();
        let _ = self.target.remove_event_listener_with_callback(self.name, heard);
    }
}

/// A function that is called again and again until it is dropped. A hidden page's is slowed down by the browser, to
/// once a second and later to once a minute.
pub(super) struct Interval {
    window: Window,
    number: i32,
    _call: Closure<dyn FnMut()>,
}

impl Interval {
    pub(super) fn new(window: &Window, milliseconds: i32, call: impl FnMut() + 'static) -> Interval {
        let call = Closure::<dyn FnMut()>::new(call);
        let function = call.as_ref().unchecked_ref();
        let number = window
            .set_interval_with_callback_and_timeout_and_arguments_0(function, milliseconds)
            .unwrap_or_default();
        Interval { window: window.clone(), number, _call: call }
    }
}

impl Drop for Interval {
    fn drop(&mut self) {
        self.window.clear_interval_with_handle(self.number);
    }
}
