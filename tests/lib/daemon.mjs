// The daemon as a person's tool sees it: found through daemon.json, used over HTTP.
import fs from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { gone, kill } from "./process.mjs";
import { until } from "./until.mjs";

const LONG_POLL_SECONDS = 5;
const DEADLINE_MS = 60_000;
/** @typedef {{ url: string, token: string, pid: number }} DaemonRecord what daemon.json says */
/** @typedef {{ key: string }} AskRef */

export class Daemon {
  #state;
  #down;

  /**
   * @param {string} home
   * @param {string[]} down the errors of a connection that mean that the daemon is down
   */
  constructor(home, down) {
    this.#down = down;
    this.#state = path.join(home, ".local/state/answerback");
  }

  /**
   * Resolves to the open asks of these calls, in the order of the calls, as soon as exactly these are open.
   * @param {...import("./calls.mjs").Call} calls
   * @returns {Promise<Ask[]>}
   */
  opened(...calls) {
    return this.#open(`the asks of ${calls.map(({ id }) => id)}`, (open) => {
      const asks = calls.flatMap(({ id }) => open.find(({ tool_use_id }) => tool_use_id === id) ?? []);
      return asks.length === calls.length && open.length === calls.length ? asks : null;
    });
  }

  /** Resolves to the open ask of this kind, as soon as it is the only one that is open. @param {string} kind @returns {Promise<Ask>} */
  openedKind(kind) {
    return this.#open(`one ask of the kind ${kind}`, (open) => (open.length === 1 && open[0].kind === kind ? open[0] : null));
  }

  /** Resolves when no ask is open. */
  noneOpen() {
    return this.#open("nothing", (open) => (open.length === 0 ? open : null));
  }

  /**
   * @template T
   * @param {string} what
   * @param {(open: Ask[]) => T | null} find
   */
  async #open(what, find) {
    const deadline = Date.now() + DEADLINE_MS;
    let cursor;
    for (;;) {
      const poll = cursor === undefined ? "" : `&since=${cursor}&wait=${LONG_POLL_SECONDS}`;
      /** @type {AskList} */
      const list = await this.get(`/v1/asks?state=open${poll}`);
      const found = find(list.asks);
      if (found) return found;
      if (Date.now() > deadline) throw new Error(`expected ${what} to be open, found: ${JSON.stringify(list.asks)}`);
      cursor = encodeURIComponent(list.cursor);
    }
  }

  /**
   * @param {AskRef} ask
   * @param {Answer["answers"]} answers
   * @param {Answer["notes"]} [notes]
   */
  answer(ask, answers, notes = {}) {
    return this.#settle(ask, "answer", { answers, notes });
  }

  /**
   * Chooses an option of an ask with one question, or says something else.
   * @param {Ask} ask
   * @param {string} label
   * @param {{ note?: string, edited?: Record<string, unknown> }} [more]
   */
  decide(ask, label, { note, edited } = {}) {
    const [{ question }] = ask.questions;
    const notes = note === undefined ? {} : { [question]: note };
    return this.#settle(ask, "answer", { answers: { [question]: label }, notes, edited });
  }

  /**
   * An answer that the daemon refuses. Resolves to what is wrong with it.
   * @param {AskRef} ask
   * @param {Answer["answers"]} answers
   * @returns {Promise<{ status: number, errors: AnswerError[] }>}
   */
  async refused(ask, answers) {
    const response = await this.#post(`${askPath(ask)}/answer`, { answers });
    if (response.ok) throw new Error(`the daemon took ${JSON.stringify(answers)} for an answer`);
    return { status: response.status, errors: (await response.json()).errors };
  }

  /**
   * @param {AskRef} ask
   * @param {string} reason
   */
  dismiss(ask, reason) {
    return this.#settle(ask, "dismiss", { reason });
  }

  /** @param {AskRef} ask */
  release(ask) {
    return this.#settle(ask, "release", {});
  }

  /** The ask as soon as it is settled. @param {AskRef} ask */
  settled(ask) {
    return until(`${ask.key} being settled`, async () => {
      /** @type {Ask} */
      const seen = await this.get(`${askPath(ask)}?wait=${LONG_POLL_SECONDS}`);
      return seen.outcome ? { ...seen, outcome: seen.outcome } : null;
    });
  }

  /** The ask as it is now. @param {AskRef} ask @returns {Promise<Ask>} */
  seen(ask) {
    return this.get(askPath(ask));
  }

  /** Whether the daemon knows this ask, and it is open. @param {AskRef} ask */
  async isOpen(ask) {
    const response = await this.#onceUp(askPath(ask));
    if (response.status === 404) return false;
    return (await json(response, askPath(ask))).state === "open";
  }

  /** The ask as soon as Claude Code was seen to have received the answer. @param {AskRef} ask */
  received(ask) {
    return until(`a receipt of ${ask.key}`, async () => {
      const { receipt, outcome, ...seen } = await this.seen(ask);
      return receipt && outcome && { ...seen, receipt, outcome };
    });
  }

  /** The settled asks, newest first. */
  async history() {
    return /** @type {AskList} */ (await this.get("/v1/asks?state=settled")).asks;
  }

  /** Kills the daemon with SIGKILL. Resolves to its process id when it is gone: until then its lock keeps others from starting. */
  async kill() {
    const { pid } = await this.running();
    if (!kill(pid)) throw new Error(`the daemon (pid ${pid}) was gone before the test killed it`);
    await gone(pid);
    return pid;
  }

  /** Resolves when daemon.json names another daemon than `pid`. @param {number} pid */
  restarted(pid) {
    return until(`a daemon other than pid ${pid} in daemon.json`, async () => {
      const record = await this.record();
      return record !== null && record.pid !== pid;
    });
  }

  /** daemon.json, or null if there is none. @returns {Promise<DaemonRecord | null>} */
  async record() {
    try {
      return JSON.parse(await fs.readFile(path.join(this.#state, "daemon.json"), "utf8"));
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return null;
      throw error;
    }
  }

  /** daemon.json, which must be there. */
  async running() {
    const record = await this.record();
    if (!record) throw new Error("no daemon.json: no daemon has started yet");
    return record;
  }

  /** The log, for the report of a failed test. */
  async log() {
    const names = await fs.readdir(this.#state).catch(() => []);
    const logs = names.filter((name) => name.endsWith(".log"));
    const texts = await Promise.all(logs.map((name) => fs.readFile(path.join(this.#state, name), "utf8")));
    return `${names.join(" ") || "(no state directory)"}\n${texts.join("\n")}`;
  }

  /** The JSON of a 200. @param {string} target @returns {Promise<any>} */
  async get(target) {
    return json(await this.#onceUp(target), target);
  }

  /**
   * @param {string} target
   * @param {unknown} body
   * @returns {Promise<any>}
   */
  async post(target, body) {
    const response = await this.#post(target, body);
    if (!response.ok) throw new Error(`POST ${target}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /**
   * A request over the socket, for what only programs of this user may do.
   * @param {string} method
   * @param {string} target
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  admin(method, target, body = {}) {
    const socketPath = path.join(this.#state, "daemon.sock");
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath, path: target, method, headers: { "content-type": "application/json" } }, (response) => {
        text(response).then((said) => {
          if (response.statusCode === undefined || response.statusCode >= 300) throw new Error(`${method} ${target}: ${response.statusCode} ${said}`);
          return said ? JSON.parse(said) : null;
        }).then(resolve, reject);
      });
      request.on("error", reject).end(JSON.stringify(body));
    });
  }

  /**
   * @param {AskRef} ask
   * @param {string} action
   * @param {unknown} body
   */
  async #settle(ask, action, body) {
    const response = await this.#post(`${askPath(ask)}/${action}`, body);
    if (response.status !== 200) {
      throw new Error(`${action} of ${ask.key} was refused with ${response.status}: ${await response.text()}`);
    }
  }

  /**
   * @param {string} target
   * @param {unknown} body
   */
  async #post(target, body) {
    return this.#fetch(await this.running(), target, { method: "POST", body: JSON.stringify(body) });
  }

  /** Clients start the daemon in their own time. So a GET waits until there is one. @param {string} target */
  #onceUp(target) {
    return until(`an answer to GET ${target}`, async () => {
      const record = await this.record();
      return record && this.#fetch(record, target).catch((error) => this.#downAsNull(error));
    });
  }

  /**
   * @param {DaemonRecord} record
   * @param {string} target
   * @param {RequestInit} [options]
   */
  #fetch({ url, token }, target, options = {}) {
    return fetch(new URL(target, url), {
      ...options,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  }

  /** @param {Error & { cause?: any }} error */
  #downAsNull(error) {
    if (this.#down.includes(error.cause?.code)) return null;
    throw error;
  }
}

/**
 * @param {Response} response
 * @param {string} target
 * @returns {Promise<any>}
 */
async function json(response, target) {
  if (response.status !== 200) throw new Error(`GET ${target}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** @param {AskRef} ask */
const askPath = ({ key }) => `/v1/asks/${encodeURIComponent(key)}`;
