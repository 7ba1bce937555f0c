// The daemon as a person's tool sees it: found through daemon.json, spoken to over HTTP.
import fs from "node:fs/promises";
import path from "node:path";
import { gone, kill } from "./process.mjs";
import { until } from "./until.mjs";

const LONG_POLL_SECONDS = 5;
const DEADLINE_MS = 20_000;

export class Daemon {
  #state;

  constructor(home) {
    this.#state = path.join(home, ".local/state/answerback");
  }

  /** Resolves to the open asks of these calls, in their order, once they are all open and nothing else is. */
  async opened(...calls) {
    const deadline = Date.now() + DEADLINE_MS;
    let cursor;
    for (;;) {
      const poll = cursor === undefined ? "" : `&since=${cursor}&wait=${LONG_POLL_SECONDS}`;
      const list = await this.#getOnceUp(`/v1/asks?state=open${poll}`);
      const asks = calls.map(({ id }) => list.asks.find(({ tool_use_id }) => tool_use_id === id));
      if (asks.every(Boolean) && list.asks.length === calls.length) return asks;
      if (Date.now() > deadline) {
        throw new Error(`expected open asks of ${calls.map(({ id }) => id)}, found: ${JSON.stringify(list.asks)}`);
      }
      cursor = encodeURIComponent(list.cursor);
    }
  }

  answer(ask, answers, notes = {}) {
    return this.#post(ask, "answer", { answers, notes });
  }

  dismiss(ask, reason) {
    return this.#post(ask, "dismiss", { reason });
  }

  release(ask) {
    return this.#post(ask, "release", {});
  }

  /** The ask once it has settled. */
  settled(ask) {
    return until(`${ask.key} being settled`, async () => {
      const seen = await this.#getOnceUp(`${askPath(ask)}?wait=${LONG_POLL_SECONDS}`);
      return seen.outcome && seen;
    });
  }

  /** The ask as it is now. */
  seen(ask) {
    return this.#getOnceUp(askPath(ask));
  }

  /** The ask once Claude Code was seen to have received the answer. */
  received(ask) {
    return until(`a receipt of ${ask.key}`, async () => {
      const seen = await this.seen(ask);
      return seen.receipt && seen;
    });
  }

  /** The settled asks, newest first. */
  async history() {
    return (await this.#getOnceUp("/v1/asks?state=settled")).asks;
  }

  /** kill -9, returning the pid that was killed. */
  async kill() {
    const { pid } = await this.record();
    if (!kill(pid)) throw new Error(`the daemon (pid ${pid}) was gone before the test killed it`);
    // Until then it holds its lock, and no other daemon can start.
    await gone(pid);
    return pid;
  }

  /** Resolves once another daemon than `pid` has announced itself. */
  restarted(pid) {
    return until(`a daemon other than pid ${pid} in daemon.json`, async () => {
      const record = await this.record();
      return record && record.pid !== pid;
    });
  }

  /** daemon.json, or null while there is none. */
  async record() {
    try {
      return JSON.parse(await fs.readFile(path.join(this.#state, "daemon.json"), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return null;
      throw error;
    }
  }

  /** Whatever the daemon logged, for the report of a failed test. */
  async log() {
    const names = await fs.readdir(this.#state).catch(() => []);
    const logs = names.filter((name) => name.endsWith(".log"));
    const texts = await Promise.all(logs.map((name) => fs.readFile(path.join(this.#state, name), "utf8")));
    return `${names.join(" ") || "(no state directory)"}\n${texts.join("\n")}`;
  }

  async #post(ask, action, body) {
    const response = await this.#fetch(await this.record(), `${askPath(ask)}/${action}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    if (response.status !== 200) {
      throw new Error(`${action} of ${ask.key} was refused with ${response.status}: ${await response.text()}`);
    }
  }

  // The client starts the daemon in its own time, so a daemon that is not there yet is not a failure.
  #getOnceUp(target) {
    return until(`an answer to GET ${target}`, async () => {
      const record = await this.record();
      if (!record) return null;
      const response = await this.#fetch(record, target).catch(refusedAsNull);
      if (!response) return null;
      if (response.status !== 200) throw new Error(`GET ${target}: ${response.status} ${await response.text()}`);
      return response.json();
    });
  }

  #fetch({ url, token }, target, options = {}) {
    return fetch(new URL(target, url), {
      ...options,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  }
}

function refusedAsNull(error) {
  if (error.cause?.code === "ECONNREFUSED") return null;
  throw error;
}

function askPath({ key }) {
  return `/v1/asks/${encodeURIComponent(key)}`;
}
