//! Who comes to a room that is not there, or no more.

use tokio::sync::mpsc;

use super::Command;
use crate::room::Game;
use crate::session::Refusal;

/// Takes no more commands, and closes the sockets of those who were on their way in.
pub(super) async fn refuse<G: Game>(commands: &mut mpsc::Receiver<Command<G>>, code: u16, reason: &str) {
    commands.close();
    // Waits for who is being handed over just now, who would hear from nobody else.
    while let Some(command) = commands.recv().await {
        turn_away(command, code, reason);
    }
}

/// Sends somebody away who was on the way in.
pub(super) fn turn_away<G: Game>(command: Command<G>, code: u16, reason: &str) {
    match command {
        Command::Open(open) => open.outbox.close(code, reason),
        // Her session may be there, and is to be asked for again.
        Command::Check(check) => {
            let _ = check.reply.send(Err(Refusal::new(code, reason)));
        }
        _ => {}
    }
}
