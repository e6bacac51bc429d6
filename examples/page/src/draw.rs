//! The field on a canvas.

use room_client::Client;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, Document, HtmlCanvasElement};

use crate::game::{FIELD, Flower, Square, ease};

/// Pixels of a unit.
const UNIT: f64 = 20.0;

/// What is drawn on.
pub(crate) struct Canvas(CanvasRenderingContext2d);

impl Canvas {
    pub(crate) fn of(document: &Document) -> Option<Canvas> {
        let canvas = document.get_element_by_id("field")?.dyn_into::<HtmlCanvasElement>().ok()?;
        canvas.set_width((f64::from(FIELD.0) * UNIT) as u32);
        canvas.set_height((f64::from(FIELD.1) * UNIT) as u32);
        canvas.get_context("2d").ok().flatten()?.dyn_into().ok().map(Canvas)
    }

    /// Draws all that the client sees.
    pub(crate) fn draw(&self, client: &Client) {
        self.ground();
        for (_, flower) in client.all::<Flower>() {
            self.flower(flower);
        }
        for (_, square) in client.all::<Square>() {
            let name = client.presence(square.owner).map_or("", |presence| presence.name.as_str());
            self.square(square, name, client.player() == Some(square.owner));
        }
    }

    fn ground(&self) {
        for x in 0..FIELD.0 as u32 {
            for y in 0..FIELD.1 as u32 {
                let light = 70.0 + 22.0 * ease(x as f32 + 0.5, y as f32 + 0.5);
                self.0.set_fill_style_str(&format!("hsl(100 30% {light}%)"));
                self.0.fill_rect(f64::from(x) * UNIT, f64::from(y) * UNIT, UNIT, UNIT);
            }
        }
    }

    fn flower(&self, flower: &Flower) {
        let (x, y) = (f64::from(flower.x) * UNIT, f64::from(flower.y) * UNIT);
        self.0.set_fill_style_str(&format!("hsl({} 80% 45%)", flower.hue));
        self.0.begin_path();
        // A circle that is no circle is not drawn.
        let _ = self.0.arc(x, y, 4.0, 0.0, std::f64::consts::TAU);
        self.0.fill();
    }

    fn square(&self, square: &Square, name: &str, own: bool) {
        let (x, y) = (f64::from(square.x) * UNIT, f64::from(square.y) * UNIT);
        self.0.set_fill_style_str(&format!("hsl({} 70% 50%)", square.hue));
        self.0.fill_rect(x - 12.0, y - 12.0, 24.0, 24.0);
        if own {
            self.0.set_stroke_style_str("#222");
            self.0.set_line_width(2.0);
            self.0.stroke_rect(x - 12.0, y - 12.0, 24.0, 24.0);
        }
        self.0.set_fill_style_str("#222");
        self.0.set_font("13px sans-serif");
        self.0.set_text_align("center");
        let _ = self.0.fill_text(name, x, y - 18.0);
    }
}
