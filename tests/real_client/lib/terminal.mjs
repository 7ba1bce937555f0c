// A terminal with a person at it: tmux shows what they see, and presses what they press.
import fs from "node:fs/promises";
import path from "node:path";
import { until, within } from "./until.mjs";

export class Terminal {
  #world;
  #socket;

  constructor(world) {
    this.#world = world;
    this.#socket = path.join(world.home, "tmux");
  }

  /** A terminal in the project that runs this command line and stays when it has ended. */
  static async open(world, command, { columns = 100, rows = 40 } = {}) {
    const terminal = new Terminal(world);
    const size = ["-x", String(columns), "-y", String(rows)];
    await terminal.#tmux("new-session", "-d", ...size, `${command}; exec sleep infinity`);
    return terminal;
  }

  /** What is on the screen now. */
  screen() {
    return this.#tmux("capture-pane", "-p");
  }

  /** Resolves to the screen once this text, or a match of this pattern, is on it. */
  shows(what) {
    return this.#comesTo(`showing ${shown(what)}`, (screen) => has(screen, what));
  }

  /** Resolves to the screen once nothing like that is on it any more. */
  showsNo(what) {
    return this.#comesTo(`no longer showing ${shown(what)}`, (screen) => !has(screen, what));
  }

  async #comesTo(what, holds, deadlineMs) {
    let screen = "";
    // Twice, because a screen that is just being drawn lacks what it has.
    const probe = async () => holds((screen = await this.screen())) && holds((screen = await this.screen()));
    await until(`the terminal ${what}`, probe, deadlineMs).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${screen}`);
    });
    return screen;
  }

  /**
   * Presses a key, or the one that the screen asks for, until the screen is as it should be; resolves to that screen. What
   * was just drawn may not listen yet, and drops the key.
   */
  async pressUntil(key, what, holds) {
    let screen = "";
    const probe = async () => {
      if (holds((screen = await this.screen())) && holds((screen = await this.screen()))) return screen;
      const before = screen;
      await this.press(typeof key === "function" ? key(screen) : key);
      return this.#comesTo("reacting", (now) => now !== before, 1_000).then(() => false, () => false);
    };
    return until(what, probe).catch((error) => {
      throw new Error(`${error.message}; the terminal shows:\n${screen}`);
    });
  }

  /** Closes the window, with whatever runs in it. */
  close() {
    return this.#tmux("kill-server");
  }

  /** Sends a signal to what the command line started, as `kill` in another terminal would. */
  async signal(name) {
    const shell = (await this.#tmux("list-panes", "-F", "#{pane_pid}")).trim();
    const children = await fs.readFile(`/proc/${shell}/task/${shell}/children`, "utf8");
    for (const pid of children.trim().split(" ")) process.kill(Number(pid), name);
  }

  async press(...keys) {
    for (const key of keys) await this.#tmux("send-keys", key);
  }

  async #tmux(...args) {
    const env = { ...this.#world.personsEnv, TERM: "xterm-256color", LANG: "C.UTF-8" };
    env.PATH = `${this.#world.bin}:${env.PATH}`;
    const run = this.#world.spawn("tmux", ["-S", this.#socket, "-f", "/dev/null", ...args], { env });
    const { code } = await within(`tmux ${args[0]}`, run.exited);
    if (code !== 0) throw new Error(`tmux ${args.join(" ")} ended with ${code}: ${run.stderr}`);
    return run.stdout;
  }
}

function has(screen, what) {
  return what instanceof RegExp ? what.test(screen) : screen.includes(what);
}

function shown(what) {
  return what instanceof RegExp ? String(what) : JSON.stringify(what);
}
