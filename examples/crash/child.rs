//! The server's process, from outside.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::Failure;
use crate::serve::{LISTENS, SLICE, Serve};

/// What a server has said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    pub listens: bool,
    /// Slices of snapshots.
    pub slices: u64,
}

/// A running server.
pub struct Running {
    child: Child,
    pub began: Instant,
    pub said: watch::Receiver<Said>,
}

impl Running {
    /// Starts it: the program that runs, once more.
    pub fn start(serve: &Serve<'_>) -> Result<Running, Failure> {
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        if std::env::var_os("RUST_LOG").is_none() {
            command.env("RUST_LOG", "error");
        }
        command.args(["--serve", &serve.run.to_string(), "--port", &serve.port.to_string()]);
        command.args(["--clients", &serve.clients.to_string()]);
        command.arg("--store").arg(serve.store).arg("--side").arg(serve.side);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (tell, said) = watch::channel(Said::default());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                match line.as_str() {
                    LISTENS => tell.send_modify(|said| said.listens = true),
                    SLICE => tell.send_modify(|said| said.slices += 1),
                    log => eprintln!("{log}"),
                }
            }
        });
        Ok(Running { child, began, said })
    }

    /// Kills it, at whatever instruction it is.
    pub async fn kill(mut self) -> Result<(), Failure> {
        self.child.start_kill()?;
        let status = self.child.wait().await?;
        if status.code().is_some() {
            return Err(format!("the server ended by itself: {status}").into());
        }
        Ok(())
    }

    /// Fails where it has ended by itself.
    pub fn check(&mut self) -> Result<(), Failure> {
        match self.child.try_wait()? {
            Some(status) => Err(format!("the server ended by itself: {status}").into()),
            None => Ok(()),
        }
    }

    /// Ends it cleanly.
    pub async fn stop(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await??;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}

/// A port that is free now, and below those that systems give to clients: of which one could come to talk to itself,
/// where it dials a server that is not there.
pub fn free_port(seed: u64) -> Result<u16, Failure> {
    let mut luck = crate::luck::Luck::new(seed ^ u64::from(std::process::id()));
    for _ in 0..100 {
        let port = luck.between(20_000, 31_999) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port is free".into())
}
