// A terminal with a person at it: tmux shows what they see, and presses what they press.
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

  /** Resolves to the screen once this text is on it. */
  async shows(text) {
    let screen = "";
    const found = async () => (screen = await this.#tmux("capture-pane", "-p")).includes(text);
    await until(`the terminal showing ${JSON.stringify(text)}`, found).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${screen}`);
    });
    return screen;
  }

  /** Presses a key at a dialog until it has left. A dialog that was just drawn may not listen yet, and drops the key. */
  async leave(dialog, key) {
    await this.shows(dialog);
    await until(`${key} ending the dialog`, async () => {
      await this.press(key);
      const gone = async () => !(await this.#tmux("capture-pane", "-p")).includes(dialog);
      return until("the dialog leaving", gone, 1_000).then(() => true, () => false);
    });
  }

  /** Closes the window, with whatever runs in it. */
  close() {
    return this.#tmux("kill-server");
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
