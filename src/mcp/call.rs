//! One call of the tool. It opens an ask, waits for its outcome across restarts of the daemon, and withdraws the ask if nobody wants the
//! answer any more.

use std::time::{Duration, Instant};

use answerback_hook::client::ExchangeError;
use answerback_hook::hint::Hint;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, RoleServer};
use tokio::sync::watch;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::api::{AnswerRequest, AskRequest, AskView, DismissRequest};
use crate::ask::harmless_name;
use crate::client::{Client, ClientError};

use super::tool::Inquiry;
use super::{Options, form, result};

/// Between two signs of life. Clients that count the time without any give up after a minute or more.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// How much later than its deadline the daemon may report the end of a question.
const SLACK: Duration = Duration::from_secs(5);
/// The longest name of a client that is passed on, in characters. The daemon takes more bytes than these can have.
const MAX_NAME: usize = 60;

/// A call, and what it needs to be answered.
pub(super) struct Call {
    client: Client,
    directory: Option<String>,
    asked_by: Option<String>,
    /// Whether the client is to show the questions too.
    shows_form: bool,
    left: watch::Receiver<bool>,
    context: RequestContext<RoleServer>,
}

/// What ends the waiting.
enum End {
    /// The daemon says how the ask ended, or there is a reason why it never will.
    Settled(Result<Box<AskView>, ClientError>),
    /// Nobody wants the answer any more.
    Unwanted,
    /// The deadline is over, and the daemon says nothing.
    Late,
}

impl Call {
    pub(super) fn new(
        client: &Client,
        options: &Options,
        left: watch::Receiver<bool>,
        context: RequestContext<RoleServer>,
    ) -> Self {
        let asked_by = name(&context);
        let client = asked_by.as_ref().map_or_else(|| client.clone(), |name| client.clone().named(name));
        let can_show_forms = || context.client_capabilities().as_ref().is_some_and(can_show_forms);
        let shows_form = options.elicitation && can_show_forms();
        Self { client, directory: options.directory.clone(), asked_by, shows_form, left, context }
    }

    /// Asks, and waits for the outcome. The error is for the model.
    pub(super) async fn ask(mut self, inquiry: Inquiry) -> Result<AskView, String> {
        let timeout_seconds = inquiry.timeout_seconds;
        let request = AskRequest {
            questions: inquiry.questions.into(),
            project: self.directory.clone(),
            asked_by: self.asked_by.clone(),
            timeout_seconds,
        };
        // This is not interrupted: an ask that was opened must be known, to be withdrawn.
        let ask = self.blocking(move |client| open(client, &request)).await.map_err(explained)?;
        let end = self.wait(&ask, timeout_seconds).await;
        if let End::Settled(Ok(ask)) = end {
            return Ok(*ask);
        }
        let key = ask.key.clone();
        let withdrawn = self.blocking(move |client| client.withdraw(&key)).await;
        if let Err(error) = &withdrawn {
            anstream::eprintln!("answerback: a question could not be taken back: {error}");
        }
        match end {
            End::Settled(Err(error)) => Err(explained(error)),
            End::Late => Err(result::failure("the daemon did not say in time how the question ended", None)),
            End::Settled(Ok(_)) | End::Unwanted => withdrawn.map_err(explained),
        }
    }

    async fn wait(&mut self, ask: &AskView, timeout_seconds: Option<u32>) -> End {
        let (client, key) = (self.client.clone(), ask.key.clone());
        let mut settled = spawn_blocking(move || client.until_settled(&key));
        let mut signs = signs_of_life();
        let began = Instant::now();
        let late = give_up(timeout_seconds);
        tokio::pin!(late);
        let mut shown = self.show_form(ask).await;
        let end = loop {
            tokio::select! {
                settled = &mut settled => break End::Settled(finished(settled).map(Box::new)),
                () = self.context.ct.cancelled() => break End::Unwanted,
                () = until_left(&mut self.left) => break End::Unwanted,
                () = &mut late => break End::Late,
                _ = signs.tick() => self.give_sign_of_life(began).await,
                reply = replied(&mut shown) => {
                    shown = None;
                    if let Some(reply) = reply {
                        self.pass_on(ask, reply).await;
                    }
                }
            }
        };
        if let Some(shown) = shown {
            self.tell(shown.cancel(Some("answered elsewhere, or no longer needed".to_owned()))).await;
        }
        end
    }

    /// Shows the questions in the client. `None` if it cannot.
    async fn show_form(&self, ask: &AskView) -> Option<RequestHandle<RoleServer>> {
        if !self.shows_form {
            return None;
        }
        let requested_schema = serde_json::from_value(form::schema(&ask.questions)).ok()?;
        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: form::MESSAGE.to_owned(),
            requested_schema,
        };
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        self.context.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await.ok()
    }

    /// Gives what the person at the client said to the daemon, which decides who was first.
    async fn pass_on(&self, ask: &AskView, reply: ElicitResult) {
        let (key, id) = (ask.key.clone(), Some(ask.id));
        let content = reply.content.unwrap_or_default();
        let passed_on = match reply.action {
            ElicitationAction::Accept => {
                let answers =
                    content.as_object().map(|content| form::answers(&ask.questions, content)).unwrap_or_default();
                let partial = answers.len() < ask.questions.len();
                let request = AnswerRequest { answers, partial, id, ..AnswerRequest::default() };
                self.blocking(move |client| client.answer(&key, &request)).await
            }
            ElicitationAction::Decline => {
                self.blocking(move |client| client.dismiss(&key, &DismissRequest { reason: None, id })).await
            }
            // The form was closed, which says nothing. Others can still answer.
            _ => return,
        };
        if let Err(error) = passed_on {
            anstream::eprintln!("answerback: what was entered in the client does not count: {error}");
        }
    }

    async fn give_sign_of_life(&self, began: Instant) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let seconds = began.elapsed().as_secs();
        let sign = ProgressNotificationParam::new(token, seconds as f64)
            .with_message(format!("Waiting for a person's answer in Answerback, for {seconds} s"));
        self.tell(self.context.peer.notify_progress(sign)).await;
    }

    /// Sends something to the client, as long as there is one. When it is gone, the library would wait for the end of this call.
    async fn tell<T>(&self, message: impl Future<Output = T>) {
        let mut left = self.left.clone();
        tokio::select! {
            _ = message => {}
            () = until_left(&mut left) => {}
        }
    }

    /// A call of the daemon.
    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Client) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, ClientError> {
        let client = self.client.clone();
        finished(spawn_blocking(move || call(&client)).await)
    }
}

/// Opens an ask. If the daemon died before it could reply, the ask may be open all the same. Then that one is used: nobody would ever take
/// it back, and a second one would ask the person twice.
fn open(client: &Client, request: &AskRequest) -> Result<AskView, ClientError> {
    // Ids only grow. Times would not do: the clock of the store may be another one.
    let newest = client.newest_open_ask()?.map(|ask| ask.id);
    match client.open_ask(request) {
        Err(ClientError::Unanswered(ExchangeError::Lost(_))) => {
            let is_this = |ask: &AskView| {
                (&ask.project, &ask.asked_by, &ask.questions)
                    == (&request.project, &request.asked_by, &request.questions)
                    && newest.is_none_or(|newest| ask.id > newest)
            };
            match client.open_asks()?.asks.into_iter().find(is_this) {
                Some(ask) => Ok(ask),
                None => client.open_ask(request),
            }
        }
        done => done,
    }
}

/// What a task has come to. Nobody aborts one, so it can only have panicked.
fn finished<T>(task: Result<T, JoinError>) -> T {
    task.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// An error in words for the model.
fn explained(error: ClientError) -> String {
    result::failure(&error.to_string(), error.hint().as_deref())
}

/// The name and the version of the client.
fn name(context: &RequestContext<RoleServer>) -> Option<String> {
    let info = context.client_info()?;
    let name = harmless_name(&format!("{} {}", info.title.as_deref().unwrap_or(&info.name), info.version))?;
    Some(name.chars().take(MAX_NAME).collect::<String>().trim_end().to_owned())
}

/// Whether a client with these capabilities can show forms.
pub(super) fn can_show_forms(capabilities: &ClientCapabilities) -> bool {
    // An empty capability means forms, as it did before there were others.
    capabilities.elicitation.as_ref().is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

fn signs_of_life() -> Interval {
    let mut signs = interval(SIGN_OF_LIFE);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    signs
}

/// Returns a little after the deadline. Without a deadline it never returns.
async fn give_up(timeout_seconds: Option<u32>) {
    match timeout_seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds.into()) + SLACK).await,
        None => std::future::pending().await,
    }
}

/// Returns when the client is gone.
async fn until_left(left: &mut watch::Receiver<bool>) {
    // It fails only if the server has ended, which is the same.
    drop(left.wait_for(|left| *left).await);
}

/// What the person at the client replied, if anything. Without a form it never returns.
async fn replied(shown: &mut Option<RequestHandle<RoleServer>>) -> Option<ElicitResult> {
    let Some(shown) = shown else { return std::future::pending().await };
    match (&mut shown.rx).await {
        Ok(Ok(ClientResult::ElicitResult(reply))) => Some(reply),
        _ => None,
    }
}
