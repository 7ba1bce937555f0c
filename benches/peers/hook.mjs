#!/usr/bin/env node
// A hook in Node.js: node:http over the unix socket.
import { request } from "node:http";
import { join } from "node:path";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);

const call = request({
  socketPath: join(process.env.HOME, ".local/state/answerback/daemon.sock"),
  path: "/v1/hooks/claude-code",
  method: "POST",
  headers: { "content-type": "application/json" },
});
call.on("error", (error) => {
  console.error(error.message);
  process.exit(0);
});
call.on("response", async (response) => {
  let reply = "";
  for await (const chunk of response.setEncoding("utf8")) reply += chunk;
  if (reply) {
    JSON.parse(reply);
    process.stdout.write(reply);
  }
});
call.end(Buffer.concat(chunks));
