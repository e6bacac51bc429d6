//! The terminal: raw while the game runs, and put back however it ends.

use std::io::{self, Stdout, Write, stdout};

use crossterm::style::{Color, Print, ResetColor, SetBackgroundColor, SetForegroundColor};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute, queue};

use crate::map::{Frame, Rgb};

/// The terminal while it is ours. Dropping it, and a panic, puts it back.
pub struct Screen {
    out: Stdout,
    shown: Option<Frame>,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open() -> io::Result<Screen> {
        let usual = std::panic::take_hook();
        // The message must not vanish with the alternate screen.
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            usual(panic);
        }));
        enable_raw_mode()?;
        let screen = Screen { out: stdout(), shown: None };
        execute!(stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<(usize, usize)> {
        let (width, height) = crossterm::terminal::size()?;
        Ok((usize::from(width), usize::from(height)))
    }

    /// Shows a frame: writes what differs from the last one.
    pub fn show(&mut self, frame: Frame) -> io::Result<()> {
        let same_size = |old: &&Frame| old.width == frame.width && old.cells.len() == frame.cells.len();
        let old = self.shown.as_ref().filter(same_size);
        for (i, cell) in frame.cells.iter().enumerate() {
            if old.is_some_and(|old| old.cells[i] == *cell) {
                continue;
            }
            let (row, column) = (i / frame.width, i % frame.width);
            queue!(
                self.out,
                cursor::MoveTo(column as u16, row as u16),
                SetForegroundColor(colour(cell.ink)),
                SetBackgroundColor(colour(cell.paper)),
                Print(cell.glyph)
            )?;
        }
        self.shown = Some(frame);
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Nothing can be done where this fails, and it may run twice.
fn restore() {
    let _ = execute!(stdout(), ResetColor, cursor::Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

fn colour([r, g, b]: Rgb) -> Color {
    Color::Rgb { r, g, b }
}
