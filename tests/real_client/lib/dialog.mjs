// The terminal's own dialog for a question, handled by what is on the screen: its keys have changed over the versions.
import assert from "node:assert/strict";

const FOOTER = "Enter to select";
const SELECTED = /^\s*❯ (\d)\. (.*)$/m;

export class Dialog {
  #terminal;

  constructor(terminal) {
    this.#terminal = terminal;
  }

  /** The dialog of this terminal, once it is there. */
  static async of(terminal, question = "") {
    await terminal.shows(FOOTER);
    await terminal.shows(question);
    return new Dialog(terminal);
  }

  gone() {
    return this.#terminal.showsNo(FOOTER);
  }

  async offers(label) {
    return numberOf(await this.#terminal.screen(), label) > 0;
  }

  /** Goes to the choice with this label and takes it. */
  async choose(label) {
    assert.ok(await this.select(label), `the dialog left before ${label} was chosen`);
    await this.leave("Enter");
  }

  /** Goes to the choice with this label, up or down; false if the dialog leaves meanwhile. */
  async select(label) {
    const there = (screen) => selected(screen)?.label.startsWith(label);
    const found = (screen) => there(screen) || !screen.includes(FOOTER);
    const way = (screen) => (selected(screen)?.number > numberOf(screen, label) ? "Up" : "Down");
    return there(await this.#terminal.pressUntil(way, `${label} being selected`, found));
  }

  /** Presses a key until the dialog has left. */
  leave(key) {
    return this.#terminal.pressUntil(key, "the dialog leaving", (screen) => !screen.includes(FOOTER));
  }
}

function selected(screen) {
  const [, number, label] = screen.match(SELECTED) ?? [];
  return number && { number: Number(number), label };
}

function numberOf(screen, label) {
  return Number(screen.match(new RegExp(`(\\d)\\. ${label}`))?.[1]);
}
