// The daemon's HTTP API. The only module that sends requests and knows the token.

import { learn } from "./clock.js";
import { lasting } from "./storage.js";

const TOKEN = "answerback.token";
/** How often the daemon is to send something, in seconds: while somebody looks at the page, and while nobody does. */
const HEARTBEAT = { watched: 2, unwatched: 10 };
/** After this many missing heartbeats a stream is dead, even if it looks open. */
const MISSING = 2.2;
/** A reply takes milliseconds. After this long, none will come. */
const PATIENCE = 15_000;

/** The daemon refused a request and said why. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ type?: string, title?: string, hint?: string, errors?: AnswerError[], ask?: Ask }} body
   */
  constructor(status, body) {
    super(body.title ?? `The daemon replied with status ${status}.`);
    this.status = status;
    this.hint = body.hint ?? "";
    this.errors = body.errors ?? [];
    this.ask = body.ask;
  }
}

/** The daemon does not run, or the network does not reach it. */
export class Unreachable extends Error {}

/** Who is signed in, as long as this page lasts. Another tab may sign in somebody else: then this page is not theirs. */
let token = lasting.get(TOKEN);

/** @type {() => void} */
let signedOut = () => {};
/** @type {() => void} */
let signedIn = () => {};

/**
 * Called when the daemon does not know the token any more.
 * @param {() => void} listener
 */
export function onSignedOut(listener) {
  signedOut = listener;
}

/**
 * Called when another tab has signed in.
 * @param {() => void} listener
 */
export function onSignedIn(listener) {
  signedIn = listener;
}

export const isSignedIn = () => token !== null;

/** A name for who is signed in, to tell what is theirs. It is too little of the token to be of use to anybody. */
export const owner = () => token?.slice(0, 12) ?? "";

/** @param {string} given */
function signIn(given) {
  token = given;
  lasting.set(TOKEN, given);
}

/** Nobody is signed in any more. */
function leave() {
  if (lasting.get(TOKEN) === token) lasting.remove(TOKEN);
  token = null;
  signedOut();
}

// A sign-in or sign-out in another tab counts here too.
addEventListener("storage", ({ key }) => {
  const now = lasting.get(TOKEN);
  if ((key !== TOKEN && key !== null) || now === token) return;
  if (now === null) leave();
  else if (token === null) signedIn();
  else location.reload();
});

/**
 * @param {string} path
 * @param {RequestInit & { headers?: Record<string, string> }} [options]
 * @returns {Promise<Response>}
 */
async function request(path, options = {}) {
  const mine = token;
  /** @type {Record<string, string>} */
  const authorization = token ? { authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, ...authorization }, credentials: "omit" });
  } catch (error) {
    throw new Unreachable("The daemon cannot be reached.", { cause: error });
  }
  learn(response.headers.get("date"));
  if (response.ok) return response;
  if (response.status === 401 && mine === token) leave();
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

/**
 * @template T
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
async function get(path, signal) {
  return (await request(path, { signal: signal ?? AbortSignal.timeout(PATIENCE) })).json();
}

/**
 * @template T
 * @param {string} path
 * @param {unknown} body
 * @param {{ keepalive?: boolean, signal?: AbortSignal }} [options]
 * @returns {Promise<{ status: number, body: T }>}
 */
async function post(path, body, options = {}) {
  const headers = { "content-type": "application/json" };
  const response = await request(path, { method: "POST", headers, body: JSON.stringify(body), ...options });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : null };
}

/** @param {string} key */
const askPath = (key) => `/v1/asks/${encodeURIComponent(key)}`;

/**
 * Lists asks, page after page, until there are `most`. A page may have few asks: those that are large, or the few that the person may see.
 * What changes meanwhile comes after the cursor of the first page.
 * @param {Record<string, string>} filter
 * @param {number} most
 * @param {() => AbortSignal} signal for each page
 * @returns {Promise<AskList>}
 */
async function list(filter, most, signal) {
  /** @param {Record<string, string>} more @returns {Promise<AskList>} */
  const page = (more) => get(`/v1/asks?${new URLSearchParams({ ...filter, ...more })}`, signal());
  const whole = await page({});
  while (whole.next !== null && whole.asks.length < most) {
    const before = String(whole.next);
    const { asks, next, damaged = 0 } = await page(most === Infinity ? { before } : { before, limit: String(most - whole.asks.length) });
    whole.asks.push(...asks);
    whole.next = next;
    whole.damaged = (whole.damaged ?? 0) + damaged;
  }
  return whole;
}

/**
 * @param {AbortSignal} signal
 * @param {number} patience for each page, in milliseconds
 * @returns {Promise<AskList>}
 */
export const openAsks = (signal, patience) => list({}, Infinity, () => AbortSignal.any([signal, AbortSignal.timeout(patience)]));

/**
 * @param {string} key
 * @returns {Promise<Ask>}
 */
export const ask = (key) => get(askPath(key));

/**
 * @param {string} key
 * @returns {Promise<AskContext>}
 */
export const context = (key) => get(`${askPath(key)}/context`);

/**
 * @param {Record<string, string>} filter
 * @param {number} most
 * @param {AbortSignal} signal
 * @returns {Promise<AskList>}
 */
export const settledAsks = (filter, most, signal) => list({ state: "settled", limit: String(most), ...filter }, most, () => signal);

/** @returns {Promise<{ projects: string[], hosts: { host: string, projects: string[] }[], here: string }>} */
export const projects = () => get("/v1/projects");

/**
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ away: Away[] }>} what is said while the person is away
 */
export const away = (signal) => get("/v1/away", signal);

/** Ends being away, everywhere. */
export const endAway = () => request("/v1/away", { method: "DELETE", signal: AbortSignal.timeout(PATIENCE) });

/** @returns {Promise<Setup>} */
export const setup = () => get("/v1/setup");

/** @returns {Promise<{ version: string }>} */
export const version = () => get("/v1/version");

/**
 * Settles an ask: `answer`, `dismiss` or `release`. A short body is sent even if the person leaves the page meanwhile.
 * @param {string} key
 * @param {string} how
 * @param {unknown} body
 * @param {AbortSignal} signal
 * @returns {Promise<Ask>}
 */
export async function settle(key, how, body, signal) {
  const text = JSON.stringify(body);
  // After a page is closed, browsers send at most 64 KiB for it. Characters may take 3 bytes.
  const keepalive = text.length < 20_000;
  return (await post(`${askPath(key)}/${how}`, body, { keepalive, signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]) })).body;
}

/**
 * @param {Question[]} questions
 * @returns {Promise<unknown>}
 */
export const openAsk = (questions) => post("/v1/asks", { questions });

/**
 * @param {string} key
 * @param {number} question
 * @param {number} option
 * @returns {Promise<string>} a path that serves the preview once
 */
export async function previewPath(key, question, option) {
  return (await post(`${askPath(key)}/preview`, { question, option })).body.path;
}

/** @param {string} code */
export async function redeem(code) {
  signIn((await post("/v1/session", { code })).body.token);
}

/**
 * @param {string} code
 * @param {string} name
 * @returns {Promise<{ claim: string, check: string }>}
 */
export async function claimPairing(code, name) {
  return (await post("/v1/pairing/claim", { code, name })).body;
}

/**
 * Waits until the pairing is confirmed in the terminal where it began.
 * @param {string} claim
 */
export async function awaitPairing(claim) {
  for (;;) {
    try {
      const { status, body } = await post("/v1/pairing/token?wait=25", { claim });
      if (status === 200) return signIn(body.token);
    } catch (error) {
      // A phone may fall asleep and drop its connection while the person types the number elsewhere.
      if (!(error instanceof Unreachable)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Tells the daemon to forget this browser. */
export async function signOut() {
  await post("/v1/sign-out", {}).catch(() => {});
  leave();
}

/**
 * Yields every change after a cursor until the stream ends. A stream that falls silent ends with an error.
 * @param {string} cursor
 * @param {{ signal: AbortSignal, isWatched: boolean, opened(): void }} options
 * @returns {AsyncGenerator<AskEvent | ResetEvent>}
 */
export async function* events(cursor, { signal, isWatched, opened }) {
  const heartbeat = isWatched ? HEARTBEAT.watched : HEARTBEAT.unwatched;
  const silence = new AbortController();
  const listen = () => setTimeout(() => silence.abort(), heartbeat * MISSING * 1000);
  let watchdog = listen();
  try {
    const either = AbortSignal.any([signal, silence.signal]);
    const response = await request(`/v1/events?heartbeat=${heartbeat}`, { headers: { "last-event-id": cursor }, signal: either });
    if (!response.body) return;
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watchdog);
      watchdog = listen();
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
        if (data.length > 0) yield JSON.parse(data.join("\n"));
      }
    }
  } finally {
    clearTimeout(watchdog);
  }
}
