// A chat UI that speaks nothing but the WebSocket, on an origin of its own, with the real daemon and the real Claude Code.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { after } from "node:test";
import { streamJson } from "../real_client/lib/drivers/stream_json.mjs";
import { expectAnswered, expectIncludes } from "../real_client/lib/expect.mjs";
import { ask, PLATFORMS, TWO_DATABASES as DATABASE } from "../lib/questions.mjs";
import { until } from "../lib/until.mjs";
import { scenario } from "../real_client/lib/world.mjs";
import { browserContext, closeBrowsers } from "./lib/browser.mjs";
import { Elsewhere } from "./lib/elsewhere.mjs";

/** @type {Elsewhere[]} */
const servers = [];
after(closeBrowsers);
after(() => servers.forEach((server) => server.stop()));

const CHAT = new URL("../../clients/examples/chat.html", import.meta.url);

/** A server of the chat page. The daemon lets its origin in if the configuration names it. */
async function chatServer() {
  const server = new Elsewhere();
  servers.push(server);
  server.pages = { "/": await fs.readFile(CHAT, "utf8") };
  await server.start();
  return server;
}

/** A tab with the chat page. `frames` is what was said so far: [">" or "<", the frame]. */
async function openChat(world, server, session) {
  const { url, token } = await world.daemon.running();
  const context = await browserContext();
  const page = await context.newPage();
  const frames = [];
  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => frames.push([">", JSON.parse(String(payload))]));
    socket.on("framereceived", ({ payload }) => frames.push(["<", JSON.parse(String(payload))]));
  });
  const parameters = new URLSearchParams({ url: `${url.replace("http", "ws")}/v1/ws`, token, ...(session ? { session } : {}) });
  await page.goto(`${server.url}/#${parameters}`);
  /** The first frame of this type that the page got, after the first `after` frames. */
  const got = (type, after = 0) => until(`a frame ${type}`, () => frames.slice(after).find(([side, frame]) => side === "<" && frame.type === type)?.[1]);
  return { page, context, frames, got };
}

const card = (page, question) => page.locator("article", { hasText: question });

scenario("chat: question, answer, several choices, cancel, timeout, and a conversation as in docs/api.md", async (world) => {
  const server = await chatServer();
  await world.configure(`websocket_origins = ["${server.url}"]\n`);
  await world.answerback("pending");
  const client = streamJson(world);
  const { page, context, frames, got } = await openChat(world, server, client.session);
  await got("subscribed");

  const [first, second, third] = [ask(DATABASE), ask(PLATFORMS), ask(DATABASE)];
  let turn = client.prompt(first);
  await card(page, DATABASE.question).getByLabel("SQLite").check();
  await page.getByText("The agent waits for you.").waitFor();
  await page.getByRole("button", { name: "Send" }).click();
  expectAnswered(await world.shown(first), first, { [DATABASE.question]: "SQLite" });
  await turn.finish();
  await page.getByText("The agent is idle.").waitFor();

  turn = client.prompt(second);
  for (const label of ["macOS", "Linux"]) await card(page, PLATFORMS.question).getByLabel(label).check();
  await card(page, PLATFORMS.question).getByRole("button", { name: "Send" }).click();
  const { answers } = (await until("the second outcome", () => frames.filter(([, frame]) => frame.type === "ask_user_settled")[1]?.[1])).outcome;
  assert.equal(answers[PLATFORMS.question].split(", ").length, 2);
  await world.shown(second);
  await turn.finish();

  turn = client.prompt(third);
  const cards = page.locator("article", { has: page.locator("form") });
  await cards.getByRole("button", { name: "Cancel" }).click();
  expectIncludes((await world.shown(third)).result(third).text, "dismissed");
  await turn.finish();
  await client.close();
  await until("the end of the session to be told", () => frames.some(([, frame]) => frame.type === "session_status" && frame.state === "ended"));

  // Each kind of frame of docs/api.md was seen, with the fields that are named there.
  const documentation = await fs.readFile(new URL("../../docs/api.md", import.meta.url), "utf8");
  const documented = documentation.split("```text\n").find((block) => block.startsWith("> {\"type\": \"authenticate\""))?.split("```")[0] ?? "";
  const told = documented.replaceAll(/\n {3}/g, " ").trim().split("\n").map((line) => ({ side: line[0], type: /"type": "(\w+)"/.exec(line)?.[1], names: [...line.matchAll(/"(\w+)":/g)].map(([, name]) => name) }));
  assert.equal(told.length, 9);
  for (const { side, type, names } of told) {
    const seen = frames.find(([from, frame]) => from === side && frame.type === type);
    assert.ok(seen, `${side} ${type}`);
    const text = JSON.stringify(seen[1]);
    for (const name of names) assert.ok(text.includes(`"${name}":`), `${type} has no ${name}: ${text}`);
  }

  // A question with a time limit, of a program.
  const { page: other, context: otherContext, got: otherGot } = await openChat(world, server);
  await otherGot("subscribed");
  await world.daemon.post("/v1/asks", { questions: [DATABASE], timeout_seconds: 1 });
  await otherGot("ask_user_timeout");
  await other.getByText("expired").waitFor();
  await Promise.all([context.close(), otherContext.close()]);
});

scenario("chat: after a lost connection the open question comes again, and what was settled meanwhile is told", async (world) => {
  const server = await chatServer();
  await world.configure(`websocket_origins = ["${server.url}"]\n`);
  await world.answerback("pending");
  const client = streamJson(world);
  const { page, context, frames, got } = await openChat(world, server);
  await got("subscribed");
  const { key } = await world.daemon.post("/v1/asks", { questions: [PLATFORMS] });
  const call = ask(DATABASE);
  const turn = client.prompt(call);
  await card(page, PLATFORMS.question).waitFor();
  await card(page, DATABASE.question).waitFor();
  const before = frames.length;
  // The hook of the waiting question starts a new daemon. The page knows only the old address, so the port stays the same.
  world.port = Number(new URL((await world.daemon.running()).url).port);
  await world.configure(`websocket_origins = ["${server.url}"]\n`);
  await world.daemon.restarted(await world.daemon.kill());
  await world.daemon.post(`/v1/asks/${key}/answer`, { answers: { [PLATFORMS.question]: ["Linux"] } });
  await got("subscribed", before);
  await until("the question again", () => frames.slice(before).some(([, frame]) => frame.type === "ask_user_question" && frame.session_id === client.session));
  await card(page, "Linux").waitFor();
  assert.equal(await card(page, DATABASE.question).count(), 1, "it is shown once");
  await card(page, DATABASE.question).getByLabel("Postgres").check();
  await card(page, DATABASE.question).getByRole("button", { name: "Send" }).click();
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "Postgres" });
  await turn.finish();
  await client.close();
  await context.close();
});

scenario("chat: a second page takes the session over, and the first one can no longer answer", async (world) => {
  const server = await chatServer();
  await world.configure(`websocket_origins = ["${server.url}"]\n`);
  await world.answerback("pending");
  const client = streamJson(world);
  const first = await openChat(world, server, client.session);
  await first.got("subscribed");
  const call = ask(DATABASE);
  const turn = client.prompt(call);
  await card(first.page, DATABASE.question).getByLabel("SQLite").check();
  const second = await openChat(world, server, client.session);
  assert.equal((await second.got("subscribed")).took_over, true);
  await first.got("session_taken");
  await first.page.getByText("Somebody else answers this session now.").waitFor();
  const before = first.frames.length;
  await first.page.getByRole("button", { name: "Send" }).click();
  const refused = await first.got("session_taken", before);
  assert.ok(refused.question_id.startsWith(client.session));
  await card(second.page, DATABASE.question).getByLabel("Postgres").check();
  await second.page.getByRole("button", { name: "Send" }).click();
  expectAnswered(await world.shown(call), call, { [DATABASE.question]: "Postgres" });
  await first.page.getByText("Postgres").last().waitFor();
  await turn.finish();
  await client.close();
  await Promise.all([first.context.close(), second.context.close()]);
});

scenario("chat: a page of an origin that is not configured gets no connection", async (world) => {
  const server = await chatServer();
  await world.answerback("pending");
  const { page, context, frames } = await openChat(world, server);
  await page.getByText("Disconnected.").waitFor();
  assert.deepEqual(frames, []);
  await context.close();
});
