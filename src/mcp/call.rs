//! One call of the tool. It opens an ask, waits for its outcome across restarts of the daemon, and withdraws the ask if nobody wants the
//! answer any more.

use std::time::{Duration, Instant};

use answerback_hook::hint::Hint;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ProgressNotificationParam, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RequestHandle, RoleServer};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
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
    /// The daemon says how the ask ended, or why it cannot say it.
    Settled(Result<AskView, String>),
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
        let ask = self.blocking(move |client| client.open_ask(&request)).await?;
        let end = self.wait(&ask, timeout_seconds).await;
        match end {
            End::Settled(Ok(ask)) => return Ok(ask),
            End::Settled(Err(_)) | End::Unwanted | End::Late => {}
        }
        let key = ask.key.clone();
        let withdrawn = self.blocking(move |client| client.withdraw(&key)).await;
        match (end, withdrawn) {
            (End::Settled(Err(why)), _) => Err(why),
            (End::Late, Err(_)) => Err(result::failure("the daemon did not say in time how the question ended", None)),
            (_, withdrawn) => withdrawn,
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
                settled = &mut settled => {
                    let settled = settled.map_err(|error| result::failure(&error.to_string(), None));
                    break End::Settled(settled.and_then(|settled| settled.map_err(|error| explained(&error))));
                }
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
            // If this fails, the client is gone, and its form with it.
            drop(shown.cancel(Some("answered elsewhere, or no longer needed".to_owned())).await);
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
        if let Err(why) = passed_on {
            anstream::eprintln!("answerback: what was entered in the client does not count: {why}");
        }
    }

    async fn give_sign_of_life(&self, began: Instant) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let seconds = began.elapsed().as_secs();
        let sign = ProgressNotificationParam::new(token, seconds as f64)
            .with_message(format!("Waiting for a person's answer in Answerback, for {seconds} s"));
        // If this fails, the client is gone, and that ends the waiting in another way.
        drop(self.context.peer.notify_progress(sign).await);
    }

    /// A call of the daemon. The error is for the model.
    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Client) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, String> {
        let client = self.client.clone();
        match spawn_blocking(move || call(&client)).await {
            Ok(reply) => reply.map_err(|error| explained(&error)),
            Err(error) => Err(result::failure(&error.to_string(), None)),
        }
    }
}

fn explained(error: &ClientError) -> String {
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
