// The TypeScript client against the real daemon: the calls, and their errors.
import assert from "node:assert/strict";
import path from "node:path";
import { connect } from "../../clients/typescript/index.js";
import { fetchTransport } from "../../clients/typescript/src/fetch.js";
import { Answerback } from "../../clients/typescript/src/client.js";
import { until } from "../lib/until.mjs";
import { failure, opened, scenario, yesOrNo } from "./lib.mjs";

const DEPLOY = "Deploy to production?";

scenario("typescript: a program asks, and a person answers", async (world) => {
  const client = await world.client();
  const asking = client.ask({ questions: [yesOrNo(DEPLOY)], project: world.project, asked_by: "deploy.sh", timeout_seconds: 600 });
  const open = await opened(client, DEPLOY);
  assert.deepEqual([open.origin, open.project, open.asked_by, open.kind], ["program", world.project, "deploy.sh", "question"]);
  assert.deepEqual(await client.get(open.key), open);
  const answered = await client.answer(open, { [DEPLOY]: "Yes" }, { notes: { [DEPLOY]: "not before noon" } });
  assert.deepEqual(await asking, answered);
  const { outcome } = answered;
  assert.deepEqual([outcome?.answers, outcome?.notes], [{ [DEPLOY]: "Yes" }, { [DEPLOY]: "not before noon" }]);
  assert.deepEqual(outcome?.by, { channel: "socket", agent: "answerback-typescript/0.1.0" });
  assert.deepEqual((await client.list()).asks, []);
  assert.deepEqual((await client.list({ state: "settled", outcome: "answered" })).asks, [answered]);
});

scenario("typescript: all open asks are one list, however large they are", async (world) => {
  const client = await world.client();
  const stop = new AbortController();
  const wanted = ["1?", "2?", "3?", "4?"];
  const large = (question) => ({ question, header: "Pick", options: [{ label: "A", description: "x".repeat(900_000) }] });
  const asking = wanted.map((question) => client.ask({ questions: [large(question)] }, { signal: stop.signal }).catch(() => {}));
  for (const question of wanted) await opened(client, question);
  const { asks, next } = await client.list();
  assert.deepEqual([asks.map((ask) => ask.questions[0].question).sort(), next], [wanted, null]);
  const page = await client.list({ limit: 4 });
  assert.ok(page.asks.length < 4 && page.next !== null);
  stop.abort();
  await Promise.all(asking);
});

scenario("typescript: asks are dismissed and released", async (world) => {
  const client = await world.client();
  const [first, second] = ["First?", "Second?"].map((question) => client.ask({ questions: [yesOrNo(question)] }));
  await client.dismiss(await opened(client, "First?"), "Not today.");
  await client.release(await opened(client, "Second?"));
  const dismissed = (await first).outcome;
  assert.deepEqual([dismissed.kind, dismissed.reason], ["dismissed", "Not today."]);
  assert.equal((await second).outcome.kind, "released");
});

scenario("typescript: what the daemon refuses is an error that says why", async (world) => {
  const client = await world.client();
  const asking = client.ask({ questions: [{ ...yesOrNo(DEPLOY), freeText: false }] });
  const open = await opened(client, DEPLOY);

  const wrong = await failure(client.answer(open, { [DEPLOY]: "Perhaps" }));
  assert.deepEqual([wrong.status, wrong.kind, wrong.errors.length, wrong.errors[0].question], [422, "invalid", 1, DEPLOY]);
  assert.ok(wrong.message.startsWith(wrong.title) && wrong.ask === null, wrong.message);

  await client.answer(open, { [DEPLOY]: "Yes" });
  const late = await failure(client.answer(open, { [DEPLOY]: "No" }));
  assert.deepEqual([late.status, late.kind, late.ask?.outcome?.answers], [409, "answered-already", { [DEPLOY]: "Yes" }]);
  await asking;

  const missing = await failure(client.get("s__t"));
  assert.deepEqual([missing.status, missing.kind], [404, "not-found"]);
  const other = await failure(client.answer({ ...open, id: open.id + 1 }, { [DEPLOY]: "Yes" }));
  assert.deepEqual([other.status, other.kind], [410, "closed"]);
});

scenario("typescript: an address with a token, and a wrong one", async (world) => {
  const { url, token } = await world.daemon.running();
  assert.deepEqual((await (await connect({ url, token })).list()).asks, []);
  const { status, kind, hint } = await failure((await connect({ url, token: "wrong" })).list());
  assert.deepEqual([status, kind], [401, "unauthorized"]);
  assert.ok(hint?.includes("daemon.json"), hint);
});

scenario("typescript: without a daemon, the error says what to do", async (world) => {
  const elsewhere = await failure(connect({ stateDirectory: path.join(world.home, "nowhere") }));
  assert.deepEqual([elsewhere.status, elsewhere.kind], [0, "unreachable"]);
  assert.ok(elsewhere.hint?.includes("answerback status"), elsewhere.hint);
  const gone = await failure((await connect({ socket: path.join(world.home, "no.sock") })).list());
  assert.deepEqual([gone.status, gone.kind], [0, "unreachable"]);
});

scenario("typescript: an ask is withdrawn if it is aborted", async (world) => {
  const client = await world.client();
  const asker = new AbortController();
  const asking = client.ask({ questions: [yesOrNo(DEPLOY)] }, { signal: asker.signal });
  const open = await opened(client, DEPLOY);
  asker.abort(new Error("changed my mind"));
  await assert.rejects(asking, /changed my mind/);
  assert.equal((await client.get(open.key)).outcome?.kind, "withdrawn");

  // It may not be known under which key it is being opened.
  const hasty = new AbortController();
  const opening = client.ask({ questions: [yesOrNo("Second?")] }, { signal: hasty.signal });
  hasty.abort(new Error("too hasty"));
  await assert.rejects(opening, /too hasty/);
  assert.deepEqual((await client.list()).asks, []);
  await assert.rejects(client.ask({ questions: [yesOrNo("Third?")] }, { signal: hasty.signal }), /too hasty/);
  const all = await client.list({ state: "all" });
  assert.deepEqual(all.asks.map(({ questions, outcome }) => [questions[0].question, outcome?.kind]), [["Second?", "withdrawn"], [DEPLOY, "withdrawn"]]);
});

scenario("typescript: an ask outlives the daemon", async (world) => {
  const client = await world.client();
  const { wire, client: program } = await world.wired();
  const asking = program.ask({ questions: [yesOrNo(DEPLOY)] });
  const open = await opened(client, DEPLOY);
  // The first connection opens the ask, and the second one waits for its outcome.
  await until("the program waiting", () => wire.count === 2);
  await world.daemon.kill();
  await world.startDaemon();
  await client.answer(open, { [DEPLOY]: "No" });
  assert.deepEqual((await asking).outcome.answers, { [DEPLOY]: "No" });
});

scenario("typescript: a browser uses fetch", async (world) => {
  const { url, token } = await world.daemon.running();
  const client = new Answerback(fetchTransport({ url, token }));
  const asking = client.ask({ questions: [yesOrNo(DEPLOY)] });
  for await (const event of client.watch()) {
    const ask = event.type === "list" ? event.asks[0] : event.ask;
    if (!ask) continue;
    await client.answer(ask, { [DEPLOY]: "Yes" });
    break;
  }
  assert.equal((await asking).outcome.kind, "answered");
  assert.equal((await failure(client.get("s__t"))).kind, "not-found");
  assert.throws(() => fetchTransport({ token }), /needs the url/);
});
