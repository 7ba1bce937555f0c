import { Answerback } from "./client.js";
import { fetchTransport } from "./fetch.js";

/** @type {typeof import("../index.d.ts").connect} */
export async function connect(options = {}) {
  if (typeof process === "undefined" || !process.versions?.node) return new Answerback(fetchTransport(options));
  // A browser never loads this module.
  const { findDaemon, nodeTransport } = await import("./node.js");
  return new Answerback(nodeTransport(options.url || options.socket ? options : await findDaemon(options.stateDirectory)));
}
