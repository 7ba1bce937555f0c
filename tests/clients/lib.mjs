// A world with a daemon in it, and our client beside it.
import assert from "node:assert/strict";
import net from "node:net";
import path from "node:path";
import { connect } from "../../clients/typescript/index.js";
import { scenarios, World } from "../lib/world.mjs";

/** @typedef {import("../../clients/typescript/index.js").Answerback} Answerback */

export class ClientsWorld extends World {
  /** @type {Wire[]} */
  #wires = [];

  async furnish() {
    await super.furnish();
    await this.startDaemon();
  }

  /** Any command starts the daemon if none is running. */
  async startDaemon() {
    await this.answerback("pending");
  }

  get state() {
    return path.join(this.home, ".local/state/answerback");
  }

  get socket() {
    return path.join(this.state, "daemon.sock");
  }

  /** A client that has found the daemon. */
  client() {
    return connect({ stateDirectory: this.state });
  }

  /** A way to the daemon that can fail, and a client that uses it. */
  async wired() {
    const wire = new Wire(path.join(this.home, "wire.sock"), this.socket);
    this.#wires.push(wire);
    return { wire, client: await connect({ socket: path.join(this.home, "wire.sock") }) };
  }

  async close() {
    for (const wire of this.#wires) wire.close();
    await super.close();
  }
}

/** A test in such a world. */
export const scenario = scenarios(() => ClientsWorld.create(), { timeout: 120_000 });

/** A question to which "Yes" and "No" are answers. @param {string} question */
export function yesOrNo(question) {
  return { question, options: [{ label: "Yes" }, { label: "No" }] };
}

/**
 * The ask of a program, as soon as it is open.
 * @param {Answerback} client
 * @param {string} question
 */
export async function opened(client, question) {
  for (let list = await client.list(); ; list = await client.list({ since: list.cursor, wait: 10 })) {
    const ask = list.asks.find(({ questions }) => questions[0].question === question);
    if (ask) return ask;
  }
}

/**
 * The error that a call of the client ends with.
 * @param {Promise<unknown>} call
 * @returns {Promise<import("../../clients/typescript/index.js").AnswerbackError>}
 */
export async function failure(call) {
  const error = await call.then(() => null, (thrown) => thrown);
  assert.equal(error?.name, "AnswerbackError", `${error?.stack}`);
  return error;
}

class Wire {
  /** @type {Set<net.Socket>} */
  #lines = new Set();
  /** How many connections there were. */
  count = 0;
  isFrozen = false;

  /**
   * @param {string} from the path of its own socket
   * @param {string} to the path of the daemon's socket
   */
  constructor(from, to) {
    this.server = net.createServer((line) => this.#join(line, net.connect(to)));
    this.server.listen(from);
  }

  /** @param {net.Socket} line @param {net.Socket} daemon */
  #join(line, daemon) {
    this.count += 1;
    const isFrozen = this.isFrozen;
    line.on("data", (data) => daemon.write(data));
    daemon.on("data", (data) => {
      // A line that was frozen stays so. The next one is another line.
      if (!isFrozen && !line.destroyed) line.write(data);
    });
    for (const [one, other] of [[line, daemon], [daemon, line]]) {
      this.#lines.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        this.#lines.delete(one);
        other.destroy();
      });
    }
  }

  /** Ends all connections. */
  cut() {
    for (const line of this.#lines) line.destroy();
  }

  close() {
    this.server.close();
    this.cut();
  }
}
