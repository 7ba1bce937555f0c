// A break in the order of changes. One daemon alone never makes one, so a server stands in for daemons that share a store.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { connect } from "../../clients/typescript/index.js";
import { within } from "../lib/until.mjs";

/** A list as the daemon writes it, as far as the client looks at it. */
const list = (cursor, ...keys) => ({ asks: keys.map((key) => ({ key })), cursor, next: null });
const opened = (cursor, key) => ({ type: "ask.opened", cursor, ask: { key } });
const reset = (cursor) => ({ type: "reset", cursor });

/** Serves these replies to `GET /v1/asks`, and these events to `GET /v1/events`, one after the other. `null` cuts the connection. */
async function standIn(t, lists, streams) {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), "answerback-reset-"));
  const cursors = [];
  const server = http.createServer((request, response) => {
    if (request.url?.startsWith("/v1/asks")) {
      const reply = lists.shift();
      return reply ? response.end(JSON.stringify(reply)) : response.destroy();
    }
    cursors.push(request.headers["last-event-id"]);
    response.write(":\n\n");
    for (const event of streams.shift() ?? []) response.write(`id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  });
  const socket = path.join(directory, "daemon.sock");
  await new Promise((resolve) => server.listen(socket, () => resolve(undefined)));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await fs.rm(directory, { recursive: true });
  });
  return { cursors, client: await connect({ socket }) };
}

/** What was told, in short. */
async function told(events, count) {
  const seen = [];
  while (seen.length < count) {
    const { value } = await within("an event", events.next());
    seen.push(value.type === "list" ? `list ${value.asks.map(({ key }) => key)}` : `${value.type} ${value.ask.key}`);
  }
  await events.return(undefined);
  return seen;
}

test("typescript: after a break in the order, watch lists the open asks again and goes on from there", async (t) => {
  // What comes after the break on the same connection is in the list, or comes after it.
  const streams = [[opened("2", "b"), reset("9"), opened("10", "c")], [opened("12", "d")]];
  const { client, cursors } = await standIn(t, [list("1", "a"), list("11", "a", "c")], streams);
  assert.deepEqual(await told(client.watch(), 4), ["list a", "ask.opened b", "list a,c", "ask.opened d"]);
  assert.deepEqual(cursors, ["1", "11"]);
});

test("typescript: a list that is lost after a break is fetched again", async (t) => {
  const { client, cursors } = await standIn(t, [null, list("11", "a")], [[reset("9")], [opened("12", "b")]]);
  assert.deepEqual(await told(client.watch({ after: "7" }), 2), ["list a", "ask.opened b"]);
  assert.deepEqual(cursors, ["7", "11"]);
});
