//! A connection to the engine that is made again whenever it is lost. Every call has a deadline, because the driver has none.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use crate::store::StoreError;

use super::error::CallError;
use super::follow::Input;
use super::times::milliseconds;
use super::{PostgresOptions, schema, writer};

/// What a connection is for.
#[derive(Debug, Clone)]
pub(super) enum Role {
    Writer,
    /// Listens to a channel, and hands on what it hears.
    Follower {
        channel: String,
        heard: mpsc::UnboundedSender<Input>,
    },
    Reader,
    /// Renews leases, for which nothing may be in the way.
    Keeper,
}

/// One connection, as long as it lasts.
pub(super) struct Session {
    client: Client,
    task: AbortHandle,
    /// The statement that runs a batch. Only the writer has it.
    apply: Option<Statement>,
    call: Duration,
}

/// A value in a statement, with its type.
pub(super) struct Value(Box<dyn ToSql + Sync + Send>, Type);

macro_rules! value_from {
    ($($from:ty => $type:expr),+ $(,)?) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self(Box::new(value), $type)
            }
        }
    )+};
}
value_from! {
    i64 => Type::INT8,
    i32 => Type::INT4,
    bool => Type::BOOL,
    String => Type::TEXT,
    Option<String> => Type::TEXT,
    Option<i64> => Type::INT8,
    Vec<u8> => Type::BYTEA,
    Vec<i64> => Type::INT8_ARRAY,
    Vec<String> => Type::TEXT_ARRAY,
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl Session {
    /// Runs one statement. All of it goes out in one send.
    pub(super) async fn query(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, CallError> {
        self.query_within(self.call, statement, values).await
    }

    pub(super) async fn query_within(
        &self,
        limit: Duration,
        statement: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, CallError> {
        let values: Vec<_> =
            values.iter().map(|Value(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
        self.within(limit, self.client.query_typed(statement, &values)).await
    }

    /// Runs the statement of the writer.
    pub(super) async fn apply(&self, values: &[Value]) -> Result<Vec<Row>, CallError> {
        let Some(statement) = &self.apply else { return Err(CallError::Lost("not the writer".to_owned())) };
        let values: Vec<_> = values.iter().map(|Value(value, _)| &**value as &(dyn ToSql + Sync)).collect();
        self.within(self.call, self.client.query(statement, &values)).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, CallError> {
        // The future is large, and the deadline copies it.
        let result = match timeout(limit, pin!(call)).await {
            Ok(result) => result.map_err(CallError::from),
            Err(_) => Err(CallError::Lost(format!("PostgreSQL did not reply within {limit:?}"))),
        };
        if matches!(result, Err(CallError::Lost(_))) {
            self.end();
        }
        result
    }

    /// Ends the connection. A call that is still under way fails.
    pub(super) fn end(&self) {
        self.task.abort();
    }
}

/// A connection that is made again whenever it is lost.
#[derive(Clone)]
pub(super) struct Link {
    state: watch::Receiver<State>,
}

#[derive(Clone)]
enum State {
    Up(Arc<Session>),
    Down(String),
}

impl Link {
    /// Connects for the first time, and keeps connecting from then on until all links to it are dropped. `refused` is told if the engine
    /// comes back with tables that this version must not use.
    pub(super) async fn open(
        options: &PostgresOptions,
        role: Role,
        refused: watch::Sender<Option<StoreError>>,
    ) -> Result<Self, StoreError> {
        let (session, task) = connect(options, &role).await?;
        let (up, state) = watch::channel(State::Up(Arc::new(session)));
        tokio::spawn(keep(options.clone(), role, task, up, refused));
        Ok(Self { state })
    }

    /// The connection, as soon as there is one, within a time.
    pub(super) async fn session(&self, within: Duration) -> Result<Arc<Session>, StoreError> {
        if let Some(session) = self.session_now() {
            return Ok(session);
        }
        let mut state = self.state.clone();
        let up = async {
            loop {
                if let State::Up(session) = &*state.borrow_and_update()
                    && !session.client.is_closed()
                {
                    return Some(Arc::clone(session));
                }
                state.changed().await.ok()?;
            }
        };
        match timeout(within, up).await {
            Ok(Some(session)) => Ok(session),
            Ok(None) => Err(StoreError::Closed),
            Err(_) => Err(StoreError::Unreachable(self.why_down())),
        }
    }

    pub(super) fn session_now(&self) -> Option<Arc<Session>> {
        match &*self.state.borrow() {
            State::Up(session) if !session.client.is_closed() => Some(Arc::clone(session)),
            _ => None,
        }
    }

    fn why_down(&self) -> String {
        match &*self.state.borrow() {
            State::Down(why) => why.clone(),
            State::Up(_) => "the connection to PostgreSQL was lost".to_owned(),
        }
    }
}

async fn keep(
    options: PostgresOptions,
    role: Role,
    mut task: JoinHandle<String>,
    up: watch::Sender<State>,
    refused: watch::Sender<Option<StoreError>>,
) {
    let times = options.times;
    loop {
        let why = tokio::select! {
            why = &mut task => why.unwrap_or_else(|_| "PostgreSQL did not reply in time".to_owned()),
            () = up.closed() => {
                task.abort();
                return;
            }
        };
        tracing::warn!(why, "the connection to the store is lost: it is made again");
        up.send_replace(State::Down(why));
        let mut pause = times.first_pause;
        loop {
            if up.is_closed() {
                return;
            }
            match connect(&options, &role).await {
                Ok((session, next)) => {
                    task = next;
                    up.send_replace(State::Up(Arc::new(session)));
                    if let Role::Follower { heard, .. } = &role {
                        drop(heard.send(Input::Connected));
                    }
                    break;
                }
                Err(error @ StoreError::Newer { .. }) => {
                    refused.send_replace(Some(error));
                    return;
                }
                Err(error) => drop(up.send_replace(State::Down(error.to_string()))),
            }
            sleep(pause).await;
            pause = times.last_pause.min(pause * 2);
        }
        tracing::info!("the connection to the store is there again");
    }
}

/// Connects once, with one deadline for everything.
async fn connect(options: &PostgresOptions, role: &Role) -> Result<(Session, JoinHandle<String>), StoreError> {
    let limit = options.times.call;
    match timeout(limit, connect_and_prepare(options, role)).await {
        Ok(connected) => connected,
        Err(_) => Err(StoreError::Unreachable(format!("PostgreSQL at {options} did not reply within {limit:?}"))),
    }
}

async fn connect_and_prepare(
    options: &PostgresOptions,
    role: &Role,
) -> Result<(Session, JoinHandle<String>), StoreError> {
    let unreachable = |error: tokio_postgres::Error| CallError::from(error).as_unreachable();
    let (client, mut connection) = options.config.connect(options.tls.clone()).await.map_err(unreachable)?;
    let heard = match role {
        Role::Follower { heard, .. } => Some(heard.clone()),
        Role::Writer | Role::Reader | Role::Keeper => None,
    };
    let task = tokio::spawn(async move {
        loop {
            match poll_fn(|context| connection.poll_message(context)).await {
                Some(Ok(AsyncMessage::Notification(notice))) => {
                    if let Some(heard) = &heard {
                        drop(heard.send(Input::Notice(notice.payload().to_owned())));
                    }
                }
                // The commit is on one machine, and nobody waits for the standby any more. That must not pass for a confirmation.
                Some(Ok(AsyncMessage::Notice(notice))) if notice.routine() == Some("SyncRepWaitForLSN") => {
                    return format!("PostgreSQL: {}", notice.message());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return super::error::say(&error),
                None => return "PostgreSQL closed the connection".to_owned(),
            }
        }
    });
    let mut session = Session { client, task: task.abort_handle(), apply: None, call: options.times.call };
    prepare(&mut session, options, role).await.inspect_err(|_| session.end())?;
    Ok((session, task))
}

async fn prepare(session: &mut Session, options: &PostgresOptions, role: &Role) -> Result<(), StoreError> {
    let unreachable = |error: tokio_postgres::Error| CallError::from(error).as_unreachable();
    // The engine gives up a little before this side does: then it is known that nothing was done.
    let limit = match role {
        Role::Reader | Role::Follower { .. } => options.times.query,
        Role::Writer | Role::Keeper => options.times.call,
    };
    let limit = milliseconds(limit.mul_f32(0.8));
    // Somebody may have changed the defaults of the database. A stronger `synchronous_commit` is left alone.
    let settings = format!(
        "SET statement_timeout = {limit}; SET search_path = pg_catalog; SET timezone = 'UTC';
         SET default_transaction_isolation = 'read committed';
         SELECT set_config('synchronous_commit', 'on', false)
         WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"
    );
    session.client.batch_execute(&settings).await.map_err(unreachable)?;
    match role {
        Role::Writer => {
            schema::prepare(&session.client, &options.namespace).await?;
            session.apply =
                Some(session.client.prepare_typed(writer::APPLY, &writer::APPLY_TYPES).await.map_err(unreachable)?);
        }
        Role::Follower { channel, .. } => {
            schema::check(&session.client).await?;
            session.client.batch_execute(&format!("LISTEN {channel}")).await.map_err(unreachable)?;
        }
        Role::Reader | Role::Keeper => schema::check(&session.client).await?,
    }
    Ok(())
}
