//! People and what they may do, over HTTP.

use axum::Json as JsonReply;
use axum::extract::State;
use axum::http::StatusCode;

use crate::access::PersonError;
use crate::api::{GrantsRequest, PersonList, PersonRequest, PersonView, Problem};
use crate::store::{Device, Person};

use super::App;
use super::extract::{Json, Name};

/// Lists the people and what they may do. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(get, path = "/v1/people", operation_id = "listPeople", tag = "people", responses(
    (status = 200, body = PersonList, description = "The people, in the order in which they were added"))))]
pub(super) async fn list(State(app): State<App>) -> Result<JsonReply<PersonList>, Problem> {
    let (people, devices) = (app.access.people().await?, app.access.devices().await?);
    Ok(JsonReply(PersonList { people: people.into_iter().map(|person| view(person, &devices)).collect() }))
}

fn view(person: Person, devices: &[Device]) -> PersonView {
    let is_theirs = |device: &&Device| device.person.as_ref().is_some_and(|owner| owner.id == person.id);
    let count = devices.iter().filter(is_theirs).count();
    PersonView::new(person, count)
}

/// Adds a person. They get in with a device that is paired for them: `POST /v1/pairing`. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/people", operation_id = "addPerson", tag = "people", request_body = PersonRequest, responses(
    (status = 201, body = PersonView, description = "The person is added"),
    (status = 409, description = "Somebody has this name (`name-taken`)."),
    (status = 422, description = "The name or the grants cannot be used, or the body has the wrong shape (`invalid`)."))))]
pub(super) async fn add(
    State(app): State<App>,
    Json(request): Json<PersonRequest>,
) -> Result<(StatusCode, JsonReply<PersonView>), Problem> {
    let person = app.access.add_person(&request.name, request.grants).await?;
    tracing::info!(id = person.id, name = person.name, "a person was added");
    Ok((StatusCode::CREATED, JsonReply(PersonView::new(person, 0))))
}

/// Replaces what a person may do. It counts at once, also for what is under way. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(put, path = "/v1/people/{id}/grants", operation_id = "setGrants", tag = "people",
    params(("id" = i64, Path, description = "From `GET /v1/people`")), request_body = GrantsRequest, responses(
    (status = 200, body = PersonView, description = "What the person may do now"),
    (status = 404, description = "There is no such person (`not-found`)."),
    (status = 422, description = "The grants cannot be used, or the body has the wrong shape (`invalid`)."))))]
pub(super) async fn grant(
    State(app): State<App>,
    Name(id): Name,
    Json(request): Json<GrantsRequest>,
) -> Result<JsonReply<PersonView>, Problem> {
    let person = app.access.set_grants(number(&id)?, request.grants).await?;
    tracing::info!(id = person.id, name = person.name, "a person has other rights");
    Ok(JsonReply(view(person, &app.access.devices().await?)))
}

/// Removes a person. Their devices are signed out, and their event streams and sockets end. Over the socket, or with the role admin.
#[cfg_attr(test, utoipa::path(post, path = "/v1/people/{id}/revoke", operation_id = "revokePerson", tag = "people",
    params(("id" = i64, Path, description = "From `GET /v1/people`")), responses(
    (status = 204, description = "The person is removed"),
    (status = 404, description = "There is no such person (`not-found`)."))))]
pub(super) async fn revoke(State(app): State<App>, Name(id): Name) -> Result<StatusCode, Problem> {
    let id = number(&id)?;
    let devices = app.access.remove_person(id).await?;
    tracing::info!(id, devices, "a person was removed");
    Ok(StatusCode::NO_CONTENT)
}

fn number(id: &str) -> Result<i64, Problem> {
    id.parse().map_err(|_| PersonError::Unknown.into())
}

impl From<PersonError> for Problem {
    fn from(error: PersonError) -> Self {
        let title = error.to_string();
        match error {
            PersonError::Unknown => Self::not_found(&title).hint("GET /v1/people lists them."),
            PersonError::NameTaken => Self::new(StatusCode::CONFLICT, "name-taken", title)
                .hint("Choose another name, or change what they may do with: answerback people grant"),
            PersonError::NoName => Self::invalid(title, Vec::new()).hint("Send a `name` that can be read."),
            PersonError::Grants(_) => Self::invalid(title, Vec::new()).hint(
                "A grant has a `role` (view, answer or admin) and may have a `project`, a pattern like `/srv/*`.",
            ),
            PersonError::Store(error) => error.into(),
        }
    }
}
