//! An MCP server over stdin and stdout. It gives any agent the tool `ask_human`, and asks through the daemon.
//!
//! - `tool`: the tool as a model sees it. `result`: what the model gets. `form`: the questions for a person at the client. All are pure.
//! - `call`: one call of the tool, from the ask to its outcome.
//! - `input`: notices when the client closes our input.

mod call;
mod form;
mod input;
mod result;
mod tool;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, PingRequest, ProtocolVersion, ServerCapabilities, ServerConfig, ServerRequest, Tool,
    ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, ServerInitializeError, serve_server};
use rmcp::{ServerHandler, transport::async_rw::AsyncRwTransport};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::client::Client;

use call::{Call, can_show_forms};
use input::Input;

/// How long the calls that wait may take to withdraw their asks when the client is gone. The daemon may have to be started for that.
const FAREWELL: Duration = Duration::from_secs(10);

/// What a person chose for the server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory that the agent works in.
    pub directory: Option<String>,
    /// Whether the client shows the questions too, if it can.
    pub elicitation: bool,
}

/// Serves until the client closes our input, or a signal ends us. Whatever is still asked then is withdrawn.
pub async fn serve(client: Client, options: Options) -> anyhow::Result<()> {
    let (leave, left) = watch::channel(false);
    let (running, mut all_ended) = mpsc::channel(1);
    let mut signals = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let server = Server { client, options, left, _running: running };
    let input = Input::new(tokio::io::stdin(), leave.clone());
    let serving = async {
        match serve_server(server, AsyncRwTransport::new_server(input, tokio::io::stdout())).await {
            Ok(service) => service.waiting().await.map(drop).map_err(anyhow::Error::from),
            // The client has gone before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    };
    let [hang_up, interrupt, terminate] = &mut signals;
    let end = tokio::select! {
        end = serving => end,
        () = received(hang_up) => Ok(()),
        () = received(interrupt) => Ok(()),
        () = received(terminate) => Ok(()),
    };
    leave.send_replace(true);
    // Every call holds the server, and with it the other end.
    drop(tokio::time::timeout(FAREWELL, all_ended.recv()).await);
    end
}

/// Returns when the signal comes. Without a handler for it, never.
async fn received(signal: &mut std::io::Result<tokio::signal::unix::Signal>) {
    match signal {
        Ok(signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

struct Server {
    client: Client,
    options: Options,
    /// True when the client is gone.
    left: watch::Receiver<bool>,
    /// Dropped with the last call.
    _running: mpsc::Sender<()>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("answerback", env!("CARGO_PKG_VERSION")).with_title("Answerback");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(tool::INSTRUCTIONS)
    }

    /// From 2026-07-28 on, a server may not ask its client for anything while a call waits. So whoever wants forms gets an older version.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self.options.elicitation {
            true => ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE),
            false => ProtocolVersion::KNOWN_VERSIONS,
        })
    }

    /// Clients made with the official TypeScript SDK ignore the cancellation of the request with the id 0, and would never close that form.
    /// So the first request is not a form.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let can_show_forms = || context.peer.peer_info().is_some_and(|client| can_show_forms(&client.capabilities));
        if self.options.elicitation && can_show_forms() {
            let ping = ServerRequest::PingRequest(PingRequest::default());
            // The reply says nothing.
            drop(context.peer.send_request(ping).await);
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // It changes nothing. So clients may make several calls at once.
        let hints = ToolAnnotations::with_title("Ask a person").read_only(true).open_world(false);
        let tool = Tool::new(tool::NAME, tool::DESCRIPTION, tool::input_schema())
            .with_title("Ask a person")
            .with_raw_output_schema(Arc::new(tool::output_schema()))
            .with_annotations(hints);
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            let message = format!("there is no tool {:?}: the only one is {}", request.name, tool::NAME);
            return Err(ErrorData::invalid_params(message, None));
        }
        let inquiry = match tool::read(request.arguments.unwrap_or_default()) {
            Ok(inquiry) => inquiry,
            Err(why) => return Ok(failed(why).into()),
        };
        let call = Call::new(&self.client, &self.options, self.left.clone(), context);
        Ok(match call.ask(inquiry).await {
            Ok(ask) => {
                let mut reply = CallToolResult::success(vec![ContentBlock::text(result::text(&ask))]);
                reply.structured_content = result::structured(&ask);
                reply.into()
            }
            Err(why) => failed(why).into(),
        })
    }
}

/// A failure that the model can read.
fn failed(why: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}
