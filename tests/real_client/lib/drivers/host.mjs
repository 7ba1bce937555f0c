import assert from "node:assert/strict";

/** The permission host of a headless client: it is asked when no hook decides, and only then. */
export class Host {
  #answers = new Map();
  #asked = [];

  /** A host that expects to be asked about this one call, and answers it. */
  static answering(call, answers) {
    const host = new Host();
    host.#answers.set(call.id, answers);
    return host;
  }

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
