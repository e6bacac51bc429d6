//! Rules that a user can observe, one a test: a room and its clients in one process.

#[path = "common/link.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod link;

#[path = "common/workers.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod workers;

#[path = "rules/attacks.rs"]
mod attacks;
#[path = "rules/audit.rs"]
mod audit;
#[path = "rules/border.rs"]
mod border;
#[path = "rules/budget.rs"]
mod budget;
#[path = "rules/cells.rs"]
mod cells;
#[path = "rules/churn.rs"]
mod churn;
#[path = "rules/crowds.rs"]
mod crowds;
#[path = "rules/events.rs"]
mod events;
#[path = "rules/flips.rs"]
mod flips;
#[path = "rules/holds.rs"]
mod holds;
#[path = "rules/ids.rs"]
mod ids;
#[path = "rules/interest.rs"]
mod interest;
#[path = "rules/lab.rs"]
mod lab;
#[path = "rules/labels.rs"]
mod labels;
#[path = "rules/limit.rs"]
mod limit;
#[path = "rules/once.rs"]
mod once;
#[path = "rules/pieces.rs"]
mod pieces;
#[path = "rules/presence.rs"]
mod presence;
#[path = "rules/pressure.rs"]
mod pressure;
#[path = "rules/rates.rs"]
mod rates;
#[path = "rules/report.rs"]
mod report;
#[path = "rules/resume.rs"]
mod resume;
#[path = "rules/retain.rs"]
mod retain;
#[path = "rules/scale.rs"]
mod scale;
#[path = "rules/sessions.rs"]
mod sessions;
#[path = "rules/slow.rs"]
mod slow;
#[path = "rules/status.rs"]
mod status;
#[path = "rules/tokens.rs"]
mod tokens;
#[path = "rules/widest.rs"]
mod widest;
#[path = "rules/writes.rs"]
mod writes;
