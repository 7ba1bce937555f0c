//! How far a newcomer has come, for the page that helps them.

use axum::Json;
use axum::extract::State;

use crate::api::{Problem, Setup};
use crate::store::Milestone;

use super::App;
use super::reach::LanReach;

/// Gets what is set up: the hook, the first answer, notifications and the local network.
#[cfg_attr(test, utoipa::path(get, path = "/v1/setup", operation_id = "getSetup", tag = "daemon", responses(
    (status = 200, body = Setup, description = "What is set up"))))]
pub(super) async fn setup(State(app): State<App>) -> Result<Json<Setup>, Problem> {
    Ok(Json(Setup {
        hook: app.inbox.has_reached(Milestone::HookCall).await?,
        answered: app.inbox.has_reached(Milestone::Answer).await?,
        notify: app.ways.iter().map(|way| (*way).to_owned()).collect(),
        lan: matches!(app.reach.lan, LanReach::On { .. }),
    }))
}
