// A terminal with a person at it. tmux shows the screen and presses the keys.
import fs from "node:fs/promises";
import path from "node:path";
import { until, within } from "../../lib/until.mjs";

export class Terminal {
  #world;
  #socket;

  /** @param {import("../../lib/world.mjs").World} world */
  constructor(world) {
    this.#world = world;
    this.#socket = path.join(world.home, "tmux");
  }

  /**
   * A terminal in the project. It runs this command line, and stays open after that has ended.
   * @param {import("../../lib/world.mjs").World} world
   * @param {string} command
   * @param {{ columns?: number, rows?: number }} [size]
   */
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

  /** The screen with its styles as escape sequences. The first line is the column and the row of the cursor, and 0 if it is hidden. */
  styledScreen() {
    return this.#tmux("display-message", "-p", "#{cursor_x} #{cursor_y} #{cursor_flag}", ";", "capture-pane", "-p", "-e");
  }

  /** Resolves to the screen as soon as this is on it. @param {string | RegExp} what */
  shows(what) {
    return this.#comesTo(`showing ${shown(what)}`, (screen) => has(screen, what));
  }

  /** Resolves to the screen as soon as this is no longer on it. @param {string | RegExp} what */
  showsNo(what) {
    return this.#comesTo(`no longer showing ${shown(what)}`, (screen) => !has(screen, what));
  }

  /**
   * @param {string} what
   * @param {(screen: string) => boolean} holds
   * @param {number} [deadlineMs]
   */
  async #comesTo(what, holds, deadlineMs) {
    let screen = "";
    // Looks twice: a screen that is being drawn may lack something for a moment.
    const probe = async () => holds((screen = await this.screen())) && holds((screen = await this.screen()));
    await until(`the terminal ${what}`, probe, deadlineMs).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${screen}`);
    });
    return screen;
  }

  /**
   * Presses a key until the screen is as it should be, and resolves to that screen. A dialog that was just drawn may not listen yet and
   * drop the first key.
   * @param {string | ((screen: string) => string)} key a function chooses the key by the screen
   * @param {string} what
   * @param {(screen: string) => boolean} holds
   * @param {(screen: string, before: string) => boolean} [reacted] whether the key was heard; a clock on the screen may change it too
   */
  async pressUntil(key, what, holds, reacted = (screen, before) => screen !== before) {
    let screen = "";
    const probe = async () => {
      if (holds((screen = await this.screen())) && holds((screen = await this.screen()))) return screen;
      const before = screen;
      await this.press(typeof key === "function" ? key(screen) : key);
      // Without a reaction, the next round presses again.
      await this.#comesTo("reacting", (now) => reacted(now, before), 1_000).catch(() => {});
      return null;
    };
    return until(what, probe).catch((error) => {
      throw new Error(`${error.message}; the terminal shows:\n${screen}`);
    });
  }

  /** Closes the window, with whatever runs in it. */
  close() {
    return this.#tmux("kill-server");
  }

  /** Sends a signal to the programs of the command line, as `kill` in another terminal would. @param {NodeJS.Signals} name */
  async signal(name) {
    const shell = (await this.#tmux("list-panes", "-F", "#{pane_pid}")).trim();
    const children = await fs.readFile(`/proc/${shell}/task/${shell}/children`, "utf8");
    for (const pid of children.trim().split(" ")) process.kill(Number(pid), name);
  }

  /** @param {...string} keys */
  async press(...keys) {
    for (const key of keys) await this.#tmux("send-keys", key);
  }

  /** @param {...string} args */
  async #tmux(...args) {
    /** @type {Record<string, string>} */
    const env = { ...this.#world.personsEnv, TERM: "xterm-256color", LANG: "C.UTF-8" };
    env.PATH = `${this.#world.bin}:${env.PATH}`;
    const run = this.#world.spawn("tmux", ["-S", this.#socket, "-f", "/dev/null", ...args], { env });
    const { code } = await within(`tmux ${args[0]}`, run.exited);
    if (code !== 0) throw new Error(`tmux ${args.join(" ")} ended with ${code}: ${run.stderr}`);
    return run.stdout;
  }
}

/**
 * @param {string} screen
 * @param {string | RegExp} what
 */
function has(screen, what) {
  return what instanceof RegExp ? what.test(screen) : screen.includes(what);
}

/** @param {string | RegExp} what */
function shown(what) {
  return what instanceof RegExp ? String(what) : JSON.stringify(what);
}
