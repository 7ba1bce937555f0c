// The stream of changes of the TypeScript client: nothing is missed, and nothing comes twice.
import assert from "node:assert/strict";
import { within } from "../lib/until.mjs";
import { opened, scenario, yesOrNo } from "./lib.mjs";

/** Opens an ask and withdraws it again. Resolves when both have happened. */
async function openAndWithdraw(client, question) {
  const asker = new AbortController();
  const asking = client.ask({ questions: [yesOrNo(question)] }, { signal: asker.signal });
  await opened(client, question);
  asker.abort();
  await asking.catch(() => {});
}

/** What an event says, in short. @param {any} event */
const told = ({ type, ask }) => `${type} ${ask.questions[0].question}`;

/** The next events of a watch, in short. */
async function next(events, count) {
  const seen = [];
  while (seen.length < count) seen.push(told((await within("an event", events.next())).value));
  return seen;
}

const both = (question) => [`ask.opened ${question}`, `ask.settled ${question}`];

scenario("typescript: watch gets the list first, and then every change", async (world) => {
  const client = await world.client();
  const asker = new AbortController();
  const asking = client.ask({ questions: [yesOrNo("Before?")] }, { signal: asker.signal }).catch(() => {});
  await opened(client, "Before?");
  const events = client.watch();
  const { value: list } = await events.next();
  assert.deepEqual([list?.type, list?.type === "list" && list.asks.length], ["list", 1]);
  await openAndWithdraw(client, "After?");
  assert.deepEqual(await next(events, 2), both("After?"));
  asker.abort();
  await asking;
  const { value: last } = await events.next();
  assert.equal(told(last), "ask.settled Before?");
  await events.return(undefined);

  // Another program can go on where this one ended.
  await openAndWithdraw(client, "Later?");
  const later = client.watch({ after: last?.cursor });
  assert.deepEqual(await next(later, 2), both("Later?"));
  await later.return(undefined);
});

scenario("typescript: watch goes on after lost connections and a restart of the daemon", async (world) => {
  const [client, { wire, client: watcher }] = [await world.client(), await world.wired()];
  const events = watcher.watch();
  assert.equal((await events.next()).value?.type, "list");
  for (const round of ["1?", "2?", "3?"]) {
    await openAndWithdraw(client, round);
    const [first] = await next(events, 1);
    // In the middle of what there is to tell.
    wire.cut();
    await openAndWithdraw(client, `more ${round}`);
    assert.deepEqual([first, ...(await next(events, 3))], [...both(round), ...both(`more ${round}`)]);
  }
  await world.daemon.kill();
  await world.startDaemon();
  await openAndWithdraw(client, "Restarted?");
  assert.deepEqual(await next(events, 2), both("Restarted?"));
  await events.return(undefined);
});

scenario("typescript: watch gives up a connection without a heartbeat", async (world) => {
  const [client, { wire, client: watcher }] = [await world.client(), await world.wired()];
  const events = watcher.watch({ heartbeat: 1 });
  assert.equal((await events.next()).value?.type, "list");
  wire.isFrozen = true;
  const waiting = events.next();
  await within("the stream", (async () => {
    while (wire.count < 2) await new Promise((resolve) => wire.server.once("connection", resolve));
  })());
  wire.isFrozen = false;
  await openAndWithdraw(client, "Frozen?");
  assert.equal(told((await within("the event", waiting)).value), "ask.opened Frozen?");
  assert.ok(wire.count >= 3, "the frozen connection was given up");
  await events.return(undefined);
});

scenario("typescript: watch ends with its signal, and with an error that does not pass", async (world) => {
  const client = await world.client();
  const watcher = new AbortController();
  const events = client.watch({ signal: watcher.signal });
  await events.next();
  const waiting = events.next();
  watcher.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  const wrong = client.watch({ after: "nonsense" });
  await assert.rejects(wrong.next(), { name: "AnswerbackError", status: 400 });
});
