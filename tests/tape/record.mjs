// Records the first minute: a person at a real terminal types the commands of the README's tour.
import fs from "node:fs/promises";
import path from "node:path";
import { World } from "../lib/world.mjs";
import { Terminal } from "../real_client/lib/terminal.mjs";
import { readScreen, withoutAfter } from "./screen.mjs";

/** @typedef {{ screen: import("./screen.mjs").Screen, millis: number }} Frame a screen, and how long it is shown */
/** @typedef {(millis: number) => Promise<unknown>} Pause */

export const COLUMNS = 80;
/** More than the tape needs, so that nothing scrolls. */
const ROWS = 40;
const PROMPT = "~/shop $ ";
const SHELL = String.raw`PS1='\[\e[34m\]\w\[\e[0m\] $ ' bash --norc --noprofile`;
/** Where the person on the tape is at home. */
const HOME = "/home/me";

/** How long things are shown: as long as people need, not as the programs need. */
const PACE = { prompt: 700, key: 45, typed: 400, glance: 900, read: 2200, end: 6000 };

/** A home with a project called shop. Its path is as long as the one on the tape, so that no line is wrapped in another place. */
class Shop extends World {
  /** @param {string} root */
  constructor(root) {
    super(root);
    this.home = root;
    this.project = path.join(root, "shop");
  }

  static async open() {
    for (;;) {
      const root = `/tmp/${Math.random().toString(36).slice(2)}`.slice(0, HOME.length);
      try {
        await fs.mkdir(root, { mode: 0o700 });
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") continue;
        throw error;
      }
      const shop = new Shop(root);
      await shop.furnish();
      return shop;
    }
  }
}

class Recorder {
  #shop;
  #terminal;
  #pause;
  /** @type {Frame[]} */
  frames = [];

  /**
   * @param {Shop} shop
   * @param {Terminal} terminal
   * @param {Pause} pause
   */
  constructor(shop, terminal, pause) {
    this.#shop = shop;
    this.#terminal = terminal;
    this.#pause = pause;
  }

  /**
   * Types a command, and waits until it shows this.
   * @param {string} command
   * @param {RegExp} shown
   * @param {number} millis
   */
  async run(command, shown, millis) {
    await this.#terminal.press(command);
    await this.#terminal.shows(`${PROMPT}${command}`);
    const typed = await this.#screen();
    for (let length = 0; length <= command.length; length++) {
      const millis = length === 0 ? PACE.prompt : length === command.length ? PACE.typed : PACE.key;
      await this.#show(withoutAfter(typed, PROMPT.length + length), millis);
    }
    await this.press("Enter", shown, millis);
  }

  /**
   * Types a command, and waits until it has ended.
   * @param {string} command
   * @param {number} millis
   */
  runToEnd(command, millis) {
    return this.run(command, ended(command), millis);
  }

  /**
   * @param {string} key
   * @param {RegExp} shown
   * @param {number} millis
   */
  async press(key, shown, millis) {
    await this.#terminal.press(key);
    await this.#terminal.shows(shown);
    await this.#show(await this.#screen(), millis);
  }

  /**
   * @param {import("./screen.mjs").Screen} screen
   * @param {number} millis
   */
  async #show(screen, millis) {
    this.frames.push({ screen, millis });
    await this.#pause(millis);
  }

  async #screen() {
    return readScreen((await this.#terminal.styledScreen()).replaceAll(this.#shop.home, HOME));
  }
}

/**
 * The first minute, as the programs are today.
 * @param {Pause} pause waits while a screen is shown, so that the ages on the next ones are those of a person's minute
 */
export async function record(pause) {
  const shop = await Shop.open();
  try {
    const terminal = await Terminal.open(shop, SHELL, { columns: COLUMNS, rows: ROWS });
    await terminal.shows(PROMPT.trimEnd());
    const tape = new Recorder(shop, terminal, pause);
    await tape.runToEnd("answerback demo", PACE.read);
    await tape.runToEnd("answerback pending", PACE.read);
    await tape.run("answerback answer", /❯ 1\. SQLite/, PACE.read);
    await tape.press("Enter", /❯ 1\. \[ \] Tests/, PACE.glance);
    await tape.press("Space", /❯ 1\. \[✓\] Tests/, PACE.glance);
    await tape.press("Down", /❯ 2\. \[ \] Migrations/, PACE.glance / 3);
    await tape.press("Down", /❯ 3\. \[ \] Backups/, PACE.glance / 3);
    await tape.press("Space", /❯ 3\. \[✓\] Backups/, PACE.glance);
    await tape.press("Tab", /❯ Submit/, PACE.read);
    await tape.press("Enter", ended("answerback answer"), PACE.read);
    await tape.runToEnd("answerback history", PACE.read);
    await tape.runToEnd("answerback doctor --round-trip", PACE.end);
    return tape.frames;
  } finally {
    await shop.close();
  }
}

/** A screen with what the command has printed, and the prompt again. @param {string} command */
const ended = (command) => new RegExp(`\\$ ${command}\n[^]+\n${PROMPT.trimEnd().replace("$", "\\$")}\\s*$`);
