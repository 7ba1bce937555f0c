// Another site on loopback, which lets everybody in. It counts what reaches it.
import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import { text } from "node:stream/consumers";

/** The value that RFC 6455 adds to the key of a WebSocket. */
const WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OPEN_TO_ALL = { "access-control-allow-origin": "*", "access-control-allow-headers": "*", "cross-origin-resource-policy": "cross-origin" };
/** @type {Record<string, string>} */
const MEDIA = { svg: "image/svg+xml", png: "image/png", js: "text/javascript" };

export class Elsewhere {
  #server = http.createServer((request, response) => void this.#serve(request, response));
  /** Even a connection without a request counts: it says that somebody wanted to come here. */
  connections = 0;
  /** @type {{ method: string, path: string, body: string }[]} */
  requests = [];
  /** HTML by path. Any other path gets something that fits its name. @type {Record<string, string>} */
  pages = {};

  async start() {
    this.#server.on("connection", () => (this.connections += 1));
    this.#server.on("upgrade", (request, socket) => {
      const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${WEBSOCKET}`).digest("base64");
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
    });
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Another host name than the daemon's, so that the two are different sites. */
  get url() {
    return `http://localhost:${/** @type {import("node:net").AddressInfo} */ (this.#server.address()).port}`;
  }

  /** @param {string} path */
  wasAskedFor(path) {
    return this.requests.some((request) => request.path === path);
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {http.ServerResponse} response
   */
  async #serve(request, response) {
    const path = request.url ?? "";
    this.requests.push({ method: request.method ?? "", path, body: await text(request) });
    const isStream = path.endsWith("/events");
    const type = this.pages[path] !== undefined ? "text/html" : isStream ? "text/event-stream" : (MEDIA[path.split(".")[1]] ?? "application/json");
    response.writeHead(200, { "content-type": type, ...OPEN_TO_ALL });
    if (isStream) response.write(": here\n\n");
    else response.end(this.pages[path] ?? (type === MEDIA.svg ? '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>' : ""));
  }
}
