// The JSON of the API, as docs/api.md describes it. For the type checker only; the daemon does not serve this file.

interface QuestionOption {
  label: string;
  description: string;
  preview?: string;
}

interface Question {
  question: string;
  header: string;
  options: QuestionOption[];
  multiSelect: boolean;
  /** Present only if it is false. */
  freeText?: boolean;
  /** Present only if it is true. */
  optional?: boolean;
}

interface Source {
  channel: string;
  agent?: string;
  device?: string;
  person?: string;
  hub?: string;
}

type OutcomeKind = "answered" | "answered_in_terminal" | "dismissed" | "released" | "expired" | "withdrawn";

interface Outcome {
  kind: OutcomeKind;
  answers?: Record<string, string>;
  notes?: Record<string, string>;
  /** What the person changed before they approved: fields that replaced fields of the input. */
  edited?: Record<string, unknown>;
  reason?: string;
  by: Source | null;
}

interface Receipt {
  answers: Record<string, string>;
  as_sent: boolean;
  at: string;
}

interface Ask {
  key: string;
  id: number;
  session: string;
  tool_use_id: string;
  origin: "claude-code" | "program";
  project: string | null;
  /** The machine that the asker runs on. */
  host: string;
  /** The name that the program gave itself. */
  asked_by?: string;
  /** Which kind of decision this is; see kinds.js. A missing kind means `question`. */
  kind?: string;
  /** What the decision is about; null for a question. */
  subject?: unknown;
  questions: Question[];
  state: "open" | "settled";
  racing: boolean;
  /** Present only if it is true: the agent has started a command since it asked. Not in events. */
  perhaps_answered?: boolean;
  deferred: boolean;
  opened_at: string;
  expires_at: string | null;
  settled_at: string | null;
  outcome: Outcome | null;
  receipt: Receipt | null;
}

interface AskList {
  asks: Ask[];
  cursor: string;
  next: number | null;
  damaged?: number;
}

interface AskEvent {
  type: "ask.opened" | "ask.settled" | "ask.deferred" | "ask.resumed" | "ask.receipt";
  cursor: string;
  ask: Ask;
}

/** The order of changes was broken off, and what was shown may be undone. The asks are to be listed again. */
interface ResetEvent {
  type: "reset";
  cursor: string;
}

/** What a person says to everything that is asked while they are away. */
interface Away {
  /** The directory that it is for; null for all. */
  project: string | null;
  words: string;
  kinds: string[];
  since: string;
  until: string;
  by: Source | null;
}

/** The situation in which an ask came up, as far as it is known. */
interface AskContext {
  /** What the agent said last before it asked. */
  said: string | null;
  branch: string | null;
  /** What the session is about. */
  title: string | null;
  /** Whether a terminal asks too, or would if the ask was handed to it. */
  terminal: boolean;
  /** What happens at the deadline: the agent's own dialog, a refusal, or the run ends and waits to be resumed. */
  on_timeout: "native" | "deny" | "defer";
}

/** How far a person has come with setting Answerback up. */
interface Setup {
  /** Claude Code has asked through the hook, or a project has it. */
  hook: boolean;
  /** Somebody has answered something. */
  answered: boolean;
  /** The ways in which people are told of new asks: `desktop`, `ntfy`, `webhook`. */
  notify: string[];
}

interface Answer {
  answers: Record<string, string | string[]>;
  notes: Record<string, string>;
  edited?: Record<string, unknown>;
}

/** Why the daemon refused the answer to one question. */
interface AnswerError {
  question: string;
  problem: string;
}

/** The subject of a permission: a call of a tool. */
interface CallSubject {
  tool: string;
  /** The whole input of the tool. */
  input: Record<string, unknown>;
  directory?: string;
  /** Only for a shell command. */
  command?: string;
  /** Only for a change of a file. */
  path?: string;
  diff?: Diff;
  /** Only for a fetch. */
  url?: string;
  /** Only for a tool of an MCP server. */
  server?: string;
  /** Only in a subagent. */
  agent?: { id: string; type: string | null };
  grants: Grant[];
}

/** A rule that can be granted together with a call. */
interface Grant {
  /** The label of its option. */
  label: string;
  rules: string[];
  /** The file that Claude Code writes the rules to; null if they are for this session only. */
  file: string | null;
}

interface Diff {
  isNew: boolean;
  /** The call replaces all of a file that cannot be shown. */
  replacesUnseen: boolean;
  hunks: Hunk[];
}

interface Hunk {
  /** The numbers of the first line, before and after; null if the place in the file is not known. */
  old: number | null;
  new: number | null;
  /** Each begins with a space, `-` or `+`. */
  lines: string[];
}

interface PlanSubject {
  plan: string;
  file: string | null;
}

/** The subject of a form: fields to fill in, or an address to open. */
interface FormSubject {
  server: string;
  message: string;
  mode: "form" | "url";
  fields?: FormField[];
  url?: string;
}

interface FormField {
  name: string;
  /** The text of the question that stands for the field. */
  question: string;
  type: "string" | "number" | "integer" | "boolean" | "choice" | "choices";
  required: boolean;
  description?: string;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}
