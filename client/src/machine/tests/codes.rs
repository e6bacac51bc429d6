use super::*;

fn after(code: Option<u16>, reason: &str) -> Machine {
    let mut machine = joined();
    machine.handle_close(seconds(1), code, reason);
    machine
}

#[test]
fn every_code_does_what_the_table_says() {
    for code in [1001, 1009, 1013, 4008, 4012, 4500] {
        let machine = after(Some(code), "why");
        assert_eq!(machine.status(), &Status::Reconnecting, "{code}");
        let drop = machine.last_drop().unwrap();
        assert_eq!((drop.code, drop.reason.as_str()), (Some(code), "why"));
    }
    for code in [1000, 4000, 4001, 4002, 4003, 4004, 4005, 4006, 4009, 4010, 4013, 4014] {
        let mut machine = after(Some(code), "why");
        assert_eq!(closed(&machine), (Some(code), "why"));
        assert!(!machine.poll_dial(seconds(500)) && machine.poll_timeout().is_none(), "{code}");
        assert_eq!(machine.send("x"), Err(SendError::Over));
        let over = [1000, 4005, 4013].contains(&code);
        assert_eq!(machine.checkpoint().is_none(), over, "{code}: a reloaded page may come back");
    }
    // What the table does not list.
    for (code, comes_back) in [(Some(1002), true), (Some(1006), true), (Some(3999), true), (None, true)]
        .into_iter()
        .chain([(Some(4011), false), (Some(4499), false), (Some(4501), false), (Some(5000), false)])
    {
        assert_eq!(!after(code, "").status().is_closed(), comes_back, "{code:?}");
    }
}

#[test]
fn a_refusal_may_say_that_it_can_be_tried_again() {
    assert_eq!(after(Some(4003), r#"{"retry":true}"#).status(), &Status::Reconnecting);
    for reason in [r#"{"retry":false}"#, "{}", r#""retry""#, "", "no"] {
        assert!(after(Some(4003), reason).status().is_closed(), "{reason}");
    }
}

#[test]
fn a_first_socket_that_closes_is_reconnected_like_any() {
    let mut machine = machine();
    open(&mut machine, ms(0));
    assert_eq!(machine.status(), &Status::Connecting);
    machine.handle_close(ms(0), Some(1013), "");
    assert_eq!(machine.status(), &Status::Reconnecting);
    assert_eq!(machine.session(), None);
}

#[test]
fn gaps_grow_are_shortened_at_random_and_start_over_at_each_welcome() {
    let mut machine = joined();
    for _ in 0..2 {
        let mut now = seconds(100);
        machine.handle_close(now, None, "");
        for most in [250, 500, 1000, 2000, 4000, 8000, 8000, 8000] {
            let due = next_dial(&mut machine, now);
            let gap = due - now;
            assert!(gap >= ms(most / 2) && gap <= ms(most + 1), "{most}: {gap:?}");
            assert_eq!(machine.status(), &Status::Reconnecting);
            now = due;
            machine.handle_dial_failed(now, "refused");
            assert_eq!(machine.dial_error(), Some("refused"));
        }
        let due = next_dial(&mut machine, now);
        machine.handle_open(due, Vec::new());
        hear(&mut machine, due, RoomMessage::Welcome(again()));
        assert!(machine.is_joined() && machine.dial_error().is_none());
    }
}

#[test]
fn a_socket_that_opens_without_a_welcome_does_not_start_the_gaps_over() {
    let mut machine = joined();
    let mut now = seconds(1);
    machine.handle_close(now, None, "");
    for most in [250, 500, 1000, 2000, 4000, 8000] {
        let due = next_dial(&mut machine, now);
        assert!(due - now >= ms(most / 2) && due - now <= ms(most + 1));
        now = due;
        machine.handle_open(now, Vec::new());
        machine.handle_close(now, None, "");
    }
}

#[test]
fn seeds_make_gaps_differ() {
    let gap = |seed| {
        let mut machine = Machine::new(schema(), options(), seed);
        assert!(machine.poll_dial(ms(0)));
        machine.handle_dial_failed(ms(0), "");
        machine.poll_timeout().unwrap()
    };
    let gaps: std::collections::BTreeSet<_> = (0..50).map(gap).collect();
    assert!(gaps.len() > 45 && gaps.first().unwrap() < &ms(145) && gaps.last().unwrap() > &ms(230));
    assert_eq!(gap(3), gap(3));
}

#[test]
fn after_a_servers_end_the_first_gap_is_spread_over_seconds() {
    for code in [1001, 1013, 4012] {
        let gaps: Vec<Duration> = (0..200)
            .map(|seed| {
                let mut machine = Machine::new(schema(), options(), seed);
                join(&mut machine, ms(0), first());
                machine.handle_close(ms(0), Some(code), "");
                machine.poll_timeout().unwrap()
            })
            .collect();
        let (least, most) = (limits::GAP_AWAY_LEAST_MS, limits::GAP_AWAY_MOST_MS);
        assert!(gaps.iter().all(|gap| (ms(least)..=ms(most)).contains(gap)), "{code}");
        assert!(gaps.iter().any(|gap| *gap < ms(600)) && gaps.iter().any(|gap| *gap > ms(2700)));
    }
}

#[test]
fn the_network_or_the_page_coming_back_dials_at_once() {
    for back in [Machine::handle_online, Machine::handle_foreground] {
        let mut machine = after(Some(1013), "");
        assert!(!machine.poll_dial(seconds(1)));
        back(&mut machine, seconds(1));
        assert!(machine.poll_dial(seconds(1)));
        assert!(!machine.poll_dial(seconds(1)), "it is asked once");
    }
}

#[test]
fn it_gives_up_after_a_minute_without_a_socket() {
    let mut machine = machine();
    let mut now = ms(0);
    while !machine.status().is_closed() {
        if machine.poll_dial(now) {
            machine.handle_dial_failed(now, "connection refused");
        }
        machine.update(now);
        now = machine.poll_timeout().unwrap_or(now);
    }
    assert_eq!(now, seconds(limits::GIVE_UP_SECONDS));
    assert_eq!(closed(&machine), (None, "no connection for 60 seconds: connection refused"));

    // A dial that hangs is not waited for longer, and what becomes of it is ended.
    let mut machine = joined_with(Options { give_up: seconds(5), ..options() });
    machine.handle_close(seconds(10), None, "");
    let due = next_dial(&mut machine, seconds(10));
    machine.update(due);
    machine.update(seconds(15) - ms(1));
    assert_eq!(machine.status(), &Status::Reconnecting);
    machine.update(seconds(15));
    assert!(machine.status().is_closed());
    assert!(machine.checkpoint().is_some(), "the room may hold the session still");
    machine.handle_open(seconds(16), Vec::new());
    assert_eq!(said(&mut machine), [Said::Abort]);
}

#[test]
fn one_that_gave_up_tries_again_where_the_game_wants_it() {
    let mut machine = joined_with(Options { give_up: seconds(5), ..options() });
    let session = machine.session();
    machine.handle_close(seconds(10), None, "");
    next_dial(&mut machine, seconds(10));
    machine.update(seconds(15));
    machine.update(seconds(16));
    assert!(machine.status().is_closed());
    machine.rejoin(seconds(20));
    assert_eq!((machine.status(), machine.session()), (&Status::Reconnecting, session));
    assert!(machine.poll_dial(seconds(20)));
    // One that the room sent away stays away.
    let mut machine = joined_with(options());
    machine.handle_close(seconds(10), Some(room::session::code::KICKED), "");
    machine.rejoin(seconds(11));
    assert!(machine.status().is_closed() && !machine.poll_dial(seconds(12)));
}

#[test]
fn an_open_socket_restarts_the_time_to_give_up() {
    let mut machine = Machine::new(schema(), Options { give_up: seconds(5), ..options() }, 1);
    assert!(machine.poll_dial(ms(0)));
    machine.handle_open(seconds(4), Vec::new());
    machine.update(seconds(8));
    machine.handle_close(seconds(8), None, "");
    next_dial(&mut machine, seconds(8));
    machine.update(seconds(12));
    assert_eq!(machine.status(), &Status::Reconnecting);
    machine.update(seconds(13));
    assert!(machine.status().is_closed());
}

#[test]
fn what_refuses_for_good_stops() {
    let mut machine = machine();
    assert!(machine.poll_dial(ms(0)));
    machine.handle_refused(ms(0), "the account is closed");
    assert_eq!(closed(&machine), (None, "the account is closed"));
}

#[test]
fn notices_are_sentences_for_the_player_and_can_be_replaced() {
    let notice = |machine: &Machine| machine.notice().map(|notice| (notice.kind, notice.text));
    assert_eq!(notice(&machine()), Some((NoticeKind::Connecting, "Connecting…".into())));
    assert_eq!(notice(&joined()), None);
    let text = "Connection lost. Reconnecting…";
    assert_eq!(notice(&after(None, "the link broke")), Some((NoticeKind::Reconnecting, text.into())));
    for (code, kind) in [
        (1000, NoticeKind::Ended),
        (4004, NoticeKind::Failed),
        (4005, NoticeKind::Ended),
        (4006, NoticeKind::Failed),
        (4007, NoticeKind::Ended),
        (4010, NoticeKind::Ended),
        (4000, NoticeKind::Failed),
    ] {
        let (got, text) = notice(&after(Some(code), "raw reason")).unwrap();
        assert_eq!(got, kind, "{code}");
        assert!(!text.contains("raw") && !text.is_empty(), "{text}");
    }
    let kick = notice(&after(Some(4013), "You were rude."));
    assert_eq!(kick, Some((NoticeKind::Ended, "You were rude.".into())), "the kick's sentence");
    assert!(notice(&after(Some(4013), "")).is_some_and(|(_, text)| !text.is_empty()));

    let words = |kind: NoticeKind, text: &str| format!("{kind:?}/{text}");
    let options = Options { words: Some(std::sync::Arc::new(words)), ..options() };
    let mut own = joined_with(options);
    own.handle_close(ms(0), Some(4013), "Rude.");
    assert_eq!(notice(&own).unwrap().1, "Ended/Rude.");
}
