//! The ground from above, drawn into a frame of characters.

use crate::blocks::{Blocks, Palette, block_at, surface};
use crate::shared::Avatar;

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// How far above the feet the look down starts; higher ground shows as a cliff.
const CEILING: i32 = 8;
/// How deep it goes.
const DEPTH: i32 = 64;
/// Columns of text a block takes, so that it looks square.
const COLUMNS: i32 = 2;

/// One character on the screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// What stands there.
    pub glyph: char,
    /// Its colour.
    pub ink: Rgb,
    /// The colour behind it.
    pub paper: Rgb,
}

const BLANK: Cell = Cell { glyph: ' ', ink: [200, 200, 200], paper: [12, 12, 16] };

/// A screen full of characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Characters in a row.
    pub width: usize,
    /// Row by row.
    pub cells: Vec<Cell>,
}

impl Frame {
    /// A blank one.
    pub fn new(width: usize, height: usize) -> Frame {
        Frame { width, cells: vec![BLANK; width * height] }
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// Writes a line of text over a row, cut at its end.
    pub fn text(&mut self, row: usize, text: &str) {
        let glyphs = text.chars().map(|c| if c.is_control() { ' ' } else { c }).chain(std::iter::repeat(' '));
        if let Some(cells) = self.cells.chunks_mut(self.width.max(1)).nth(row) {
            for (cell, glyph) in cells.iter_mut().zip(glyphs) {
                *cell = Cell { glyph, ..BLANK };
            }
        }
    }

    /// Without colours, a line a row.
    pub fn to_plain_text(&self) -> String {
        let rows = self.cells.chunks(self.width.max(1));
        let line = |row: &[Cell]| row.iter().map(|cell| cell.glyph).collect::<String>();
        rows.map(|row| line(row).trim_end().to_owned() + "\n").collect()
    }
}

/// Draws the ground around `me` into the first `rows` rows, and everyone who is in view on it.
pub fn draw<'a>(
    frame: &mut Frame,
    rows: usize,
    world: &impl Blocks,
    palette: &Palette,
    me: &Avatar,
    avatars: impl Iterator<Item = &'a Avatar>,
) {
    let (width, rows) = (frame.width, rows.min(frame.height()));
    let feet = block_at(me.feet());
    for row in 0..rows {
        for column in 0..width {
            let [dx, dz] = block_under(width, rows, row, column);
            let (x, z) = (feet[0] + dx, feet[2] + dz);
            frame.cells[row * width + column] = ground(world, palette, [x, feet[1], z]);
        }
    }
    for avatar in avatars.filter(|avatar| avatar.owner != me.owner) {
        let [x, _, z] = block_at(avatar.feet());
        let glyph = avatar.name.chars().next().unwrap_or('?').to_ascii_uppercase();
        mark(frame, rows, [x - feet[0], z - feet[2]], glyph, [255, 224, 96]);
    }
    mark(frame, rows, [0, 0], '@', [255, 255, 255]);
}

/// Where the block of a character lies, from the middle.
fn block_under(width: usize, rows: usize, row: usize, column: usize) -> [i32; 2] {
    let dx = (column as i32 - (width / 2) as i32).div_euclid(COLUMNS);
    [dx, row as i32 - (rows / 2) as i32]
}

/// Puts a letter on a block, where it is on the map.
fn mark(frame: &mut Frame, rows: usize, [dx, dz]: [i32; 2], glyph: char, ink: Rgb) {
    let column = (frame.width / 2) as i32 + dx * COLUMNS;
    let row = (rows / 2) as i32 + dz;
    if (0..frame.width as i32).contains(&column) && (0..rows as i32).contains(&row) {
        let cell = &mut frame.cells[row as usize * frame.width + column as usize];
        (cell.glyph, cell.ink) = (glyph, ink);
    }
}

/// The ground in one column, seen from above the height of the feet.
fn ground(world: &impl Blocks, palette: &Palette, [x, y, z]: [i32; 3]) -> Cell {
    let Some(([_, top, _], block)) = surface(world, palette, [x, y + CEILING, z], DEPTH) else {
        return BLANK;
    };
    let (glyph, colour) = look(palette.name(block));
    // The ground under the feet has its own colour; each block up is lighter, each down darker.
    let step = top - (y - 1);
    let light = (1.0 + 0.07 * step as f32).clamp(0.3, 1.5);
    let paper = colour.map(|c| (f32::from(c) * light).min(255.0) as u8);
    let plant = world.block([x, top + 1, z]).map_or("", |above| palette.name(above));
    let glyph = match plant {
        "" | "air" => glyph,
        _ if step > CEILING => '^',
        _ => ',',
    };
    Cell { glyph, ink: paper.map(|c| c / 2 + c / 4), paper }
}

/// How a kind of block looks.
fn look(name: &str) -> (char, Rgb) {
    const LOOKS: [(&str, char, Rgb); 10] = [
        ("snow", '*', [236, 240, 248]),
        ("coal", '%', [72, 72, 78]),
        ("sandstone", '=', [196, 184, 146]),
        ("sand", '.', [218, 208, 166]),
        ("gravel", ':', [134, 126, 122]),
        ("grass", '"', [92, 144, 64]),
        ("dirt", ';', [124, 92, 62]),
        ("mossy", '&', [98, 116, 86]),
        ("cobble", 'o', [124, 124, 124]),
        ("stone", '#', [112, 112, 118]),
    ];
    let found = LOOKS.iter().find(|(part, ..)| name.contains(part));
    found.map_or(('?', [160, 120, 160]), |(_, glyph, colour)| (*glyph, *colour))
}

#[cfg(test)]
mod tests {
    use room::prelude::*;

    use super::*;
    use crate::blocks::tests::{Sketch, palette};

    fn avatar(player: u32, name: &str, x: f32, z: f32) -> Avatar {
        let (owner, name) = (PlayerId(player), name.to_owned());
        Avatar { owner, name, x, y: 1.0, z, yaw: 0.0, dug: 0, placed: 0 }
    }

    fn drawn(world: &Sketch) -> Frame {
        let (me, other) = (avatar(1, "Ada", 0.5, 0.5), avatar(2, "bob", 2.5, -0.5));
        let mut frame = Frame::new(12, 5);
        draw(&mut frame, 4, world, &palette(), &me, [&me, &other].into_iter());
        frame
    }

    #[test]
    fn i_stand_in_the_middle_and_others_where_they_are() {
        let text = drawn(&Sketch::plain()).to_plain_text();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            ["############", "##########B#", "######@#####", "############", ""]
        );
    }

    #[test]
    fn higher_ground_is_lighter_and_plants_show() {
        let mut world = Sketch::plain();
        world.0.insert([-1, 1, 0], 0);
        world.0.insert([-2, 1, 0], 2);
        world.0.remove(&[-3, 0, 0]);
        let frame = drawn(&world);
        let row = &frame.cells[24..36];
        assert_eq!(row[0].glyph, ' ', "nothing below");
        assert_eq!(row[2].glyph, ',');
        assert!(row[4].paper > row[8].paper);
    }

    #[test]
    fn text_is_cut_at_the_edge_and_holds_no_control_characters() {
        let mut frame = Frame::new(4, 2);
        frame.text(1, "a\x1b[31mlong");
        frame.text(9, "nowhere");
        assert_eq!(frame.to_plain_text(), "\na [3\n");
        assert_eq!(Frame::new(0, 5).height(), 0);
    }
}
