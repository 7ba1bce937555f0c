// One scratch world for each test: HOME, a daemon on a port of its own, hooks that ask, and a browser to look at it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { browserContext, closeBrowser } from "./browser.mjs";
import { until } from "../../real_client/lib/until.mjs";

const BIN = path.resolve(required("ANSWERBACK_BIN_DIR"));

let isPrepared = false;

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the suite with tests/browser/run.sh`);
  return value;
}

/** A test in a world of its own; a failure reports what the daemon and the pages said. */
export function scenario(name, body) {
  if (!isPrepared) after(closeBrowser);
  isPrepared = true;
  test(name, { timeout: 90_000 }, async () => {
    const world = await World.create();
    try {
      await body(world);
      world.expectQuiet();
    } catch (error) {
      error.stack += `\n\n${await world.report()}`;
      throw error;
    } finally {
      await world.close();
    }
  });
}

export class World {
  #children = [];
  #contexts = [];
  /** What pages complained about. */
  complaints = [];
  /** Every address a page asked for. */
  requests = [];

  static async create() {
    const world = new World();
    world.home = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "answerback-browser-")));
    world.port = await freePort();
    world.url = `http://127.0.0.1:${world.port}`;
    await world.configure("");
    await world.startDaemon();
    return world;
  }

  get env() {
    return { PATH: process.env.PATH, HOME: this.home };
  }

  async configure(keys) {
    const file = path.join(this.home, ".config/answerback/config.toml");
    await fs.mkdir(path.dirname(file), { recursive: true });
    await fs.writeFile(file, `port = ${this.port}\n${keys}`);
  }

  /** Our program, with what it printed once it has ended. */
  async answerback(...args) {
    const child = this.#spawn("answerback", args);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    if (code !== 0) throw new Error(`answerback ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  async startDaemon() {
    await this.answerback("pending");
    await until("the daemon", async () => (await this.record()) !== null);
  }

  /** daemon.json, or null while there is none. */
  async record() {
    const file = path.join(this.home, ".local/state/answerback/daemon.json");
    return fs.readFile(file, "utf8").then(JSON.parse, () => null);
  }

  async killDaemon() {
    const { pid } = await this.record();
    process.kill(pid, "SIGKILL");
    await until("the end of the daemon", () => fs.access(`/proc/${pid}`).then(() => isZombie(pid), () => true));
  }

  /** A hook asks. `reply()` is what it says to Claude Code in the end. */
  async ask(questions, { session = "session-1", id = `toolu_${Math.random().toString(36).slice(2, 12)}`, cwd = "/home/me/shop", extra = {}, env = {} } = {}) {
    const input = { hook_event_name: "PreToolUse", session_id: session, tool_use_id: id, cwd, tool_name: "AskUserQuestion", tool_input: { questions }, ...extra };
    const { child, said } = this.hook(input, env);
    const key = `${session}__${id}`;
    await until(`${key} to open`, async () => (await this.get(`/v1/asks/${key}`))?.state === "open");
    const reply = async () => JSON.parse(await said).hookSpecificOutput;
    return { key, child, said, reply };
  }

  /** Any hook call. */
  hook(input, env = {}) {
    const child = this.#spawn("answerback-hook", [], env);
    child.stdin.end(JSON.stringify(input));
    return { child, said: text(child.stdout) };
  }

  /** Claude Code has these answers. */
  async receive({ key }, questions, answers) {
    const [session_id, tool_use_id] = key.split("__");
    const input = { hook_event_name: "PostToolUse", session_id, tool_use_id, tool_name: "AskUserQuestion", tool_input: { questions, answers }, tool_response: { answers } };
    await this.hook(input).said;
  }

  /** The records of a session in which the agent said something, on a branch: what a hook tells of them. */
  async transcript(said, branch) {
    const transcript_path = path.join(this.home, `${Math.random()}.jsonl`);
    const record = { type: "assistant", version: "2.1.325", gitBranch: branch, message: { content: [{ type: "text", text: said }] } };
    await fs.writeFile(transcript_path, `${JSON.stringify(record)}\n`);
    return { transcript_path };
  }

  async get(target) {
    const response = await this.#fetch(target).catch(() => null);
    return response?.ok ? response.json() : null;
  }

  async post(target, body) {
    const response = await this.#fetch(target, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`POST ${target}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  /** The ask once it has settled. */
  async settled(key) {
    return until(`${key} to settle`, async () => {
      const ask = await this.get(`/v1/asks/${key}?wait=5`);
      return ask?.state === "settled" && ask;
    });
  }

  /** What only this user's programs may do, over the socket. */
  admin(method, target, body) {
    const socketPath = path.join(this.home, ".local/state/answerback/daemon.sock");
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath, path: target, method, headers: { "content-type": "application/json" } }, async (response) => {
        const said = await text(response);
        if (response.statusCode < 300) resolve(said ? JSON.parse(said) : null);
        else reject(new Error(`${method} ${target}: ${response.statusCode} ${said}`));
      });
      request.on("error", reject).end(JSON.stringify(body ?? {}));
    });
  }

  /** A one-time code for the page, as `answerback open` gets it. */
  async launchCode() {
    return (await this.admin("POST", "/v1/launch")).code;
  }

  /** A page of its own browser profile, signed in unless told otherwise. */
  async page({ signedIn = true, ...options } = {}) {
    const context = await browserContext(options);
    this.#contexts.push(context);
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack ?? error}`));
    page.on("console", (message) => message.type() === "error" && this.complaints.push(`console: ${message.text()}`));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on("request", (request) => this.requests.push(request.url()));
    await page.goto(signedIn ? `${this.url}/#launch=${await this.launchCode()}` : this.url);
    if (signedIn) await page.locator("#connection[data-state=live]").waitFor();
    return page;
  }

  /** No page complained of anything; what is expected is taken out of `complaints` by the test. */
  expectQuiet() {
    if (this.complaints.length > 0) throw new Error(`the page complained:\n${this.complaints.join("\n")}`);
  }

  async report() {
    const log = await fs.readFile(path.join(this.home, ".local/state/answerback/daemon.log"), "utf8").catch(() => "");
    const pages = this.#contexts.flatMap((context) => context.pages());
    const texts = await Promise.all(pages.map((page) => page.locator("main").innerText({ timeout: 1000 }).catch(String)));
    return [`--- pages`, ...texts, `--- complaints`, ...this.complaints, `--- daemon`, log].join("\n");
  }

  async close() {
    await Promise.all(this.#contexts.map((context) => context.close()));
    for (const child of this.#children) child.kill("SIGKILL");
    const record = await this.record();
    if (record) {
      try {
        process.kill(record.pid, "SIGKILL");
      } catch {
        // It is gone, which is what is wanted.
      }
    }
    await fs.rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  async #fetch(target, options = {}) {
    const { url, token } = await this.record();
    return fetch(new URL(target, url), { ...options, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } });
  }

  #spawn(program, args, env = {}) {
    const child = spawn(path.join(BIN, program), args, { env: { ...this.env, ...env }, cwd: this.home });
    this.#children.push(child);
    return child;
  }
}

/** It holds nothing any more: its last thread has ended, though nobody has asked for its exit code yet. */
async function isZombie(pid) {
  const threads = await fs.readdir(`/proc/${pid}/task`).catch(() => []);
  const stat = await fs.readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
  return threads.length <= 1 && stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

/** One that nobody uses now; the daemon needs the same one after a restart. */
export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
