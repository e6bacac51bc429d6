//! A bad network: a TCP proxy whose links are slow, stall, go silent and break anywhere in a message.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// What befalls one link.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    latency: Duration,
    /// Bytes a second, each way.
    rate: Option<u64>,
    /// When it stalls, and for how long.
    stall: Option<(Duration, Duration)>,
    /// When it breaks.
    cut: Option<Duration>,
    /// After how many bytes from the server it breaks.
    cut_bytes: Option<u64>,
    /// From when on it carries nothing and says nothing.
    silent: Option<Duration>,
}

impl Fate {
    fn draw(rng: &mut ChaCha8Rng) -> Fate {
        let mut ms = |from: u32, to: u32| Duration::from_millis((from + rng.next_u32() % (to - from)).into());
        let (latency, far, soon, late) = (ms(1, 40), ms(100, 300), ms(1000, 6000), ms(4000, 8000));
        let stall = (ms(500, 2000), ms(500, 2500));
        let bytes = 1 + u64::from(rng.next_u32() % 60_000);
        let fate = Fate { latency, cut: Some(late), ..Fate::default() };
        match rng.next_u32() % 100 {
            0..40 => Fate { cut: Some(soon), ..fate },
            40..55 => Fate { cut_bytes: Some(bytes), ..fate },
            55..75 => Fate { rate: Some(30_000), ..fate },
            75..85 => Fate { stall: Some(stall), ..fate },
            85..97 => Fate { latency: far, ..fate },
            _ => Fate { silent: Some(soon), cut: None, ..fate },
        }
    }
}

/// The proxy at work.
pub struct Proxy {
    pub address: SocketAddr,
    calm: watch::Sender<bool>,
    cuts: Arc<AtomicU64>,
}

impl Proxy {
    /// A proxy in front of a server.
    pub async fn start(server: SocketAddr, seed: u64) -> io::Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (calm, calmed) = watch::channel(false);
        let cuts = Arc::new(AtomicU64::new(0));
        let counter = cuts.clone();
        tokio::spawn(async move {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            while let Ok((client, _)) = listener.accept().await {
                let fate = Fate::draw(&mut rng);
                tokio::spawn(link(client, server, fate, calmed.clone(), counter.clone()));
            }
        });
        Ok(Proxy { address, calm, cuts })
    }

    /// From now on nothing befalls a link, new or old; those that carry nothing are cut.
    pub fn calm(&self) {
        self.calm.send_replace(true);
    }

    /// Links cut so far.
    pub fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }
}

async fn link(
    client: TcpStream,
    server: SocketAddr,
    fate: Fate,
    mut calm: watch::Receiver<bool>,
    cuts: Arc<AtomicU64>,
) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    // Where it fails, small messages are slower.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let began = Instant::now();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = pump(from_client, to_server, Fate { cut_bytes: None, ..fate }, began, calm.clone());
    let down = pump(from_server, to_client, fate, began, calm.clone());
    let cut = async {
        match fate.cut {
            Some(after) if !*calm.borrow() => {
                tokio::select! {
                    () = sleep_until(began + after) => {}
                    () = calmed(&mut calm) => std::future::pending().await,
                }
            }
            _ => std::future::pending().await,
        }
    };
    // Whichever ends first takes both ways with it, without a close frame of its own.
    tokio::select! {
        () = up => {}
        () = down => {}
        () = cut => {}
    }
    cuts.fetch_add(1, Ordering::Relaxed);
}

async fn calmed(calm: &mut watch::Receiver<bool>) {
    // A proxy that is gone calms nobody.
    if calm.wait_for(|calm| *calm).await.is_err() {
        std::future::pending().await
    }
}

/// Carries one way until it ends or is cut.
async fn pump(
    mut from: OwnedReadHalf,
    to: OwnedWriteHalf,
    fate: Fate,
    began: Instant,
    calm: watch::Receiver<bool>,
) {
    // What is under way; the sender waits where the link is slow.
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>(16);
    let read = async move {
        let mut buffer = vec![0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            if sender.send((Instant::now() + fate.latency, buffer[..n].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let write = write(receiver, to, fate, began, calm);
    tokio::join!(read, write);
}

async fn write(
    mut receiver: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut to: OwnedWriteHalf,
    fate: Fate,
    began: Instant,
    mut calm: watch::Receiver<bool>,
) {
    let mut written = 0;
    while let Some((due, bytes)) = receiver.recv().await {
        sleep_until(due).await;
        if !*calm.borrow() {
            let age = began.elapsed();
            if fate.silent.is_some_and(|from| age >= from) {
                return calmed(&mut calm).await;
            }
            if let Some((from, length)) = fate.stall
                && (from..from + length).contains(&age)
            {
                tokio::select! {
                    () = sleep(from + length - age) => {}
                    () = calmed(&mut calm) => {}
                }
            }
            if let Some(rate) = fate.rate {
                sleep(Duration::from_micros(bytes.len() as u64 * 1_000_000 / rate)).await;
            }
            if let Some(most) = fate.cut_bytes.filter(|most| written + bytes.len() as u64 > *most) {
                // Cut within a message; an error means that it is cut already.
                let _ = to.write_all(&bytes[..(most - written) as usize]).await;
                return;
            }
        }
        written += bytes.len() as u64;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
