//! Rounds: the room wakes, is compared with its clients, goes on for a while, and is killed.

mod audit;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Failure;
use crate::child::{self, Running};
use crate::deeds::Deed;
use crate::kinds::Mode;
use crate::luck::Luck;
use crate::player::{Life, Player};
use crate::report::Report;
use crate::serve::Serve;

const ROOM: &str = "field";
/// How often players look.
const TURN: Duration = Duration::from_millis(15);
/// How long everything may take that has to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long views may differ in a field at rest, and answers may take.
const REST: Duration = Duration::from_secs(15);
/// Lines of differences that are shown of one client.
const SHOWN: usize = 5;

/// What is to be done.
pub struct Run {
    pub rounds: u64,
    pub clients: usize,
    pub seed: u64,
    /// Milliseconds from one kill to the next, where they are said.
    pub gap_ms: Option<u64>,
    pub store: PathBuf,
    pub side: PathBuf,
}

/// When a room is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    /// Right after its start, or before it has begun.
    Early,
    /// While everything changes.
    Busy,
    /// While only what is coarse or ephemeral changes.
    Calm,
    /// When a slice of a snapshot is committed.
    InSnapshot,
}

/// What players do while time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Everything,
    /// Only what may be lost.
    Calm,
    Nothing,
}

/// A player who is gone.
struct Gone {
    number: u64,
    lives: Vec<Life>,
    /// Whether the room said that it let her go.
    confirmed: bool,
}

/// The rounds under way.
pub struct Rounds {
    run: Run,
    port: u16,
    luck: Luck,
    running: Option<Running>,
    /// Runs of the room so far.
    runs: u32,
    /// Resumes before the room that runs was started; none once the first one was seen.
    resumes_before: Option<u64>,
    players: Vec<Player>,
    leaving: JoinSet<(Player, bool)>,
    gone: Vec<Gone>,
    /// Accounts that are free again.
    accounts: Vec<String>,
    next_player: u64,
    wrong: u64,
    report: Report,
}

/// Plays all rounds.
pub async fn play(run: Run) -> Result<Report, Failure> {
    let began = Instant::now();
    let (rounds, port) = (run.rounds, child::free_port(run.seed)?);
    let report = Report::new(rounds, run.clients, run.seed);
    let mut luck = Luck::new(run.seed);
    let mut play = Rounds {
        luck: luck.split(),
        run,
        port,
        running: None,
        runs: 0,
        resumes_before: None,
        players: Vec::new(),
        leaving: JoinSet::new(),
        gone: Vec::new(),
        accounts: Vec::new(),
        next_player: 1,
        wrong: 0,
        report,
    };
    play.start()?;
    play.fill()?;
    for round in 1..=rounds {
        play.round(round).await?;
    }
    play.last_round().await?;
    let mut report = play.report;
    report.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    report.finish();
    Ok(report)
}

impl Rounds {
    async fn round(&mut self, round: u64) -> Result<(), Failure> {
        let kill = match self.luck.below(20) {
            0..=3 => Kill::Early,
            4..=8 => Kill::Busy,
            9..=13 => Kill::Calm,
            _ => Kill::InSnapshot,
        };
        let begun = Instant::now();
        self.start()?;
        if kill != Kill::Early {
            self.settle().await?;
            self.churn()?;
        }
        let settled = begun.elapsed();
        self.until(kill).await?;
        self.kill(kill).await?;
        eprintln!(
            "round {round} of {}: {kill:?} kill, {} ms after all were well, which took {} ms; {} coarse values went \
             back so far, {} things are wrong",
            self.run.rounds,
            (begun.elapsed() - settled).as_millis(),
            settled.as_millis(),
            self.players.iter().map(|player| player.memory.figures.coarse_back).sum::<u64>(),
            self.wrong
        );
        // They go on talking to nobody.
        let gap = self.luck.between(0, 300);
        self.pass(Doing::Everything, gap).await
    }

    /// Starts the room's process, unless it runs.
    fn start(&mut self) -> Result<(), Failure> {
        if self.running.is_some() {
            return Ok(());
        }
        self.runs += 1;
        let Run { store, side, clients, .. } = &self.run;
        let (run, port, clients) = (u64::from(self.runs), self.port, *clients);
        self.resumes_before = (self.runs > 1).then(|| self.resumes());
        self.running = Some(Running::start(&Serve { store, side, port, clients, run })?);
        Ok(())
    }

    /// Lets players come in until there are as many as there should be.
    fn fill(&mut self) -> Result<(), Failure> {
        let url = format!("ws://127.0.0.1:{}/rooms/{ROOM}", self.port);
        while self.players.len() < self.run.clients {
            let number = self.next_player;
            self.next_player += 1;
            // Every other one is a guest.
            let account = number
                .is_multiple_of(2)
                .then(|| self.accounts.pop().unwrap_or_else(|| format!("account {number}")));
            self.players.push(Player::start(&url, number, account, self.luck.split())?);
        }
        Ok(())
    }

    /// A few players leave, and others come. The first one stays.
    fn churn(&mut self) -> Result<(), Failure> {
        for _ in 0..self.luck.below(3) {
            if self.players.len() > 2 {
                let at = self.luck.between(1, self.players.len() as u64 - 1) as usize;
                let mut player = self.players.swap_remove(at);
                self.leaving.spawn(async move {
                    let confirmed = player.client.leave().await;
                    (player, confirmed)
                });
            }
        }
        self.fill()
    }

    /// Takes note of a player who has left.
    fn left(&mut self, mut player: Player, confirmed: bool) {
        self.take_figures(&mut player);
        if confirmed {
            self.accounts.extend(player.account.take());
        }
        player.ended.push(player.life);
        self.gone.push(Gone { number: player.number, lives: player.ended, confirmed });
    }

    fn take_figures(&mut self, player: &mut Player) {
        self.report.add_figures(player.all_figures());
        self.report.add_resumes(&player.resume_bytes);
        for line in player.memory.lines.drain(..) {
            eprintln!("crash: player {}: {line}", player.number);
        }
    }

    /// How long it is until the next kill, once all is well.
    fn gap(&mut self) -> u64 {
        self.run.gap_ms.unwrap_or_else(|| self.luck.between(200, 2000))
    }

    /// Lets the room go on until it is to be killed.
    async fn until(&mut self, kill: Kill) -> Result<(), Failure> {
        let gap = self.gap();
        match kill {
            Kill::Early => {
                if self.luck.below(3) > 0 {
                    self.listening().await?;
                }
                let gap = self.luck.between(0, 250);
                self.pass(Doing::Everything, gap).await
            }
            Kill::Busy => self.pass(Doing::Everything, gap).await,
            Kill::Calm => {
                self.pass(Doing::Everything, gap / 2).await?;
                self.answered().await?;
                self.order(Mode::Calm).await?;
                self.pass(Doing::Calm, gap).await
            }
            Kill::InSnapshot => {
                self.pass(Doing::Everything, gap / 4).await?;
                let before = self.slices();
                let next = |rounds: &Rounds| rounds.slices() > before;
                let until = Instant::now() + PATIENCE;
                self.pump(Doing::Everything, until, next).await?;
                let delay = self.luck.between(0, 12);
                sleep(Duration::from_millis(delay)).await;
                Ok(())
            }
        }
    }

    async fn kill(&mut self, kill: Kill) -> Result<(), Failure> {
        let Some(running) = self.running.take() else { return Ok(()) };
        running.kill().await?;
        self.report.kills += 1;
        match kill {
            Kill::Early => self.report.kills_early += 1,
            Kill::Calm => self.report.kills_calm += 1,
            Kill::InSnapshot => self.report.kills_in_snapshot += 1,
            Kill::Busy => {}
        }
        self.look();
        for player in &mut self.players {
            if let Some(session) = player.client.session() {
                player.killed.push(session);
                self.report.sessions += 1;
            }
        }
        Ok(())
    }

    /// Waits until the room's process listens.
    async fn listening(&mut self) -> Result<(), Failure> {
        self.wait_doing(Doing::Everything, "the server to listen", |rounds| {
            rounds.running.as_ref().is_some_and(|running| running.said.borrow().listens)
        })
        .await
    }

    /// All are back; the field comes to rest; what they see is compared with what they should see; all goes on.
    async fn settle(&mut self) -> Result<(), Failure> {
        self.listening().await?;
        // One hears that the network is back; the others come by their own clocks.
        let scout = self.luck.below(self.players.len() as u64) as usize;
        self.players[scout].client.handle_online();
        let joined = |player: &Player| player.client.is_joined();
        self.wait_doing(Doing::Everything, "all to be back", |rounds| rounds.all(joined)).await?;
        self.answered().await?;
        self.order(Mode::Rest).await?;
        self.compare().await?;
        self.order(Mode::Busy).await
    }

    /// Waits until all that was said was heard and answered. What has not come in time is lost.
    async fn answered(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + REST;
        if self.pump(Doing::Nothing, until, |rounds| rounds.all(Player::is_settled)).await? {
            return Ok(());
        }
        for player in self.players.iter_mut().filter(|player| !player.is_settled()) {
            eprintln!("crash: {}", player.trouble());
            player.give_up();
        }
        self.wait("all to be well", |rounds| rounds.all(Player::is_settled)).await
    }

    /// The first player says what is to go on.
    async fn order(&mut self, mode: Mode) -> Result<(), Failure> {
        self.players[0].say(Deed::Mode(mode));
        self.answered().await
    }

    fn all(&self, is: impl Fn(&Player) -> bool) -> bool {
        self.players.iter().all(is)
    }

    fn resumes(&self) -> u64 {
        self.players.iter().map(|player| player.resumes).sum()
    }

    fn slices(&self) -> u64 {
        self.running.as_ref().map_or(0, |running| running.said.borrow().slices)
    }

    /// Lets so much time pass.
    async fn pass(&mut self, doing: Doing, ms: u64) -> Result<(), Failure> {
        let until = Instant::now() + Duration::from_millis(ms);
        self.pump(doing, until, |_| false).await.map(drop)
    }

    /// Waits for something, in which nobody says anything.
    async fn wait(&mut self, what: &str, done: impl Fn(&Rounds) -> bool) -> Result<(), Failure> {
        self.wait_doing(Doing::Nothing, what, done).await
    }

    async fn wait_doing(
        &mut self,
        doing: Doing,
        what: &str,
        done: impl Fn(&Rounds) -> bool,
    ) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        if self.pump(doing, until, done).await? {
            return Ok(());
        }
        let troubled = self.players.iter().filter(|player| !player.is_settled());
        let trouble: Vec<String> = troubled.take(SHOWN).map(Player::trouble).collect();
        Err(format!("waited {PATIENCE:?} for {what}\n  {}", trouble.join("\n  ")).into())
    }

    /// Lets players look and talk, until then or until something is so; says whether it is.
    async fn pump(
        &mut self,
        doing: Doing,
        until: Instant,
        done: impl Fn(&Rounds) -> bool,
    ) -> Result<bool, Failure> {
        loop {
            self.look();
            if let Some(running) = &mut self.running {
                running.check()?;
            }
            while let Some(left) = self.leaving.try_join_next() {
                let (player, confirmed) = left?;
                self.left(player, confirmed);
            }
            if done(self) {
                return Ok(true);
            }
            let now = Instant::now();
            if doing != Doing::Nothing {
                self.players.iter_mut().for_each(|player| player.talk(now, doing == Doing::Calm));
            }
            let Some(left) = until.checked_duration_since(now).filter(|left| !left.is_zero()) else {
                return Ok(false);
            };
            // What a snapshot says is news for at once; the first one back is looked for often.
            let turn = if self.resumes_before.is_some() { TURN / 5 } else { TURN }.min(left);
            match &mut self.running {
                Some(running) => {
                    let _ = tokio::time::timeout(turn, running.said.changed()).await;
                }
                None => sleep(turn).await,
            }
        }
    }

    /// Players take what has come.
    fn look(&mut self) {
        let now = Instant::now();
        self.players.iter_mut().for_each(|player| player.look(now));
        let (Some(before), Some(running)) = (self.resumes_before, &self.running) else { return };
        if self.resumes() > before {
            self.report.woken(running.began.elapsed());
            self.resumes_before = None;
        }
    }
}
