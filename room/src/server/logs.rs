//! Log lines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Prints log lines to stdout: one JSON object a line, or for people where stdout is a terminal. `RUST_LOG`
/// chooses what is printed; `info` is the default.
///
/// For programs that have no `tracing` subscriber of their own. Where one is set already, it stays and this does
/// nothing.
pub fn init_logs() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    let _ = if std::io::stdout().is_terminal() {
        builder.compact().try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
}
