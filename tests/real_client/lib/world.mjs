// One scratch world for each test: HOME, project, the hook installed in it, the scripted model, and in time a daemon.
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { CLAUDE, required } from "./clients.mjs";
import { Daemon } from "./daemon.mjs";
import { MessagesApi } from "./messages_api.mjs";
import { endProcessesOf, Process, processesOf } from "./process.mjs";
import { until, within } from "./until.mjs";

/** A test in a world of its own; a failure reports all that the world knows. */
export function scenario(name, body) {
  test(name, async () => {
    const world = await World.create();
    try {
      await body(world);
    } catch (error) {
      error.stack += `\n\n${await world.report()}`;
      throw error;
    } finally {
      await world.close();
    }
  });
}

export class World {
  #root;
  #processes = [];

  static async create() {
    const world = new World();
    world.#root = await fs.realpath(await fs.mkdtemp(path.join(os.tmpdir(), "answerback-real-client-")));
    world.home = path.join(world.#root, "home");
    world.project = path.join(world.#root, "project");
    world.bin = path.resolve(required("ANSWERBACK_BIN_DIR"));
    world.daemon = new Daemon(world.home);
    world.model = await MessagesApi.start();
    await world.#furnish();
    return world;
  }

  /** All that the client gets to see of our environment: nothing of an enclosing Claude Code session. */
  get env() {
    return {
      PATH: process.env.PATH,
      HOME: this.home,
      TMPDIR: path.join(this.#root, "tmp"),
      ANTHROPIC_BASE_URL: this.model.url,
      ANTHROPIC_API_KEY: "dummy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_TELEMETRY: "1",
    };
  }

  /** Starts a program in the project; the world ends it if the test does not. */
  spawn(command, args, { env = this.env, stdin = "ignore" } = {}) {
    const started = new Process(command, args, { cwd: this.project, env, stdio: [stdin, "pipe", "pipe"] });
    this.#processes.push(started);
    return started;
  }

  /** What the model was shown together with the result of this call. */
  shown(call) {
    return within(`the model being shown the result of ${call.id}`, this.model.shown(call));
  }

  /** Resolves once no hook of this world runs any more. */
  noHookLeft() {
    return until("every hook has ended", async () => (await processesOf(this.home, "answerback-hook")).length === 0);
  }

  async report() {
    // Of what was run many times, such as a look at the terminal, the last one tells most.
    const last = new Map(this.#processes.map((started) => [started.child.spawnargs.join(" "), started]));
    const parts = [...last.values()].map(({ child, stdout, stderr }) => {
      const end = child.exitCode ?? child.signalCode ?? "still running";
      return `--- ${child.spawnargs.join(" ")}\nended: ${end}\nstdout:\n${stdout}\nstderr:\n${stderr}`;
    });
    parts.push(`--- daemon\n${await this.daemon.log()}`, `--- model\n${this.model.problems.join("\n")}`);
    return clipLines(parts.join("\n"));
  }

  async close() {
    await endProcessesOf(this.home);
    this.model.stop();
    await fs.rm(this.#root, { recursive: true, force: true });
  }

  /** Our command, as a person would use it here; resolves to what it printed. */
  async answerback(...args) {
    const run = this.spawn(path.join(this.bin, "answerback"), args, { env: this.personsEnv });
    const { code } = await within(`answerback ${args[0]} ending`, run.exited);
    if (code !== 0) throw new Error(`answerback ${args.join(" ")} ended with ${code}: ${run.stderr}`);
    return run.stdout;
  }

  /** The environment of a person's shell, with the client in its path. */
  get personsEnv() {
    return { ...this.env, PATH: `${path.dirname(CLAUDE)}:${process.env.PATH}` };
  }

  /** Sets keys of the configuration; for before the daemon starts. */
  configure(keys) {
    return write(path.join(this.home, ".config/answerback/config.toml"), `port = 0\n${keys}`);
  }

  async #furnish() {
    await fs.mkdir(this.project, { recursive: true });
    await fs.mkdir(this.env.TMPDIR);
    await this.configure("");
    await this.answerback("install", "--project", this.project);
  }
}

async function write(file, text) {
  await fs.mkdir(path.dirname(file), { recursive: true });
  await fs.writeFile(file, text);
}

// stream-json prints lines of many kilobytes whose beginning tells enough.
function clipLines(text) {
  return text.replaceAll(/^(.{600}).+$/gm, "$1 [...]");
}
