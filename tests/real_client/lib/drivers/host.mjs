// A permission host that says what it was asked about.
import assert from "node:assert/strict";

/** The permission host of a headless client. The client asks it only if no hook decides. */
export class Host {
  /** @type {Map<string, Answer["answers"]>} */
  #answers = new Map();
  /** @type {string[]} */
  #asked = [];

  /**
   * A host that expects to be asked about this one call, and answers it.
   * @param {import("../../../lib/calls.mjs").Call} call
   * @param {Answer["answers"]} answers
   */
  static answering(call, answers) {
    const host = new Host();
    host.#answers.set(call.id, answers);
    return host;
  }

  /**
   * @param {string} tool
   * @param {object} input
   * @param {string} toolUseId
   */
  decide(tool, input, toolUseId) {
    this.#asked.push(toolUseId);
    const answers = this.#answers.get(toolUseId);
    if (!answers) return { behavior: "deny", message: `the host was asked about ${tool}: the hook had to decide` };
    return { behavior: "allow", updatedInput: { ...input, answers } };
  }

  verify() {
    assert.deepEqual(this.#asked, [...this.#answers.keys()], "the calls that the host was asked about");
  }
}
