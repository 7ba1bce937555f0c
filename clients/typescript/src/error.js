/** @typedef {import("../index.d.ts").Problem} Problem */

export class AnswerbackError extends Error {
  /** @param {ConstructorParameters<typeof import("../index.d.ts").AnswerbackError>[0]} problem */
  constructor({ status, kind, title, hint = null, errors = [], ask = null, retry_after = null, cause }) {
    super(hint ? `${title} ${hint}` : title, { cause });
    this.name = "AnswerbackError";
    this.status = status;
    this.kind = kind;
    this.title = title;
    this.hint = hint;
    this.errors = errors;
    this.ask = ask;
    this.retryAfter = retry_after;
  }
}

/** No connection to the daemon. @param {string} where @param {unknown} cause */
export function unreachable(where, cause) {
  const hint = "Is it running? `answerback status` says, and `answerback restart` starts it.";
  return new AnswerbackError({ status: 0, kind: "unreachable", title: `The daemon cannot be reached at ${where}.`, hint, cause });
}

/** The connection was there. @param {unknown} cause */
export function disconnected(cause) {
  return new AnswerbackError({ status: 0, kind: "disconnected", title: "The connection to the daemon was lost before its reply.", cause });
}

/**
 * What the daemon says about a request that it refuses. A proxy may say something else.
 * @param {number} status
 * @param {string} text
 */
export function refused(status, text) {
  /** @type {Partial<Problem>} */
  let problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // The status has to do.
  }
  const { type = "", title = `The reply has the status ${status}.` } = problem;
  return new AnswerbackError({ ...problem, status, kind: type.split(":").at(-1) || "unknown", title });
}
