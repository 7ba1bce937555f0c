// The way to the daemon for Node.js. `fetch` gives up after five minutes without a reply and knows no sockets, so this uses node:http.
import fs from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { disconnected, unreachable } from "./error.js";

/** How long the daemon may take to say that it has stored a call. */
const SIGN_OF_LIFE_MS = 10_000;

/**
 * Where the daemon of this user is.
 * @param {string} [stateDirectory]
 * @returns {Promise<import("../index.d.ts").ConnectOptions>}
 */
export async function findDaemon(stateDirectory = usualStateDirectory()) {
  const file = path.join(stateDirectory, "daemon.json");
  try {
    const { socket } = JSON.parse(await fs.readFile(file, "utf8"));
    return { socket };
  } catch (error) {
    throw unreachable(file, error);
  }
}

function usualStateDirectory() {
  if (process.platform === "darwin") return path.join(os.homedir(), "Library/Application Support/answerback");
  const { XDG_STATE_HOME: state = "" } = process.env;
  return path.join(path.isAbsolute(state) ? state : path.join(os.homedir(), ".local/state"), "answerback");
}

/**
 * @param {import("../index.d.ts").ConnectOptions} options
 * @returns {import("../index.d.ts").Transport}
 */
export function nodeTransport({ url, token, hookToken, socket }) {
  const where = socket ?? String(url);
  const base = socket ? "http://localhost" : url;
  const { request } = base?.startsWith("https:") ? https : http;
  return {
    send({ method, path, headers, body, signal, isHook }) {
      const bearer = isHook ? hookToken : token;
      const authorization = bearer && !socket ? { authorization: `Bearer ${bearer}` } : undefined;
      return new Promise((resolve, reject) => {
        // Each call has a connection of its own: closing it is how a call is taken back.
        const options = { method, headers: { ...headers, ...authorization }, socketPath: socket, signal, agent: false };
        const sent = request(new URL(path, base), options);
        let isConnected = false;
        const giveUp = () => {
          isConnected = false;
          sent.destroy(new Error(`no sign of life within ${SIGN_OF_LIFE_MS} ms`));
        };
        const alive = isHook && socket ? setTimeout(giveUp, SIGN_OF_LIFE_MS) : undefined;
        const isAlive = () => clearTimeout(alive);
        sent.on("socket", (line) => line.once("connect", () => (isConnected = true)));
        sent.on("information", isAlive);
        sent.on("close", isAlive);
        sent.on("error", (error) => reject(signal?.aborted ? error : isConnected ? disconnected(error) : unreachable(where, error)));
        sent.on("response", (reply) => resolve({ status: reply.statusCode ?? 0, body: read(reply, signal) }));
        sent.end(body);
      });
    },
  };
}

/**
 * @param {http.IncomingMessage} reply
 * @param {AbortSignal} [signal]
 */
async function* read(reply, signal) {
  try {
    yield* reply;
  } catch (error) {
    throw signal?.aborted ? error : disconnected(error);
  }
}
