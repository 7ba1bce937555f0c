// The terminal's own dialog for a question, handled by what is on the screen: its keys have changed over the versions.

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

  async isOpen() {
    return (await this.#terminal.screen()).includes(FOOTER);
  }

  async offers(label) {
    return new RegExp(`\\d\\. ${label}`).test(await this.#terminal.screen());
  }

  /** Goes to the choice with this label and takes it. */
  async choose(label) {
    await this.select(label);
    await this.leave("Enter");
  }

  /** Goes to the choice with this label. The keys are heard in their order: what was pressed before has been heard then. */
  select(label) {
    return this.#terminal.pressUntil("Down", `${label} being selected`, (screen) => selected(screen)?.startsWith(label));
  }

  /** Presses a key until the dialog has left. */
  leave(key) {
    return this.#terminal.pressUntil(key, "the dialog leaving", (screen) => !screen.includes(FOOTER));
  }
}

function selected(screen) {
  return screen.match(SELECTED)?.[2];
}
