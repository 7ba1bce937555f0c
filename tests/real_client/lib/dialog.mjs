// Claude Code's own dialog for a question. Its keys differ between versions, so this reads the screen to find its way.
import assert from "node:assert/strict";

const FOOTER = "Enter to select";
const SELECTED = /^\s*❯ (\d)\. (.*)$/m;

export class Dialog {
  #terminal;

  /** @param {import("./terminal.mjs").Terminal} terminal */
  constructor(terminal) {
    this.#terminal = terminal;
  }

  /**
   * The dialog of this terminal, as soon as it is there.
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {string} [question]
   */
  static async of(terminal, question = "") {
    await terminal.shows(FOOTER);
    await terminal.shows(question);
    return new Dialog(terminal);
  }

  gone() {
    return this.#terminal.showsNo(FOOTER);
  }

  /** @param {string} label */
  async offers(label) {
    return numberOf(await this.#terminal.screen(), label) > 0;
  }

  /** Goes to the choice with this label and takes it. @param {string} label */
  async choose(label) {
    assert.ok(await this.select(label), `the dialog left before ${label} was chosen`);
    await this.leave("Enter");
  }

  /** Goes to the choice with this label, up or down. Resolves to false if the dialog leaves meanwhile. @param {string} label */
  async select(label) {
    const there = (/** @type {string} */ screen) => selected(screen)?.label.startsWith(label) ?? false;
    const found = (/** @type {string} */ screen) => there(screen) || !screen.includes(FOOTER);
    const way = (/** @type {string} */ screen) => ((selected(screen)?.number ?? NaN) > numberOf(screen, label) ? "Up" : "Down");
    return there(await this.#terminal.pressUntil(way, `${label} being selected`, found));
  }

  /** Presses a key until the dialog has left. @param {string} key */
  leave(key) {
    return this.#terminal.pressUntil(key, "the dialog leaving", (screen) => !screen.includes(FOOTER));
  }
}

/** @param {string} screen */
function selected(screen) {
  const found = screen.match(SELECTED);
  return found && { number: Number(found[1]), label: found[2] };
}

/**
 * NaN if there is no such choice.
 * @param {string} screen
 * @param {string} label
 */
function numberOf(screen, label) {
  return Number(screen.match(new RegExp(`(\\d)\\. ${label}`))?.[1]);
}
