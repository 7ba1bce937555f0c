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
}

interface Source {
  channel: string;
  agent?: string;
  device?: string;
}

type OutcomeKind = "answered" | "answered_in_terminal" | "dismissed" | "released" | "expired" | "withdrawn";

interface Outcome {
  kind: OutcomeKind;
  answers?: Record<string, string>;
  notes?: Record<string, string>;
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
  type: string;
  cursor: string;
  ask: Ask;
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

interface AskContext {
  said: string | null;
  branch: string | null;
}

interface Answer {
  answers: Record<string, string | string[]>;
  notes: Record<string, string>;
}

/** Why the daemon refused the answer to one question. */
interface AnswerError {
  question: string;
  problem: string;
}
