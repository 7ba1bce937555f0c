// A world with a browser in it: a daemon on a fixed port, hooks that ask, and pages that show it.
import fs from "node:fs/promises";
import path from "node:path";
import { after } from "node:test";
import { unusedPort } from "../../lib/ports.mjs";
import { scenarios, World } from "../../lib/world.mjs";
import { until } from "../../lib/until.mjs";
import { browserContext, closeBrowsers } from "./browser.mjs";

/** @typedef {{ session?: string, id?: string, cwd?: string, extra?: object, env?: Record<string, string>, mode?: string }} AskOptions `mode` is the argument of the hook */
/** @typedef {{ key: string, child: import("node:child_process").ChildProcess, said: Promise<string>, reply(): Promise<any> }} Asked */

const STEP_MS = 45_000;
/** A person is at the terminal of Claude Code. */
const ATTENDED = { CLAUDE_CODE_ENTRYPOINT: "cli", CLAUDE_CODE_SESSION_ATTENDED: "1" };
/** Nobody is. A hook that hides the dialog waits only then. */
const ALONE = { CLAUDE_CODE_ENTRYPOINT: "cli", CLAUDE_CODE_SESSION_ATTENDED: "0" };

const newId = () => `toolu_${Math.random().toString(36).slice(2, 12)}`;

export class PageWorld extends World {
  /** @type {import("playwright-core").BrowserContext[]} */
  #contexts = [];
  /** What pages complained about. A test takes out what it expects. @type {string[]} */
  complaints = [];
  /** The browser of this world's pages. @type {import("./browser.mjs").BrowserName} */
  browser = "chromium";
  /** Some commands wait until the page has answered. */
  commandMs = 60_000;

  /** The tests kill the daemon while it is asked. @param {string} root */
  constructor(root) {
    super(root, ["ECONNREFUSED", "ECONNRESET", "UND_ERR_SOCKET"]);
  }

  async furnish() {
    // Pages must find the daemon again after a restart.
    this.port = await unusedPort();
    this.url = `http://127.0.0.1:${this.port}`;
    await super.furnish();
    await this.startDaemon();
  }

  async startDaemon() {
    await this.answerback("pending");
    await until("the daemon", async () => (await this.daemon.record()) !== null);
  }

  killDaemon() {
    return this.daemon.kill();
  }

  /** daemon.json. */
  record() {
    return this.daemon.running();
  }

  /** @param {string} target */
  get(target) {
    return this.daemon.get(target);
  }

  /**
   * @param {string} target
   * @param {unknown} body
   */
  post(target, body) {
    return this.daemon.post(target, body);
  }

  /**
   * @param {string} method
   * @param {string} target
   * @param {unknown} [body]
   */
  admin(method, target, body) {
    return this.daemon.admin(method, target, body);
  }

  /** The ask as soon as it is settled. @param {string} key */
  settled(key) {
    return this.daemon.settled({ key });
  }

  /**
   * A hook asks. Resolves when the ask is open; `reply()` is the decision that the hook prints in the end.
   * @param {Question[]} questions
   * @param {AskOptions} [options]
   * @returns {Promise<Asked>}
   */
  async ask(questions, { session = "session-1", id = newId(), cwd = "/home/me/shop", extra = {}, env = {}, mode } = {}) {
    const input = { hook_event_name: "PreToolUse", session_id: session, tool_use_id: id, cwd, tool_name: "AskUserQuestion", tool_input: { questions }, ...extra };
    return this.#opened(`${session}__${id}`, this.hook(input, env, mode));
  }

  /**
   * A tool wants to be used. `reply()` has the decision. A subagent asks if `extra` has an `agent_id`.
   * @param {string} tool
   * @param {object} input
   * @param {AskOptions} [options]
   * @returns {Promise<Asked>}
   */
  async permission(tool, input, { session = "session-1", id = newId(), cwd = "/home/me/shop", extra = {}, env = "agent_id" in extra ? ALONE : ATTENDED } = {}) {
    const call = { session_id: session, cwd, tool_name: tool, tool_input: input, ...extra };
    // Claude Code names the call first, and asks without its name.
    await this.hook({ ...call, hook_event_name: "PreToolUse", tool_use_id: id }, env).said;
    return this.#opened(`${session}__${id}`, this.hook({ ...call, hook_event_name: "PermissionRequest" }, env));
  }

  /**
   * A plan wants to be approved.
   * @param {string} plan
   * @param {AskOptions} [options]
   */
  plan(plan, options) {
    return this.permission("ExitPlanMode", { plan, planFilePath: "/home/me/.claude/plans/a-plan.md" }, options);
  }

  /**
   * An MCP server wants a form to be filled in, or an address to be opened.
   * @param {{ message?: string, requested_schema?: object, url?: string, server?: string }} form
   * @param {AskOptions} [options]
   * @returns {Promise<Asked>}
   */
  async form({ server = "deployer", message = "Where does it run?", ...form }, { session = "session-1", cwd = "/home/me/shop", extra = {}, env = ALONE } = {}) {
    const input = { hook_event_name: "Elicitation", session_id: session, cwd, mcp_server_name: server, message, mode: form.url === undefined ? "form" : "url", ...form, ...extra };
    /** @returns {Promise<string[]>} */
    const keys = async () => (await this.get("/v1/asks")).asks.map((/** @type {Ask} */ { key }) => key);
    const before = await keys();
    const hook = this.hook(input, env);
    // Nobody names a form, so its key is found by what is new.
    const key = await until("the form to open", async () => (await keys()).find((each) => !before.includes(each)));
    return this.#opened(key, hook);
  }

  /**
   * @param {string} key
   * @param {{ child: import("node:child_process").ChildProcess, said: Promise<string> }} hook
   * @returns {Promise<Asked>}
   */
  async #opened(key, { child, said }) {
    await until(`${key} to open`, () => this.daemon.isOpen({ key }));
    const reply = async () => JSON.parse(await said).hookSpecificOutput;
    return { key, child, said, reply };
  }

  /**
   * Any call of the hook. `said` is what it printed.
   * @param {object} input
   * @param {Record<string, string>} [env]
   * @param {string} [mode]
   */
  hook(input, env = {}, mode) {
    const run = this.spawn(path.join(this.bin, "answerback-hook"), mode ? [mode] : [], { env: { ...this.env, ...env }, stdin: "pipe" });
    run.child.stdin.end(JSON.stringify(input));
    return { child: run.child, said: run.exited.then(() => run.stdout) };
  }

  /**
   * Claude Code received these answers.
   * @param {{ key: string }} asked
   * @param {Question[]} questions
   * @param {Record<string, string>} answers
   */
  async receive({ key }, questions, answers) {
    const [session_id, tool_use_id] = key.split("__");
    const input = { hook_event_name: "PostToolUse", session_id, tool_use_id, tool_name: "AskUserQuestion", tool_input: { questions, answers }, tool_response: { answers } };
    await this.hook(input).said;
  }

  /**
   * The records of a session in which the agent said something on a branch. Resolves to what a hook says about them.
   * @param {string} said
   * @param {string} branch
   */
  async transcript(said, branch) {
    const transcript_path = path.join(this.home, `${Math.random()}.jsonl`);
    const record = { type: "assistant", version: "2.1.325", gitBranch: branch, message: { content: [{ type: "text", text: said }] } };
    await fs.writeFile(transcript_path, `${JSON.stringify(record)}\n`);
    return { transcript_path };
  }

  /** A one-time code for the page, as `answerback open` gets it. @returns {Promise<string>} */
  async launchCode() {
    return (await this.admin("POST", "/v1/launch")).code;
  }

  /**
   * A page in a browser profile of its own. With `unhurried`, a choice can be undone for longer than three seconds, because a click can
   * take that long on a busy machine.
   * @param {{ signedIn?: boolean, unhurried?: boolean } & import("./browser.mjs").ProfileOptions} [options]
   */
  async page({ signedIn = true, unhurried = false, ...options } = {}) {
    const context = await browserContext({ browser: this.browser, ...options });
    this.#contexts.push(context);
    context.setDefaultTimeout(STEP_MS);
    if (unhurried) await context.addInitScript(stretchUndo);
    const page = await context.newPage();
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.stack ?? error}`));
    page.on("console", (message) => message.type() === "error" && this.complaints.push(`console: ${message.text()}`));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(signedIn ? `${this.url}/#launch=${await this.launchCode()}` : `${this.url}`);
    if (signedIn) await page.locator("#connection[data-state=live]").waitFor();
    return page;
  }

  /** Fails if a page complained about anything. */
  expectQuiet() {
    if (this.complaints.length > 0) throw new Error(`the page complained:\n${this.complaints.join("\n")}`);
  }

  async report() {
    const pages = this.#contexts.flatMap((context) => context.pages());
    const texts = await Promise.all(pages.map((page) => page.locator("main").innerText({ timeout: 1000 }).catch(String)));
    return [`--- pages`, ...texts, `--- complaints`, ...this.complaints, await super.report()].join("\n");
  }

  async close() {
    await Promise.all(this.#contexts.map((context) => context.close()));
    await super.close();
  }
}

/** Runs in the page, before its own scripts. */
function stretchUndo() {
  const { setTimeout } = window;
  const [undo, longer] = [3000, 60_000];
  const stretched = (/** @type {TimerHandler} */ task, /** @type {number | undefined} */ pause) => setTimeout(task, pause === undo ? longer : pause);
  window.setTimeout = /** @type {typeof setTimeout} */ (/** @type {unknown} */ (stretched));
}

let isPrepared = false;

/**
 * A test in a world of its own, with pages in Chromium, or in the browser that is named.
 * @param {string} name
 * @param {(world: PageWorld) => Promise<unknown>} body
 * @param {{ browser?: import("./browser.mjs").BrowserName }} [options]
 */
export function scenario(name, body, { browser = "chromium" } = {}) {
  if (!isPrepared) after(closeBrowsers);
  isPrepared = true;
  const create = async () => Object.assign(await PageWorld.create(), { browser });
  scenarios(create, { timeout: 240_000, verify: (world) => world.expectQuiet() })(name, body);
}
