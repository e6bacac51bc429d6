//! What a page keeps in its storage, and what becomes of it.

use serde_json::Value;

use crate::chromium::Tab;
use crate::stage::{Player, Stage, join, square};

/// What the page has in its storage: the key, and the value as it is there.
fn stored(tab: &Tab<'_>) -> Option<(String, String)> {
    let pair = tab.run("Object.entries(sessionStorage).find(([key]) => key.startsWith('room '))");
    let text = |at: usize| Some(pair[at].as_str()?.to_owned());
    Some((text(0)?, text(1)?))
}

fn checkpoint(tab: &Tab<'_>) -> Value {
    stored(tab).map_or(Value::Null, |(_, text)| serde_json::from_str(&text).expect("JSON"))
}

/// Opens a page whose storage has that already.
fn open_with<'a>(stage: &'a Stage, name: &str, (key, value): &(String, String)) -> Player<'a> {
    let tab = stage.browser.open(&stage.host.file("nothing"));
    let [key, value] = [key, value].map(|text| Value::from(text.as_str()));
    tab.until_loaded();
    tab.run(&format!("sessionStorage.setItem({key}, {value}), 0"));
    tab.go(&stage.host.url(name));
    Player::at(tab, name)
}

/// Loads the page again while it is hidden, and shows it then: not before, or the old page's game would have a frame in
/// which it takes what the next one is to be given.
fn sleep_on(player: &Player<'_>) {
    player.tab.reload();
    let state = player.until("another page", |state| state["status"] == "joined" && state["epoch"] == 2);
    assert_eq!(state["frames"], 0, "{state:#}");
    player.tab.hide(false);
}

#[test]
fn a_hidden_page_keeps_what_the_room_sends_and_a_reload_hands_it_out_once() {
    let Some(stage) = Stage::set("asleep") else { return };
    let (ada, bo) = (join(&stage.browser, &stage.host, "Ada"), join(&stage.browser, &stage.host, "Bo"));
    ada.tab.hide(true);
    ada.until("she is hidden", |_| ada.tab.run("document.visibilityState") == "hidden");
    for _ in 0..3 {
        bo.tab.key("f", true);
        bo.tab.key("f", false);
        bo.until("it is planted", |state| state["unacknowledged"] == 0);
    }
    ada.until("they are in the storage", |_| {
        checkpoint(&ada.tab)["inbox"].as_array().map(Vec::len) == Some(3)
    });
    assert_eq!(ada.state()["news"], 0, "the game has had no frame");
    sleep_on(&ada);
    ada.until("she is told of each", |state| state["news"] == 3 && state["flowers"] == 3);
    bo.tab.key("f", true);
    ada.until("and of one more", |state| state["news"] == 4);
    assert_eq!(ada.state()["epoch"], 2);
    drop((ada, bo));
    stage.end();
}

#[test]
fn a_hidden_page_that_can_store_nothing_loses_nothing() {
    let Some(stage) = Stage::set("full") else { return };
    let (ada, bo) = (join(&stage.browser, &stage.host, "Ada"), join(&stage.browser, &stage.host, "Bo"));
    let full = "for (let size = 1 << 22, n = 0; size >= 1; n++) \
                try { sessionStorage.setItem(`pad${n}`, 'x'.repeat(size)) } catch { size >>= 1 }; 0";
    ada.tab.run(full);
    ada.tab.hide(true);
    ada.until("she is hidden", |_| ada.tab.run("document.visibilityState") == "hidden");
    bo.tab.key("f", true);
    bo.until("it is planted", |state| state["flowers"] == 1);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(checkpoint(&ada.tab)["inbox"].as_array().map(Vec::len), Some(0));
    // The room has it still, and gives it to the next page.
    sleep_on(&ada);
    ada.until("she is told", |state| state["news"] == 1 && state["flowers"] == 1);
    drop((ada, bo));
    stage.end();
}

#[test]
fn a_duplicated_tab_takes_the_session_over_and_the_other_one_ends() {
    let Some(stage) = Stage::set("twin") else { return };
    let ada = join(&stage.browser, &stage.host, "Ada");
    let (a, kept) = (ada.id(), stored(&ada.tab).expect("a session is stored"));
    let twin = open_with(&stage, "Ada", &kept);
    let state =
        twin.until("it has joined", |state| state["status"] == "joined" && square(state, a).is_object());
    assert_eq!(state["player"].as_u64(), Some(a));
    let over = ada.until("the first one ends", |state| state["status"] == "closed");
    assert_eq!(over["notice"], "You are playing somewhere else now.");
    ada.until("it keeps nothing", |_| stored(&ada.tab).is_none());
    ada.tab.picture("twin-ada");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(twin.state()["drops"], 0, "nobody steals it back");
    drop((ada, twin));
    stage.end();
}

#[test]
fn a_page_whose_session_is_gone_makes_a_new_one_by_itself() {
    let Some(stage) = Stage::set("gone") else { return };
    let ada = join(&stage.browser, &stage.host, "Ada");
    let (a, (key, value)) = (ada.id(), stored(&ada.tab).expect("a session is stored"));
    let mut checkpoint: Value = serde_json::from_str(&value).expect("JSON");
    checkpoint["session"] = 4242.into();
    let bo = open_with(&stage, "Bo", &(key.clone(), checkpoint.to_string()));
    let state = bo.until("he has joined", |state| state["status"] == "joined");
    assert_ne!(state["player"].as_u64(), Some(a));
    assert!(
        bo.tab
            .run("document.getElementById('news').textContent")
            .as_str()
            .is_some_and(|news| { news.contains("Your place was gone") })
    );
    // What is no checkpoint is none.
    let cy = open_with(&stage, "Cy", &(key, "{".to_owned()));
    cy.until("he has joined", |state| state["status"] == "joined");
    drop((ada, bo, cy));
    stage.end();
}
