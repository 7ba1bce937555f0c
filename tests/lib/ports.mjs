// Ports for programs that must be told which port to use.
import { once } from "node:events";
import net from "node:net";

// Systems take the ports that they choose themselves, for port 0 and for outgoing connections, from above this range. Neither is the
// daemon's own port in it.
const FIRST = 10_000;
const COUNT = 15_000;

// Each process starts somewhere else, because several may run at once.
let next = Math.floor(Math.random() * COUNT);

/** A port that nobody uses, and that nobody gets by chance before the caller uses it. No two calls in one process get the same one. */
export async function unusedPort() {
  for (let tried = 0; tried < COUNT; tried++) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

/** @param {number} port */
async function isFree(port) {
  const server = net.createServer();
  try {
    await once(server.listen(port, "0.0.0.0"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
