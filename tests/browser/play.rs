//! What players see in their pages.

use std::time::Duration;

use serde_json::Value;

use crate::stage::{Player, Stage, join, square, x};

/// Waits until a player stands where the other one sees her, and returns what that one sees.
fn at_rest(player: &Player<'_>, other: &Player<'_>, id: u64) -> Value {
    std::thread::sleep(Duration::from_millis(500));
    let there = x(&player.state(), id);
    other.until("she is seen there", |state| (x(state, id) - there).abs() < 0.01)
}

#[test]
fn two_pages_see_each_other_walk_and_what_one_does() {
    let Some(stage) = Stage::set("two") else { return };
    let (ada, bo) = (join(&stage.browser, &stage.host, "Ada"), join(&stage.browser, &stage.host, "Bo"));
    let (a, b) = (ada.id(), bo.id());
    assert_ne!(a, b);
    let before =
        bo.until("he sees both", |state| square(state, a).is_object() && square(state, b).is_object());
    assert_eq!(before["names"].as_array().map(Vec::len), Some(2));
    ada.hold("ArrowRight", 1000);
    bo.hold("ArrowDown", 500);
    let walked = ada.until("she walked", |state| x(state, a) > x(&before, a) + 3.0);
    let seen = bo.until("he sees her there", |state| (x(state, a) - x(&walked, a)).abs() < 0.01);
    ada.until("she sees him there", |state| square(state, b)["y"] == square(&seen, b)["y"]);
    ada.tab.key(" ", true);
    ada.tab.key(" ", false);
    bo.tab.key("f", true);
    ada.until("she sees his flower", |state| state["flowers"] == 1 && square(state, b)["planted"] == 1);
    bo.until("he sees her jump", |state| square(state, a)["jumps"] == 1);
    ada.tab.picture("two-ada");
    bo.tab.picture("two-bo");
    drop((ada, bo));
    stage.end();
}

#[test]
fn a_page_that_is_reloaded_is_the_same_player_and_what_she_did_is_not_lost() {
    let Some(stage) = Stage::set("reload") else { return };
    let (ada, bo) = (join(&stage.browser, &stage.host, "Ada"), join(&stage.browser, &stage.host, "Bo"));
    let a = ada.id();
    ada.hold("ArrowRight", 500);
    let before = at_rest(&ada, &bo, a);
    // In the last moment: what the page has not sent, or was not acknowledged, goes along.
    ada.tab.run("for (let n = 0; n < 3; n++) dispatchEvent(new KeyboardEvent('keydown', { key: 'f' })), 0");
    ada.tab.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    ada.tab.reload();
    let again =
        ada.until("she is back", |state| state["status"] == "joined" && state["frames"].as_u64() > Some(5));
    assert_eq!((again["player"].as_u64(), again["epoch"].as_u64()), (Some(a), Some(2)), "{again:#}");
    assert_eq!(again["resumes"], 1);
    ada.until("each flower is there, once", |state| {
        state["flowers"] == 3 && square(state, a)["planted"] == 3 && state["unacknowledged"] == 0
    });
    let seen = bo.state();
    assert_eq!(seen["names"].as_array().map(Vec::len), Some(2), "nobody else came: {seen:#}");
    assert!((x(&seen, a) - x(&before, a)).abs() < 0.01);
    ada.tab.picture("reload-ada");
    drop((ada, bo));
    stage.end();
}

#[test]
fn a_page_that_was_hidden_comes_back_to_one_merged_update() {
    let Some(stage) = Stage::set_beside("hidden") else { return };
    let (ada, bo) = (join(&stage.browser, &stage.host, "Ada"), join(&stage.browser, &stage.host, "Bo"));
    let b = bo.id();
    ada.until("she sees him", |state| square(state, b).is_object());
    ada.tab.hide(true);
    ada.until("she is hidden", |_| ada.tab.run("document.visibilityState") == "hidden");
    std::thread::sleep(Duration::from_millis(500));
    let before = ada.state();
    for turn in 0..30 {
        bo.hold(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"][turn % 4], 700);
        bo.tab.key("f", true);
        bo.tab.key("f", false);
        std::thread::sleep(Duration::from_millis(250));
    }
    bo.hold("ArrowLeft", 700);
    // He comes to rest.
    std::thread::sleep(Duration::from_millis(500));
    let there = bo.until("his flowers are there", |state| state["flowers"] == 30);
    let hidden = ada.state();
    assert_eq!(hidden["updates"], before["updates"], "a hidden page gets none");
    assert_eq!(
        (&hidden["status"], &hidden["drops"]),
        (&before["status"], &before["drops"]),
        "it stays connected"
    );
    assert_eq!(hidden["frames"], before["frames"]);
    ada.tab.hide(false);
    let shown = ada.until("she sees all of it", |state| state["flowers"] == 30);
    assert!((x(&shown, b) - x(&there, b)).abs() < 0.01, "{shown:#} {there:#}");
    assert_eq!(shown["drops"], 0);
    let jumped = shown["jumped"].as_array().expect("a list");
    assert_eq!(jumped.last().and_then(|updates| updates.as_u64()), Some(1), "{jumped:?}");
    ada.tab.picture("hidden-ada");
    drop((ada, bo));
    stage.end();
}

#[test]
fn a_server_that_is_killed_and_started_again_is_played_on() {
    let Some(mut stage) = Stage::set("killed") else { return };
    let ada = join(&stage.browser, &stage.host, "Ada");
    let bo = join(&stage.browser, &stage.host, "Bo");
    let (a, b) = (ada.id(), bo.id());
    ada.hold("ArrowRight", 600);
    ada.tab.key("f", true);
    ada.tab.key("f", false);
    bo.until("he sees her flower", |state| state["flowers"] == 1);
    let before = at_rest(&ada, &bo, a);
    stage.host.kill();
    let alone = ada.until("she is told", |state| state["status"] == "reconnecting");
    assert!(alone["notice"].is_string(), "{alone:#}");
    ada.tab.picture("killed-ada");
    // What she does meanwhile waits.
    ada.tab.key("f", true);
    ada.tab.key("f", false);
    ada.until("it waits", |state| state["unacknowledged"] == 1);
    stage.host.again();
    for player in [&ada, &bo] {
        let back =
            player.until("the player is back", |state| state["status"] == "joined" && state["flowers"] == 2);
        assert_eq!((back["resumes"].as_u64(), back["notice"].is_null()), (Some(1), true), "{back:#}");
    }
    assert_eq!((ada.id(), bo.id()), (a, b));
    assert!((x(&bo.state(), a) - x(&before, a)).abs() < 0.01, "she stands where she stood");
    ada.hold("ArrowLeft", 800);
    let walked = ada.until("she walks on", |state| x(state, a) < x(&before, a) - 2.0);
    bo.until("he sees it", |state| (x(state, a) - x(&walked, a)).abs() < 0.01);
    bo.tab.picture("killed-bo");
    drop((ada, bo));
    stage.end();
}
