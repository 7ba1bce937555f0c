// Claude Code's own dialogs: for a question, a permission, a plan and a form. Their keys differ between versions, so this reads the screen to
// find its way.
import assert from "node:assert/strict";

// What is on the screen as long as a dialog is.
const QUESTION = /Enter to select/;
const PERMISSION = /Do you want to [^?]*\?/;
const PLAN = /Would you like to proceed\?/;
const FORM = /requests your input/;
const MANUALLY = "Yes, manually approve edits";
const OLD_MANUALLY = "Yes, and manually approve edits";
const TYPE_HERE = "Type here to tell Claude";
const SELECTED = /^\s*❯ (\d)\. (.*)$/m;

export class Dialog {
  #terminal;
  #mark;

  /**
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {RegExp} mark
   */
  constructor(terminal, mark) {
    this.#terminal = terminal;
    this.#mark = mark;
  }

  /**
   * The dialog for a question, as soon as it is there.
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {string} [question]
   */
  static of(terminal, question = "") {
    return this.#shown(terminal, QUESTION, question);
  }

  /**
   * The dialog for a permission, as soon as it is there.
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {string} [about] what else it shows, such as the command
   */
  static permission(terminal, about = "") {
    return this.#shown(terminal, PERMISSION, about);
  }

  /**
   * The dialog for a plan, as soon as it is there.
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {string} [about] what else it shows, such as a line of the plan
   */
  static plan(terminal, about = "") {
    return this.#shown(terminal, PLAN, about);
  }

  /**
   * The dialog for a form, as soon as it is there.
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {string} [about] what else it shows, such as a field
   */
  static form(terminal, about = "") {
    return this.#shown(terminal, FORM, about);
  }

  /**
   * @param {import("./terminal.mjs").Terminal} terminal
   * @param {RegExp} mark
   * @param {string} about
   */
  static async #shown(terminal, mark, about) {
    await terminal.shows(mark);
    await terminal.shows(about);
    return new Dialog(terminal, mark);
  }

  gone() {
    return this.#terminal.showsNo(this.#mark);
  }

  /** Refuses a permission with these words. @param {string} words */
  async refuse(words) {
    // In older versions, words are a choice of their own.
    const own = await this.offers(TYPE_HERE);
    assert.ok(await this.select(own ? TYPE_HERE : "No"), "the dialog left before it was refused");
    // Before that, a letter would be a key of the dialog.
    if (!own) await this.#terminal.pressUntil("Tab", "the dialog taking words", (screen) => /❯ \d\. No, /.test(screen));
    await this.#send(words);
  }

  /** Approves a plan. Edits are asked for. */
  async approve() {
    // In older versions the words are different.
    const label = (await this.offers(MANUALLY)) ? MANUALLY : OLD_MANUALLY;
    await this.choose(label);
  }

  /** Sends a plan back with these words. @param {string} words */
  async sendBack(words) {
    assert.ok(await this.select("Tell Claude what to change"), "the dialog left before the plan was sent back");
    await this.#send(words);
  }

  /** Fills in a form with one field for text. @param {string} words */
  async fillIn(words) {
    await this.#terminal.press(words);
    await this.#terminal.shows(words);
    await this.#terminal.pressUntil("Enter", "the buttons of the form", (screen) => screen.includes("❯ Accept"));
    await this.leave("Enter");
  }

  /** Declines a form. */
  async decline() {
    const at = (/** @type {string} */ button) => (/** @type {string} */ screen) => screen.includes(`❯ ${button}`);
    await this.#terminal.pressUntil("Down", "the buttons of the form", at("Accept"));
    await this.#terminal.pressUntil("Right", "the other button", at("Decline"));
    await this.leave("Enter");
  }

  /** @param {string} words */
  async #send(words) {
    await this.#terminal.press(words);
    await this.#terminal.shows(words);
    await this.leave("Enter");
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
    const found = (/** @type {string} */ screen) => there(screen) || !this.#mark.test(screen);
    const way = (/** @type {string} */ screen) => ((selected(screen)?.number ?? NaN) > numberOf(screen, label) ? "Up" : "Down");
    return there(await this.#terminal.pressUntil(way, `${label} being selected`, found));
  }

  /** Presses a key until the dialog has left. @param {string} key */
  leave(key) {
    const gone = (/** @type {string} */ screen) => !this.#mark.test(screen);
    // A second Esc would interrupt what goes on behind the dialog.
    return this.#terminal.pressUntil(key, "the dialog leaving", gone, gone);
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
