//! A peer's process: it prints one line of JSON, and is cut off at the limit.

use std::io::{BufWriter, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use world::{Spec, write_script};

/// How often it is asked whether it has ended.
const POLL: Duration = Duration::from_millis(50);

/// Runs it; gives it a workload's script where it wants one.
pub fn run(
    mut command: Command,
    script: Option<(&'static Spec, usize)>,
    limit: u64,
) -> Result<Value, String> {
    let input = if script.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = command
        .stdin(input)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} does not run: {error}", command.get_program().display()))?;
    let writer = script.zip(child.stdin.take()).map(|((spec, ticks), input)| {
        // One that ends early says why itself.
        thread::spawn(move || write_script(spec, ticks, &mut BufWriter::with_capacity(1 << 20, input)).ok())
    });
    let mut output = child.stdout.take().ok_or("it has no output")?;
    let reader = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let status = wait(&mut child, limit)?;
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    let text = reader.join().ok().and_then(Result::ok).unwrap_or_default();
    let report = text.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let Some(report) = report else {
        return Err(format!("it ended with {status} and without a result"));
    };
    match report["reason"].as_str() {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(report),
    }
}

fn wait(child: &mut Child, limit: u64) -> Result<ExitStatus, String> {
    let end = Instant::now() + Duration::from_secs(limit);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < end => thread::sleep(POLL),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it took longer than {limit} seconds and was cut off"));
            }
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    }
}
