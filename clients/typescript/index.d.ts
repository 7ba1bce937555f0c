// The types of the client. Those of the API are compared with the daemon's own description in tests/clients.

/** Finds the daemon of this user, or uses the one that is named. */
export function connect(options?: ConnectOptions): Promise<Answerback>;

export interface ConnectOptions {
  /** The address of the daemon. A browser needs it, with `token`. */
  url?: string;
  /** Goes with `url`. */
  token?: string;
  /** Goes with `url`, for `decide`: no other token may hand in calls of hooks. */
  hookToken?: string;
  /** The path of the daemon's socket. It needs no token. Only in Node.js. */
  socket?: string;
  /** Where `daemon.json` is, if it is not in the usual place. Only in Node.js. */
  stateDirectory?: string;
}

export interface Abortable {
  signal?: AbortSignal;
}

/** One connection of a program to the daemon. Every method throws an `AnswerbackError` if the daemon refuses or is not there. */
export class Answerback {
  /** Use `connect`. */
  constructor(transport: Transport);

  /**
   * The open asks, newest first, or those that the filter names. All open asks come as one list. With a `limit` or another `state`, it is
   * one page: send its `next` as `before`.
   */
  list(filter?: ListFilter, options?: Abortable): Promise<AskList>;

  /** One ask. With `wait`, it is returned when it is settled, or after that many seconds. */
  get(key: string, options?: Abortable & { wait?: number }): Promise<Ask>;

  /**
   * The open asks, and then every change, each of them once. It connects again by itself, and goes on after the last change that it has
   * seen. If the daemon has lost changes, the open asks come again as a list. It ends when the loop is left, and throws the reason of
   * `signal` when that is aborted.
   */
  watch(options?: WatchOptions): AsyncGenerator<ListEvent | AskEvent, never, void>;

  /** Answers an ask. If it was asked again since `ask` was read, the answer is refused. */
  answer(ask: AskRef, answers: Answers, options?: AnswerOptions): Promise<Ask>;

  /** Refuses to answer. The asker is told the reason. */
  dismiss(ask: AskRef, reason?: string): Promise<Ask>;

  /** Hands an ask back to the agent's own dialog. */
  release(ask: AskRef): Promise<Ask>;

  /** Asks, and waits for the outcome. If `signal` is aborted, the ask is withdrawn. */
  ask(request: AskRequest, options?: Abortable): Promise<Settled>;

  /**
   * Hands a tool call of Claude Code to people, and waits for their decision: an answer to its questions, a permission, or the approval of
   * a plan. The result is what `canUseTool` returns. If `signal` is aborted, the ask is withdrawn.
   *
   * `null` means that there is no decision: a person has handed the call back, or the time is up. The host then asks in its own way.
   */
  decide(call: ToolCall, options?: Abortable): Promise<Decision | null>;
}

/** What the daemon refused and why, or that it is not there. */
export class AnswerbackError extends Error {
  constructor(problem: Omit<Problem, "type"> & { kind: string; cause?: unknown });
  /** The HTTP status. 0 if there was no reply. */
  readonly status: number;
  /** The last part of the problem's `type`, for example `answered-already`. Without a reply: `unreachable` or `disconnected`. */
  readonly kind: string;
  readonly title: string;
  /** What to do about it. */
  readonly hint: string | null;
  /** What is wrong with each question. */
  readonly errors: QuestionFault[];
  /** The ask as it is now, if it was settled before. */
  readonly ask: Ask | null;
  /** How many seconds to wait before the next attempt. */
  readonly retryAfter: number | null;
}

// ---- Asks, as the API writes them. docs/api.md explains them.

export type Kind = "question" | "plan" | "form" | "permission";
export type State = "open" | "settled";
export type Origin = "claude-code" | "program" | "probe";
export type OutcomeKind = "answered" | "answered_in_terminal" | "dismissed" | "released" | "expired" | "withdrawn";
export type Channel = "socket" | "token" | "page" | "terminal" | "notification" | "away" | "hub";
export type EventType = "ask.opened" | "ask.settled" | "ask.deferred" | "ask.resumed" | "ask.receipt";

export type Ask = AskFields & AskedThing;
export type Settled = Ask & { state: "settled"; outcome: Outcome };

/** Enough of an ask to name it. */
export type AskRef = { key: string; id?: number };

export interface AskFields {
  /** `session`, two underscores, `tool_use_id`. */
  key: string;
  /** A key can be asked again. Each time has an id of its own. */
  id: number;
  session: string;
  tool_use_id: string;
  origin: Origin;
  project: string | null;
  /** The machine that the asker runs on. A project is the same one only on the same host. */
  host: string;
  /** The name that a program gave itself. */
  asked_by?: string | null;
  questions: Question[];
  state: State;
  /** The agent's own dialog is open too. */
  racing: boolean;
  /** Only true is ever written, and only in the replies to `list` and `get`. */
  perhaps_answered?: boolean;
  /** The run has stopped, and the answer is kept for the resumed run. */
  deferred: boolean;
  opened_at: string;
  expires_at: string | null;
  settled_at: string | null;
  /** `null` while the ask is open. */
  outcome: Outcome | null;
  receipt: Receipt | null;
}

/** A kind that only a newer daemon knows has questions too. */
export type AskedThing =
  | { kind: "question"; subject: null }
  | { kind: "plan"; subject: PlanSubject }
  | { kind: "form"; subject: FormSubject }
  | { kind: "permission"; subject: PermissionSubject };

export interface Question {
  question: string;
  header: string;
  /** No options: the answer is free text. */
  options: QuestionOption[];
  multiSelect: boolean;
  /** Only false is ever written: the answer must be one of the options. */
  freeText?: boolean;
  /** Only true is ever written: there may be no answer. */
  optional?: boolean;
}

export interface QuestionOption {
  label: string;
  description: string;
  preview?: string | null;
}

export interface PlanSubject {
  /** Markdown. */
  plan: string;
  file: string | null;
}

export interface PermissionSubject {
  tool: string;
  input: Record<string, unknown>;
  directory?: string;
  command?: string;
  path?: string;
  diff?: Diff;
  url?: string;
  server?: string;
  agent?: { id: string; type: string | null };
  grants: Grant[];
}

export interface Grant {
  /** The label of its option. */
  label: string;
  rules: string[];
  /** The file that the rules are written to. `null`: they are for this session only. */
  file: string | null;
}

export interface Diff {
  isNew: boolean;
  replacesUnseen: boolean;
  hunks: { old: number | null; new: number | null; lines: string[] }[];
}

export interface FormSubject {
  server: string;
  message: string;
  mode: "form" | "url";
  fields?: FormField[];
  url?: string;
}

export interface FormField {
  name: string;
  /** The text of the question that stands for the field. */
  question: string;
  type: "string" | "number" | "integer" | "boolean" | "choice" | "choices";
  required: boolean;
  /** The rules of its schema. */
  [rule: string]: unknown;
}

export interface Outcome {
  kind: OutcomeKind;
  answers?: Record<string, string> | null;
  notes?: Record<string, string> | null;
  /** What the person changed before they approved. */
  edited?: Record<string, unknown> | null;
  reason?: string | null;
  by: Source | null;
}

export interface Source {
  channel: Channel;
  agent?: string | null;
  device?: string | null;
  /** The person whose device it is, where people have roles. */
  person?: string | null;
  /** The daemon that took it, where several share a store. */
  hub?: string | null;
}

/** What Claude Code has reported receiving. */
export interface Receipt {
  answers: Record<string, string>;
  as_sent: boolean;
  at: string;
}

export interface AskList {
  asks: Ask[];
  /** The newest change that the list includes. */
  cursor: string;
  /** Send it as `before` to get the next page. */
  next: number | null;
  damaged?: number;
}

export interface AskEvent {
  type: EventType;
  cursor: string;
  ask: Ask;
}

/**
 * All open asks. `watch` begins with it. It comes again if the daemon has lost changes: then it takes the place of everything that was
 * told before, and an ask that is not in it is not open.
 */
export interface ListEvent {
  type: "list";
  cursor: string;
  asks: Ask[];
}

/** The daemon has lost changes. `watch` lists the open asks then, and does not pass this on. */
export interface ResetEvent {
  type: "reset";
  cursor: string;
}

export interface Problem {
  type: string;
  status: number;
  title: string;
  hint?: string | null;
  retry_after?: number | null;
  errors?: QuestionFault[];
  ask?: Ask | null;
}

export interface QuestionFault {
  question: string;
  problem: string;
}

// ---- What is sent.

export interface ListFilter {
  state?: State | "all";
  session?: string;
  project?: string;
  host?: string;
  kind?: Kind;
  outcome?: OutcomeKind;
  text?: string;
  opened_since?: string;
  key_end?: string;
  limit?: number;
  before?: number;
  probes?: boolean;
  /** With `wait`: a cursor. The list comes when there is a change after it. */
  since?: string;
  wait?: number;
}

export interface WatchOptions extends Abortable {
  /** Begin after this cursor, without the list of open asks. */
  after?: string;
  /** Include the test questions of `answerback doctor`. */
  probes?: boolean;
  /** How often the daemon shows that it is there, from 1 to 30 seconds. After two and a half times that, the connection is given up. */
  heartbeat?: number;
}

/** A label or free text for each question, under the text of the question. Several labels for a question with `multiSelect`. */
export type Answers = Record<string, string | string[]>;

export interface AnswerOptions {
  notes?: Record<string, string>;
  /** Questions may stay unanswered. */
  partial?: boolean;
  /** Fields that replace fields of what is approved. */
  edited?: Record<string, unknown> | null;
}

export interface AskRequest {
  questions: NewQuestion[];
  /** The directory that the questions are about. */
  project?: string | null;
  /** The name of the program that asks. People see it beside the questions. */
  asked_by?: string | null;
  /** Without it, the ask waits for as long as it takes. */
  timeout_seconds?: number | null;
}

export interface NewQuestion extends Partial<Omit<Question, "question" | "options">> {
  question: string;
  options?: (Partial<QuestionOption> & { label: string })[];
}

// ---- For the hosts of Claude Code. docs/hosts.md explains them.

/** A call that Claude Code asks its host about. */
export interface ToolCall {
  /** The id of the session. */
  session: string;
  /** The id of the call. */
  toolUseId: string;
  tool: string;
  input: Record<string, unknown>;
  /** The directory that the agent works in. Without it, that of this process. */
  directory?: string;
  /** What Claude Code suggests to remember. Without it, people can allow the call only once. */
  suggestions?: readonly object[];
  /** The subagent that makes the call. */
  agentId?: string;
  /** The MCP server of the tool. */
  mcpServer?: { name: string };
}

/** What `canUseTool` returns, and what a `control_response` carries. */
export type Decision =
  | { behavior: "allow"; updatedInput: Record<string, unknown>; updatedPermissions?: any[] }
  | { behavior: "deny"; message: string };

/**
 * Asks in several places at once, for example with `decide` and in a window of the host. The first decision counts, and the other askers
 * are aborted. An asker without a decision, or one that fails, leaves it to the others. If none has a decision, the result is `null`, or
 * the first failure is thrown.
 */
export function firstDecision(askers: ((signal: AbortSignal) => Promise<Decision | null>)[], options?: Abortable): Promise<Decision | null>;

// ---- Inside.

/** The way to the daemon. */
export interface Transport {
  send(request: TransportRequest): Promise<TransportReply>;
}

export interface TransportRequest {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  /** It is a call of a hook: another token, and a sign of life before the reply. */
  isHook?: boolean;
}

export interface TransportReply {
  status: number;
  body: AsyncIterable<Uint8Array>;
}
