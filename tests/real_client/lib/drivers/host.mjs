// A permission host that says what it was asked about.
import assert from "node:assert/strict";

/** The permission host of a headless client. The client asks it only if no hook decides. */
export class Host {
  /** @type {Map<string, Answer["answers"]>} */
  #answers = new Map();
  /** The calls that it allows as they are. @type {Set<string>} */
  #allowed = new Set();
  /** The calls that it says nothing about. @type {Set<string>} */
  #unanswered = new Set();
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

  /** A host that expects to be asked about this one call, and allows it at once. @param {import("../../../lib/calls.mjs").Call} call */
  static allowing(call) {
    const host = new Host();
    host.#allowed.add(call.id);
    return host;
  }

  /** A host that expects to be asked about this one call, and says nothing. @param {import("../../../lib/calls.mjs").Call} call */
  static silent(call) {
    const host = new Host();
    host.#unanswered.add(call.id);
    return host;
  }

  /**
   * What the host says, or null if it says nothing.
   * @param {string} tool
   * @param {object} input
   * @param {string} toolUseId
   */
  decide(tool, input, toolUseId) {
    this.#asked.push(toolUseId);
    if (this.#unanswered.has(toolUseId)) return null;
    if (this.#allowed.has(toolUseId)) return { behavior: "allow", updatedInput: input };
    const answers = this.#answers.get(toolUseId);
    if (!answers) return { behavior: "deny", message: `the host was asked about ${tool}: the hook had to decide` };
    return { behavior: "allow", updatedInput: { ...input, answers } };
  }

  verify() {
    assert.deepEqual(this.#asked, [...this.#answers.keys(), ...this.#allowed, ...this.#unanswered], "the calls that the host was asked about");
  }
}
