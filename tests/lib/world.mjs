// One scratch world for each test: a HOME, a project, our programs, and in time a daemon. Each suite adds what it needs.
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Daemon } from "./daemon.mjs";
import { required } from "./environment.mjs";
import { endProcessesOf, Process, processesOf } from "./process.mjs";
import { until, within } from "./until.mjs";

/**
 * The function that runs a test in a world of its own. If the test fails, its error tells everything that the world knows.
 * @template {World} W
 * @param {() => Promise<W>} create
 * @param {{ timeout?: number, verify?(world: W): void }} [options] `verify` must hold at the end of every test
 */
export function scenarios(create, { timeout, verify = () => {} } = {}) {
  return (/** @type {string} */ name, /** @type {(world: W) => Promise<unknown>} */ body) => {
    test(name, { timeout }, async () => {
      const world = await create();
      try {
        // Before the time is up, so that the error can tell what the world knows.
        await (timeout ? within("the end of the test", body(world), 0.75 * timeout) : body(world));
        verify(world);
      } catch (error) {
        if (error instanceof Error) error.stack += `\n\n${await world.report()}`;
        throw error;
      } finally {
        await world.close();
      }
    });
  };
}

export class World {
  /** @type {Process[]} */
  #processes = [];
  #root;
  /** The port of the daemon; 0 is any. */
  port = 0;
  bin = path.resolve(required("ANSWERBACK_BIN_DIR"));

  /** Longer than any command takes. */
  commandMs = 60_000;

  /**
   * @param {string} root
   * @param {string[]} [down] the errors of a connection that mean that the daemon is down
   */
  constructor(root, down = ["ECONNREFUSED"]) {
    this.#root = root;
    this.home = path.join(root, "home");
    this.project = path.join(root, "project");
    this.daemon = new Daemon(this.home, down);
  }

  /**
   * @template {World} W
   * @this {new (root: string) => W}
   * @returns {Promise<W>}
   */
  static async create() {
    const world = new this(await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "answerback-world-"))));
    try {
      await world.furnish();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  /** What programs get to see of our environment: nothing of an enclosing Claude Code session. @returns {Record<string, string>} */
  get env() {
    return { PATH: process.env.PATH ?? "", HOME: this.home, TMPDIR: path.join(this.#root, "tmp") };
  }

  /** The environment of a person's shell. */
  get personsEnv() {
    return this.env;
  }

  /** Fills the world before the test begins. */
  async furnish() {
    await fs.mkdir(this.project, { recursive: true });
    await fs.mkdir(this.env.TMPDIR);
    await this.configure("");
  }

  /** Sets keys of the configuration. A daemon that runs does not read them. @param {string} keys */
  async configure(keys) {
    const file = path.join(this.home, ".config/answerback/config.toml");
    await fs.mkdir(path.dirname(file), { recursive: true });
    await fs.writeFile(file, `port = ${this.port}\n${keys}`);
  }

  /**
   * Starts a program in the project. The world ends it if the test does not.
   * @param {string} command
   * @param {string[]} args
   * @param {{ env?: Record<string, string>, stdin?: "ignore" | "pipe" }} [options]
   */
  spawn(command, args, { env = this.env, stdin = "ignore" } = {}) {
    const started = new Process(command, args, { cwd: this.project, env, stdio: [stdin, "pipe", "pipe"] });
    this.#processes.push(started);
    return started;
  }

  /** Runs our command as a person would. Resolves to its output. @param {...string} args */
  async answerback(...args) {
    const run = this.spawn(path.join(this.bin, "answerback"), args, { env: this.personsEnv });
    const { code } = await within(`answerback ${args[0]} ending`, run.exited, this.commandMs);
    if (code !== 0) throw new Error(`answerback ${args.join(" ")} ended with ${code}: ${run.stderr}`);
    return run.stdout;
  }

  /** Resolves when no hook of this world runs any more. */
  noHookLeft() {
    return until("every hook has ended", async () => (await processesOf(this.home, "answerback-hook")).length === 0);
  }

  /** Everything that helps to understand a failed test. */
  async report() {
    // Some commands run many times, such as a look at the terminal. The last run tells the most.
    const last = new Map(this.#processes.map((started) => [started.child.spawnargs.join(" "), started]));
    const parts = [...last.values()].map(({ child, stdout, stderr }) => {
      const end = child.exitCode ?? child.signalCode ?? "still running";
      return `--- ${child.spawnargs.join(" ")}\nended: ${end}\nstdout:\n${stdout}\nstderr:\n${stderr}`;
    });
    return clipLines([...parts, `--- daemon\n${await this.daemon.log()}`].join("\n"));
  }

  async close() {
    await endProcessesOf(this.home);
    await fs.rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The beginning of a line is enough: stream-json prints lines of many kilobytes. @param {string} text */
function clipLines(text) {
  return text.replaceAll(/^(.{600}).+$/gm, "$1 [...]");
}
